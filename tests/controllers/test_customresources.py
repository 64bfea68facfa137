"""CustomResourceDefinitions: names are accepted, it is established; names that another one has are not."""

from __future__ import annotations

from typing import Any

from tests.controllers.builders import hollow


def definition(plural: str, kind: str, group: str = "example.com", **names: Any) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    listed = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List", **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": listed, "versions": [version]},
        "status": {"storedVersions": ["v0"]},
    }


def conditions(cluster: Any, name: str) -> dict[str, tuple[str, str, str]]:
    found = cluster.get("CustomResourceDefinition", name).status.conditions
    return {one.type: (one.status, one.reason, one.message) for one in found}


def test_a_definition_is_established_and_tells_its_names_and_stored_version():
    cluster = hollow()
    cluster.apply(definition("lakes", "Lake", shortNames=["lk"]))
    status = cluster.get("CustomResourceDefinition", "lakes.example.com").status
    assert conditions(cluster, "lakes.example.com") == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }
    assert (status.accepted_names.kind, status.accepted_names.short_names) == ("Lake", ["lk"])
    assert status.stored_versions == ["v1"]


def test_a_name_that_another_definition_of_the_group_has_is_not_accepted_until_that_is_gone():
    cluster = hollow()
    cluster.apply(definition("lakes", "Lake", shortNames=["lk"]))
    cluster.apply([definition("links", "Link", shortNames=["lk"]), definition("lanes", "Lake")])
    cluster.apply(definition("links", "Link", group="other.com", shortNames=["lk"]))
    assert conditions(cluster, "links.example.com") == {
        "NamesAccepted": ("False", "ShortNamesConflict", '"lk" is already in use'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }
    assert conditions(cluster, "lanes.example.com")["NamesAccepted"][1:] == (
        "MultipleConflicts",
        '["Lake" is already in use, "LakeList" is already in use]',
    )
    assert conditions(cluster, "links.other.com")["Established"][0] == "True"
    cluster.delete("CustomResourceDefinition", "lakes.example.com")
    assert conditions(cluster, "links.example.com")["Established"][0] == "True"
    assert conditions(cluster, "lanes.example.com")["Established"][0] == "True"
