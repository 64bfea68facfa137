"""OpenAPI v2 for older clients: the definitions of all groups in one JSON document.

kubectl before 1.27 requests it in protobuf; it receives a document without definitions, so that it leaves the
validation to the server.

Source: apiserver pkg/endpoints/openapi; k8s.io/kube-openapi pkg/handler; gnostic openapiv2 Document;
apiextensions-apiserver pkg/controller/openapi/v2/conversion.go, builder/builder.go.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kitlib.apiserver.http import openapi
from kitlib.apiserver.http.resources import ResourceTable

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_NOT_IN_V2 = ("oneOf", "anyOf", "nullable", "not")
_KEEP = "x-kubernetes-preserve-unknown-fields"
_KIND = "x-kubernetes-group-version-kind"


def document(table: ResourceTable) -> dict[str, Any]:
    return table.document("v2", partial(_document, table))


def _document(table: ResourceTable) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for group, version in table.group_versions():
        schemas = openapi.document(table, group, version)["components"]["schemas"]
        custom = {
            (resource.kind, resource.version)
            for resource in table.resources
            if resource.schema is not None and resource.group == group
        }
        for name, schema in schemas.items():
            kinds = [(one["kind"], one["version"]) for one in schema.get(_KIND, ())]
            definitions.setdefault(name, _custom(schema) if custom.intersection(kinds) else _plain(schema))
    info = {"title": "Kubernetes", "version": "kitlib"}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions}


def _plain(schema: Any) -> Any:
    """Convert a v3 schema to v2: references have no siblings but the description, unknown keywords are removed."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict) and "$ref" in parts[0]:
        described = {"description": schema["description"]} if "description" in schema else {}
        return {**described, **_plain(parts[0])}
    made = {name: _plain(value) for name, value in schema.items() if name not in _NOT_IN_V2}
    if isinstance(made.get("$ref"), str):
        made["$ref"] = made["$ref"].replace("#/components/schemas/", "#/definitions/")
    return made


def _custom(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a custom kind; one that preserves unknown fields at its root has no fields.

    Source: builder.buildKubeNative: kubectl would report every field that is not listed if one is.
    """
    if schema.get(_KEEP):
        return {"type": "object", _KIND: schema[_KIND]}
    fields = {name: _structural(one) for name, one in schema.get("properties", {}).items() if name != "metadata"}
    made = _plain({name: value for name, value in schema.items() if name not in ("properties", "allOf")})
    meta = {"metadata": _plain(schema["properties"]["metadata"])}
    return {**made, "properties": {**fields, **meta}}


def _structural(schema: Any) -> Any:
    """Convert a structural schema to the subset of v2 that kubectl supports. Source: ToStructuralOpenAPIV2."""
    if not isinstance(schema, dict):
        return schema
    made = {name: value for name, value in schema.items() if name not in (*_NOT_IN_V2, "allOf")}
    if schema.get("nullable"):
        made.pop("type", None)
    if schema.get("nullable") or schema.get(_KEEP):
        made.pop("items", None)
        made.pop("properties", None)
    if (made.get("type") == "array" and "items" not in made) or (made.get("type") == "object" and made.get(_KEEP)):
        del made["type"]
    fields, more = made.get("properties") or {}, made.get("additionalProperties")
    if isinstance(made.get("required"), list):
        needed = [name for name in made["required"] if not (fields.get(name) or {}).get("nullable")]
        made["required"] = [] if isinstance(more, dict) and more.get("nullable") else needed
        if not made["required"]:
            del made["required"]
    if fields:
        made["properties"] = {name: _structural(one) for name, one in fields.items()}
    for below in ("items", "additionalProperties"):
        if isinstance(made.get(below), dict):
            made[below] = _structural(made[below])
    return made


def without_definitions() -> bytes:
    """Return the document in protobuf: fields 1 `swagger` and 2 `info` (1 `title`, 2 `version`)."""
    info = _text(1, "Kubernetes") + _text(2, "kitlib")
    return _text(1, "2.0") + bytes([2 << 3 | 2, len(info)]) + info


def _text(field: int, value: str) -> bytes:
    return bytes([field << 3 | 2, len(value)]) + value.encode()
