"""Types of lists in expressions, as far as the type of their elements is known: `list(int)`, `list(JSONPatch)`.

A type is a text. `list` alone is a list of elements of any type, and `list()` the empty list, which fits every other.

Source: cel-go checker (types.go isAssignable, mostGeneral; checker.go checkCreateList, inferType).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.cel_library import ANY, LIST

EMPTY_LIST = "list()"


def base(kind: str) -> str:
    """The type without that of its elements."""
    return LIST if kind.startswith("list(") else kind


def element(kind: str) -> str:
    """The type of a list's elements; `dyn` where it is not known, and of everything else."""
    inside = kind[len("list(") : -1] if kind.startswith("list(") else ""
    return inside or ANY


def list_of(kinds: Sequence[str]) -> str:
    """The type of a list whose elements have these types: elements of several types make one of any."""
    if not kinds:
        return EMPTY_LIST
    first, *others = kinds
    for other in others:
        first = joined(first, other) if fit(first, other) else ANY
    return LIST if first in (ANY, EMPTY_LIST) else f"list({first})"


def fit(one: str, other: str) -> bool:
    """Whether a value of one type can stand where the other is asked for, as far as that is known."""
    if ANY in (one, other) or one == other:
        return True
    if base(one) != LIST or base(other) != LIST or EMPTY_LIST in (one, other):
        return base(one) == base(other) == LIST
    return fit(element(one), element(other))


def joined(one: str, other: str) -> str:
    """The more general of two types that fit."""
    if ANY in (one, other):
        return ANY
    if EMPTY_LIST in (one, other):
        return other if one == EMPTY_LIST else one
    if base(one) != LIST:
        return one
    inside = joined(element(one), element(other))
    return LIST if inside == ANY else f"list({inside})"
