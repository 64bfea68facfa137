"""Suggestions for amounts that are not valid quantities, such as `128M` or `128Mi` for `128MB`.

Source: k8s.io/apimachinery/pkg/api/resource Quantity (the valid suffixes).
"""

from __future__ import annotations

import re

from kitlib.api.resource import Quantity, QuantityError

_AMOUNT = re.compile(r"^\s*([+-]?[0-9]+(?:[.,][0-9]+)?)\s*([A-Za-zµ%]*)\s*$")
_BYTES = {"k": ("k", "Ki"), "m": ("M", "Mi"), "g": ("G", "Gi"), "t": ("T", "Ti"), "p": ("P", "Pi")}
_CPUS = ("cpu", "cpus", "core", "cores", "vcpu", "vcpus")
_MILLI = ("mcpu", "millicpu", "millicore", "millicores", "millicpus")
FORM = "A quantity is a number with a suffix: 250m or 1 for CPU, 128Mi or 1Gi for memory."


def quantity_suggestion(text: str) -> str:
    """Return one sentence with the probable intention, else with the format of a quantity."""
    found = _AMOUNT.match(text)
    if found is None:
        return FORM
    number, unit = found[1].replace(",", "."), found[2].lower()
    likely = tuple(candidate for candidate in _candidates(number, unit) if _is_quantity(candidate))
    return f"Did you mean {' or '.join(likely)}?" if likely else FORM


def _candidates(number: str, unit: str) -> tuple[str, ...]:
    if unit in _CPUS:
        return (number,)
    if unit in _MILLI:
        return (f"{number}m",)
    letter = unit[:1]
    if letter in _BYTES and unit[1:] in ("b", "byte", "bytes", "egabyte", "egabytes", "igabyte", "igabytes"):
        return tuple(number + suffix for suffix in _BYTES[letter])
    if letter in _BYTES and unit[1:] in ("i", "ib", "ibytes"):
        return (number + _BYTES[letter][1],)
    if letter in _BYTES and len(unit) == 1:
        return tuple(number + suffix for suffix in _BYTES[letter])
    return (number,) if unit in ("", "b", "byte", "bytes") else ()


def _is_quantity(text: str) -> bool:
    try:
        Quantity(text)
    except QuantityError:
        return False
    return True
