"""The operators of CEL on values: their results, and the errors for types or keys without an overload.

`false && error` is false and `true || error` is true on either side.

Source: cel-spec langdef.md; cel-go common/types.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kitlib.cel import library as lib
from kitlib.cel.functions import OPERATORS, ORDERED
from kitlib.cel.library import LIST, STRING, EvaluationError, Maybe

Run = Callable[[dict[str, Any]], Any]
"""Evaluates a node with the values of the declared names."""


def truth(value: Any) -> bool:
    """Return the value if it is a bool.

    Raises:
        EvaluationError: the value has another type.
    """
    if not isinstance(value, bool):
        raise EvaluationError("no such overload")
    return value


def logical(conjunction: bool, sides: Iterable[tuple[Run, dict[str, Any]]]) -> bool:
    """Evaluate `&&` (conjunction) or `||`: a side that decides the result hides an error on the other side."""
    problem: EvaluationError | None = None
    for run, names in sides:
        try:
            if truth(run(names)) != conjunction:
                return not conjunction
        except EvaluationError as error:
            # A later side may still decide the result, so the error is raised only after all sides are evaluated.
            problem = problem or error
    if problem is not None:
        raise problem
    return conjunction


def every(conjunction: bool, run: Run, asked: Iterable[dict[str, Any]]) -> bool:
    """Evaluate `all` (conjunction) or `exists` over the elements."""
    return logical(conjunction, ((run, names) for names in asked))


def field(value: Any, key: Any) -> Any:
    """Return a field of a message, the value of a map's key, or a list's element; raise EvaluationError if absent."""
    if isinstance(value, Maybe):
        return optional(value, key)
    if isinstance(value, list):
        if isinstance(key, bool) or not isinstance(key, int):
            raise EvaluationError("no such overload")
        if not 0 <= key < len(value):
            raise EvaluationError(f"index out of bounds: {key}")
        return value[key]
    if not isinstance(value, Mapping):
        raise EvaluationError("no such overload")
    try:
        return value[key]
    except (KeyError, TypeError):
        raise EvaluationError(f"no such key: {key}") from None


def optional(value: Any, key: Any) -> Maybe:
    """Return the field, value or element as an optional, which is empty if it is absent."""
    if isinstance(value, Maybe):
        return optional(value.value, key) if value.there else value
    if isinstance(value, list):
        inside = isinstance(key, int) and 0 <= key < len(value)
        return Maybe(True, value[key]) if inside else Maybe(False)
    if not isinstance(value, Mapping):
        raise EvaluationError("no such overload")
    if isinstance(key, list | dict):  # no map has such keys
        return Maybe(False)
    return Maybe(True, value[key]) if key in value else Maybe(False)


def map_key(key: Any) -> Any:
    """Return the key of a new map if it is a bool, number or string. Source: cel-spec langdef.md (maps)."""
    if not isinstance(key, bool | int | float | str):
        raise EvaluationError(f"unsupported key type: {lib.type_of(key)}")
    return key


def inside(value: Any, values: Any) -> bool:
    """Evaluate `in`: search a list's elements or a map's keys."""
    if not isinstance(values, list | dict):
        raise EvaluationError("no such overload")
    return any(lib.equal(value, one) for one in values)


def ordered(operator: str, one: Any, other: Any) -> bool:
    """Evaluate `<`, `<=`, `>` or `>=`."""
    kinds = {lib.type_of(one), lib.type_of(other)}
    if not kinds <= set(lib.NUMBERS) and not (len(kinds) == 1 and kinds <= ORDERED):
        raise EvaluationError("no such overload")
    if operator in ("<", ">="):
        return bool(one < other) == (operator == "<")
    return bool(one > other) == (operator == ">")


def arithmetic(operator: str, one: Any, other: Any) -> Any:
    """Evaluate `+`, `-`, `*`, `/` or `%`; integer division truncates towards zero, as in Go."""
    kinds = {lib.type_of(one), lib.type_of(other)}
    if operator == "+" and kinds == {STRING}:
        lib.charge_text(len(one) + len(other))
        return one + other
    if operator == "+" and kinds == {LIST}:
        lib.charge(len(one) + len(other))
        return one + other
    if kinds not in ({lib.INT}, {lib.DOUBLE}):
        taken = (lib.type_of(one), lib.type_of(other))
        for overload in OPERATORS.get(operator, ()):
            if overload.takes == taken:
                return overload.work(one, other)
        raise EvaluationError("no such overload")
    if operator in ("+", "-", "*"):
        return _in_range(one + other if operator == "+" else one - other if operator == "-" else one * other)
    if kinds == {lib.DOUBLE} and operator == "/":
        return one / other if other else _over_zero(one, other)
    if kinds != {lib.INT}:
        raise EvaluationError("no such overload")
    if other == 0:
        raise EvaluationError("division by zero" if operator == "/" else "modulus by zero")
    quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)  # towards zero, as in Go
    return _in_range(quotient) if operator == "/" else one - quotient * other


def _over_zero(one: float, zero: float) -> float:
    """Return the quotient of a double and a zero as IEEE 754 defines it; Python raises an error instead."""
    return math.copysign(math.inf, zero) * one if one else math.nan


def negated(value: Any) -> Any:
    """Evaluate the unary minus."""
    if lib.type_of(value) not in lib.SIGNED:
        raise EvaluationError("no such overload")
    return _in_range(-value)


def _in_range(value: Any) -> Any:
    """Return the value; raise EvaluationError if an integer exceeds 64 bits.

    Source: cel-go common/types/overflow.go.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise EvaluationError("integer overflow")
    return value


MISSING = object()
"""The value of an absent optional entry of a list, map or message."""


def held(value: Any, part: str) -> Any:
    """Return the value of an optional entry, or MISSING. Source: cel-go interpreter evalList, evalMap, evalObj."""
    if not isinstance(value, Maybe):
        raise EvaluationError(f"cannot initialize optional {part} from non-optional value {value}")
    return value.value if value.there else MISSING
