"""The standard functions of CEL expressions with their argument types, and those of quantities and versions.

Source: cel-spec (standard definitions), apiserver pkg/cel/library (quantity.go, semverlib.go, regex.go), cel-go ext
strings.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity, QuantityError
from kitlib.cel.re2 import PatternError, compiled, go_problem
from kitlib.cel.semver import Semver

ANY, BOOL, INT, DOUBLE, STRING, LIST, MAP, NULL = "dyn", "bool", "int", "double", "string", "list", "map", "null_type"
QUANTITY, SEMVER, OPTIONAL = "kubernetes.Quantity", "kubernetes.Semver", "optional_type"
UINT, BYTES = "uint", "bytes"
SIGNED, NUMBERS = (INT, DOUBLE), (INT, UINT, DOUBLE)
TYPE = "type"
_TO_LOWER, _TO_UPPER = str.maketrans(ascii_uppercase, ascii_lowercase), str.maketrans(ascii_lowercase, ascii_uppercase)
TYPES = frozenset({BOOL, INT, UINT, DOUBLE, STRING, BYTES, LIST, MAP, NULL, TYPE})
"""Types that have a name in expressions, as in `type(x) == string`."""


class EvaluationError(KitError):
    """An error of an evaluation, for example a missing key or an operator without an overload for its types."""


class Unsigned(int):
    """An unsigned 64-bit integer, `3u`."""


class TypeName(str):
    """A type as a value: the result of `type(x)`."""


@dataclass(frozen=True)
class Maybe:
    """An optional value, as `.?` returns it."""

    there: bool
    value: Any = None


class Overload(NamedTuple):
    """An overload: the argument types (a method's receiver first), the result type, the implementation."""

    takes: tuple[str, ...]
    gives: str
    work: Callable[..., Any]


class Budget:
    """The remaining cost of one evaluation, or of several that share it; negative after the limit is exceeded."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


running: ContextVar[Budget | None] = ContextVar("running", default=None)
"""The budget of the evaluation that runs in this thread."""


def charge(cost: int) -> None:
    """Subtract the cost of a step from the running evaluation's budget.

    Args:
        cost: 1 for each visited or compared element.

    Raises:
        EvaluationError: the budget is exceeded.
    """
    budget = running.get()
    if budget is None:  # a function that is called outside an expression costs nothing
        return
    budget.left -= cost
    if budget.left < 0:
        raise EvaluationError("operation cancelled: actual cost limit exceeded")


def charge_text(length: int) -> None:
    """Charge for a new string of this length in characters. Source: cel-go checker/cost.go, 0.1 for a character."""
    charge(length // 10 + 1)


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal: numbers compare across types, values of other types differ."""
    kinds = {type_of(one), type_of(other)}
    # Python's == would treat true and 1 as equal.
    if len(kinds) > 1 and not kinds <= set(NUMBERS):
        return False
    if isinstance(one, list):
        charge(len(one) + 1)
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        charge(len(one) + 1)
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


def type_of(value: Any) -> str:
    """Return the value's type as error messages write it."""
    if value is None:
        return NULL
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    named: str = getattr(value, "type_name", type(value).__name__)
    return named


# Subclasses precede their base classes: TypeName before str, bool and Unsigned before int.
_TYPES: tuple[tuple[type, str], ...] = (
    (TypeName, TYPE),
    (bool, BOOL),
    (Unsigned, UINT),
    (int, INT),
    (float, DOUBLE),
    (str, STRING),
    (bytes, BYTES),
    (list, LIST),
    (dict, MAP),
    (Quantity, QUANTITY),
    (Semver, SEMVER),
    (Maybe, OPTIONAL),
)


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def semver(text: str, normalize: bool = False) -> Semver:
    """Parse a semantic version.

    Raises:
        EvaluationError: the text is not a semantic version.
    """
    try:
        return Semver.parse(text, normalize)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def works(make: Callable[..., Any]) -> Callable[..., bool]:
    """Return a function that reports whether `make` accepts its arguments."""

    def tried(*given: Any) -> bool:
        try:
            make(*given)
        except EvaluationError:
            return False
        return True

    return tried


def _compared(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def _matches(text: str, pattern: str) -> bool:
    try:
        return compiled(pattern)(text)
    except PatternError:
        raise EvaluationError(go_problem(pattern)) from None


def check_pattern(pattern: str) -> None:
    """Check that Go's regexp accepts a pattern.

    Raises:
        EvaluationError: with the message of Go's error.
    """
    problem = go_problem(pattern)
    if problem:
        raise EvaluationError(problem)


def _joined(values: list[Any], separator: str = "") -> str:
    if not all(isinstance(value, str) for value in values):
        raise EvaluationError("no such overload")
    charge_text(sum(map(len, values)) + len(separator) * len(values))
    return separator.join(values)


def _replaced(text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old)
    charge_text(len(text) + len(new) * (found if count < 0 else min(count, found)))
    return text.replace(old, new, count)


def _at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvaluationError(f"index out of range: {index}")
    return text[index : index + 1]


def _part(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if not start <= end <= len(text):
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    """Split a text into at most `count` parts, the last one unsplit. Source: cel-go ext strings splitN."""
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    head = len(text) if count < 0 else min(count - 1, len(text))
    return [*text[:head], *([text[head:]] if text[head:] else [])]


def _from(text: str, part: str, offset: int) -> int:
    """Return the first index of a part at or after the offset, or -1. Source: cel-go ext strings indexOfOffset."""
    if not part:
        return offset
    if offset < 0:
        raise EvaluationError(f"index out of range: {offset}")
    return text.find(part, offset)


def _up_to(text: str, part: str, offset: int) -> int:
    """Return the last index of a part at or before the offset, or -1. Source: cel-go ext strings lastIndexOfOffset."""
    if not part:
        return offset
    if offset < 0:
        raise EvaluationError(f"index out of range: {offset}")
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def _position(values: list[Any], value: Any) -> int:
    return next((index for index, one in enumerate(values) if equal(one, value)), -1)


def _last_position(values: list[Any], value: Any) -> int:
    return next((index for index in reversed(range(len(values))) if equal(values[index], value)), -1)


def _extreme(which: Callable[[list[Any]], Any], name: str) -> Callable[[list[Any]], Any]:
    def found(values: list[Any]) -> Any:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        return _of_one_kind(values, which)

    return found


def _of_one_kind(values: list[Any], work: Callable[[list[Any]], Any]) -> Any:
    kinds = {type_of(value) for value in values}
    if len(kinds) > 1 or kinds & {LIST, MAP}:
        raise EvaluationError("no such overload")
    try:
        return work(values)
    except TypeError:
        raise EvaluationError("no such overload") from None


def _is_sorted(values: list[Any]) -> bool:
    return bool(_of_one_kind(values, lambda some: all(a <= b for a, b in pairwise(some))))


def unsigned_in_range(value: int) -> Unsigned:
    """Return the value as an unsigned integer.

    Raises:
        EvaluationError: the value does not fit into 64 bits.
    """
    if not 0 <= value < 2**64:
        raise EvaluationError("unsigned integer overflow")
    return Unsigned(value)


def _integer(value: Quantity) -> int:
    if value.nano % 10**9:
        raise EvaluationError("cannot convert value to integer")
    return value.nano // 10**9


def _taken(value: Maybe) -> Any:
    if not value.there:
        raise EvaluationError("optional.none() dereference")
    return value.value


def _pairs(kinds: tuple[str, ...], gives: str, work: Callable[..., Any]) -> list[Overload]:
    return [Overload((kind, kind), gives, work) for kind in kinds]


FUNCTIONS: dict[str, list[Overload]] = {
    "quantity": [Overload((STRING,), QUANTITY, _quantity)],
    "isQuantity": [Overload((STRING,), BOOL, works(_quantity))],
    "semver": [Overload(given, SEMVER, semver) for given in ((STRING,), (STRING, BOOL))],
    "isSemver": [Overload(given, BOOL, works(semver)) for given in ((STRING,), (STRING, BOOL))],
    "size": [Overload((kind,), INT, len) for kind in (STRING, BYTES, LIST, MAP)],
    "type": [Overload((ANY,), TYPE, lambda value: TypeName(type_of(value)))],
    "dyn": [Overload((ANY,), ANY, lambda value: value)],
    "matches": [Overload((STRING, STRING), BOOL, _matches)],
}
"""Functions by name."""

METHODS: dict[str, list[Overload]] = {
    "compareTo": _pairs((QUANTITY, SEMVER), INT, _compared),
    "isGreaterThan": _pairs((QUANTITY, SEMVER), BOOL, lambda one, other: one > other),
    "isLessThan": _pairs((QUANTITY, SEMVER), BOOL, lambda one, other: one < other),
    "add": [
        Overload((QUANTITY, QUANTITY), QUANTITY, lambda one, other: one + other),
        Overload((QUANTITY, INT), QUANTITY, lambda one, other: one + Quantity.from_int(other)),
    ],
    "sub": [
        Overload((QUANTITY, QUANTITY), QUANTITY, lambda one, other: one - other),
        Overload((QUANTITY, INT), QUANTITY, lambda one, other: one - Quantity.from_int(other)),
    ],
    "sign": [Overload((QUANTITY,), INT, Quantity.sign)],
    "isInteger": [Overload((QUANTITY,), BOOL, lambda value: value.nano % 10**9 == 0)],
    "asInteger": [Overload((QUANTITY,), INT, _integer)],
    "asApproximateFloat": [Overload((QUANTITY,), DOUBLE, float)],
    "major": [Overload((SEMVER,), INT, lambda value: value.major)],
    "minor": [Overload((SEMVER,), INT, lambda value: value.minor)],
    "patch": [Overload((SEMVER,), INT, lambda value: value.patch)],
    "size": FUNCTIONS["size"],
    "matches": FUNCTIONS["matches"],
    "startsWith": [Overload((STRING, STRING), BOOL, str.startswith)],
    "endsWith": [Overload((STRING, STRING), BOOL, str.endswith)],
    "contains": [Overload((STRING, STRING), BOOL, lambda text, part: part in text)],
    "lowerAscii": [Overload((STRING,), STRING, lambda text: text.translate(_TO_LOWER))],
    "upperAscii": [Overload((STRING,), STRING, lambda text: text.translate(_TO_UPPER))],
    "trim": [Overload((STRING,), STRING, str.strip)],
    "split": [Overload((STRING, STRING), LIST, _split), Overload((STRING, STRING, INT), LIST, _split)],
    "replace": [
        Overload((STRING, STRING, STRING), STRING, _replaced),
        Overload((STRING, STRING, STRING, INT), STRING, _replaced),
    ],
    "join": [Overload((LIST,), STRING, _joined), Overload((LIST, STRING), STRING, _joined)],
    "charAt": [Overload((STRING, INT), STRING, _at)],
    "substring": [Overload((STRING, INT), STRING, _part), Overload((STRING, INT, INT), STRING, _part)],
    "indexOf": [
        Overload((STRING, STRING), INT, str.find),
        Overload((STRING, STRING, INT), INT, _from),
        Overload((LIST, ANY), INT, _position),
    ],
    "lastIndexOf": [
        Overload((STRING, STRING), INT, str.rfind),
        Overload((STRING, STRING, INT), INT, _up_to),
        Overload((LIST, ANY), INT, _last_position),
    ],
    "isSorted": [Overload((LIST,), BOOL, _is_sorted)],
    "sum": [Overload((LIST,), ANY, lambda values: _of_one_kind(values, sum))],
    "min": [Overload((LIST,), ANY, _extreme(min, "min"))],
    "max": [Overload((LIST,), ANY, _extreme(max, "max"))],
    "hasValue": [Overload((OPTIONAL,), BOOL, lambda value: value.there)],
    "value": [Overload((OPTIONAL,), ANY, _taken)],
    "orValue": [Overload((OPTIONAL, ANY), ANY, lambda value, other: value.value if value.there else other)],
    "or": [Overload((OPTIONAL, OPTIONAL), OPTIONAL, lambda value, other: value if value.there else other)],
}
"""Methods by name; the first argument is the receiver."""
