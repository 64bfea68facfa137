"""The CPU time of sibling cgroups on a busy machine: their weights and the resulting CPUs.

Source: kernel Documentation/scheduler/sched-design-CFS.rst (group scheduling); seeds 003 section 4.1.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.base import Chart
from kitlib.charts.style import BLUE, PALETTE


def shares_chart(
    names: Sequence[str], weights: Sequence[int], cpus: Sequence[float], *, observed: Sequence[float] | None = None
) -> Chart:
    """Return a chart with a bar per cgroup: the CPUs by its weight, and beside it the measured CPUs.

    Args:
        names: the cgroups, siblings of one parent or leaves of a tree.
        weights: cpu.shares (v1) or cpu.weight (v2) of each.
        cpus: predicted CPUs of each.
        observed: measured CPUs of each; None = not measured.
    """
    total = sum(cpus) or 1
    columns: dict[str, Sequence[Any]] = {
        "cgroup": list(names),
        "weight": list(weights),
        "predicted CPUs": [round(value, 4) for value in cpus],
        "percent": [round(100 * value / total, 1) for value in cpus],
    }
    if observed is not None:
        columns["observed CPUs"] = [round(value, 4) for value in observed]
    parts = ", ".join(f"{name} {100 * value / total:.0f}%" for name, value in zip(names, cpus, strict=True))

    def plain() -> dict[str, Any]:
        data: list[dict[str, Any]] = [
            {
                "type": "bar",
                "x": list(names),
                "y": list(cpus),
                "name": "predicted",
                "text": [f"{100 * value / total:.0f}%" for value in cpus],
                "marker": {
                    "color": BLUE if observed is None else PALETTE[1],
                    "pattern": {"shape": "" if observed is None else "/"},
                },
            }
        ]
        if observed is not None:
            marker = {"color": BLUE, "pattern": {"shape": ""}}
            data.append({"type": "bar", "x": list(names), "y": list(observed), "name": "observed", "marker": marker})
        layout = {"barmode": "group", "yaxis": {"title": {"text": "CPUs"}, "rangemode": "tozero"}}
        return {"data": data, "layout": layout}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    sentence = f"{total:.2f} CPUs are divided: {parts}."
    if observed is not None:
        pairs = zip(names, observed, cpus, strict=True)
        sentence += " Measured: " + ", ".join(f"{n} {o:.2f} (predicted {c:.2f})" for n, o, c in pairs) + "."
    return Chart("CPU when all are busy", sentence, columns, draw, plain)
