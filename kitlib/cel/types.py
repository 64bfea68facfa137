"""Types of lists and maps in expressions, as far as their element types are known: `list(int)`, `map(string, dyn)`.

A type is a string. `list` and `map` alone have unknown element types. `list()` and `map()` are the types of empty
literals and are assignable to every other list or map type.

Source: cel-go checker (types.go isAssignable, mostGeneral; checker.go checkCreateList, checkCreateMap).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.cel.library import ANY, LIST, MAP, NULL, TYPES

EMPTY = {LIST: f"{LIST}()", MAP: f"{MAP}()"}


def base(kind: str) -> str:
    """Return the type without its element types."""
    return next((one for one in (LIST, MAP) if kind.startswith(f"{one}(")), kind)


def parts(kind: str) -> list[str]:
    """Return a list's element type, or a map's key and value type; empty if unknown."""
    if base(kind) == kind or kind in EMPTY.values():
        return []
    inside = kind[kind.index("(") + 1 : -1]
    if base(kind) == LIST:
        return [inside]
    depth = 0
    for place, character in enumerate(inside):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            return [inside[:place], inside[place + 2 :]]
    return [ANY, ANY]


def held(kind: str) -> str:
    """Return the type of a list's elements or a map's values; `dyn` if unknown or if the type is another."""
    return (parts(kind) or [ANY])[-1]


def gone_through(kind: str) -> str:
    """Return the type of a macro's iteration variable: a list's elements or a map's keys."""
    return (parts(kind) or [ANY])[0]


def list_of(kinds: Sequence[str]) -> str:
    """Return the type of a list literal; elements of several types make a `list(dyn)`."""
    return _made(LIST, _all(kinds)) if kinds else EMPTY[LIST]


def map_of(keys: Sequence[str], values: Sequence[str]) -> str:
    return _made(MAP, _all(keys), _all(values)) if keys else EMPTY[MAP]


def _made(of: str, *inside: str) -> str:
    known = [f"{base(one)}" if one in EMPTY.values() else one for one in inside]
    return of if set(known) == {ANY} else f"{of}({', '.join(known)})"


def _all(kinds: Sequence[str]) -> str:
    first, *others = kinds
    for other in others:
        first = joined(first, other) if fit(first, other) else ANY
    return first


def fit(one: str, other: str) -> bool:
    """Return whether a value of one type can be assigned to the other, as far as they are known."""
    if ANY in (one, other) or one == other:
        return True
    if NULL in (one, other):  # objects, messages and optionals may be null
        return base(other if one == NULL else one) not in TYPES
    if base(one) != base(other) or base(one) not in EMPTY:
        return False
    return all(map(fit, parts(one), parts(other)))


def joined(one: str, other: str) -> str:
    """Return the more general of two compatible types."""
    if ANY in (one, other):
        return ANY
    if NULL in (one, other):
        return other if one == NULL else one
    if one in EMPTY.values() or other in EMPTY.values():
        return other if one in EMPTY.values() else one
    if not parts(one) or not parts(other):
        return base(one)
    return _made(base(one), *map(joined, parts(one), parts(other)))
