"""All functions, methods and operators that CEL expressions may use, from every library of the kit.

Source: k8s.io/apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kitlib.cel import (
    authorizer,
    conversions,
    formats,
    network,
    times,
)
from kitlib.cel import (
    library as cel_library,
)
from kitlib.cel import (
    sets as cel_sets,
)
from kitlib.cel.library import Overload

_Table = Mapping[str, list[Overload]]


def _together(*tables: _Table) -> dict[str, list[Overload]]:
    found: dict[str, list[Overload]] = {}
    for table in tables:
        for name, overloads in table.items():
            found[name] = [*found.get(name, []), *overloads]
    return found


FUNCTIONS = _together(
    cel_library.FUNCTIONS,
    conversions.FUNCTIONS,
    times.FUNCTIONS,
    network.FUNCTIONS,
    formats.FUNCTIONS,
    cel_sets.FUNCTIONS,
)
"""Functions by name; a name may have two parts, as in `sets.contains`."""
METHODS = _together(
    authorizer.METHODS,
    cel_library.METHODS,
    times.METHODS,
    network.METHODS,
    formats.METHODS,
    cel_sets.METHODS,
)
"""Methods by name; the first argument is the receiver."""
OPERATORS = _together(conversions.OPERATORS, times.OPERATORS)
"""Operators on other types than int, double, string and list."""
ORDERED = frozenset({cel_library.STRING, cel_library.BOOL, cel_library.BYTES, times.TIMESTAMP, times.DURATION})
"""Types with an order, besides the numbers."""
LITERALS: Mapping[str, Callable[[str], object]] = {
    "timestamp": times.timestamp,
    "duration": times.duration,
    "matches": cel_library.check_pattern,
}
"""Function -> the parser of its literal argument; it raises EvaluationError for a literal that is never valid."""
