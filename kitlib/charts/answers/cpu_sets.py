"""Sets of CPUs as squares: which CPUs a process may use."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kitlib.charts.answers.frame import LINE, Answer, Sheet, answer_chart, letters, ring, wrapped
from kitlib.charts.base import Chart
from kitlib.kubelet.util.cpuset import parse_cpus

_ROW, _HIGH, _GAP = 40, 22, 6
_SHORT = 12
"""Letters of a list of CPUs that the sentence repeats."""
_NARROW_CELL = 14.0
"""Minimum width of a square in a narrow picture, in which a set takes several lines."""


def cpu_sets_chart(
    title: str,
    sets: Mapping[str, str],
    count: int,
    *,
    split: int = 0,
    picked: Collection[str] = (),
    guess: Answer = None,
) -> Chart:
    """Return a row of squares for each set; a row without CPUs has its text instead, and a cross.

    Args:
        title: the subject in a few words.
        sets: name -> a list as in /proc/PID/status ("0,7-32"), or the reason why there is none.
        count: number of the machine's CPUs.
        split: CPUs between two gaps, such as those of a NUMA node; 0 = no gaps.
        picked: names of the rows that are the answer.
        guess: the learner's answer, if it is the name of a row or a set.
    """
    found = {name: _cpus(text, count) for name, text in sets.items()}
    said = [f"{name}: {_in_words(text, found[name], count)}" for name, text in sets.items()]

    def draw(d: Sheet) -> None:
        squares = _Squares(d, count, split)
        y = d.top
        for name, text in sets.items():
            cpus, bold = found[name], name in picked
            if d.narrow:
                head = f"{name}: {len(cpus)} of {count} CPUs" if cpus is not None else name
                y = d.lines(0, y + 8, wrapped(head, letters(d.width, bold=True)), bold=bold) - 8
            else:
                d.beside(y + 11, name, bold=bold)
            if cpus is None:
                d.cross(d.left + 8, y + 12)
                room = d.width - d.left - 24
                lines = wrapped(text, letters(room))
                d.lines(d.left + 22, y + 16, lines, "red-text")
                high: float = _HIGH + LINE * (len(lines) - 1)
            else:
                high = squares.draw(y, cpus, "green" if bold else "blue")
                if not d.narrow:
                    d.text(d.left + squares.room + 12, y + 16, f"{len(cpus)}", bold=True)
            if guess is not None and guess in (name, text):
                ring(d, d.left, y, squares.room, high if cpus is None or not d.narrow else high - LINE + 3)
            y += high + _ROW - _HIGH
        floor = y - 6
        if not d.narrow:
            squares.axis(floor, range(count))
        d.height = floor + (6 if not d.narrow else -4)

    columns = {"who": list(sets), "CPUs": list(sets.values())}
    return answer_chart(title, "; ".join(said) + ".", columns, draw)


def _in_words(text: str, cpus: Collection[int] | None, count: int) -> str:
    """Return a list of CPUs for the sentence: a long one as its number, since the picture and its table show it."""
    return text if cpus is None or len(text) <= _SHORT else f"{len(cpus)} of {count} CPUs"


class _Squares:
    """The squares of all CPUs: one line, or several lines in a narrow picture.

    Attributes:
        room: width of the longest line in pixels.
    """

    def __init__(self, d: Sheet, count: int, split: int) -> None:
        self.sheet, self.count, self.split = d, count, split
        gaps = count // split * _GAP if split else 0
        self.line, self.cell = count, min(24.0, ((d.room if d.narrow else d.width - d.left - 60) - gaps) / count)
        if d.narrow and self.cell < _NARROW_CELL:
            most = int(d.room / _NARROW_CELL)
            # Lines end at NUMA nodes, else at multiples of four.
            step = split if 0 < split <= most else 4
            self.line = most // step * step
            self.cell = min(24.0, (d.room - (self.line // split * _GAP if split else 0)) / self.line)
        self.room = self.line * self.cell + (self.line // split * _GAP if split else 0)

    def _left(self, cpu: int) -> float:
        place = cpu % self.line
        return self.sheet.left + place * self.cell + (place // self.split * _GAP if self.split else 0)

    def draw(self, y: float, cpus: Collection[int], colour: str) -> float:
        """Draw the squares, with those of a set filled; return the height."""
        d = self.sheet
        step = _HIGH + (LINE + 2 if d.narrow else 0)
        for cpu in range(self.count):
            left, top = self._left(cpu), y + cpu // self.line * step
            d.rect(left, top, self.cell - 1.5, _HIGH, "raised", stroke="line")
            if cpu in cpus:
                d.rect(left, top, self.cell - 1.5, _HIGH, colour, tint=60)
                d.rect(left, top, self.cell - 1.5, _HIGH, stroke=colour)
        lines = -(-self.count // self.line)
        if d.narrow:
            for number in range(lines):
                first = number * self.line
                self.axis(y + number * step + _HIGH + 11, range(first, min(first + self.line, self.count)))
        return step * lines

    def axis(self, base: float, cpus: range) -> None:
        """Draw the numbers of CPUs below their line."""
        every = (4 if self.sheet.narrow else 8) if self.count > 16 or self.cell < 14 else 1
        for cpu in cpus[::every]:
            self.sheet.text(self._left(cpu) + self.cell / 2, base, str(cpu), "soft", anchor="middle", size=11)


def _cpus(text: str, count: int) -> set[int] | None:
    """Return the CPUs of a list; None if the text is another one."""
    try:
        return {cpu for cpu in parse_cpus(text) if cpu < count}
    except ValueError:
        return None
