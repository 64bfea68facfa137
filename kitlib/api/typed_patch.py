"""Validation of a partial object against the object's type before it is merged.

Source: sigs.k8s.io/structured-merge-diff (typed/validate.go, helpers.go); mutating/patch/smd.go (findAtomics).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from kitlib.api.go_values import go_syntax, go_text, go_type
from kitlib.api.merge_rules import ATOMIC_TYPES, MergeRule, Shape, merge_field, merge_type
from kitlib.api.meta import KubeObject, KubeStruct
from kitlib.api.structured_merge import KEY_DEFAULTS

_ANYTHING: Mapping[str, Any] = {}
"""The schema of a value of any type."""
_PLAIN = MergeRule()
_SCALARS = {str: "string", bytes: "string", bool: "boolean", int: "number", float: "number"}


def problems(patch: Mapping[str, Any], shape: Shape = None) -> str:
    """Return the problems of a patch in one text; "" = none.

    Args:
        patch: the partial object, with version and kind.
        shape: the object's type, or the schema of a custom resource; None = the type of its kind.

    Source: typed.ValidationErrors.Error.
    """
    shape = shape or merge_type(patch)
    if shape is None or shape is KubeObject:
        return ""
    found = [f"{path}: {words}" for path, words in _checked(shape, patch, "")]
    return found[0] if len(found) == 1 else "\n".join(["errors:", *(f"  {one}" for one in found)]) if found else ""


def _checked(hint: Any, value: Any, path: str, rule: MergeRule = _PLAIN) -> Iterator[tuple[str, str]]:
    """Yield the problems of a value, each with its path.

    Args:
        hint: a type, a type hint or the schema of a custom resource.
        value: the plain data to check.
        path: the path of the value.
        rule: the merge rule of the value's field, for lists.
    """
    if value is None:
        return
    kind = _kind(hint)
    if kind == "struct":
        if isinstance(value, Mapping):
            yield from _checked_fields(hint if isinstance(hint, Mapping) else _one(hint), value, path)
        else:
            yield path, f"expected map, got &{{{go_text(value)}}}"
    elif kind == "list":
        if isinstance(value, list):
            yield from _checked_items(_items(hint), value, path, rule)
        else:
            yield path, f"expected list, got &{{{go_text(value)}}}"
    elif kind == "map":
        if isinstance(value, Mapping):
            for key, item in value.items():
                yield from _checked(_items(hint), item, f"{path}.{key}")
        else:
            yield path, f"expected map, got &{{{go_text(value)}}}"
    elif kind == "string" and not isinstance(value, str):
        yield path, f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    elif kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        yield path, f"expected numeric (int or float), got {go_type(value)}"
    elif kind == "boolean" and not isinstance(value, bool):
        yield path, f"expected boolean, got &{{{go_text(value)}}}"


def _checked_fields(shape: Any, value: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Check an object's fields up to the first undeclared one. Source: validatingObjectWalker.visitMapItems."""
    for name, below in value.items():
        hint = _field(shape, name)
        if hint is None:
            yield f"{path}.{name}", "field not declared in schema"
            return
        yield from _checked(hint, below, f"{path}.{name}", merge_field(shape, name).rule)


def _checked_items(hint: Any, items: list[Any], path: str, rule: MergeRule) -> Iterator[tuple[str, str]]:
    """Source: visitListItems, listItemToPathElement."""
    seen = set()
    for i, item in enumerate(items):
        step, wrong = _step(item, i, rule)
        if wrong:
            yield path, f"element {i}: {wrong}"
            continue
        if step in seen:
            yield path, f"duplicate entries for key {step}"
        seen.add(step)
        yield from _checked(hint, item, path + step)


def _step(item: Any, index: int, rule: MergeRule) -> tuple[str, str]:
    """Return an item's step in a path, and the reason why it has none; one of them is ""."""
    if rule.is_set:
        if isinstance(item, Mapping | list) or item is None:
            kind = "a map type" if isinstance(item, Mapping) else "an explicit null"
            if isinstance(item, list):
                return "", "not supported: associative list with lists as elements"
            return "", f"associative list without keys has an element that's {kind}"
        return f"[={_shown(item)}]", ""
    if not rule.keys:
        return f"[{index}]", ""
    if item is None:
        return "", "associative list with keys may not have a null element"
    if not isinstance(item, Mapping):
        return "", "associative list with keys may not have non-map elements"
    found = {}
    for key in rule.keys:
        if key not in item and key not in KEY_DEFAULTS:
            omitted = f'associative list with keys has an element that omits key field "{key}"'
            return "", f"{omitted} (and doesn't have default value)"
        found[key] = item.get(key, KEY_DEFAULTS.get(key))
    return f"[{','.join(f'{key}={_shown(found[key])}' for key in sorted(found))}]", ""


def _shown(value: Any) -> str:
    """Source: value.ToString."""
    return f'"{value}"' if isinstance(value, str) else go_text(value)


def atomics(patch: Mapping[str, Any], shape: Shape = None) -> list[str]:
    """Return the paths of lists, maps and objects that would be replaced as a whole. Source: findAtomics."""
    return list(_atomics(shape or merge_type(patch), patch, ""))


def _atomics(shape: Shape, value: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, below in value.items():
        rule, inside = merge_field(shape, name)
        place = f"{path}.{name}"
        if isinstance(below, Mapping):
            if rule.is_atomic:
                yield place
            if inside is not None:
                yield from _atomics(inside, below, place)
        elif isinstance(below, list):
            if not rule.keys and not rule.is_set:
                yield place
            for i, item in enumerate(below):
                if isinstance(item, Mapping) and inside is not None:
                    if _is_atomic(inside):
                        yield f"{place}[{i}]"
                    yield from _atomics(inside, item, f"{place}[{i}]")


def _is_atomic(shape: Shape) -> bool:
    if isinstance(shape, Mapping):
        return shape.get("x-kubernetes-map-type") == "atomic"
    return shape is not None and shape.__name__ in ATOMIC_TYPES


@cache
def _hints(type_: type[KubeStruct]) -> dict[str, Any]:
    hints = typing.get_type_hints(type_)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(type_)}


def _field(shape: Any, name: str) -> Any:
    """Return a field's hint or schema; None where there is no such field."""
    if not isinstance(shape, Mapping):
        return _hints(shape).get(name)
    properties = shape.get("properties") or {}
    if name == "metadata" and not (properties.get(name) or {}).get("properties"):
        return _hints(KubeObject)["metadata"]
    if name in ("apiVersion", "kind") or (not properties and "additionalProperties" not in shape):
        return properties.get(name, _ANYTHING)
    unknown = _ANYTHING if shape.get("x-kubernetes-preserve-unknown-fields") else None
    return properties.get(name, unknown)


def _items(hint: Any) -> Any:
    """Return the hint or schema of a list's items or of a map's values."""
    if isinstance(hint, Mapping):
        below = hint.get("items") or hint.get("additionalProperties")
        return below if isinstance(below, Mapping) else _ANYTHING
    return typing.get_args(_one(hint))[-1]


def _one(hint: Any) -> Any:
    """Return the type of an optional value; None for a union of several types."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        options = [one for one in typing.get_args(hint) if one is not type(None)]
        return options[0] if len(options) == 1 else None
    return hint


def _kind(hint: Any) -> str:
    """Return `struct`, `list`, `map`, `string`, `number` or `boolean`; "" for others: a quantity, a time, a union."""
    if isinstance(hint, Mapping):
        return _schema_kind(hint)
    one = _one(hint)
    origin = typing.get_origin(one)
    if origin in (list, dict):
        return "list" if origin is list else "map"
    if not isinstance(one, type):
        return ""
    return "struct" if issubclass(one, KubeStruct) else _SCALARS.get(one, "")


def _schema_kind(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return ""
    kind = schema.get("type", "")
    if kind == "object":
        if "additionalProperties" in schema:
            return "map"
        return "struct" if schema.get("properties") else ""
    kinds = {"array": "list", "string": "string", "boolean": "boolean", "integer": "number", "number": "number"}
    return kinds.get(kind, "")
