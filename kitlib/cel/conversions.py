"""Conversions between CEL types, and the arithmetic of unsigned integers and bytes.

Source: cel-go common/types (int.go, uint.go, double.go, string.go, bytes.go ConvertToType), overflow.go; Go strconv.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

from kitlib.cel.library import (
    BOOL,
    BYTES,
    DOUBLE,
    INT,
    STRING,
    UINT,
    EvaluationError,
    Overload,
    Unsigned,
    charge_text,
    type_of,
    unsigned_in_range,
)


def _no_conversion(value: Any, kind: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_of(value)}' to '{kind}'")


def _whole(value: Any) -> int:
    """Source: strconv.ParseInt, doubleToInt64Checked."""
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+", value):
        raise _no_conversion(value, INT)
    try:
        found = int(value)
    except (ValueError, OverflowError):
        raise EvaluationError("integer overflow") from None
    if not -(2**63) <= found < 2**63:
        raise _no_conversion(value, INT) if isinstance(value, str) else EvaluationError("integer overflow")
    return found


def _unsigned(value: Any) -> Unsigned:
    """Source: strconv.ParseUint, int64ToUint64Checked."""
    if isinstance(value, str) and not re.fullmatch(r"[0-9]+", value):
        raise _no_conversion(value, UINT)
    try:
        return unsigned_in_range(int(value))
    except (ValueError, OverflowError):
        raise EvaluationError("unsigned integer overflow") from None


def _float(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise _no_conversion(value, DOUBLE) from None


_TRUTHS = {**dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True)}
_TRUTHS |= dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False)


def _truth(value: str) -> bool:
    """Source: strconv.ParseBool."""
    if value not in _TRUTHS:
        raise _no_conversion(value, BOOL)
    return _TRUTHS[value]


def go_float(value: float, *, plain: bool = False) -> str:
    """Format a double with the fewest digits. Source: Go strconv.FormatFloat with 'g', or 'f' if plain."""
    if not isfinite(value):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) - 1 + int(exponent)
    if plain or -4 <= power < 6 or not value:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    more = "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{digits[0]}{'.' if more else ''}{more}e{'-' if power < 0 else '+'}{abs(power):02}"


def _printed(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, bool):
        return str(value).lower()
    return go_float(value) if isinstance(value, float) else str(value)


FUNCTIONS: dict[str, list[Overload]] = {
    "int": [Overload((kind,), INT, _whole) for kind in (INT, UINT, DOUBLE, STRING)],
    "uint": [Overload((kind,), UINT, _unsigned) for kind in (INT, UINT, DOUBLE, STRING)],
    "double": [Overload((kind,), DOUBLE, _float) for kind in (INT, UINT, DOUBLE, STRING)],
    "string": [Overload((kind,), STRING, _printed) for kind in (INT, UINT, DOUBLE, STRING, BOOL, BYTES)],
    "bytes": [Overload((STRING,), BYTES, str.encode), Overload((BYTES,), BYTES, bytes)],
    "bool": [Overload((BOOL,), BOOL, bool), Overload((STRING,), BOOL, _truth)],
}


def _joined_bytes(one: bytes, other: bytes) -> bytes:
    charge_text(len(one) + len(other))
    return one + other


def _no_zero(work: Callable[[int, int], int], problem: str) -> Callable[[int, int], Unsigned]:
    def divided(one: int, other: int) -> Unsigned:
        if other == 0:
            raise EvaluationError(problem)
        return unsigned_in_range(work(one, other))

    return divided


OPERATORS: dict[str, list[Overload]] = {
    "+": [
        Overload((UINT, UINT), UINT, lambda one, other: unsigned_in_range(int(one) + other)),
        Overload((BYTES, BYTES), BYTES, _joined_bytes),
    ],
    "-": [Overload((UINT, UINT), UINT, lambda one, other: unsigned_in_range(int(one) - other))],
    "*": [Overload((UINT, UINT), UINT, lambda one, other: unsigned_in_range(int(one) * other))],
    "/": [Overload((UINT, UINT), UINT, _no_zero(lambda one, other: int(one) // other, "division by zero"))],
    "%": [Overload((UINT, UINT), UINT, _no_zero(lambda one, other: int(one) % other, "modulus by zero"))],
}
"""Operators on unsigned integers and bytes; the module `operators` implements those of the other types."""
