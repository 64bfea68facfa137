"""A node's resource from capacity to the remaining part: reservations, allocatable, requests of pods.

Source: kubelet cm.GetNodeAllocatableReservation
(allocatable = capacity - kube-reserved - system-reserved - eviction-hard).
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.charts.base import Chart
from kitlib.charts.style import BLUE, FAINT, GREY, PATTERN, VERMILLION
from kitlib.charts.svg import LETTER, Drawing
from kitlib.views.units import size

_PARTS = (
    ("kube-reserved", GREY, "/"),
    ("system-reserved", GREY, "\\"),
    ("eviction-hard", VERMILLION, "x"),
    ("requested by pods", BLUE, ""),
    ("free", FAINT, ""),
)
_LOOKS = {"kube-reserved": "up", "system-reserved": "down", "eviction-hard": "cross", "requested by pods": ""}
"""Part with a border that can be moved -> its hatch; a request of pods is plain."""
_EDGE, _TOP, _HIGH, _LANE = 8, 26, 28, 24
_TITLE = "From capacity to what is free"


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
    sentence = "; ".join(sentences) + "."
    return Chart(
        title=_TITLE,
        sentence=sentence,
        columns={name: [row[i] for row in rows] for i, name in enumerate(names)},
        draw=draw,
        fitted=lambda width: _picture(parts, units, sentence, width),
    )


def scale_of(given: Mapping[str, float], width: int) -> float:
    """Return the pixels of one unit of a resource: the bar ends at the capacity, or at larger amounts of its parts."""
    return (width - 2 * _EDGE) / (max(given["capacity"], sum(given.get(name, 0) for name in _LOOKS)) or 1)


def part_at(x: float, part: str, given: Mapping[str, float], width: int) -> float:
    """Return the amount of a part whose border is at `x` pixels; negative left of the part.

    Args:
        x: pixels from the left edge of the picture.
        part: name of the part.
        given: the resource's capacity and parts.
        width: width of the picture in pixels.
    """
    before = sum(given.get(name, 0) for name in list(_LOOKS)[: list(_LOOKS).index(part)])
    return (x - _EDGE) / scale_of(given, width) - before


def _text(value: float, unit: str) -> str:
    if not value:
        return "none"
    return size(int(value)) if unit == "bytes" else f"{value / 1000:g} CPU" if unit == "m" else f"{value:g}{unit}"


def _picture(parts: Mapping[str, Mapping[str, float]], units: Mapping[str, str], sentence: str, width: int) -> str:
    d = Drawing(width)
    y = 0.0
    for resource, given in parts.items():
        y = _resource(d, y, resource, given, units.get(resource, ""), width) + 14
    d.height = y
    return d.svg(_TITLE, sentence)


def _resource(d: Drawing, y: float, resource: str, given: Mapping[str, float], unit: str, width: int) -> float:
    """Draw the bar of a resource and below it a lane with the handle of each border; return the lower edge."""
    scale, capacity = scale_of(given, width), given["capacity"]
    kept = sum(given.get(name, 0) for name in list(_LOOKS)[:3])
    over = sum(given.get(name, 0) for name in _LOOKS) > capacity
    d.text(_EDGE, y + 16, resource, size=13, bold=True)
    note = f"{_text(max(0, capacity - kept), unit).removesuffix(' CPU')} of {_text(capacity, unit)} allocatable"
    d.text(_EDGE + 70, y + 16, note, "orange-text" if over else "soft")
    top = y + _TOP
    d.rect(_EDGE, top, capacity * scale, _HIGH, "raised", stroke="line")
    at = float(_EDGE)
    borders: list[tuple[float, str, float]] = []
    for part, look in _LOOKS.items():
        if part not in given and part == "eviction-hard":
            continue
        value = given.get(part, 0)
        wide, words = value * scale, f"{part}: {_text(value, unit)}"
        if look:
            d.hatch(at, top, wide, _HIGH, "grey", look, words)
        else:
            d.rect(at, top, wide, _HIGH, "blue", tint=42, words=words)
        d.rect(at, top, wide, _HIGH, stroke="soft" if look else "blue")
        at += wide
        borders.append((at, part, value))
    free = f"free {_text(round(capacity - (at - _EDGE) / scale), unit)}"
    if capacity * scale - (at - _EDGE) > LETTER * len(free) + 12:
        d.text(_EDGE + capacity * scale - 6, top + 18, free, "soft", anchor="end")
    # The rightmost border has the uppermost lane, so that no line crosses the words of another.
    lanes = [(top + _HIGH + 4 + _LANE * number, *one) for number, one in enumerate(reversed(borders))]
    for lane, x, _, _ in lanes:
        d.path(f"M{x:.1f} {top + _HIGH:.1f}V{lane + 8:.1f}", "soft", weight=1)
    for lane, x, part, value in lanes:
        _handle(d, x, lane, f"{resource} {part}", _text(value, unit), value, capacity, width)
    d.limit(_EDGE + capacity * scale, top - 5, _EDGE + capacity * scale, top + _HIGH + 5, reached=over)
    return top + _HIGH + 4 + _LANE * len(borders)


def _handle(d: Drawing, x: float, lane: float, name: str, told: str, value: float, capacity: float, width: int) -> None:
    """Draw the handle of a border in its own lane, so that the targets of narrow parts do not overlap."""
    names: dict[str, object] = {
        "data_handle": name,
        "role": "slider",
        "tabindex": 0,
        "aria_label": f"border of {name}",
        "aria_orientation": "horizontal",
        "aria_valuemin": 0,
        "aria_valuemax": f"{capacity:.0f}",
        "aria_valuenow": f"{value:.0f}",
        "aria_valuetext": told,
    }
    with d.part((x - _LANE / 2, lane, _LANE, _LANE), **names):
        d.path(f"M{x - 5:.1f} {lane + 12:.1f}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z", "ink", fill="ground")
    words = f"{name.partition(' ')[2]} {told}"
    left = x + 12 + len(words) * LETTER > width
    d.text(x - 12 if left else x + 12, lane + 16, words, anchor="end" if left else "start", halo=True)
