"""Scenes: boxes with tokens in them, as plain data: what a board in the page shows.

A scene has areas (the queue, a zone, the nodes), an area has boxes (a lane, a node, a core), a box has tokens (pods, in
their share of the box's capacity) and lines across it (a limit, a threshold). Names stay the same from one scene to the
next: so the page knows which token moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Token:
    """Something that stands in a box: a pod, a processor, a part of memory.

    Attributes:
        id: its name, the same in every scene.
        label, note: written on it.
        kind: its colour and pattern by meaning: a QoS class, "ok", "warn", "bad", "new", "free", "own", "queue"
            or "node".
        state: "chosen", "victim", "dead", "promised" or "".
        size: its part of the box, 0 to 1, where the box is a bar.
        words: what is said about it.
        still: it can neither be chosen nor moved.
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
        at: where, 0 to 1.
        label: written at its head.
        kind: "bad" for a limit that was reached.
    """

    at: float
    label: str
    kind: str = ""


@dataclass(frozen=True)
class PointColumn:
    """A column that grows out of a bar, above a token of it.

    Attributes:
        id: the token's name.
        at, wide: where the token begins and how wide it is, 0 to 1 of the bar.
        parts: (kind, height) from the foot up, heights as parts of the highest column; kinds "memory" or "added".
        label: written at its end.
        down: hangs below the bar: a negative amount.
        state: "dead" for the one that was killed, "promised" for one that is not there yet.
        words: what is said about it.
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
        id: its name, the same in every scene.
        title, note: written on it.
        tokens: in it, from left to right.
        layout: "bar" (tokens to scale, side by side) or "" (tokens beside each other, as large as their text).
        kind: "best", "no", "bad" or "".
        marks: lines across a bar.
        words: what is said about it.
        columns: above and below a bar.
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
    """Boxes that belong together.

    Attributes:
        id: its name.
        title, note: written above.
        boxes: in it.
        kind: "frame" draws a border around all of them.
        wide: the width that a box has at least, as CSS writes it.
    """

    id: str
    title: str
    boxes: Sequence[Box]
    note: str = ""
    kind: str = ""
    wide: str = "15em"


@dataclass(frozen=True)
class Scene:
    """One moment.

    Attributes:
        areas: from top to bottom.
        caption: what has just happened.
        seconds: when; None where time plays no part.
    """

    areas: Sequence[Area] = ()
    caption: str = ""
    seconds: float | None = None

    def plain(self) -> dict[str, Any]:
        """The scene as JSON takes it; `dataclasses.asdict` takes ten times as long for a board of 200 nodes."""
        return {**vars(self), "areas": [_plain_area(area) for area in self.areas]}


def _plain_area(area: Area) -> dict[str, Any]:
    return {**vars(area), "boxes": [_plain_box(box) for box in area.boxes]}


def _plain_box(box: Box) -> dict[str, Any]:
    plain = {
        **vars(box),
        "tokens": [dict(vars(one)) for one in box.tokens],
        "marks": [dict(vars(m)) for m in box.marks],
    }
    return plain | {"columns": [dict(vars(one)) for one in box.columns]}


@dataclass(frozen=True)
class Mark:
    """One line of the legend.

    Attributes:
        text: what the mark means.
        kind, state: the token's that looks so.
        sign: a sign instead of a token's look.
    """

    text: str
    kind: str = ""
    state: str = ""
    sign: str = ""

    def plain(self) -> dict[str, Any]:
        """The line as JSON takes it."""
        return dict(vars(self))


@dataclass(frozen=True)
class BarScale:
    """Amounts as parts of a bar that holds the capacity, or the sum where that is more.

    Attributes:
        capacity: of the box.
        used: the sum of what stands in it.
    """

    capacity: float
    used: float

    def of(self, amount: float) -> float:
        """The part of the bar that an amount takes."""
        return max(0.0, amount / (max(self.capacity, self.used) or 1.0))

    @property
    def over(self) -> bool:
        """Whether more stands in it than it has."""
        return self.used > self.capacity


QOS_LEGEND = (
    Mark("Guaranteed", "Guaranteed"),
    Mark("Burstable", "Burstable"),
    Mark("BestEffort", "BestEffort"),
)
"""The three QoS classes, as every board shows them."""
