"""Custom objects by the definitions of their kinds: pruning, defaults and validation.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go (schemaCoercingDecoder), pkg/registry/
customresource (Validate, ValidateUpdate).
"""

from __future__ import annotations

from typing import Any

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.errors import RequestTooLarge
from kitlib.api.field_errors import Errors
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.custom.fields import fill, prune
from kitlib.apiserver.admission.custom.values import validate_values
from kitlib.apiserver.store.store import Store
from kitlib.apiserver.validation.custom_resource_structural import Schema


def definition_of(store: Store, api_version: str, kind: str) -> CustomResourceDefinition | None:
    """Return the definition that serves a kind; None if there is none."""
    group, _, version = api_version.rpartition("/")
    definitions: list[CustomResourceDefinition] = store.list("CustomResourceDefinition", copy=False)
    return next((definition for definition in definitions if definition.serves(group, version, kind)), None)


def schema_of(store: Store, obj: KubeObject) -> Schema:
    """Return the schema of an object's version; empty if its kind has none."""
    definition = definition_of(store, obj.api_version, obj.kind) if type(obj) is KubeObject else None
    if definition is None:
        return {}
    version = obj.api_version.rpartition("/")[2]
    schema = next(one.schema for one in definition.spec.versions if one.name == version)
    return dict(schema.open_api_v3_schema or {}) if schema is not None else {}


def unknown_fields(store: Store, obj: KubeObject) -> list[str]:
    """Return the paths of a custom object's fields that its schema does not have."""
    schema = schema_of(store, obj)
    return prune(to_dict(obj), schema) if schema else []


def completed(store: Store, obj: Any) -> Any:
    """Return a custom object pruned and with its defaults; an object of a built-in kind is unchanged.

    Raises:
        RequestTooLarge: the defaults exceed the size of a request.
    """
    schema = schema_of(store, obj)
    if not schema:
        return obj
    data = to_dict(obj)
    prune(data, schema)
    if not fill(data, schema):
        raise RequestTooLarge("etcdserver: request is too large")
    return from_dict(data)


def validate_custom(store: Store, obj: KubeObject, old: KubeObject | None) -> Errors:
    """Return the violations of a custom object's schema.

    Args:
        store: the object store with the definitions.
        obj: the object.
        old: the stored object; None for a new one.
    """
    schema = schema_of(store, obj)
    if not schema:
        return []
    before = None if old is None else to_dict(old)
    if before is not None:
        before["apiVersion"] = obj.api_version
        fill(before, schema)
    return validate_values(schema, to_dict(obj), before)
