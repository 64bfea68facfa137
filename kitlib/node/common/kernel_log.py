"""A record of the kernel's log that does not grow without end and says where lines are missing.

The kernel's own buffer is a ring: in a storm of OOM kills it overwrites what nobody has read yet.

Source: printk's ring buffer (log_buf_len); syslog(2), SYSLOG_ACTION_READ_ALL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import overload

KEPT = 20_000
"""Lines that are kept: about 400 reports of the OOM killer."""
_TRIMMED_AT_ONCE = 1000
RECORD = "kitlib: "
"""Begins what the record itself says."""
LOST = RECORD + "the kernel's log overflowed, lines before this one were lost"
DROPPED = RECORD + "{} older lines are not kept"


class KernelLog:
    """Lines, oldest first.

    Attributes:
        dropped: lines that were taken out because there were too many.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.dropped = 0

    def append(self, line: str) -> None:
        """Add a line."""
        self.extend([line])

    def extend(self, lines: Iterable[str]) -> None:
        """Add lines; the oldest make room."""
        self._lines.extend(lines)
        if len(self._lines) > KEPT + _TRIMMED_AT_ONCE:
            more = len(self._lines) - KEPT
            self.dropped += more
            del self._lines[:more]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        return self._lines[place]

    def shown(self) -> list[str]:
        """The lines, behind one that says how many are not kept."""
        return [DROPPED.format(self.dropped), *self._lines] if self.dropped else list(self._lines)


class RingReader:
    """Reads a ring of lines again and again, and finds what is new in it."""

    def __init__(self) -> None:
        self._last: str | None = None

    def new(self, ring: list[str]) -> tuple[list[str], bool]:
        """What has come since the last call, and whether there was more that has been overwritten.

        Args:
            ring: all lines that the ring holds now, oldest first; each carries its time, so that none is twice there.
        """
        last, self._last = self._last, ring[-1] if ring else self._last
        if last is None:
            return list(ring), False
        for place in range(len(ring) - 1, -1, -1):
            if ring[place] == last:
                return ring[place + 1 :], False
        return list(ring), bool(ring)
