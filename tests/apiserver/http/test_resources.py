"""The resources that the API serves: ranks of versions, and the resources of definitions."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.apiserver.http.resources import ALL_VERBS, ResourceTable, built_in, custom, version_rank


def test_versions_by_rank() -> None:
    """Source: version.CompareKubeAwareVersionStrings."""
    ranked = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "foo1",
        "foo10",
        "v0",
        "v1.2",
    ]
    assert sorted(sorted(ranked), key=version_rank) == ranked


def definition(scope: str = "Namespaced", **version: Any) -> dict[str, Any]:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "shortNames": ["th"], "categories": ["all"]}
    versions = [{"name": "v1", "served": True, **version}, {"name": "v0", "served": False}]
    return {"spec": {"group": "a.example", "scope": scope, "names": names, "versions": versions}}


def test_the_resource_of_a_definition() -> None:
    (found,) = custom(definition())
    assert (found.group_version, found.qualified, found.storage) == (
        "a.example/v1",
        "things.a.example",
        "things.a.example",
    )
    assert (found.singular, found.kind, found.short_names, found.categories) == ("thing", "Thing", ("th",), ("all",))
    assert (found.namespaced, found.verbs, found.subresources, found.schema) == (True, ALL_VERBS, (), {})
    assert [(column.name, column.type, column.path) for column in found.columns] == [
        ("Name", "string", ""),
        ("Age", "date", ".metadata.creationTimestamp"),
    ]
    (cluster,) = custom(definition("Cluster"))
    assert cluster.namespaced is False


def test_parts_of_a_definition() -> None:
    """Source: tableconvertor.New: columns of its own replace the age."""
    (found,) = custom(
        definition(
            additionalPrinterColumns=[
                {"name": "A", "type": "integer", "jsonPath": ".a"},
                {"name": "B", "type": "string", "format": "f", "priority": 1, "jsonPath": ".b"},
            ],
            subresources={
                "status": {},
                "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
            },
            schema={"openAPIV3Schema": {"type": "object"}},
            selectableFields=[{"jsonPath": ".spec.a"}],
        )
    )
    assert [tuple(column) for column in found.columns[1:]] == [
        ("A", "integer", "", 0, ".a"),
        ("B", "string", "f", 1, ".b"),
    ]
    assert [(one.name, one.kind) for one in found.subresources] == [("status", "Thing"), ("scale", "Scale")]
    assert found.scale is not None and found.scale.spec_replicas == ".spec.n"
    assert (found.schema, found.selectable) == ({"type": "object"}, ("spec.a",))
    (bare,) = custom(definition(additionalPrinterColumns=[]))
    assert [column.name for column in bare.columns] == ["Name"]
    assert (bare.scale, bare.subresource("status")) == (None, None)


@pytest.mark.parametrize(
    ("group", "version", "plural", "kind", "subresources"),
    [
        ("", "v1", "namespaces", "Namespace", ["finalize", "status"]),
        ("apps", "v1", "deployments", "Deployment", ["scale", "status"]),
        ("batch", "v1", "jobs", "Job", ["status"]),
        ("", "v1", "configmaps", "ConfigMap", []),
        ("", "v1", "serviceaccounts", "ServiceAccount", ["token"]),
        ("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", ["status"]),
        ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", ["status"]),
        ("", "v1", "bindings", "Binding", []),
        ("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", []),
    ],
)
def test_built_in_resources(group: str, version: str, plural: str, kind: str, subresources: list[str]) -> None:
    table = ResourceTable()
    found = table.find(group, version, plural)
    assert found is not None
    assert (found.kind, [one.name for one in found.subresources]) == (kind, subresources)
    assert table.of_kind(found.group_version, kind) == found


def test_events_of_both_groups_are_stored_once() -> None:
    found = {one.group: one.storage for one in built_in() if one.kind == "Event"}
    assert found == {"": "events", "events.k8s.io": "events"}


def test_groups_are_listed_with_the_core_group_first() -> None:
    old, new = definition(), definition()
    new["spec"]["versions"] = [{"name": name, "served": True} for name in ("v1beta1", "v1", "v2alpha1")]
    listed = ResourceTable([new]).group_versions()
    assert listed[0] == ("", "v1")
    assert [one for one in listed if one[0] == "a.example"] == [
        ("a.example", "v1"),
        ("a.example", "v1beta1"),
        ("a.example", "v2alpha1"),
    ]
    assert ("authorization.k8s.io", "v1") in listed and ("authentication.k8s.io", "v1") in listed
    assert ResourceTable([old]).find("a.example", "v0", "things") is None
    assert ResourceTable([old]).of_kind("a.example/v1", "Other") is None


def test_definitions_show_their_versions_since_37() -> None:
    def columns(release: str | None) -> list[str]:
        table = ResourceTable(release=None if release is None else Release(release))
        found = table.of_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        assert found is not None
        return [column.name for column in found.columns]

    assert columns(None) == columns("1.36") == ["Name", "Created At"]
    assert columns("1.37")[:4] == ["Name", "Scope", "Versions", "Created At"]


def test_a_document_is_made_once() -> None:
    table, made = ResourceTable(), list[str]()

    def make() -> dict[str, Any]:
        made.append("x")
        return {"n": len(made)}

    assert table.document("a", make) is table.document("a", make)
    assert table.document("b", make) == {"n": 2}
