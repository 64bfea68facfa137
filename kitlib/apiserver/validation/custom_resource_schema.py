"""Validation of schemas in CustomResourceDefinitions: supported parts of OpenAPI, and the merging of lists and maps.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation ValidateCustomResourceDefinitionOpenAPISchema,
validateMapListKeysMapSet, specStandardValidatorV3.
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.field_errors import Errors, forbidden, invalid, not_supported, required
from kitlib.apiserver.validation.custom_resource_rules import validate_rules
from kitlib.apiserver.validation.custom_resource_structural import (
    EMBEDDED,
    KEEP,
    KEYS,
    LIST,
    MAP,
    RULES,
    Schema,
    below,
    listed,
    of_type,
    parts,
    validate_structural,
)

TYPES = ("array", "boolean", "integer", "number", "object", "string")
MAP_TYPES, LIST_TYPES = ("atomic", "granular"), ("atomic", "set", "map")
_META = ("metadata", "kind", "apiVersion")
_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def validate_schema(schema: Schema, field: str) -> Errors:
    """Return the errors of a version's schema.

    Source: validateCustomResourceDefinitionValidation.
    """
    found = []
    if schema.get("nullable"):
        found.append(forbidden(f"{field}.nullable", "nullable cannot be true at the root"))
    found += _openapi(schema, field, root=True)
    if any(error.field.endswith(_NOT_SUPPORTED) for error in found):
        return found  # upstream cannot convert it to a structural schema
    found += validate_structural(schema, field)
    return found or validate_rules(schema, field)


def _openapi(schema: Schema, field: str, *, root: bool = False, meta: bool = False, no_default: str = "") -> Errors:
    """Source: ValidateCustomResourceDefinitionOpenAPISchema.

    Args:
        schema: the part of the schema.
        field: its path.
        root: whether it is the schema's root.
        meta: whether it applies to an object's metadata.
        no_default: the reason why defaults are forbidden; "" = they are allowed.
    """
    found = _standard(schema, field, meta, no_default)
    if schema.get("uniqueItems") is True:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(forbidden(f"{field}.uniqueItems", detail))
    more = schema.get("additionalProperties")
    if schema.get("properties") and more is not None and more is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        found.append(forbidden(f"{field}.additionalProperties", detail))
    if isinstance(more, Mapping):
        why = "inside additionalProperties applying to object metadata" if meta else no_default
        found += _openapi(more, f"{field}.additionalProperties", meta=meta, no_default=why)
    for name, part in parts(schema, "properties"):
        of_meta = (root or bool(schema.get(EMBEDDED))) and name in _META
        why = f"in top-level {name}" if of_meta and root else no_default
        found += _openapi(part, f"{field}.properties[{name}]", meta=meta or of_meta, no_default=why)
    for name in ("not", "items"):
        single = below(schema, name)
        if single is not None:
            found += _openapi(single, f"{field}.{name}", meta=meta, no_default=no_default)
    for name in ("allOf", "oneOf", "anyOf"):
        for i, part in listed(schema, name):
            found += _openapi(part, f"{field}.{name}[{i}]", meta=meta, no_default=no_default)
    if schema.get(KEEP) is False:
        found.append(invalid(f"{field}.{KEEP}", False, "must be true or undefined"))
    return found + _merging(schema, field) + _rules(schema, field)


def _standard(schema: Schema, field: str, meta: bool, no_default: str) -> Errors:
    """Source: specStandardValidatorV3.validate."""
    found: Errors = []
    kind = schema.get("type")
    if isinstance(kind, str) and kind and kind not in TYPES:
        found.append(not_supported(f"{field}.type", kind, TYPES))
    if schema.get("default") is not None and no_default:
        found.append(forbidden(f"{field}.default", f"must not be set {no_default}"))
    found += [forbidden(f"{field}.{name}", f"{name} is not supported") for name in _NOT_SUPPORTED if schema.get(name)]
    if kind == "null":
        found.append(forbidden(f"{field}.type", "type cannot be set to null, use nullable as an alternative"))
    if isinstance(schema.get("items"), list):
        found.append(forbidden(f"{field}.items", "items must be a schema object and not an array"))
    if meta and schema.get(EMBEDDED):
        found.append(forbidden(f"{field}.{EMBEDDED}", "must not be used inside of resource meta"))
    return found


def _merging(schema: Schema, field: str) -> Errors:
    """Check the merging of lists and maps, the rest of ValidateCustomResourceDefinitionOpenAPISchema."""
    found: Errors = []
    kind, list_type, map_type = schema.get("type"), schema.get(LIST), schema.get(MAP)
    keys = schema.get(KEYS) or []
    items = below(schema, "items")
    if map_type is not None:
        found += of_type(kind, "object", f"{field}.type", f"must be object if {MAP} is specified")
        if map_type not in MAP_TYPES:
            found.append(not_supported(f"{field}.{MAP}", map_type, MAP_TYPES))
    if list_type is not None:
        wrong = of_type(kind, "array", f"{field}.type", f"must be array if {LIST} is specified")
        found += wrong or (_atomic_items(items, field) if list_type == "set" and items is not None else [])
        if list_type not in LIST_TYPES:
            found.append(not_supported(f"{field}.{LIST}", list_type, LIST_TYPES))
    if keys and list_type != "map":
        detail = f"must be map if {KEYS} is non-empty"
        place = f"{field}.{LIST}"
        found.append(required(place, detail) if list_type is None else invalid(place, list_type, detail))
    if list_type == "map":
        if not keys:
            found.append(required(f"{field}.{KEYS}", f"must not be empty if {LIST} is map"))
        if schema.get("items") is None:
            found.append(required(f"{field}.items", f"must have a schema if {LIST} is map"))
        elif items is not None and items.get("type") != "object":
            detail = f"must be object if parent array's {LIST} is map"
            found.append(invalid(f"{field}.items.type", items.get("type", ""), detail))
        elif items is not None:
            found += _keys_are_fields(keys, items, field)
    if list_type in ("set", "map") and items is not None:
        found += _never_null(list_type, keys, items, f"{field}.items")
    return found


def _atomic_items(items: Schema, field: str) -> Errors:
    detail = f"must be atomic as item of a list with {LIST}=set"
    list_type, map_type = items.get(LIST), items.get(MAP)
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        return [invalid(f"{field}.items.{LIST}", list_type, detail)]
    if items.get("type") == "object" and map_type != "atomic":
        return [invalid(f"{field}.items.{MAP}", "null" if list_type is None else list_type, detail)]
    return []


def _keys_are_fields(keys: list[str], items: Schema, field: str) -> Errors:
    found: Errors = []
    fields = dict(parts(items, "properties"))
    for i, key in enumerate(keys):
        if key not in fields:
            found.append(invalid(f"{field}.{KEYS}", keys, "entries must all be names of item properties"))
        elif fields[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {LIST} is map"
            found.append(invalid(f"{field}.items.properties[{key}].type", items.get("type"), detail))
        if key in keys[:i]:
            found.append(invalid(f"{field}.{KEYS}", keys, "must not contain duplicate entries"))
    return found


def _never_null(list_type: str, keys: list[str], items: Schema, field: str) -> Errors:
    """Source: validateMapListKeysMapSet."""
    found: Errors = []
    if items.get("nullable"):
        found.append(forbidden(f"{field}.nullable", f"cannot be nullable when {LIST} is {list_type}"))
    fields = dict(parts(items, "properties"))
    for key in keys if list_type == "map" else ():
        if key not in fields:
            continue
        place = f"{field}.properties[{key}]"
        why = f"this property is in {KEYS}, so it"
        if key not in (items.get("required") or ()) and fields[key].get("default") is None:
            found.append(required(f"{place}.default", f"{why} must have a default or be a required property"))
        if fields[key].get("nullable"):
            found.append(forbidden(f"{place}.nullable", f"{why} cannot be nullable"))
    return found


def _rules(schema: Schema, field: str) -> Errors:
    """Check that CEL rules and their messages are not empty."""
    found: Errors = []
    for i, rule in listed(schema, RULES):
        place, text, message = f"{field}.{RULES}[{i}]", str(rule.get("rule") or ""), str(rule.get("message") or "")
        if not text.strip():
            found.append(required(f"{place}.rule", "rule is not specified"))
        elif message and not message.strip():
            found.append(invalid(f"{place}.message", message, "message must be non-empty if specified"))
        elif _has_newlines(message.strip()):
            found.append(invalid(f"{place}.message", message, "message must not contain line breaks"))
        elif _has_newlines(text.strip()) and not message.strip():
            found.append(required(f"{place}.message", "message must be specified if rule contains line breaks"))
    return found


def _has_newlines(text: str) -> bool:
    return "\n" in text or "\r" in text
