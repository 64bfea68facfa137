"""Objects of CustomResourceDefinitions: validated by their schema. Source: apiextensions-apiserver pkg/apiserver."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kitlib.api.errors import Invalid
from kitlib.api.validation.fields import FieldError
from kitlib.apiserver.resources import APIResource


def validate_custom(served: APIResource, data: dict[str, Any]) -> None:
    """Check an object against the schema of its version.

    Raises:
        Invalid: with every violation and its field path.
    """
    import json

    if not served.schema:
        return
    errors: list[FieldError] = []
    for one in _validator(json.dumps(_json_schema(served.schema), sort_keys=True)).iter_errors(data):
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one.absolute_path).lstrip(".")
        errors.append(_field_error(one, path))
    if errors:
        errors.sort(key=lambda error: error.field)
        raise Invalid(f"{served.kind}.{served.group}", data.get("metadata", {}).get("name", ""), errors)


def _field_error(one: Any, path: str) -> FieldError:
    if one.validator == "required":
        missing = next((name for name in one.validator_value if name not in one.instance), "")
        return FieldError("FieldValueRequired", f"{path}.{missing}".lstrip("."))
    if one.validator == "enum":
        listed = ", ".join(f'"{value}"' for value in one.validator_value)
        return FieldError("FieldValueNotSupported", path, one.instance, f"supported values: {listed}")
    if one.validator == "type":
        word = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
        found = word.get(type(one.instance), "null")
        detail = f'{path} in body must be of type {one.validator_value}: "{found}"'
        return FieldError("FieldValueInvalid", path, found, detail)
    return FieldError("FieldValueInvalid", path, one.instance, one.message)


@lru_cache(maxsize=128)
def _validator(schema: str) -> Any:
    import json

    import jsonschema  # type: ignore[import-untyped,unused-ignore]

    return jsonschema.Draft202012Validator(json.loads(schema))


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
