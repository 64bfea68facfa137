"""A pod's requests and limits as bars, with the cgroup files that follow from them as the table behind.

With a node given, bars have the node's scale, and the cgroups above the containers have bars of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, INK
from kitlib.views.units import size

_PANELS = (("cpu", "CPUs"), ("memory", "memory, Mi"))


def pod_resources_chart(
    containers: Sequence[Row],
    files: Sequence[Row],
    *,
    qos: str,
    above: Sequence[Row] = (),
    node: Mapping[str, int] | None = None,
) -> Chart:
    """Two panels, CPU and memory: per container what it requests and what limits it; no bar = not set.

    Args:
        containers: `name`, `cpu_request`, `cpu_limit` (milli-CPU or None), `memory_request`, `memory_limit` (bytes or
            None).
        files: `cgroup`, `file`, `value`, `why`: what is written for the pod.
        qos: the pod's class.
        above: the cgroups that the containers stand in, the outermost first, with the same columns; the last one is
            the pod's.
        node: the node's allocatable "cpu" (milli-CPU) and "memory" (bytes): the scale of the bars, and of the
            percentages behind them.
    """
    unlimited = [c["name"] for c in containers if c["memory_limit"] is None]
    said = f" {', '.join(unlimited)} may use all memory of the node." if unlimited else ""
    sentence = f"QoS class {qos}, {len(files)} cgroup files are written.{said}"
    levels = [*above, *containers]
    names = [f"{_INDENT * depth}{row['name']}" for depth, row in enumerate(above)]
    names += [f"{_INDENT * len(above)}{row['name']}" for row in containers]
    if node and above:
        sentence += _share_of_node(above[-1], node)

    def plain() -> dict[str, Any]:
        data: list[dict[str, Any]] = []
        for number, (resource, _) in enumerate(_PANELS):
            axis = str(number + 1) if number else ""
            for what in ("request", "limit"):
                look: dict[str, Any] = {"type": "bar", "orientation": "h", "marker": {"color": BLUE}}
                if what == "limit":
                    line = {"symbol": "line-ns-open", "size": 24, "color": INK, "line": {"width": 2}}
                    look = {"type": "scatter", "mode": "markers+text", "marker": line}
                data.append(
                    look
                    | {
                        "y": names,
                        "x": [_shown(resource, c[f"{resource}_{what}"]) for c in levels],
                        "name": what,
                        "showlegend": not number,
                        "hovertemplate": "%{y} " + what + ": %{x}<extra></extra>",
                        "xaxis": f"x{axis}",
                        "yaxis": f"y{axis}",
                    }
                )
                if node:
                    texts = [_part(resource, c[f"{resource}_{what}"], node[resource]) for c in levels]
                    place = "outside" if what == "request" else "middle right"
                    data[-1] |= {"text": texts, "textposition": place, "cliponaxis": False}
        titles = [
            {"text": title + (f", of the node's {_amount(key, node[key])}" if node else "")} for key, title in _PANELS
        ]
        ends = [{"range": [0, _end(key, levels, node[key])]} if node else {"rangemode": "tozero"} for key, _ in _PANELS]
        layout = {
            "barmode": "group",
            "bargap": 0.3,
            "height": 200 + 46 * len(names),
            "xaxis": {"domain": [0, 0.44], **ends[0], "title": titles[0]},
            "xaxis2": {"domain": [0.56, 1], **ends[1], "title": titles[1], "anchor": "y2"},
            "yaxis": {"autorange": "reversed"},
            "yaxis2": {"autorange": "reversed", "anchor": "x2"},
        }
        return {"data": data, "layout": layout}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    columns = {name: [row[name] for row in files] for name in ("cgroup", "file", "value", "why")}
    return Chart("What the pod asks for", sentence, columns, draw, plain)


_INDENT = "\u2003"
"""What stands before a cgroup's name for each level above it."""


def _share_of_node(pod: Row, node: Mapping[str, int]) -> str:
    """How much of the node the pod reserves, and how much its limits let it take."""
    said = ""
    for what, verb in (("request", "requests"), ("limit", "may use")):
        parts = [
            f"{_percent(pod[f'{resource}_{what}'], node[resource])} of the {name}"
            for resource, name in (("cpu", "CPU"), ("memory", "memory"))
            if pod[f"{resource}_{what}"] is not None
        ]
        said += f" It {verb} {' and '.join(parts)} of the node." if parts else ""
    return said


def _percent(value: int, whole: int) -> str:
    part = 100 * value / whole if whole else 0
    return f"{part:.0f}%" if part >= 1 or not part else "<1%"


def _part(resource: str, value: int | None, whole: int) -> str:
    return "" if value is None else f"{_amount(resource, value)} · {_percent(value, whole)}"


def _amount(resource: str, value: int) -> str:
    return f"{value / 1000:.3g} CPU" if resource == "cpu" else size(value)


def _end(resource: str, levels: Sequence[Row], whole: int) -> float:
    """Where the axis ends: at the node's amount, or beyond it at the largest value."""
    values = [row[f"{resource}_{what}"] or 0 for row in levels for what in ("request", "limit")]
    return _shown(resource, max(whole, *values)) or 1


def _shown(resource: str, value: int | None) -> float | None:
    return None if value is None else value / (1000 if resource == "cpu" else 2**20)
