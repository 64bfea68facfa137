"""Custom objects go to the modules of custom kinds; objects of built-in kinds are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission import custom_kinds
from kitlib.apiserver.admission.apiserver import APIServer
from tests.apiserver.admission.writes import made

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "maximum": 3, "default": 2}},
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def version(name: str, served: bool = True, storage: bool = False, **fields: Any) -> dict[str, Any]:
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": SCHEMA}, **fields}


def definition(status: bool = True) -> Any:
    below: dict[str, Any] = {"subresources": {"status": {}}} if status else {}
    versions = [version("v1", storage=True, **below), version("v2", **below), version("v0", served=False)]
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "a.example", "scope": "Namespaced", "names": names, "versions": versions}
    return made("CustomResourceDefinition", "things.a.example", "apiextensions.k8s.io/v1", spec=spec)


def thing(api_version: str = "a.example/v1", **fields: Any) -> KubeObject:
    data = {"apiVersion": api_version, "kind": "Thing", "metadata": {"name": "t", "namespace": "default"}, **fields}
    return from_dict(data, KubeObject)


def server(status: bool = True) -> APIServer:
    api = APIServer()
    api.create(definition(status))
    return api


BUILT_IN = made("ConfigMap", namespace="default", data={"a": "b"})


def test_kinds_are_told_apart() -> None:
    found = [
        (custom_kinds.is_custom(one), custom_kinds.is_definition(one)) for one in (BUILT_IN, thing(), definition())
    ]
    assert found == [(False, False), (True, False), (False, True)]
    odd = thing()
    odd.kind = "CustomResourceDefinition"
    assert not custom_kinds.is_definition(odd)


def test_a_kind_is_defined_in_its_served_versions() -> None:
    store = server().store
    assert custom_kinds.is_defined(store, thing())
    assert custom_kinds.is_defined(store, thing("a.example/v2"))
    assert not custom_kinds.is_defined(store, thing("a.example/v0"))
    assert not custom_kinds.is_defined(store, thing("b.example/v1"))
    assert custom_kinds.served_versions(store, thing()) == ["a.example/v1", "a.example/v2"]
    assert custom_kinds.served_versions(APIServer().store, thing()) == []


def test_versions_are_converted_for_custom_objects_only() -> None:
    store = server().store
    other = thing("a.example/v2", spec={"size": 1})
    stored = custom_kinds.to_storage(store, other, None)
    assert (stored.api_version, stored.unknown_fields["spec"]) == ("a.example/v1", {"size": 1})
    assert custom_kinds.in_version(store, stored, "a.example/v2", None).api_version == "a.example/v2"
    assert custom_kinds.in_version(store, other, "a.example/v2", None) is other
    assert custom_kinds.to_storage(store, BUILT_IN, None) is BUILT_IN
    assert custom_kinds.in_version(store, BUILT_IN, "v2", None) is BUILT_IN


def test_fields_follow_the_schema() -> None:
    store = server().store
    odd = thing(spec={"odd": 1}, more=2)
    assert sorted(custom_kinds.unknown_fields(store, odd)) == ["more", "spec.odd"]
    assert custom_kinds.completed(store, odd).unknown_fields == {"spec": {"size": 2}}
    assert [error.field for error in custom_kinds.validate_custom(store, thing(spec={"size": 4}), None)] == [
        "spec.size"
    ]
    assert custom_kinds.validate_custom(store, thing(spec={"size": 3}), None) == []
    assert custom_kinds.unknown_fields(store, BUILT_IN) == []
    assert custom_kinds.completed(store, BUILT_IN) is BUILT_IN
    assert custom_kinds.validate_custom(store, BUILT_IN, None) == []


def test_the_status_has_its_own_subresource() -> None:
    store = server().store
    new = thing(spec={"size": 1}, status={"ready": True})
    custom_kinds.prepare(store, new, None)
    assert "status" not in new.unknown_fields
    old = thing(spec={"size": 1}, status={"ready": False})
    changed = thing(spec={"size": 2}, status={"ready": True})
    custom_kinds.prepare(store, changed, old)
    assert changed.unknown_fields == {"spec": {"size": 2}, "status": {"ready": False}}
    merged = custom_kinds.with_status_of(thing(spec={"size": 3}, status={"ready": True}), old)
    assert merged.unknown_fields == {"spec": {"size": 1}, "status": {"ready": True}}


@pytest.mark.parametrize("status", [True, False])
def test_a_definition_says_whether_there_is_a_status(status: bool) -> None:
    store = server(status).store
    assert custom_kinds.has_status_subresource(store, thing()) is status
    assert custom_kinds.has_status_subresource(store, made("Pod"))
    assert not custom_kinds.has_status_subresource(store, BUILT_IN)
