"""A pod's requests and limits as bars, with the cgroup files that follow from them as the table behind."""

from __future__ import annotations

from collections.abc import Sequence

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

    def draw():
        from plotly.subplots import make_subplots

        figure = make_subplots(rows=1, cols=2, subplot_titles=[title for _, title in _PANELS], horizontal_spacing=0.12)
        names = [c["name"] for c in containers]
        for column, (resource, _) in enumerate(_PANELS, start=1):
            for what, color, pattern in (("request", BLUE, ""), ("limit", ORANGE, "/")):
                values = [_shown(resource, c[f"{resource}_{what}"]) for c in containers]
                figure.add_bar(
                    y=names,
                    x=values,
                    orientation="h",
                    name=what,
                    marker={"color": color, "pattern": {"shape": pattern}},
                    showlegend=column == 1,
                    hovertemplate="%{y} " + what + ": %{x}<extra></extra>",
                    row=1,
                    col=column,
                )
        figure.update_yaxes(autorange="reversed")
        figure.update_xaxes(rangemode="tozero")
        figure.update_layout(barmode="group", bargap=0.3, height=190 + 46 * len(names))
        return figure

    columns = {name: [row[name] for row in files] for name in ("cgroup", "file", "value", "why")}
    return Chart("What the pod asks for", sentence, columns, draw)


def _shown(resource: str, value: int | None) -> float | None:
    return value if value is None or resource == "cpu" else value / 2**20
