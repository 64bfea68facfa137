"""Objects of CustomResourceDefinitions: validated by their schema. Source: apiextensions-apiserver pkg/apiserver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from kitlib.api.errors import Invalid
from kitlib.api.re2 import PatternError, compiled
from kitlib.api.validation.custom_resource_rules import has_rules
from kitlib.api.validation.fields import FieldError, invalid, not_supported, required, too_long_value, too_many
from kitlib.apiserver.custom_resource_rules import broken_rules
from kitlib.apiserver.resources import APIResource

MAX_TOLD = 1000
"""Violations of one object that are told; a long list may have a million."""


def validate_custom(served: APIResource, data: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    """Check an object against the schema of its version, and if it may be read by them, against the schema's rules.

    Args:
        served: its resource.
        data: the object.
        old: as it stood before; None where it is new.

    Raises:
        Invalid: with every violation, of many the first `MAX_TOLD`, and its field path.
    """
    if not served.schema:
        return
    errors: dict[str, FieldError] = {}  # of several missing fields each is a violation that tells all of them
    violations = _validator(json.dumps(_json_schema(served.schema), sort_keys=True)).iter_errors(data)
    blocking = False
    for one in islice(violations, MAX_TOLD):
        blocking = blocking or one.validator in _BLOCKING
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one.absolute_path).lstrip(".")
        errors.update((str(error), error) for error in _field_errors(one, path))
    ordered = sorted(errors.values(), key=lambda error: error.field)
    if has_rules(served.schema):
        if blocking:
            ordered.append(invalid("<nil>", None, _NOT_CHECKED))
        else:
            ordered += broken_rules(served.schema, data, old)[:MAX_TOLD]
    if ordered:
        raise Invalid(f"{served.kind}.{served.group}", data.get("metadata", {}).get("name", ""), ordered)


_BLOCKING = ("required", "type", "maxLength", "maxItems", "maxProperties")
_NOT_CHECKED = "some validation rules were not checked because the object was invalid; "
_NOT_CHECKED += "correct the existing errors to complete validation"
"""Source: customresource/validator.go hasBlockingErr."""


def _field_errors(one: Any, path: str) -> Iterator[FieldError]:
    """What a violation is called. Source: kubeOpenAPIResultToFieldErrors; the words are those of go-openapi/errors."""
    rule, bound, found = one.validator, one.validator_value, one.instance
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
    elif rule == "maxLength":
        yield too_long_value(path, bound)
    elif rule in ("maxItems", "maxProperties"):
        yield too_many(path, len(found), bound)
    elif rule in _WHOLE:
        yield invalid("<nil>", "", f'"{path}" {_WHOLE[rule]}')
    else:
        words = _WORDS[rule].format(bound) if rule in _WORDS else one.message
        yield invalid(path, found, f"{path} in body {words}")


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
"""Rule -> its words, behind `PATH in body`; the bound stands in the braces."""
_WHOLE = {
    "anyOf": "must validate at least one schema (anyOf)",
    "oneOf": "must validate one and only one schema (oneOf)",
    "allOf": "must validate all the schemas (allOf)",
    "not": "must not validate the schema (not)",
}
"""Rules whose violations have no field. Source: kube-openapi pkg/validation/validate/schema_messages.go."""


def _matches(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    """`pattern` as RE2 has it: a hostile one takes no longer than another. Source: go-openapi/validate Pattern."""
    from jsonschema import ValidationError  # type: ignore[import-untyped,unused-ignore]

    if isinstance(value, str):
        try:
            fits = compiled(pattern)(value)
        except PatternError:
            fits = False
        if not fits:
            yield ValidationError("")


@lru_cache(maxsize=128)
def _validator(schema: str) -> Any:
    import jsonschema  # type: ignore[import-untyped,unused-ignore]

    kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _matches})
    return kind(json.loads(schema))


def _json_schema(schema: Any) -> Any:
    """Kubernetes' structural schema as plain JSON Schema: `nullable`, `int-or-string`, boolean exclusive bounds."""
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
