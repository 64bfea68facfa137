"""Custom objects over HTTP: unknown fields, defaults, and rules from the definition to the object."""

from __future__ import annotations

from typing import Any

import pytest

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def schema(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


@pytest.fixture
def things(call: Any) -> Any:
    """A kind whose spec has `a`, and `size`, which is 3 where it is not given."""
    shape = schema(spec=schema(a=TEXT, size={"type": "integer", "default": 3}))
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": shape}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    assert call("POST", CRDS, {**made, "metadata": {"name": "things.example.com"}})[0] == 201
    return call


def thing(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize("mode", ["Strict", "Warn", "Ignore"])
def test_unknown_fields_of_a_custom_object_are_refused_or_dropped(things: Any, mode: str) -> None:
    code, made = things("POST", f"{THINGS}?fieldValidation={mode}", thing(a="y", b={"c": 1}, e=2))
    if mode == "Strict":
        assert code == 400
        assert made["message"] == (
            'Thing in version "v1" cannot be handled as a Thing: strict decoding error: '
            'unknown field "spec.b", unknown field "spec.e"'
        )
        assert things("GET", f"{THINGS}/x")[0] == 404
        return
    assert (code, made["spec"]) == (201, {"a": "y", "size": 3})
    fields = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert "f:b" not in fields


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_changed_custom_object_has_its_defaults(things: Any, method: str) -> None:
    _, made = things("POST", THINGS, thing(a="y", size=5))
    if method == "PUT":
        body, headers = {**made, "spec": {"a": "z"}}, {}
    else:
        body, headers = {"spec": {"a": "z", "size": None, "b": 1}}, {"content_type": "application/merge-patch+json"}
    code, made = things(method, f"{THINGS}/x", body, **headers)
    assert (code, made.get("spec")) == (200, {"a": "z", "size": 3})


def test_an_applied_custom_object_has_its_defaults(things: Any) -> None:
    headers = {"content_type": "application/apply-patch+yaml"}
    url = f"{THINGS}/x?fieldManager=me&fieldValidation="
    code, made = things("PATCH", f"{url}Ignore", thing(a="y"), **headers)
    assert (code, made.get("spec")) == (201, {"a": "y", "size": 3})
    assert list(made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]) == ["f:a"]


@pytest.mark.parametrize("mode", ["Strict", "Warn", "Ignore"])
def test_an_applied_configuration_must_fit_its_schema_in_every_mode(things: Any, mode: str) -> None:
    url = f"{THINGS}/x?fieldManager=me&fieldValidation={mode}"
    code, status = things("PATCH", url, thing(b=1), content_type="application/apply-patch+yaml")
    assert (code, status.get("reason")) == (500, None)
    typed = "failed to create typed patch object (/x; example.com/v1, Kind=Thing)"
    assert status["message"] == f"{typed}: .spec.b: field not declared in schema"


def test_a_default_that_is_new_is_read_of_objects_stored_before(things: Any) -> None:
    things("POST", THINGS, thing(a="y"))
    assert things("GET", THINGS)[1]["items"][0]["spec"] == {"a": "y", "size": 3}
    definition = things("GET", f"{CRDS}/things.example.com")[1]
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["late"] = {**TEXT, "default": "now"}
    assert things("PUT", f"{CRDS}/things.example.com", definition)[0] == 200
    wanted = {"a": "y", "size": 3, "late": "now"}
    assert things("GET", f"{THINGS}/x")[1]["spec"] == wanted
    assert things("GET", THINGS)[1]["items"][0]["spec"] == wanted


def test_rules_hold_from_the_definition_to_the_object(call: Any) -> None:
    def definition(rule: str) -> dict[str, Any]:
        rules = [{"rule": rule, "message": "a below b"}, {"rule": "self.a >= oldSelf.a", "message": "never down"}]
        shape = schema(spec={**schema(a=WHOLE, b={**WHOLE, "default": 9}), "x-kubernetes-validations": rules})
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": shape}}
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        return {**head, "metadata": {"name": "things.example.com"}, "spec": spec}

    def thing(**spec: Any) -> dict[str, Any]:
        return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}

    code, status = call("POST", CRDS, definition("self.c < self.b"))
    assert (code, status["details"]["causes"][0]["field"].rpartition("].")[2]) == (422, "rule")
    assert call("POST", CRDS, definition("self.a < self.b"))[0] == 201
    code, status = call("POST", THINGS, thing(a=10))
    assert code == 422
    assert status["message"] == 'Thing.example.com "x" is invalid: spec: Invalid value: "object": a below b'
    code, made = call("POST", THINGS, thing(a=5))
    assert code == 201
    code, status = call("PUT", f"{THINGS}/x", {**made, "spec": {"a": 4}})
    assert (code, status["details"]["causes"][0]["message"]) == (422, 'Invalid value: "object": never down')
    code, status = call("POST", THINGS, {**thing(a="x"), "metadata": {"name": "y"}})
    assert "some validation rules were not checked because the object was invalid" in status["message"]
