"""Cases of k8s.io/apimachinery/pkg/api/resource: parse, add, sub."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from kitlib.api.resource import Quantity, QuantityError

FILE = "quantity"
RELEASE = "1.36"
INPUTS = frozenset({"op", "in", "a", "b"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return the result of parsing or arithmetic."""
    if case["op"] == "parse":
        try:
            quantity = Quantity(case["in"])
        except QuantityError as error:
            return {"error": str(error)}
        exact = {"sign": quantity.sign(), "dec": _decimal(quantity.nano)}
        return _figures(quantity) | exact
    left, right = Quantity(case["a"]), Quantity(case["b"])
    result = left + right if case["op"] == "add" else left - right
    return _figures(result) | {"cmp": (left > right) - (left < right)}


def compare(_case: dict[str, Any], name: str, expected: Any, found: Any) -> bool:
    """Compare exact decimals by value: trailing zeros do not matter."""
    return name == "dec" and Decimal(expected) == Decimal(found)


def _decimal(nano: int) -> str:
    whole, rest = divmod(abs(nano), 10**9)
    return f"{'-' if nano < 0 else ''}{whole}.{rest:09d}"


def _figures(quantity: Quantity) -> dict[str, Any]:
    return {
        "string": str(quantity),
        "value": quantity.value(),
        "milli": quantity.milli_value(),
        "format": quantity.format,
    }
