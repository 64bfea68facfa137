"""Cases of older releases on the random scenarios of scheduler_filter_score, whose file is in the same folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError
from kitlib.conformance.runner import read_cases
from kitlib.conformance.timemachine_named import results

FILE = "timemachine_random"
RELEASE = ""
INPUTS = frozenset({"case", "flavor"})
_scenarios: list[dict[str, Any]] = []


def prepare(path: Path) -> None:
    """Read the scenarios that the cases refer to by their line.

    Raises:
        KitError: the file of the scenarios does not exist.
    """
    _scenarios[:] = scenarios_beside(path, FILE, "scheduler_filter_score")


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one scheduling cycle for every release of the case."""
    return results(case, _scenarios[case["case"]])


def scenarios_beside(path: Path, kind: str, of_kind: str) -> list[dict[str, Any]]:
    """Return the cases of another kind's file in the same folder, with the same name but for the kind.

    Raises:
        KitError: the file does not exist.
    """
    ending = path.name.partition(kind)[2]
    beside = path.with_name(path.name.replace(kind, of_kind))
    if not beside.exists():
        beside = path.with_name(f"{of_kind}{ending}")
    if not beside.exists():
        raise KitError(f"{path}: the scenarios of these cases must be in the file {beside.name} in the same folder")
    return [case for _, case in read_cases(beside)]
