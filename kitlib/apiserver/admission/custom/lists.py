"""Lists of custom objects that are sets or maps: elements and keys are unique.

Source: apiextensions-apiserver pkg/apiserver/schema/listtype validation.go (ValidateListSetsAndMaps).
"""

from __future__ import annotations

import json
from typing import Any

from kitlib.api.field_errors import Errors, duplicate
from kitlib.apiserver.validation.custom_resource_structural import KEYS, LIST, Schema, below, parts


def validate_lists(data: Any, schema: Schema | None, path: str = "") -> Errors:
    """Return the duplicates in lists of type set or map."""
    found: Errors = []
    if schema is None:
        return found
    if isinstance(data, list):
        found += _twice(data, schema, path)
        items = below(schema, "items")
        for i, item in enumerate(data):
            found += validate_lists(item, items, f"{path}[{i}]")
    elif isinstance(data, dict):
        fields, more = dict(parts(schema, "properties")), below(schema, "additionalProperties")
        for name, value in data.items():
            inner = f"{path}.{name}".lstrip(".") if name in fields else f"{path}[{name}]"
            found += validate_lists(value, fields.get(name, more), inner)
    return found


def _twice(items: list[Any], schema: Schema, path: str) -> Errors:
    kind, keys = schema.get(LIST), schema.get(KEYS) or ()
    if kind not in ("set", "map"):
        return []
    found: Errors = []
    seen: set[str] = set()
    for i, item in enumerate(items):
        known = {key: item[key] for key in keys if key in item} if kind == "map" and isinstance(item, dict) else item
        text = json.dumps(known, sort_keys=True)
        if text in seen:
            found.append(duplicate(f"{path}[{i}]", known))
        seen.add(text)
    return found
