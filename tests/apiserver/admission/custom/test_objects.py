"""Custom objects that come from Python: their defaults, no other field, and nothing that their schema forbids."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import Invalid, ManifestError
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.store.kinds import resource_of
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

FIELDS = {
    "size": {"type": "integer", "minimum": 1},
    "color": {"type": "string", "default": "red"},
    "since": {"type": "string", "format": "date-time"},
}
RULE = {"rule": "!has(self.size) || self.size < 10", "message": "too big"}


def cluster() -> SimulatedCluster:
    spec = {"type": "object", "properties": FIELDS, "x-kubernetes-validations": [RULE]}
    status = {"type": "object", "properties": {"ready": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    made = Cluster.simulated(0)
    made.apply(definition)
    return made


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def test_defaults_are_filled_in() -> None:
    made = cluster()
    (stored,) = made.apply(thing(size=2))
    assert to_dict(stored)["spec"] == {"size": 2, "color": "red"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": "x"}, 'spec.size in body must be of type integer: "string"'),
        ({"size": 11}, 'spec: Invalid value: "object": too big'),
    ],
)
def test_what_the_schema_forbids_is_refused_and_nothing_is_stored(spec: dict[str, Any], words: str) -> None:
    made = cluster()
    with pytest.raises(Invalid) as refused:
        made.apply(thing(**spec))
    assert words in str(refused.value)
    assert made.api.store.list(resource_of(from_dict(thing()))) == []


def test_unknown_fields_are_refused_as_kubectl_apply_does() -> None:
    made = cluster()
    with pytest.raises(ManifestError, match=r'strict decoding error: unknown field "spec.colour"'):
        made.apply(thing(colour="blue"))


def test_a_change_is_checked_and_what_was_wrong_may_stay() -> None:
    made = cluster()
    made.apply(thing(size=5))
    stricter = made.get("CustomResourceDefinition", "things.example.com")
    fields = stricter.spec.versions[0].schema.open_api_v3_schema["properties"]["spec"]["properties"]
    fields["size"]["minimum"] = 7
    made.apply(stricter)
    (changed,) = made.apply(thing(size=5, color="blue"))
    assert to_dict(changed)["spec"]["color"] == "blue"
    with pytest.raises(Invalid, match="greater than or equal to 7"):
        made.apply(thing(size=6, color="blue"))
