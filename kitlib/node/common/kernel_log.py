"""A bounded record of the kernel's log that reports missing lines.

The kernel's own buffer is a ring: in a burst of OOM kills it overwrites lines before they are read.

Source: printk's ring buffer (log_buf_len); syslog(2), SYSLOG_ACTION_READ_ALL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import overload

KEPT = 20_000
"""Maximum number of lines: about 400 reports of the OOM killer."""
_TRIMMED_AT_ONCE = 1000
RECORD = "kitlib: "
"""Prefix of the record's own lines."""
LOST = RECORD + "the kernel's log overflowed, lines before this one were lost"
DROPPED = RECORD + "{} older lines are not kept"


class KernelLog:
    """The lines of the log, oldest first.

    Attributes:
        dropped: number of old lines that were removed to stay within the limit.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.dropped = 0

    def append(self, line: str) -> None:
        self.extend([line])

    def extend(self, lines: Iterable[str]) -> None:
        """Add lines and remove the oldest ones beyond the limit."""
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
        """Return the lines, after a line with the number of removed lines if there are any."""
        return [DROPPED.format(self.dropped), *self._lines] if self.dropped else list(self._lines)


class RingReader:
    """A reader of a ring of lines that finds the new lines at each call."""

    def __init__(self) -> None:
        self._last: str | None = None

    def new(self, ring: list[str]) -> tuple[list[str], bool]:
        """Return the lines since the last call, and whether older new lines were overwritten before this call.

        Args:
            ring: all current lines of the ring, oldest first; they are distinct, since each contains its time.
        """
        last, self._last = self._last, ring[-1] if ring else self._last
        if last is None:
            return list(ring), False
        for place in range(len(ring) - 1, -1, -1):
            if ring[place] == last:
                return ring[place + 1 :], False
        return list(ring), bool(ring)
