"""The course's widgets, by name; a widget's module is imported when the widget is first used.

    from kitlib.widgets import PodBuilder
    PodBuilder()

Each is made of controls, a picture, one sentence and the table behind it; see `kitlib.widgets._parts.base`.

Imported by lab and commands.
Face: the names of `WIDGETS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kitlib.api.errors import KitError

WIDGETS = {
    "CgroupTreeExplorer": "cgroup_tree",
    "CgroupWatch": "cgroup_watch",
    "CpuMap": "cpu_map",
    "EvictionGauge": "eviction_gauge",
    "ExplainBoard": "explain_board",
    "FirstKill": "first_kill",
    "NodeBar": "node_bar",
    "OomArena": "oom_arena",
    "PodBuilder": "pod_builder",
    "PreemptionStage": "preemption_stage",
    "QueueTheatre": "queue_theatre",
    "ReleaseDifference": "release_difference",
    "ReleaseSwitch": "release_switch",
    "RolloutStage": "rollout_stage",
    "SchedulerBoard": "scheduler_board",
    "SharesRace": "shares_race",
    "SideBySide": "side_by_side",
    "SpreadExplorer": "spread_explorer",
    "Timeline": "timeline",
    "WhatIfStage": "what_if_stage",
}
"""Widget -> its module in this package."""

_FETCHED = ("numpy", "pandas", "plotly")
"""Packages that a page loads in addition to the kit, from servers that may not respond."""

__all__ = ["WIDGETS", *WIDGETS]


def __getattr__(name: str) -> Any:
    if name not in WIDGETS:
        raise AttributeError(f"kitlib.widgets has no {name}; valid values: {', '.join(sorted(WIDGETS))}")
    try:
        return getattr(import_module(f"kitlib.widgets.{WIDGETS[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in _FETCHED:
            raise
        raise KitError(f"{name} needs {error.name}, which could not be loaded here") from error


def __dir__() -> list[str]:
    return sorted([*globals(), *WIDGETS])
