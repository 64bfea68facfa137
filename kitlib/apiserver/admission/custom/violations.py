"""The violations of a schema by a value: the keywords that a CustomResourceDefinition may use.

The API server may run in a container of a real node's image, which has no packages for JSON Schema.

Source: kube-openapi pkg/validation/validate; JSON Schema Validation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, NamedTuple

from kitlib.cel.re2 import PatternError, compiled
from kitlib.cel.string_formats import has_format


class BrokenKeyword(NamedTuple):
    """A part of a value that a keyword forbids.

    Attributes:
        rule, bound: the keyword and its value.
        found: the part.
        path: the path of the part, in names of fields and indexes.
    """

    rule: str
    bound: Any
    found: Any
    path: tuple[str | int, ...]


def violations(schema: Any, value: Any, path: tuple[str | int, ...] = ()) -> Iterator[BrokenKeyword]:
    """Yield the violations in the order of the schema's keywords.

    Args:
        schema: a schema with types as lists or names, and exclusive bounds as numbers; not a mapping = no rule.
        value: the value.
        path: the path of the value.
    """
    if not isinstance(schema, Mapping):
        return
    for rule, bound in schema.items():
        holds = _HOLDS.get(rule)
        if holds is not None:
            if not holds(value, bound):
                yield BrokenKeyword(rule, bound, value, path)
        elif rule == "allOf":
            for one in bound:
                yield from violations(one, value, path)
        elif rule == "properties" and isinstance(value, dict):
            for name, below in bound.items():
                if name in value:
                    yield from violations(below, value[name], (*path, name))
        elif rule == "additionalProperties" and isinstance(value, dict):
            named = schema.get("properties") or {}
            for name in value:
                if name not in named:
                    yield from violations(bound, value[name], (*path, name))
        elif rule == "items" and isinstance(value, list):
            for index, item in enumerate(value):
                yield from violations(bound, item, (*path, index))


def _fits(schema: Any, value: Any) -> bool:
    return next(violations(schema, value), None) is None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}


def _has_type(value: Any, bound: Any) -> bool:
    return any(kind in _IS and _IS[kind](value) for kind in (bound if isinstance(bound, list) else [bound]))


def _equal(one: Any, other: Any) -> bool:
    """Compare two values of JSON, in which 1 is not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


def _matches(value: Any, pattern: str) -> bool:
    """Match a pattern of RE2, whose time is linear in the text. Source: go-openapi/validate Pattern."""
    try:
        return not isinstance(value, str) or bool(compiled(pattern)(value))
    except PatternError:
        return False


def _is_multiple(value: Any, bound: float) -> bool:
    if not _is_number(value):
        return True
    return (value / bound).is_integer() if isinstance(bound, float) else value % bound == 0


def _bounded(kind: type[Sized] | None, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a check of the length of values of a type, or of numbers (None); other values pass."""
    if kind is None:
        return lambda value, bound: not _is_number(value) or compare(value, bound)
    return lambda value, bound: not isinstance(value, kind) or compare(len(value), bound)


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "type": _has_type,
    "enum": lambda value, bound: any(_equal(value, one) for one in bound),
    "required": lambda value, bound: not isinstance(value, dict) or all(name in value for name in bound),
    "pattern": _matches,
    "format": lambda value, bound: not isinstance(value, str) or has_format(value, bound),
    "multipleOf": _is_multiple,
    "minimum": _bounded(None, operator.ge),
    "maximum": _bounded(None, operator.le),
    "exclusiveMinimum": _bounded(None, operator.gt),
    "exclusiveMaximum": _bounded(None, operator.lt),
    "minLength": _bounded(str, operator.ge),
    "maxLength": _bounded(str, operator.le),
    "minItems": _bounded(list, operator.ge),
    "maxItems": _bounded(list, operator.le),
    "minProperties": _bounded(dict, operator.ge),
    "maxProperties": _bounded(dict, operator.le),
    "anyOf": lambda value, bound: any(_fits(one, value) for one in bound),
    "oneOf": lambda value, bound: sum(_fits(one, value) for one in bound) == 1,
    "not": lambda value, bound: not _fits(bound, value),
}
"""Keyword -> whether a value and the keyword's own value agree."""
