"""A container's output: its last lines with the time at which each came.

Source: kubelet kuberuntime logs.ReadLogs; containerd cri/io (a line is cut at 16 KiB).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

KEPT = 64 * 1024
"""Bytes of output that are kept."""
MAX_LINE = 16 * 1024


class LogLine(NamedTuple):
    """A line of output.

    Attributes:
        number: counted from 0 since the container began.
        at: seconds since the epoch.
        text: with its end, where it has one.
    """

    number: int
    at: float
    text: bytes


class Log:
    """The output of one container.

    Args:
        now: seconds since the epoch.

    Attributes:
        listeners: are called with every piece of output as it comes.
        over: whether no more will come.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines: deque[LogLine] = deque()
        self._kept, self._count = 0, 0
        self._rest, self._rest_at = b"", 0.0
        self.listeners: list[Callable[[bytes], None]] = []
        self.over = False

    def add(self, piece: bytes) -> None:
        """Take what was written."""
        *whole, rest = piece.split(b"\n")
        for part in whole:
            self._end_line(self._rest + part + b"\n")
        self._begin(rest)
        while len(self._rest) >= MAX_LINE:
            cut, left = self._rest[:MAX_LINE], self._rest[MAX_LINE:]
            self._end_line(cut)
            self._begin(left)
        for listener in list(self.listeners):
            listener(piece)

    def end(self) -> None:
        """The container has ended: what has no end of line is a line too."""
        if self._rest:
            self._end_line(self._rest)
        self.over = True

    def _begin(self, rest: bytes) -> None:
        if rest and not self._rest:
            self._rest_at = self._now()
        self._rest += rest

    def _end_line(self, text: bytes) -> None:
        self._lines.append(LogLine(self._count, self._rest_at if self._rest else self._now(), text))
        self._count, self._rest = self._count + 1, b""
        self._kept += len(text)
        while self._kept - len(self._lines[0].text) > KEPT:
            self._kept -= len(self._lines.popleft().text)

    def text(self) -> bytes:
        """All that is kept."""
        return b"".join(line.text for line in self._lines) + self._rest

    def unfinished(self, timestamps: bool) -> bytes:
        """A last line without its end."""
        return shown(LogLine(self._count, self._rest_at, self._rest), timestamps) if self._rest else b""

    @property
    def count(self) -> int:
        """How many lines have come."""
        return self._count

    def lines(self, first: int = 0, tail: int | None = None, since: float = 0.0) -> list[LogLine]:
        """The kept lines.

        Args:
            first: number of the first one.
            tail: how many of the last at most; None = all.
            since: those that came then or later; seconds since the epoch.
        """
        skipped = max(0, first - self._lines[0].number) if self._lines else 0
        found = list(islice(self._lines, skipped, None))
        if tail is not None:  # of all, before their time is looked at. Source: logs.ReadLogs
            found = found[max(0, len(found) - tail) :]
        return [line for line in found if line.at >= since]


def shown(line: LogLine, timestamps: bool) -> bytes:
    """A line as `kubectl logs` prints it, with `--timestamps` after its time."""
    if not timestamps:
        return line.text
    moment = datetime.fromtimestamp(line.at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000Z ".encode() + line.text
