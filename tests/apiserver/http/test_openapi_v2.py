"""OpenAPI v2: one document with all definitions, in which every reference leads somewhere."""

from __future__ import annotations

import json
from typing import Any

from kitlib.apiserver.http.openapi_v2 import PROTOBUF, without_definitions


def test_every_reference_leads_to_a_definition(call: Any) -> None:
    code, body = call("GET", "/openapi/v2")
    names = body["definitions"]
    assert code == 200 and body["swagger"] == "2.0" and "io.k8s.api.apps.v1.Deployment" in names
    text = json.dumps(body)
    references = {part.split('"')[0] for part in text.split("#/definitions/")[1:]}
    assert references and references <= set(names)
    assert "#/components" not in text and "anyOf" not in text


def test_an_older_kubectl_gets_a_document_without_definitions(call: Any) -> None:
    code, body = call("GET", "/openapi/v2", accept=PROTOBUF)
    assert (code, body) == (200, without_definitions())
    assert body == b"\x0a\x032.0\x12\x14\x0a\x0aKubernetes\x12\x06kitlib"


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KEEP = "x-kubernetes-preserve-unknown-fields"


def defined(call: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """The definition of a custom kind with this schema."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    assert call("POST", CRDS, {**made, "metadata": {"name": "things.example.com"}})[0] == 201
    found = call("GET", "/openapi/v2")[1]["definitions"]["com.example.v1.Thing"]
    assert found.pop("x-kubernetes-group-version-kind") == [{"group": "example.com", "version": "v1", "kind": "Thing"}]
    return dict(found)


def test_a_kind_that_keeps_unknown_fields_is_an_object_without_fields(call: Any) -> None:
    fields = {"spec": {"type": "object"}}
    assert defined(call, {"type": "object", KEEP: True, "properties": fields}) == {"type": "object"}


def test_a_custom_kind_is_told_as_kubectl_can_read_it(call: Any) -> None:
    free = {"type": "object", KEEP: True, "properties": {"a": {"type": "string"}}}
    pair = {"type": "string", "nullable": True}
    parts = {"type": "array", "items": {"type": "object", "properties": {"free": free}}}
    spec = {"type": "object", "required": ["pair", "parts"], "properties": {"free": free, "pair": pair, "parts": parts}}
    found = defined(call, {"type": "object", "properties": {"spec": spec}})
    assert set(found["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert found["properties"]["metadata"].keys() == {"$ref", "description"}
    assert found["properties"]["spec"] == {
        "type": "object",
        "required": ["parts"],
        "properties": {
            "free": {KEEP: True},
            "pair": {},
            "parts": {"type": "array", "items": {"type": "object", "properties": {"free": {KEEP: True}}}},
        },
    }
