"""All functions, methods and operators that CEL expressions may use, from every library of the kit.

Source: k8s.io/apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kitlib.api import cel_authorizer, cel_conversions, cel_formats, cel_library, cel_network, cel_sets, cel_times
from kitlib.api.cel_library import Overload

_Table = Mapping[str, list[Overload]]


def _together(*tables: _Table) -> dict[str, list[Overload]]:
    found: dict[str, list[Overload]] = {}
    for table in tables:
        for name, overloads in table.items():
            found[name] = [*found.get(name, []), *overloads]
    return found


FUNCTIONS = _together(
    cel_library.FUNCTIONS,
    cel_conversions.FUNCTIONS,
    cel_times.FUNCTIONS,
    cel_network.FUNCTIONS,
    cel_formats.FUNCTIONS,
    cel_sets.FUNCTIONS,
)
"""Called by name; a name may have two parts, `sets.contains`."""
METHODS = _together(
    cel_authorizer.METHODS,
    cel_library.METHODS,
    cel_times.METHODS,
    cel_network.METHODS,
    cel_formats.METHODS,
    cel_sets.METHODS,
)
"""Called on a value, which is the first argument."""
OPERATORS = _together(cel_conversions.OPERATORS, cel_times.OPERATORS)
"""Of other values than signed numbers and doubles, texts and lists."""
ORDERED = frozenset({cel_library.STRING, cel_library.BOOL, cel_library.BYTES, cel_times.TIMESTAMP, cel_times.DURATION})
"""Types whose values are smaller and greater, besides numbers."""
LITERALS: Mapping[str, Callable[[str], object]] = {
    "timestamp": cel_times.timestamp,
    "duration": cel_times.duration,
    "matches": cel_library.check_pattern,
}
"""What reads a literal argument: it raises EvaluationError where the literal can never be one."""
