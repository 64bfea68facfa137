"""A node's resource from capacity to the remaining part: reservations, allocatable, requests of pods.

Source: kubelet cm.GetNodeAllocatableReservation
(allocatable = capacity - kube-reserved - system-reserved - eviction-hard).
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.charts.base import Chart
from kitlib.charts.style import BLUE, FAINT, GREY, PATTERN, VERMILLION
from kitlib.views.units import size

_PARTS = (
    ("kube-reserved", GREY, "/"),
    ("system-reserved", GREY, "\\"),
    ("eviction-hard", VERMILLION, "x"),
    ("requested by pods", BLUE, ""),
    ("free", FAINT, ""),
)


def node_bar(parts: Mapping[str, Mapping[str, float]], units: Mapping[str, str]) -> Chart:
    """Return a chart with one stacked bar per resource, in percent of the capacity.

    Args:
        parts: resource -> {"capacity", "kube-reserved", "system-reserved", "eviction-hard", "requested by pods"} in
            the resource's unit; a missing part counts as 0.
        units: resource -> unit shown behind the numbers ("m", "bytes", "").
    """
    rows: list[tuple[str, str, float, float, str]] = []
    sentences = []
    for resource, given in parts.items():
        capacity = given["capacity"]
        reserved = sum(given.get(name, 0) for name in ("kube-reserved", "system-reserved", "eviction-hard"))
        allocatable = max(0, capacity - reserved)
        requested = given.get("requested by pods", 0)
        values = {**given, "free": max(0, allocatable - requested)}
        for name, _, _ in _PARTS:
            value = values.get(name, 0)
            rows.append((resource, name, value, 100 * value / capacity if capacity else 0, units.get(resource, "")))
        percent = 100 * requested / allocatable if allocatable else 0
        unit = units.get(resource, "")
        of = size(int(allocatable)) if unit == "bytes" else f"{allocatable:g}{unit}"
        what = size(int(requested)) if unit == "bytes" else f"{requested:g}"
        sentences.append(f"{resource}: {what} of {of} allocatable requested ({percent:.0f}%)")

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        for name, color, pattern in _PARTS:
            mine = [row for row in rows if row[1] == name]
            figure.add_bar(
                y=[row[0] for row in mine],
                x=[row[3] for row in mine],
                customdata=[[row[2], row[4]] for row in mine],
                name=name,
                orientation="h",
                marker={"color": color, "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": PATTERN}},
                hovertemplate="%{y}: %{customdata[0]:,} %{customdata[1]} (%{x:.1f}%)",
            )
        figure.update_layout(barmode="stack", xaxis={"title": {"text": "percent of capacity"}, "range": [0, 100]})
        return figure

    names = ("resource", "part", "value", "percent of capacity", "unit")
    return Chart(
        title="From capacity to what is free",
        sentence="; ".join(sentences) + ".",
        columns={name: [row[i] for row in rows] for i, name in enumerate(names)},
        draw=draw,
    )
