"""A pod as boxes: the height of a box is a container's request, the lid above it is the limit.

If box and lid meet for CPU and memory of all containers, the pod is Guaranteed, and the outline is thick. CPU and
memory have the pod's own scale; the rail below has the node's, which shows the pod's part of the node.

Source: kubelet qos.GetPodQOS (v1qos.ComputePodQOS).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.charts.base import Row
from kitlib.charts.svg import LETTER, Drawing, binary_ticks, decimal_ticks, fitted
from kitlib.views.units import size

TOP, HEIGHT, AXIS, PANEL, OPEN = 84, 190, 40, 330, 8
"""Pixels above the boxes, of the scale, left of it for the ticks, between stacked panels, and of an open lid above."""
PANELS = (("cpu", "CPU"), ("memory", "Memory"))
OUTLINES = {"Guaranteed": (3.5, ""), "Burstable": (1.5, ""), "BestEffort": (1.5, "5 4")}
"""QoS class -> width and dashes of the boxes' outline in pixels, so that no colour is needed."""
WORDS = {
    "Guaranteed": "thick outline: boxes meet their lids",
    "Burstable": "thin outline: a box misses its lid",
    "BestEffort": "broken outline: no boxes, no lids",
}
_LEAST = {"cpu": 1000, "memory": 256 * 2**20}
"""Minimum end of a scale, in milli-CPU and bytes."""


def scale_end(resource: str, containers: Sequence[Row]) -> int:
    """Return the end of a resource's scale: a power of two with room above the highest amount.

    Args:
        resource: "cpu" (milli-CPU) or "memory" (bytes).
        containers: rows with `cpu_request`, `cpu_limit`, `memory_request`, `memory_limit`.
    """
    amounts = [int(row[f"{resource}_{what}"] or 0) for row in containers for what in ("request", "limit")]
    most = max(amounts, default=0)
    end = 125 if resource == "cpu" else 2**20
    while most and end < 1.2 * most:
        end *= 2
    return end if most else _LEAST[resource]


def amount_text(resource: str, value: int) -> str:
    """Return an amount as text: `0.25 CPU`, `128Mi`."""
    return f"{value / 1000:.3g} CPU" if resource == "cpu" else size(value)


def stacked(width: int, count: int) -> bool:
    """Return whether the panels of `count` containers are placed one below the other at this width."""
    return width < 90 * count * 2 + 2 * AXIS


def value_at(y: float, resource: str, end: int, *, width: int, count: int) -> float:
    """Return the amount at a height of the picture; negative below the base line.

    Args:
        y: pixels from the top of the picture.
        resource: "cpu" or "memory".
        end: end of the resource's scale, milli-CPU or bytes.
        width: width of the picture in pixels.
        count: number of containers.
    """
    top = PANEL if resource == "memory" and stacked(width, count) else 0
    return (top + TOP + HEIGHT - y) / HEIGHT * end


def pod_box(
    containers: Sequence[Row],
    *,
    qos: str,
    sentence: str,
    node: Mapping[str, int] | None = None,
    pod: Row | None = None,
    ends: Mapping[str, int] | None = None,
    width: int = 720,
    still: bool = False,
) -> str:
    """Return a pod's requests and limits as SVG; a page can move boxes and lids.

    Args:
        containers: `name`, `cpu_request`, `cpu_limit` (milli-CPU or None), `memory_request`, `memory_limit` (bytes or
            None).
        qos: the pod's QoS class.
        sentence: description of the picture.
        node: allocatable "cpu" (milli-CPU) and "memory" (bytes) for the rails; None = no rails.
        pod: the pod's own sums, with the same columns.
        ends: resource -> end of its scale; None = `scale_end`. A page keeps it unchanged while a lid is dragged.
        width: width in pixels.
        still: whether nothing can be moved, so that the picture has no handles.
    """
    picture = Drawing(width, still)
    below_another = stacked(width, len(containers))
    room = width if below_another else (width - 24) / 2
    picture.text(0, 16, qos, size=16, bold=True)
    picture.text(0, 34, fitted(WORDS[qos], width), "soft")
    below = 0.0
    for number, (resource, title) in enumerate(PANELS):
        left, top = (0.0, float(number * PANEL)) if below_another else (number * (room + 24), 0.0)
        end = (ends or {}).get(resource) or scale_end(resource, containers)
        panel = _Panel(picture, resource, title, left, top, room, end, qos)
        panel.axis()
        for place, row in enumerate(containers):
            panel.container(place, len(containers), row)
        below = top + TOP + HEIGHT + 26
        if node and pod:
            panel.rail(below + 12, node[resource], pod)
            below += 58
    picture.height = below + 6
    return picture.svg("What the pod asks for", sentence)


class _Panel:
    """Boxes of one resource, side by side on one base line."""

    def __init__(
        self, picture: Drawing, resource: str, title: str, left: float, top: float, room: float, end: int, qos: str
    ) -> None:
        self.picture, self.resource, self.end, self.qos = picture, resource, end, qos
        self.left, self.top, self.room = left, top, room
        self.floor = top + TOP + HEIGHT
        picture.text(left, top + TOP - 30, title, size=13, bold=True)

    def y(self, value: float) -> float:
        """Return the pixels of an amount from the top."""
        return self.floor - min(1.0, value / self.end) * HEIGHT

    def axis(self) -> None:
        memory = self.resource == "memory"
        ticks = binary_ticks(self.end, 4) if memory else [1000 * one for one in decimal_ticks(self.end / 1000)]
        for tick in ticks:
            y = self.y(tick)
            self.picture.line(self.left + AXIS, y, self.left + self.room, y)
            label = "0" if not tick else size(int(tick)) if memory else f"{tick / 1000:g}"
            self.picture.text(self.left + AXIS - 5, y + 4, label, "soft", anchor="end", size=11)

    def container(self, place: int, count: int, row: Row) -> None:
        """Draw a container: its box, its lid, their names, and the two handles for a page."""
        span = (self.room - AXIS) / count
        wide = min(150.0, span - 14)
        x = self.left + AXIS + span * place + (span - wide) / 2
        request, limit = row[f"{self.resource}_request"], row[f"{self.resource}_limit"]
        weight, dash = OUTLINES[self.qos]
        floor, edge = self.floor, self.y(request or 0)
        lid = self.y(limit) if limit is not None else self.top + TOP - OPEN
        meet = request is not None and request == limit
        key = f"{place} {self.resource}"
        if request:
            # the lines of the scale end at the box, so that they do not cross its text
            self.picture.rect(x, edge, wide, floor - edge, "ground", key=f"{key} ground")
            self.picture.rect(x, edge, wide, floor - edge, "series-2", tint=22, key=f"{key} box")
            self.picture.rect(x, edge, wide, floor - edge, stroke="ink", weight=weight, dash=dash, key=f"{key} edge")
        for post in (x, x + wide):
            if edge > lid:
                self.picture.path(f"M{post:.1f} {edge:.1f}V{lid:.1f}", "soft", weight=1, dash="2 3")
        self.picture.text(x + wide / 2, floor + 16, fitted(str(row["name"]), span), anchor="middle")
        self._lid(key, row, x, wide, lid, limit, meet)
        self._edge(key, row, x, wide, edge, request, meet)

    def _lid(self, key: str, row: Row, x: float, wide: float, y: float, limit: int | None, meet: bool) -> None:
        told = "no limit" if limit is None else amount_text(self.resource, limit)
        name = f"{row['name']} {self.resource} limit"
        hit = (x, y - (24 if meet else 15), wide, 24)
        with self.picture.part(hit, **self._slider(f"{key} limits", name, limit, told)):
            if limit is None:
                self.picture.path(f"M{x - 6:.1f} {y:.1f}H{x + wide + 6:.1f}", "soft", weight=2, dash="2 5")
            else:
                self.picture.limit(x - 6, y, x + wide + 6, y)
            self._grip(x + wide - 10, y, up=True)
            self.picture.text(x + 4, y - 5, fitted(self._words("limit", told, wide), wide), bold=True, halo=True)

    def _edge(self, key: str, row: Row, x: float, wide: float, y: float, request: int | None, meet: bool) -> None:
        told = "no request" if request is None else amount_text(self.resource, request)
        name = f"{row['name']} {self.resource} request"
        hit = (x, y - (0 if meet else 20 if y + 15 > self.floor else 9), wide, 24)
        with self.picture.part(hit, **self._slider(f"{key} requests", name, request, told)):
            if not request:
                self.picture.path(f"M{x:.1f} {y:.1f}H{x + wide:.1f}", "soft", weight=2, dash="5 4")
            inside = y + 15 < self.floor - 2
            self._grip(x + wide - 10, y, up=not inside)
            self.picture.text(x + 4, y + 15 if inside else y - 5, fitted(self._words("request", told, wide), wide))

    def _words(self, what: str, told: str, wide: float) -> str:
        if told.startswith("no "):
            return told
        whole = f"{what} {told}"
        return whole if len(whole) * LETTER < wide - 22 else told

    def _grip(self, x: float, y: float, *, up: bool) -> None:
        """Draw the two strokes that mark the handle of a line."""
        if self.picture.still:
            return
        off = -5 if up else 5
        self.picture.path(f"M{x - 5:.1f} {y + off:.1f}h8M{x - 5:.1f} {y + off * 1.8:.1f}h8", "soft", weight=1.5)

    def _slider(self, handle: str, name: str, value: int | None, told: str) -> dict[str, object]:
        return {
            "data_handle": handle,
            "role": "slider",
            "tabindex": 0,
            "aria_label": name,
            "aria_orientation": "vertical",
            "aria_valuemin": 0,
            "aria_valuemax": self.end,
            "aria_valuenow": value or 0,
            "aria_valuetext": told,
        }

    def rail(self, y: float, whole: int, pod: Row) -> None:
        """Draw the node as a rail, with the pod's part of it."""
        short = self.room < 220
        x = self.left if short else self.left + AXIS
        wide = self.left + self.room - x
        request, limit = pod[f"{self.resource}_request"] or 0, pod[f"{self.resource}_limit"]
        most = max(whole, request, limit or 0) or 1
        title = f"{'of' if short else 'part of the node:'} {amount_text(self.resource, whole)}"
        self.picture.text(x, y - 3, fitted(title, wide), "soft", size=11)
        self.picture.rect(x, y + 2, wide * whole / most, 12, stroke="grey")
        taken = wide * request / most
        self.picture.rect(x, y + 2, taken, 12, "series-2", stroke="ink", tint=42, key=f"{self.resource} part")
        if limit is not None:
            at = x + wide * limit / most
            self.picture.limit(at, y - 1, at, y + 17)
        said = percent(request, whole) + ("" if short else " reserved")
        if limit is None:
            said += ", no limit"
        elif limit != request:
            said += f", up to {percent(limit, whole)}"
        self.picture.text(x, y + 29, fitted(said, wide), size=11)


def percent(value: int, whole: int) -> str:
    """Return a part of a whole in percent; `<1%` for small positive values."""
    part = 100 * value / whole if whole else 0
    return f"{part:.0f}%" if part >= 1 or not part else "<1%"
