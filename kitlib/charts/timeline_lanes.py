"""The picture of what happened on a node: time runs downwards, with a band for each moment and a lane for each actor.

A band is as high as the busiest lane needs, and time without entries takes one line, so that the picture has room where
much happens. Within a moment each lane keeps its own order; between lanes the clock does not tell which was first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kitlib.charts.base import Row
from kitlib.charts.svg import LETTER, Drawing, fitted

LANES = ("API", "scheduler", "kubelet", "kernel")
ACTORS = {"event": "API", "kernel": "kernel", "kubelet": "kubelet", "cgroup": "kernel"}
"""Source of an entry -> its lane; events of the scheduler are in the scheduler's lane."""
MOST_MARKS = 60
"""Maximum number of marks in the picture; older ones are counted."""
GUTTER, HEAD, ROW, GAP, WIDE = 52, 24, 24, 18, 560
"""Pixels for the times, above the first band, of a mark, of time without entries, and the minimum width for columns."""
_END = re.compile(r"Killed process|OOMKilled|exit code 137|^Evicted|evicting|^Preempted")
_REPORT = re.compile(
    r"^(memory: usage|swap: usage|kmem: usage|Tasks state|\[ |oom-kill:|Tasks in .* are going|Memory cgroup stats)"
)
_KILLED = re.compile(r"Killed process \d+ \((?P<name>[^)]*)\)")
_CODE = re.compile(r"exit code \d+")
_STEPS = {
    "telling": "sending event",
    "making": "making cgroup",
    "writing": "writing cgroup",
    "setting oom_score_adj of": "setting oom_score_adj",
}
"""Actions of the kubelet's steps that are no words without their object."""
_CHANGED = re.compile(r"^(?P<file>[\w.]+): .* is now ")


@dataclass(frozen=True)
class LaneMark:
    """A mark of the picture: all equal entries of one lane at one moment.

    Attributes:
        lane: one of `LANES`.
        words: two to four words.
        about: the object of the first entry.
        kind: "end", "placed", "file" (of a cgroup) or "step".
        entries: the entries, in order.
    """

    lane: str
    words: str
    about: str
    kind: str
    entries: tuple[Row, ...]

    @property
    def short(self) -> str:
        """The words, with the number of entries if there are several."""
        return f"{self.words} × {len(self.entries)}" if len(self.entries) > 1 else self.words

    @property
    def label(self) -> str:
        """The text beside the mark: the words, and the object of a single entry."""
        return f"{self.short} · {self.about}" if self.about and len(self.entries) == 1 else self.short

    @property
    def details(self) -> str:
        """The full text of the entries, of at most five."""
        said = "; ".join(f"{row.get('object', '')}: {row['text']}" for row in self.entries[:5])
        left = len(self.entries) - 5
        return f"{self.entries[0]['seconds']} s, {self.lane}. {said}" + (f"; and {left} more" if left > 0 else "")


@dataclass(frozen=True)
class LaneMoment:
    """The marks of one moment, in the order of their lanes."""

    seconds: float
    marks: tuple[LaneMark, ...]


def lane_of(entry: Row) -> str:
    """Return the lane of an entry."""
    if entry["source"] == "event" and str(entry["text"]).partition(":")[0] in (
        "Scheduled",
        "FailedScheduling",
        "Preempted",
    ):
        return "scheduler"
    return ACTORS.get(str(entry["source"]), "API")


def words_of(entry: Row) -> str:
    """Return two to four words that say what happened."""
    source, text = entry["source"], str(entry["text"])
    if source == "event":
        return text.partition(":")[0]
    if source == "cgroup":
        changed = _CHANGED.match(text)
        return f"{changed['file']} changed" if changed else f"cgroup {text.split()[0]}"
    if source == "kubelet":
        action = text.partition(": ")[2].partition(" (")[0] or text
        code = _CODE.search(text)
        return f"{action.removeprefix('container ')}, {code[0]}" if code else _STEPS.get(action, action)
    killed = _KILLED.search(text)
    if killed:
        return f"killed {killed['name']}"
    if "invoked oom-killer" in text:
        return "out of memory"
    return "OOM report" if _REPORT.match(text) else " ".join(text.split()[:4])


def kind_of(entry: Row) -> str:
    """Return the kind of a mark: an end, a placed pod, a cgroup's file, or a step."""
    text = str(entry["text"])
    if _END.search(text):
        return "end"
    if text.startswith("Scheduled:"):
        return "placed"
    return "file" if entry["source"] == "cgroup" else "step"


def moments_of(entries: Sequence[Row]) -> list[LaneMoment]:
    """Return the moments in order of time; equal entries of a lane are one mark."""
    found: dict[float, dict[tuple[str, str, str], LaneMark]] = {}
    for entry in entries:
        lane, words, kind = lane_of(entry), words_of(entry), kind_of(entry)
        marks = found.setdefault(float(entry["seconds"]), {})
        known = marks.get((lane, words, kind))
        about = str(entry.get("object", "")).removeprefix("default/")
        marks[lane, words, kind] = (
            replace(known, entries=(*known.entries, entry)) if known else LaneMark(lane, words, about, kind, (entry,))
        )
    order = {lane: place for place, lane in enumerate(LANES)}
    return [
        LaneMoment(seconds, tuple(sorted(marks.values(), key=lambda mark: order[mark.lane])))
        for seconds, marks in sorted(found.items())
    ]


def shown_moments(moments: Sequence[LaneMoment]) -> list[LaneMoment]:
    """Return the newest moments that have room; the newest one is always among them, if need be with its last marks."""
    shown: list[LaneMoment] = []
    left = MOST_MARKS
    for moment in reversed(moments):
        if shown and len(moment.marks) > left:
            break
        shown.insert(0, replace(moment, marks=moment.marks[-MOST_MARKS:]))
        left -= len(moment.marks)
    return shown


def timeline_lanes(entries: Sequence[Row], *, sentence: str, now: float | None = None, width: int = 720) -> str:
    """Return the timeline as SVG; a page can walk from mark to mark.

    Args:
        entries: {"seconds", "source", "object", "text"} in any order.
        sentence: description of the picture.
        now: time of the drawing in seconds; None = that of the last entry.
        width: width in pixels.
    """
    picture, moments = Drawing(width), moments_of(entries)
    shown = shown_moments(moments)
    lanes = [lane for lane in LANES if any(mark.lane == lane for moment in shown for mark in moment.marks)]
    columns = dict.fromkeys(lanes, 0)
    room = float(width - GUTTER)
    if width >= WIDE and lanes:
        room /= len(lanes)
        columns = {lane: place for place, lane in enumerate(lanes)}
    y = 16.0
    for lane in lanes if width >= WIDE else ():
        picture.text(GUTTER + columns[lane] * room, y, lane, bold=True)
    y = float(HEAD if width >= WIDE else 4)
    left = sum(len(mark.entries) for moment in moments for mark in moment.marks) - sum(
        len(mark.entries) for moment in shown for mark in moment.marks
    )
    if left:
        picture.text(GUTTER, y + 13, f"{left} earlier entries are in the table's frame", "soft")
        y += GAP
    last: float | None = None
    number = 0
    for moment in shown:
        if last is not None and moment.seconds - last >= 1:
            _pause(picture, y, moment.seconds - last)
            y += GAP
        picture.line(0, y, width, y)
        picture.text(0, y + 16, f"{moment.seconds:g} s", bold=True)
        tops = dict.fromkeys(lanes, y)
        for lane in lanes:
            mine = [mark for mark in moment.marks if mark.lane == lane]
            if width < WIDE:
                tops[lane] = y
            for mark in mine:
                _mark(picture, mark, GUTTER + columns[lane] * room, tops[lane], room, number, named=width < WIDE)
                number += 1
                tops[lane] += ROW
            if width < WIDE:
                y = tops[lane]
        y = max(y, *tops.values())
        last = moment.seconds
    if now is not None and last is not None and now > last:
        _pause(picture, y, now - last)
        y += GAP
        picture.line(0, y, width, y, "ink")
        picture.text(0, y + 16, f"{now:g} s", bold=True)
        picture.text(GUTTER, y + 16, "now")
        y += ROW
    if not shown:
        picture.text(0, y + 16, sentence, "soft")
        y += ROW
    picture.height = y + 4
    return picture.svg("Timeline", sentence)


def _pause(picture: Drawing, y: float, seconds: float) -> None:
    """Draw time without entries: a broken line with its length, not to scale."""
    picture.path(f"M8 {y + 1:.1f}v5l-4 2l8 3l-4 2v4", "soft")
    picture.text(18, y + 13, f"{seconds:.3g} s without an entry", "soft", size=11)


def _mark(picture: Drawing, mark: LaneMark, x: float, y: float, room: float, number: int, *, named: bool) -> None:
    """Draw a mark with its words; on a narrow page the lane's name is before them."""
    names = {
        "data_walk": number,
        "role": "button",
        "tabindex": -1 if number else 0,
        "aria_label": f"{mark.label}. {mark.details}",
    }
    with picture.part((x - 2, y, room - 2, ROW), **names):
        middle = y + ROW / 2
        if mark.kind == "end":
            picture.cross(x + 5, middle, 4)
        elif mark.kind == "file":
            picture.path(f"M{x + 1.5:.1f} {middle:.1f}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0", "soft")
        else:
            colour = "green" if mark.kind == "placed" else "ink"
            picture.path(f"M{x + 1:.1f} {middle:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", colour, fill=colour)
        bold = mark.kind in ("end", "placed")
        free = (room - 22) * (0.88 if bold else 1)  # bold letters are wider
        lane = f"{mark.lane}: " if named else ""
        text = lane + (mark.label if len(lane + mark.label) * LETTER <= free else mark.short)
        picture.text(x + 14, middle + 4, fitted(text, free), bold=bold)
