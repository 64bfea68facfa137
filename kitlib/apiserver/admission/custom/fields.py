"""Pruning and defaulting of custom objects: unknown fields are removed, missing ones get their default.

Source: apiextensions-apiserver pkg/apiserver/schema/pruning PruneWithOptions, pkg/apiserver/schema/defaulting Default,
PruneNonNullableNullsWithoutDefaults; pkg/apiserver/customresource_handler.go schemaCoercingDecoder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kitlib.api.decoding import field_path
from kitlib.apiserver.validation.custom_resource_structural import EMBEDDED, KEEP, Schema, below, parts

MAX_DEFAULTS = 3 << 20
"""The maximum size in bytes of one object's defaults, that of a request. Source: DefaultMaxRequestSizeBytes."""
_META = ("apiVersion", "kind", "metadata")
Path = tuple[Any, ...]


def prune(data: dict[str, Any], schema: Schema) -> list[str]:
    """Remove the fields that the schema does not have and return their sorted paths; an empty schema keeps all."""
    dropped: list[str] = []
    if schema:
        _prune(data, schema, (), dropped, root=True)
    return sorted(dropped)


def fill(data: dict[str, Any], schema: Schema) -> bool:
    """Set the schema's defaults, and remove nulls from fields that are not nullable, in place.

    Args:
        data: the object.
        schema: the schema of the object's version.

    Returns:
        False if the defaults exceed `MAX_DEFAULTS`.
    """
    left = [MAX_DEFAULTS]
    _fill(data, schema, left, root=True)
    return left[0] >= 0


def _prune(data: Any, schema: Schema | None, path: Path, dropped: list[str], *, root: bool) -> None:
    if isinstance(data, list):
        items = None if schema is None else below(schema, "items")
        if items is None and schema is not None and schema.get(KEEP):
            return
        for i, item in enumerate(data):
            _prune(item, items, (*path, i), dropped, root=bool(items and items.get(EMBEDDED)))
    elif isinstance(data, dict):
        schema = schema or {}
        fields, more = dict(parts(schema, "properties")), schema.get("additionalProperties")
        for name in list(data):
            if root and name in _META:
                continue
            below_it = fields.get(name)
            if below_it is None and isinstance(more, Mapping):
                below_it = more
            if below_it is not None or more is True:
                embedded = bool(below_it and below_it.get(EMBEDDED))
                _prune(data[name], below_it, (*path, name), dropped, root=embedded)
            elif not schema.get(KEEP):
                dropped.append(field_path((*path, name)))
                del data[name]


def _fill(data: Any, schema: Schema, left: list[int], *, root: bool = False) -> None:
    if isinstance(data, list):
        items = below(schema, "items")
        for item in data if items is not None else ():
            _fill(item, items or {}, left)
    elif isinstance(data, dict):
        fields, more = dict(parts(schema, "properties")), below(schema, "additionalProperties")
        for name, part in fields.items():
            default = part.get("default")
            # A null in a field that is not nullable is replaced by the default. Source: defaulting.Default.
            stands = name in data and (data[name] is not None or part.get("nullable"))
            if default is not None and not stands and not (root and name in _META):
                text = json.dumps(default)
                left[0] -= len(text)
                if left[0] < 0:
                    continue
                # A copy for each object, because objects are changed in place.
                data[name] = json.loads(text)
        for name in list(data):
            known = fields.get(name, more)
            if known is None or (root and name in _META):
                continue
            if data[name] is None and not known.get("nullable"):
                del data[name]
            else:
                _fill(data[name], known, left)
