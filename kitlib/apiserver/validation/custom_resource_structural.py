"""Validation that a schema is structural: every part has a type, and value validations only narrow it.

Source: apiextensions-apiserver pkg/apiserver/schema ValidateStructural, validateStructuralCompleteness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kitlib.api.field_errors import Errors, forbidden, invalid, required
from kitlib.cel.re2 import go_problem

Schema = Mapping[str, Any]
KEEP, EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
EITHER, LIST, KEYS, MAP, RULES = (
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
)
_LISTS = ("anyOf", "allOf", "oneOf")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NESTED = (  # keywords with their rule in schemas below anyOf, allOf, oneOf and not
    *(("type", "must be empty"), ("additionalProperties", "must be undefined"), ("default", "must be undefined")),
    *(("title", "must be empty"), ("description", "must be empty"), ("nullable", "must be false")),
    *(("externalDocs", "must be undefined"), (KEEP, "must be false"), (EMBEDDED, "must be false")),
    *((EITHER, "must be false"), (KEYS, "must be empty"), (LIST, "must be undefined")),
    *((MAP, "must be undefined"), (RULES, "must be empty")),
)
_NO_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def validate_structural(schema: Schema, field: str) -> Errors:
    """Return the errors of a schema that is not structural, in upstream's order. Source: ValidateStructural."""
    return sorted(_structural(schema, "root", field) + _complete(schema, field), key=str)


def parts(schema: Schema, name: str) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas in a map of schemas; other values are reported by decoding."""
    found = schema.get(name)
    if isinstance(found, Mapping):
        yield from ((key, part) for key, part in found.items() if isinstance(part, Mapping))


def listed(schema: Schema, name: str) -> Iterator[tuple[int, Schema]]:
    """Yield the schemas in a list with their indices."""
    found = schema.get(name)
    if isinstance(found, list):
        yield from ((i, part) for i, part in enumerate(found) if isinstance(part, Mapping))


def below(schema: Schema, name: str) -> Schema | None:
    """Return the schema in a field; None if there is none."""
    part = schema.get(name)
    return part if isinstance(part, Mapping) else None


def every(schema: Schema) -> Iterator[Schema]:
    """Yield a schema and all schemas in it, properties sorted by name. Source: validation.SchemaHas."""
    yield schema
    single = (below(schema, name) for name in ("items", "not", "additionalProperties"))
    inner = [part for part in single if part is not None]
    inner += [part for name in _LISTS for _, part in listed(schema, name)]
    for part in (*inner, *(part for _, part in sorted(parts(schema, "properties")))):
        yield from every(part)


def of_type(kind: Any, wanted: str, field: str, detail: str) -> Errors:
    """Check that the type is the required one."""
    if kind == wanted:
        return []
    return [invalid(field, kind, detail) if kind else required(field, detail)]


def _structural(schema: Schema, level: str, field: str) -> Errors:
    """Source: validateStructuralInvariants."""
    found: Errors = []
    kind, properties = schema.get("type") or "", dict(parts(schema, "properties"))
    embedded, keeps = bool(schema.get(EMBEDDED)), bool(schema.get(KEEP))
    either, more = bool(schema.get(EITHER)), schema.get("additionalProperties")
    items = below(schema, "items")
    if kind == "array" and schema.get("items") is None:
        found.append(required(f"{field}.items", "must be specified"))
    if items is not None:
        found += _structural(items, "item", f"{field}.items")
    for name, part in properties.items():
        found += _structural(part, "field", f"{field}.properties[{name}]")
    if more is not None and level == "root":
        found.append(forbidden(f"{field}.additionalProperties", "must not be used at the root"))
    if isinstance(more, Mapping):
        found += _structural(more, "field", f"{field}.additionalProperties")
    for name, is_set in ((KEEP, keeps), (EMBEDDED, embedded)):
        if either and is_set:
            found.append(invalid(f"{field}.{name}", True, f"must be false if {EITHER} is true"))
    found += _values(schema, field)
    if embedded and kind != "object":
        found += of_type(kind, "object", f"{field}.type", f"must be object if {EMBEDDED} is true")
    elif not kind and not either and not keeps:
        found.append(required(f"{field}.type", _NO_TYPE[level]))
    if embedded and more is not None:
        found.append(forbidden(f"{field}.additionalProperties", f"must not be used if {EMBEDDED} is set"))
    if level == "root" and kind and kind != "object":
        found.append(invalid(f"{field}.type", kind, "must be object at the root"))
    return found + _metadata(properties, level, embedded, keeps, field)


def _metadata(properties: Mapping[str, Schema], level: str, embedded: bool, keeps: bool, field: str) -> Errors:
    """Source: validateStructuralMetadataInvariants, and the end of validateStructuralInvariants."""
    found: Errors = []
    checked = level == "root" or embedded
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if checked and name in properties and properties[name].get("type") != wanted:
            place = f"{field}.properties[{name}].type"
            found.append(invalid(place, properties[name].get("type") or "", f"must be {wanted}"))
    metadata = properties.get("metadata")
    if level == "root" and metadata is not None:
        named = set(metadata.get("properties") or {}) <= {"name", "generateName"}
        if not named or any(value for key, value in metadata.items() if key not in ("type", "properties", "default")):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            found.append(forbidden(f"{field}.properties[metadata]", detail))
    if embedded and not keeps and not properties:
        detail = f"must not be empty if {EMBEDDED} is true without {KEEP}"
        found.append(required(f"{field}.properties", detail))
    return found


def _values(schema: Schema, field: str, *, skip_any_of: bool = False) -> Errors:
    """Source: validateValueValidation, isIntOrStringAnyOfPattern, isIntOrStringAllOfPattern."""
    found: Errors = []
    if not skip_any_of and schema.get("anyOf") != _INT_OR_STRING:
        for i, part in listed(schema, "anyOf"):
            found += _nested(part, f"{field}.anyOf[{i}]")
    for i, part in listed(schema, "allOf"):
        found += _nested(part, f"{field}.allOf[{i}]", skip_any_of=i == 0 and part.get("anyOf") == _INT_OR_STRING)
    for i, part in listed(schema, "oneOf"):
        found += _nested(part, f"{field}.oneOf[{i}]")
    negated = below(schema, "not")
    if negated is not None:
        found += _nested(negated, f"{field}.not")
    pattern = schema.get("pattern")
    problem = go_problem(pattern) if isinstance(pattern, str) else ""
    if problem:
        found.append(invalid(f"{field}.pattern", pattern, f"must be a valid regular expression, but isn't: {problem}"))
    return found


def _nested(schema: Schema, field: str, *, skip_any_of: bool = False) -> Errors:
    """Source: validateNestedValueValidation."""
    found = _values(schema, field, skip_any_of=skip_any_of)
    items = below(schema, "items")
    if items is not None:
        found += _nested(items, f"{field}.items")
    for name, part in parts(schema, "properties"):
        found += _nested(part, f"{field}.properties[{name}]")
    found += [
        forbidden(f"{field}.{name}", f"{detail} to be structural")
        for name, detail in _NESTED
        if schema.get(name) or (schema.get(name) is False and name == "additionalProperties")
    ]
    if "metadata" in (schema.get("properties") or {}):
        found.append(forbidden(f"{field}.properties[metadata]", "must not be specified in a nested context"))
    return found


def _complete(schema: Schema, field: str) -> Errors:
    """Check that validated fields are declared in the structural schema. Source: validateStructuralCompleteness."""
    found = _values_complete(schema, schema, field, field)
    for name, part in parts(schema, "properties"):
        found += _complete(part, f"{field}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        single = below(schema, name)
        if single is not None:
            found += _complete(single, f"{field}.{name}")
    return found


def _values_complete(values: Schema, schema: Schema, field: str, place: str) -> Errors:
    found: Errors = []
    nested = [(f"{place}.{name}[{i}]", part) for name in _LISTS for i, part in listed(values, name)]
    negated = below(values, "not")
    if negated is not None:
        nested.append((f"{place}.not", negated))
    for where, part in nested:
        found += _nested_complete(part, schema, field, where)
    return found


def _nested_complete(values: Schema, schema: Schema | None, field: str, place: str) -> Errors:
    if schema is None:
        return [required(field, f"because it is defined in {place}")]
    found = _values_complete(values, schema, field, place)
    items = below(values, "items")
    if items is not None:
        found += _nested_complete(items, below(schema, "items"), f"{field}.items", f"{place}.items")
    fields = dict(parts(schema, "properties"))
    for name, part in parts(values, "properties"):
        where = f"properties[{name}]"
        found += _nested_complete(part, fields.get(name), f"{field}.{where}", f"{place}.{where}")
    return found
