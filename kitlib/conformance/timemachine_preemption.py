"""Cases of older releases on the scenarios of preemption, whose file is in the same folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kitlib.conformance.timemachine_named import results
from kitlib.conformance.timemachine_random import scenarios_beside

FILE = "timemachine_preemption"
RELEASE = ""
INPUTS = frozenset({"case"})
_scenarios: list[dict[str, Any]] = []


def prepare(path: Path) -> None:
    """Read the scenarios that the cases refer to by their line.

    Raises:
        KitError: the file with them is not there.
    """
    _scenarios[:] = scenarios_beside(path, FILE, "preemption")


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one scheduling cycle for every release of the case."""
    return results(case, _scenarios[case["case"]])
