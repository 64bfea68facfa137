"""Validation of custom objects by their schema; on an update, errors of unchanged values are ignored (ratcheting).

Source: apiextensions-apiserver pkg/apiserver/validation, pkg/registry/customresource (validator.go); KEP-4008.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from kitlib.api.field_errors import Errors, FieldError, invalid, not_supported, required, too_long_value, too_many
from kitlib.apiserver.admission.custom.lists import validate_lists
from kitlib.apiserver.admission.custom.rules import broken_rules
from kitlib.apiserver.admission.custom.violations import BrokenKeyword, violations
from kitlib.apiserver.validation.custom_resource_rules import has_rules
from kitlib.apiserver.validation.custom_resource_structural import KEYS, Schema, below, parts

MAX_TOLD = 1000
"""The maximum number of reported violations; a long list may have a million."""


def validate_values(schema: Schema, data: dict[str, Any], old: dict[str, Any] | None = None) -> Errors:
    """Return the violations of an object's schema and, unless its structure is invalid, of the schema's rules.

    Args:
        schema: the schema of the object's version.
        data: the object.
        old: the stored object; None for a new one.

    Returns:
        The violations with their field paths, at most `MAX_TOLD` of each kind.
    """
    errors: dict[str, FieldError] = {}  # each missing field's violation lists all missing ones
    blocking = False
    for one in islice(violations(_rules(json.dumps(schema, sort_keys=True)), data), MAX_TOLD):
        if old is not None and _is_unchanged(schema, data, old, one.path):
            continue
        blocking = blocking or one.rule in _BLOCKING
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one.path).lstrip(".")
        errors.update((str(error), error) for error in _field_errors(one, path))
    ordered = sorted(errors.values(), key=lambda error: error.field)
    if old is None or not validate_lists(old, schema):  # errors of the stored object are accepted
        ordered += validate_lists(data, schema)[:MAX_TOLD]
    if has_rules(schema):
        if blocking:
            ordered.append(invalid("<nil>", None, _NOT_CHECKED))
        else:
            ordered += broken_rules(schema, data, old)[:MAX_TOLD]
    return ordered


def _is_unchanged(schema: Schema, new: Any, old: Any, path: Iterable[Any]) -> bool:
    """Return whether the value at a path, or one around it, is unchanged; items of a list correspond by their keys.

    Source: ratcheting_value.go, correlation.go.
    """
    part: Schema | None = schema
    for step in path:
        if new == old:
            return True
        if part is None or not isinstance(old, type(new)):
            return False
        if isinstance(new, dict):
            if step not in old:
                return False
            part = dict(parts(part, "properties")).get(step) or below(part, "additionalProperties")
            new, old = new[step], old[step]
        else:
            keys = part.get(KEYS)
            new = new[step]
            if not keys or not isinstance(new, dict):
                return False
            # Several items with the same keys cannot be correlated. Source: correlation.go.
            same = [one for one in old if isinstance(one, dict) and all(one.get(k) == new.get(k) for k in keys)]
            if len(same) != 1:
                return False
            part, old = below(part, "items"), same[0]
    return bool(new == old)


_BLOCKING = ("required", "type", "maxLength", "maxItems", "maxProperties")
_NOT_CHECKED = "some validation rules were not checked because the object was invalid; "
_NOT_CHECKED += "correct the existing errors to complete validation"
"""Source: customresource/validator.go hasBlockingErr."""


def _field_errors(one: BrokenKeyword, path: str) -> Iterator[FieldError]:
    """Convert a violation to field errors. Source: kubeOpenAPIResultToFieldErrors; messages of go-openapi/errors."""
    rule, bound, found = one.rule, one.bound, one.found
    if rule == "required":
        yield from (required(f"{path}.{name}".lstrip(".")) for name in bound if name not in found)
    elif rule == "enum":
        listed = [value if isinstance(value, str) else json.dumps(value) for value in bound]
        yield not_supported(path, found, listed)
    elif rule == "type":
        kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
        kind = kinds.get(type(found), "null")
        wanted = ",".join(bound) if isinstance(bound, list) else bound
        yield invalid(path, kind, f'{path} in body must be of type {wanted}: "{kind}"')
    elif rule == "format":
        yield invalid(path, found, f"{path} in body must be of type {bound}: {json.dumps(found, ensure_ascii=False)}")
    elif rule == "maxLength":
        yield too_long_value(path, bound)
    elif rule in ("maxItems", "maxProperties"):
        yield too_many(path, len(found), bound)
    elif rule in _WHOLE:
        yield invalid("<nil>", "", f'"{path}" {_WHOLE[rule]}')
    else:
        yield invalid(path, found, f"{path} in body {_WORDS[rule].format(bound)}")


_WORDS = {
    "minLength": "should be at least {} chars long",
    "pattern": "should match '{}'",
    "minimum": "should be greater than or equal to {}",
    "exclusiveMinimum": "should be greater than {}",
    "maximum": "should be less than or equal to {}",
    "exclusiveMaximum": "should be less than {}",
    "multipleOf": "should be a multiple of {}",
    "minItems": "should have at least {} items",
    "minProperties": "should have at least {} properties",
}
"""Keyword -> the message after `PATH in body`; the braces are replaced by the bound."""
_WHOLE = {
    "anyOf": "must validate at least one schema (anyOf)",
    "oneOf": "must validate one and only one schema (oneOf)",
    "allOf": "must validate all the schemas (allOf)",
    "not": "must not validate the schema (not)",
}
"""Keywords whose violations have no field. Source: kube-openapi pkg/validation/validate/schema_messages.go."""


@lru_cache(maxsize=128)
def _rules(schema: str) -> Any:
    return _json_schema(json.loads(schema))


def _json_schema(schema: Any) -> Any:
    """Convert a structural schema to JSON Schema: `nullable`, `int-or-string`, boolean exclusive bounds."""
    if isinstance(schema, list):
        return [_json_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {k: (v if k in ("enum", "default", "required", "example") else _json_schema(v)) for k, v in schema.items()}
    if made.pop("x-kubernetes-int-or-string", False) or made.get("format") == "int-or-string":
        made["type"] = ["integer", "string"]
    if made.pop("nullable", False) and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if made.get(exclusive) is True and bound in made:
            made[exclusive] = made.pop(bound)
        elif isinstance(made.get(exclusive), bool):
            made.pop(exclusive)
    return made
