"""A container's output: its last lines with their times.

Source: kubelet kuberuntime logs.ReadLogs; containerd cri/io (a line is cut at 16 KiB).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

KEPT = 64 * 1024
"""Minimum number of the last bytes of output that are kept, in whole lines."""
MAX_LINE = 16 * 1024


class LogLine(NamedTuple):
    """A line of output.

    Attributes:
        number: number of the line since the container's start, from 0.
        at: time of its first byte, in seconds since the epoch.
        text: the line with its end of line, if it has one.
    """

    number: int
    at: float
    text: bytes


class Log:
    """The output of one container.

    Args:
        now: returns seconds since the epoch.

    Attributes:
        listeners: functions that are called with every piece of output as it arrives.
        over: whether the container has ended.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines: deque[LogLine] = deque()
        self._kept, self._count = 0, 0
        self._rest, self._rest_at = b"", 0.0
        self.listeners: list[Callable[[bytes], None]] = []
        self.over = False

    def add(self, piece: bytes) -> None:
        """Append output, which may end in the middle of a line."""
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
        """Note the container's end; an unfinished last line counts as a line."""
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
        """Return all output that is kept."""
        return b"".join(line.text for line in self._lines) + self._rest

    def unfinished(self, timestamps: bool) -> bytes:
        """Return the last line if it has no end yet, else b""."""
        return shown(LogLine(self._count, self._rest_at, self._rest), timestamps) if self._rest else b""

    @property
    def count(self) -> int:
        """The number of lines so far, including removed ones."""
        return self._count

    def lines(self, first: int = 0, tail: int | None = None, since: float = 0.0) -> list[LogLine]:
        """Return the kept lines.

        Args:
            first: number of the first line to return.
            tail: maximum number of lines, counted from the end; None = all.
            since: minimum time of a line in seconds since the epoch.
        """
        skipped = max(0, first - self._lines[0].number) if self._lines else 0
        found = list(islice(self._lines, skipped, None))
        if tail is not None:  # the tail is taken before `since` filters, as in the kubelet. Source: logs.ReadLogs
            found = found[max(0, len(found) - tail) :]
        return [line for line in found if line.at >= since]


def shown(line: LogLine, timestamps: bool) -> bytes:
    """Return a line as `kubectl logs` prints it; with `--timestamps` its time comes first."""
    if not timestamps:
        return line.text
    moment = datetime.fromtimestamp(line.at, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000Z ".encode() + line.text
