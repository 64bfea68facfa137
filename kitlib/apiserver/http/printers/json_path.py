"""JSONPath as the columns of custom kinds use it: fields, indices, slices, unions, `*`, `..` and filters.

Templates with text, `range` and `end` do not occur in columns.

Source: client-go util/jsonpath parser.go, jsonpath.go (with AllowMissingKeys).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

Step = Callable[[list[Any]], list[Any]]
_FIELD = re.compile(r"(?:\\.|[^\s.,\[\]$@{}])*")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_NUMBER = re.compile(r"[+-]?[\d.]+")
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def json_path(obj: Any, path: str) -> list[Any]:
    """Return the values at a JSONPath; [] if there are none.

    Args:
        obj: plain data.
        path: the path, with or without braces.

    Raises:
        ValueError: the path is invalid, or does not fit the data, such as an index beyond a list's end.
    """
    found = [obj]
    for step in _compiled(path.strip().removeprefix("{").removesuffix("}")):
        found = step(found)
    return found


@lru_cache(maxsize=512)
def _compiled(text: str) -> tuple[Step, ...]:
    """Return the steps of a path. Source: Parser.parseInsideAction."""
    return tuple(_steps(text))


def _steps(text: str) -> Iterator[Step]:
    at = 0
    while at < len(text):
        mark = text[at]
        if text.startswith("[?(", at):
            end = _end_of_filter(text, at + 3)
            yield _filter(text[at + 3 : end])
            at = end + 2
        elif text.startswith("..", at):
            yield _descend
            at += 1 if text[at + 2 : at + 3] not in ("", "[") else 2
        elif mark in " @$":
            at += 1
        elif mark == "[":
            end = text.find("]", at)
            if end < 0:
                raise ValueError(f"{text}: unterminated array")
            yield _bracket(text[at + 1 : end])
            at = end + 1
        elif mark == ".":
            found = _FIELD.match(text, at + 1)
            assert found is not None, "the pattern matches the empty text"
            name, at = found[0], found.end()
            if name:
                yield _every if name == "*" else partial(_field, re.sub(r"\\(.)", r"\1", name))
        else:
            raise ValueError(f"{text}: unrecognized character {mark!r}")


def _end_of_filter(text: str, at: int) -> int:
    """Return the position of the parenthesis that ends a filter; quoted ones do not count."""
    while at < len(text) and text[at] != ")":
        quoted = _QUOTED.match(text, at)
        at = quoted.end() if quoted is not None else at + 1
    if not text.startswith(")]", at):
        raise ValueError(f"{text}: unterminated filter")
    return at


def _bracket(text: str) -> Step:
    """Return the step of a name, an index, a slice, or several of them. Source: Parser.parseArray."""
    if "," in text:
        return partial(_union, tuple(_bracket(one.strip()) for one in text.split(",")))
    if text == "*":
        text = ":"
    if len(text) > 1 and text[0] == text[-1] == "'":
        return partial(_field, text[1:-1].replace("\\", ""))
    found = _SLICE.fullmatch(text)
    if found is None or not text:
        raise ValueError(f"invalid array index {text}")
    parts = [part.removeprefix(":") if part is not None else None for part in found.groups()]
    first, last, step = (int(part) if part else None for part in parts)
    if parts[1] is None:
        return partial(_index, first or 0)
    return partial(_slice, slice(first, last, step))


def _filter(text: str) -> Step:
    """Return the step that selects the items of a list. Source: Parser.parseFilter, JSONPath.evalFilter."""
    found = _COMPARISON.fullmatch(text)
    if found is None:
        return partial(_select, _compiled(text), None, None)
    if found[2] not in _OPERATORS:
        raise ValueError(f"unrecognized filter operator {found[2]}")
    return partial(_select, _compiled(found[1]), _OPERATORS[found[2]], _operand(found[3].strip()))


def _operand(text: str) -> Callable[[Any], list[Any]]:
    """Return a function from an item to the values of the right side: a literal, or a path of the item."""
    value: Any
    if _QUOTED.fullmatch(text):
        value = re.sub(r"\\(.)", r"\1", text[1:-1])
    elif text in ("true", "false"):
        value = text == "true"
    elif _NUMBER.fullmatch(text):
        value = float(text) if "." in text else int(text)
    else:
        return partial(_walk, _compiled(text))
    return lambda item: [value]


def _walk(steps: tuple[Step, ...], item: Any) -> list[Any]:
    found = [item]
    for step in steps:
        found = step(found)
    return found


def _field(name: str, values: list[Any]) -> list[Any]:
    return [value[name] for value in values if isinstance(value, Mapping) and name in value]


def _index(index: int, values: list[Any]) -> list[Any]:
    """Source: JSONPath.evalArray, which fails for an index out of bounds."""
    for value in values:
        if not isinstance(value, list) or not -len(value) <= index < len(value):
            raise ValueError(f"array index out of bounds: index {index}")
    return [one[index] for one in values]


def _slice(part: slice, values: list[Any]) -> list[Any]:
    if any(not isinstance(value, list) for value in values):
        raise ValueError("not an array")
    return [item for value in values for item in value[part]]


def _union(parts: tuple[Step, ...], values: list[Any]) -> list[Any]:
    return [found for part in parts for found in part(values)]


def _every(values: list[Any]) -> list[Any]:
    return [item for value in values for item in _inside(value)]


def _descend(values: list[Any]) -> list[Any]:
    """Return the values and all values below them that have values themselves. Source: JSONPath.evalRecursive."""
    found = []
    for value in values:
        below = _inside(value)
        if below:
            found += [value, *_descend(below)]
    return found


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []


def _select(
    left: tuple[Step, ...],
    compare: Callable[[Any, Any], bool] | None,
    right: Callable[[Any], list[Any]] | None,
    values: list[Any],
) -> list[Any]:
    found = []
    for value in values:
        if not isinstance(value, list):
            raise ValueError("not an array: it cannot be filtered")
        for item in value:
            lefts = _walk(left, item)
            if compare is None or right is None:
                found += [item] if lefts else []
                continue
            rights = right(item) if lefts else []
            if len(lefts) > 1 or len(rights) > 1:
                raise ValueError("can only compare one element at a time")
            if lefts and rights and _compared(compare, lefts[0], rights[0]):
                found.append(item)
    return found


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    """Source: text/template's functions in third_party/forked/golang, which refuse values of different types."""
    if type(left) is not type(right):
        raise ValueError("incompatible types for comparison")
    return bool(compare(left, right))
