"""A pod's requests and limits as bars, with the cgroup files that follow from them as the table behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, ORANGE

_PANELS = (("cpu", "CPU, milli-CPU"), ("memory", "memory, MiB"))


def pod_resources_chart(containers: Sequence[Row], files: Sequence[Row], *, qos: str) -> Chart:
    """Two panels, CPU and memory: per container what it requests and what limits it; no bar = not set.

    Args:
        containers: `name`, `cpu_request`, `cpu_limit` (milli-CPU or None), `memory_request`, `memory_limit` (bytes or
            None).
        files: `cgroup`, `file`, `value`, `why`: what is written for the pod.
        qos: the pod's class.
    """
    unlimited = [c["name"] for c in containers if c["memory_limit"] is None]
    said = f" {', '.join(unlimited)} may use all memory of the node." if unlimited else ""
    sentence = f"QoS class {qos}, {len(files)} cgroup files are written.{said}"

    def plain() -> dict[str, Any]:
        names, data = [c["name"] for c in containers], []
        for number, (resource, _) in enumerate(_PANELS):
            axis = str(number + 1) if number else ""
            for what, color, pattern in (("request", BLUE, ""), ("limit", ORANGE, "/")):
                data.append(
                    {
                        "type": "bar",
                        "y": names,
                        "x": [_shown(resource, c[f"{resource}_{what}"]) for c in containers],
                        "orientation": "h",
                        "name": what,
                        "marker": {"color": color, "pattern": {"shape": pattern}},
                        "showlegend": not number,
                        "hovertemplate": "%{y} " + what + ": %{x}<extra></extra>",
                        "xaxis": f"x{axis}",
                        "yaxis": f"y{axis}",
                    }
                )
        titles = [{"text": title} for _, title in _PANELS]
        layout = {
            "barmode": "group",
            "bargap": 0.3,
            "height": 200 + 46 * len(names),
            "xaxis": {"domain": [0, 0.44], "rangemode": "tozero", "title": titles[0]},
            "xaxis2": {"domain": [0.56, 1], "rangemode": "tozero", "title": titles[1], "anchor": "y2"},
            "yaxis": {"autorange": "reversed"},
            "yaxis2": {"autorange": "reversed", "anchor": "x2"},
        }
        return {"data": data, "layout": layout}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    columns = {name: [row[name] for row in files] for name in ("cgroup", "file", "value", "why")}
    return Chart("What the pod asks for", sentence, columns, draw, plain)


def _shown(resource: str, value: int | None) -> float | None:
    return value if value is None or resource == "cpu" else value / 2**20
