"""Scenes as plain data: boxes with tokens, for a board in the page.

A scene has areas (the queue, a zone, the nodes), an area has boxes (a lane, a node, a core), a box has tokens (pods,
as a fraction of the box's capacity) and lines across it (a limit, a threshold). IDs are stable across scenes, so the
page knows which token moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Token:
    """An object in a box: a pod, a processor, a part of memory.

    Attributes:
        id: unique ID, the same in every scene.
        label: first line of its text.
        note: second line of its text.
        kind: colour and pattern by meaning: a QoS class, "ok", "warn", "bad", "new", "free", "own", "queue" or "node".
        state: "chosen", "victim", "dead", "promised" or "".
        size: fraction of the box, 0 to 1, if the box is a bar.
        words: description of the token.
        still: whether it can be neither selected nor moved.
    """

    id: str
    label: str
    note: str = ""
    kind: str = ""
    state: str = ""
    size: float | None = None
    words: str = ""
    still: bool = False


@dataclass(frozen=True)
class Line:
    """A line across a bar.

    Attributes:
        at: position, 0 to 1.
        label: text at its head.
        kind: "bad" for a limit that was reached.
    """

    at: float
    label: str
    kind: str = ""


@dataclass(frozen=True)
class PointColumn:
    """A column on a bar, above one of its tokens.

    Attributes:
        id: ID of the token.
        at: start of the token, 0 to 1 of the bar.
        wide: width of the token, 0 to 1 of the bar.
        parts: (kind, height) from the base up, heights as fractions of the highest column; kinds "memory" or "added".
        label: text at its end.
        down: whether it points down, for a negative amount.
        state: "dead" for a killed process, "promised" for one that does not exist yet.
        words: description of the column.
    """

    id: str
    at: float
    wide: float
    parts: Sequence[tuple[str, float]]
    label: str
    down: bool = False
    state: str = ""
    words: str = ""


@dataclass(frozen=True)
class Box:
    """A node, a lane of the queue, a core.

    Attributes:
        id: unique ID, the same in every scene.
        title: first line of its text.
        note: second line of its text.
        tokens: tokens from left to right.
        layout: "bar" (tokens to scale, side by side) or "" (tokens beside each other, sized by their text).
        kind: "best", "no", "bad" or "".
        marks: lines across a bar.
        words: description of the box.
        columns: columns above and below a bar.
    """

    id: str
    title: str
    tokens: Sequence[Token] = ()
    note: str = ""
    layout: str = ""
    kind: str = ""
    marks: Sequence[Line] = ()
    words: str = ""
    columns: Sequence[PointColumn] = ()


@dataclass(frozen=True)
class Area:
    """A group of boxes.

    Attributes:
        id: unique ID.
        title: heading.
        note: text after the heading.
        boxes: boxes of the area.
        kind: "frame" draws a border around all of them.
        wide: minimum width of a box, a CSS length.
    """

    id: str
    title: str
    boxes: Sequence[Box]
    note: str = ""
    kind: str = ""
    wide: str = "15em"


@dataclass(frozen=True)
class Scene:
    """A moment of a board.

    Attributes:
        areas: areas from top to bottom.
        caption: description of the last event.
        seconds: time of the moment; None = without a time.
    """

    areas: Sequence[Area] = ()
    caption: str = ""
    seconds: float | None = None

    def plain(self) -> dict[str, Any]:
        """Return the scene as JSON data; `dataclasses.asdict` takes ten times as long for a board of 200 nodes."""
        return {**vars(self), "areas": [_plain_area(area) for area in self.areas]}


def _plain_area(area: Area) -> dict[str, Any]:
    return {**vars(area), "boxes": [_plain_box(box) for box in area.boxes]}


def _plain_box(box: Box) -> dict[str, Any]:
    plain = {
        **vars(box),
        "tokens": [dict(vars(token)) for token in box.tokens],
        "marks": [dict(vars(m)) for m in box.marks],
    }
    return plain | {"columns": [dict(vars(column)) for column in box.columns]}


@dataclass(frozen=True)
class Mark:
    """A line of the legend.

    Attributes:
        text: meaning of the mark.
        kind: kind of a token with this look.
        state: state of a token with this look.
        sign: a sign instead of a token's look.
    """

    text: str
    kind: str = ""
    state: str = ""
    sign: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the line as JSON data."""
        return dict(vars(self))


@dataclass(frozen=True)
class BarScale:
    """The scale of a bar that shows the capacity, or the used amount if that is larger.

    Attributes:
        capacity: capacity of the box.
        used: sum of the amounts in the box.
    """

    capacity: float
    used: float

    def of(self, amount: float) -> float:
        """Return the fraction of the bar for an amount."""
        return max(0.0, amount / (max(self.capacity, self.used) or 1.0))

    @property
    def over(self) -> bool:
        """Whether the used amount exceeds the capacity."""
        return self.used > self.capacity


QOS_LEGEND = (
    Mark("Guaranteed", "Guaranteed"),
    Mark("Burstable", "Burstable"),
    Mark("BestEffort", "BestEffort"),
)
"""The three QoS classes, as every board shows them."""
