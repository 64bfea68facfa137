"""OpenAPI v3 documents, one for each group and version, made from the kit's own types and the stored schemas.

`kubectl explain`, `kubectl apply` and `kubectl create --validate` read them.

Source: k8s.io/kube-openapi pkg/handler3; KEP-2896.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import types
import typing
from functools import cache, partial
from importlib.resources import files
from typing import Any

import msgspec

from kitlib.api.merge_rules import ATOMIC_TYPES, merge_field
from kitlib.api.meta import KubeStruct
from kitlib.api.resource import Quantity
from kitlib.api.serialize import type_of
from kitlib.apiserver.http.patches import PATCH_TYPES
from kitlib.apiserver.http.resources import APIResource, ResourceTable

_PREFIX = "io.k8s.api."


def index(table: ResourceTable) -> dict[str, Any]:
    """Return the response to `/openapi/v3`: the path of each group and version's document, which contains its hash."""
    return table.document("v3", partial(_index, table))


def _index(table: ResourceTable) -> dict[str, Any]:
    paths = {}
    for group, version in table.group_versions():
        path = f"apis/{group}/{version}" if group else f"api/{version}"
        text = json.dumps(document(table, group, version), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32].upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def document(table: ResourceTable, group: str, version: str) -> dict[str, Any]:
    """Return the OpenAPI v3 document of one group and version."""
    return table.document((group, version), partial(_document, table, group, version))


def _document(table: ResourceTable, group: str, version: str) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for resource in table.resources:
        if (resource.group, resource.version) != (group, version):
            continue
        name = _schema_of(resource, schemas)
        paths |= _paths(resource, name)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "kitlib"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema_of(one: APIResource, schemas: dict[str, Any]) -> str:
    gvk = [{"group": one.group, "version": one.version, "kind": one.kind}]
    if one.schema is not None:
        name = ".".join(reversed(one.group.split("."))) + f".{one.version}.{one.kind}"
        made = dict(one.schema) or {"type": "object"}
        properties = {**_META_PROPERTIES, **made.get("properties", {})}
        meta = {"allOf": [{"$ref": _ref(_add(_meta_type(), schemas))}], "default": {}}
        properties["metadata"] = {"description": "Standard object's metadata: names, labels, owners, times.", **meta}
        schemas[name] = {**made, "properties": properties, "x-kubernetes-group-version-kind": gvk}
        return name
    type_ = type_of(one.group_version, one.kind)
    name = f"{_PREFIX}{(one.group or 'core').split('.')[0]}.{one.version}.{one.kind}"
    schemas[name] = {**_struct(type_, schemas), "x-kubernetes-group-version-kind": gvk}
    return name


def _meta_type() -> type[KubeStruct]:
    from kitlib.api.meta import ObjectMeta

    return ObjectMeta


_META_PROPERTIES: dict[str, Any] = {
    "apiVersion": {"type": "string", "description": "APIVersion defines the group and version of the object's schema."},
    "kind": {"type": "string", "description": "Kind names the schema of the object in that group and version."},
}


def _ref(name: str) -> str:
    return f"#/components/schemas/{name}"


def _add(type_: type[KubeStruct], schemas: dict[str, Any]) -> str:
    group = type_.__module__.rpartition(".")[2]
    name = f"{_PREFIX}{group}.{type_.__name__}"
    if name not in schemas:
        schemas[name] = {}
        schemas[name] = _struct(type_, schemas)
    return name


@cache
def _fields(type_: type[KubeStruct]) -> list[tuple[str, Any]]:
    hints = typing.get_type_hints(type_)
    return [(f.encode_name, hints[f.name]) for f in msgspec.structs.fields(type_)]


def _struct(type_: type[KubeStruct], schemas: dict[str, Any]) -> dict[str, Any]:
    described = (type_.__doc__ or "").split("\n\n")[0].strip()
    made: dict[str, Any] = {"type": "object"}
    if described and not described.startswith(f"{type_.__name__}("):
        made["description"] = " ".join(described.split())
    made["properties"] = {name: _field(type_, name, hint, schemas) for name, hint in _fields(type_)}
    if type_.__name__ in ATOMIC_TYPES:
        made["x-kubernetes-map-type"] = "atomic"
    return made


def _field(type_: type[KubeStruct], name: str, hint: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    made, rule = _type(hint, schemas), merge_field(type_, name).rule
    described = field_descriptions().get(f"{type_.__name__}.{name}", "")
    more: dict[str, Any] = {"description": described} if described else {}
    if rule.strategy or rule.key:
        more["x-kubernetes-patch-strategy"] = rule.strategy or "merge"
    if rule.key:
        more["x-kubernetes-patch-merge-key"] = rule.key
    if made.get("type") == "array":
        more["x-kubernetes-list-type"] = "map" if rule.keys else "set" if rule.is_set else "atomic"
        if rule.keys:
            more["x-kubernetes-list-map-keys"] = list(rule.keys)
    elif rule.is_atomic and made.get("type") == "object":
        more["x-kubernetes-map-type"] = "atomic"
    if "$ref" in made:  # the siblings of a reference are ignored
        return {"allOf": [made], "default": {}, **more}
    return made | more


@cache
def field_descriptions() -> dict[str, str]:
    """Return type and field -> description, which `kubectl explain` prints."""
    lines = files("kitlib.apiserver.http").joinpath("descriptions.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition(": ") for line in lines if line and not line.startswith("#"))
    return {name: text for name, _, text in pairs}


def _type(hint: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [a for a in arguments if a is not type(None)]
        if len(kinds) == 1:
            return _type(kinds[0], schemas)
        if set(kinds) == {int, str}:
            return {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
        return {}
    if origin is list:
        return {"type": "array", "items": _type(arguments[0], schemas)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(arguments[1], schemas)}
    if origin is typing.Literal:
        return {"type": "string", "enum": list(arguments)}
    if isinstance(hint, type) and issubclass(hint, KubeStruct):
        return {"$ref": _ref(_add(hint, schemas))}
    return dict(_PLAIN.get(hint, {"x-kubernetes-preserve-unknown-fields": True}))


_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number", "format": "double"},
    bytes: {"type": "string", "format": "byte"},
    Quantity: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    datetime.datetime: {"type": "string", "format": "date-time"},
}


def _patch_body(one: APIResource) -> dict[str, Any]:
    """Return the patch types of a resource; kubectl reads the schema here if the strategic one is among them.

    Source: kubectl apply gvkSupportsPatchOpenAPIV3.
    """
    types = [kind for kind in PATCH_TYPES if one.schema is None or "strategic" not in kind]
    return {"content": {kind: {"schema": {"type": "object"}} for kind in types}}


def _paths(one: APIResource, schema: str) -> dict[str, Any]:
    base = f"/apis/{one.group}/{one.version}" if one.group else f"/api/{one.version}"
    where = f"{base}/namespaces/{{namespace}}/{one.plural}" if one.namespaced else f"{base}/{one.plural}"
    gvk = {"group": one.group, "version": one.version, "kind": one.kind}
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": _ref(schema)}}}}}

    def operation(action: str, *parameters: str) -> dict[str, Any]:
        listed = [{"name": p, "in": "query", "schema": {"type": "string", "uniqueItems": True}} for p in parameters]
        made = {"parameters": listed, "responses": answer, "x-kubernetes-action": action}
        return {**made, "x-kubernetes-group-version-kind": gvk}

    write = ("dryRun", "fieldManager", "fieldValidation")
    many: dict[str, Any] = {"get": operation("list", "labelSelector", "fieldSelector", "limit", "watch")}
    single: dict[str, Any] = {"get": operation("get")}
    if "create" in one.verbs:
        many["post"] = operation("post", *write)
        single["put"] = operation("put", *write)
        single["patch"] = {**operation("patch", *write, "force"), "requestBody": _patch_body(one)}
        single["delete"] = operation("delete", "dryRun", "gracePeriodSeconds", "propagationPolicy")
    return {where: many, f"{where}/{{name}}": single}
