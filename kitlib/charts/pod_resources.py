"""A pod's requests and limits as boxes with lids, with the resulting cgroup files as the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.pod_box import percent, pod_box
from kitlib.charts.style import BLUE, INK


def pod_resources_chart(
    containers: Sequence[Row],
    files: Sequence[Row],
    *,
    qos: str,
    above: Sequence[Row] = (),
    node: Mapping[str, int] | None = None,
    ends: Mapping[str, int] | None = None,
) -> Chart:
    """Return a chart of CPU and memory: a box as high as each container's request, under the lid of its limit.

    Args:
        containers: `name`, `cpu_request`, `cpu_limit` (milli-CPU or None), `memory_request`, `memory_limit` (bytes or
            None).
        files: `cgroup`, `file`, `value`, `why` of each file that is written for the pod.
        qos: the pod's QoS class.
        above: the ancestors of the containers' cgroups, the outermost first, with the same columns; the last one is
            the pod's.
        node: allocatable "cpu" (milli-CPU) and "memory" (bytes) for the rails and their percentages; None = no rails.
        ends: resource -> end of its scale in milli-CPU or bytes; None = fitted to the pod.
    """
    unlimited = [c["name"] for c in containers if c["memory_limit"] is None]
    said = f" {', '.join(unlimited)} may use all memory of the node." if unlimited else ""
    sentence = f"QoS class {qos}, {len(files)} cgroup files are written.{said}"
    if node and above:
        sentence += _share_of_node(above[-1], node)

    def draw():
        import plotly.graph_objects as go

        levels = [*above, *containers]
        names = [f"{_INDENT * min(depth, len(above))}{row['name']}" for depth, row in enumerate(levels)]
        figure = go.Figure()
        for resource, axis in (("cpu", ""), ("memory", "2")):
            for what, color in (("request", BLUE), ("limit", INK)):
                x = [_shown(resource, row[f"{resource}_{what}"]) for row in levels]
                place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "showlegend": not axis, "name": what}
                if what == "request":
                    figure.add_bar(x=x, y=names, orientation="h", marker={"color": color}, **place)
                else:
                    line = {"symbol": "line-ns-open", "size": 24, "color": color, "line": {"width": 2}}
                    figure.add_scatter(x=x, y=names, mode="markers", marker=line, **place)
        figure.update_layout(
            height=200 + 46 * len(names),
            xaxis={"domain": [0, 0.44], "rangemode": "tozero", "title": {"text": "CPUs"}},
            xaxis2={"domain": [0.56, 1], "rangemode": "tozero", "title": {"text": "memory, Mi"}, "anchor": "y2"},
            yaxis={"autorange": "reversed"},
            yaxis2={"autorange": "reversed", "anchor": "x2"},
        )
        return figure

    def picture(width: int) -> str:
        pod = above[-1] if above else None
        return pod_box(containers, qos=qos, sentence=sentence, node=node, pod=pod, ends=ends, width=width)

    columns = {name: [row[name] for row in files] for name in ("cgroup", "file", "value", "why")}
    return Chart("What the pod asks for", sentence, columns, draw, fitted=picture)


_INDENT = "\u2003"
"""Prefix of a cgroup's name for each level above it."""


def _share_of_node(pod: Row, node: Mapping[str, int]) -> str:
    """Return the part of the node that the pod reserves, and the part that its limits allow."""
    said = ""
    for what, verb in (("request", "requests"), ("limit", "may use")):
        parts = [
            f"{percent(pod[f'{resource}_{what}'], node[resource])} of the {name}"
            for resource, name in (("cpu", "CPU"), ("memory", "memory"))
            if pod[f"{resource}_{what}"] is not None
        ]
        said += f" It {verb} {' and '.join(parts)} of the node." if parts else ""
    return said


def _shown(resource: str, value: int | None) -> float | None:
    return None if value is None else value / (1000 if resource == "cpu" else 2**20)
