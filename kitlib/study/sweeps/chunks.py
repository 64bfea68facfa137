"""Chunks of points of about equal duration; the points of a chunk whose worker ended are retried one by one.

A killed worker therefore loses no results, and a point that repeatedly ends its worker is found: it becomes a row with
that error. Each chunk is reported exactly once, as done or as failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kitlib.api.errors import KitError
from kitlib.study.sweeps.grid import Point
from kitlib.study.sweeps.row import SweepRow

TRIES = 3
"""Number of attempts at a point: one in its chunk, then two alone."""
MAX_CHUNK = 1000
Numbered = tuple[int, Point]


class NoProcesses(KitError):
    """The error of a platform that cannot start processes."""


@dataclass(frozen=True)
class Chunk:
    """The points for one worker.

    Attributes:
        points: (number, point).
        tries: number of workers that ended while computing these points.
    """

    points: Sequence[Numbered]
    tries: int = 0

    def rows(self, rows: Sequence[SweepRow]) -> list[tuple[int, SweepRow]]:
        """Return the rows with their points' numbers."""
        return [(number, row) for (number, _), row in zip(self.points, rows, strict=True)]


class Chunks:
    """The remaining points of a sweep, divided into chunks.

    Args:
        points: (number, point), in order.
        workers: number of workers.
        seconds: target duration of a chunk in seconds.
    """

    def __init__(self, points: Sequence[Numbered], workers: int, seconds: float) -> None:
        self._left, self._again = deque(points), deque[Chunk]()
        self._workers, self._seconds = max(1, workers), seconds
        self._out = 0
        self._per_point = 0.0

    @property
    def finished(self) -> bool:
        """Whether no point is waiting or being computed."""
        return not (self._left or self._again or self._out)

    @property
    def waiting(self) -> int:
        """The number of points that no worker has."""
        return len(self._left) + len(self._again)

    @property
    def seconds_left(self) -> float:
        """The estimated seconds of one worker for the waiting points; 0 before the first chunk is done."""
        return self._per_point * self.waiting

    def take(self) -> Chunk | None:
        """Return the next chunk; None = none is waiting (failed chunks may still come back)."""
        if self._again:
            self._out += 1
            return self._again.popleft()
        if not self._left:
            return None
        by_time = int(self._seconds / self._per_point) if self._per_point else 1
        by_share = len(self._left) // (2 * self._workers) + 1  # the last chunks are small: all workers end together
        size = max(1, min(by_time, by_share, MAX_CHUNK))
        self._out += 1
        return Chunk([self._left.popleft() for _ in range(min(size, len(self._left)))])

    def done(self, chunk: Chunk, seconds: float) -> None:
        """Report a computed chunk.

        Args:
            chunk: the chunk.
            seconds: its duration in seconds.
        """
        self._out -= 1
        each = seconds / len(chunk.points)
        self._per_point = each if not self._per_point else 0.7 * self._per_point + 0.3 * each

    def failed(self, chunk: Chunk, how: str, *, late: bool = False) -> list[tuple[int, SweepRow]]:
        """Report a chunk whose worker ended, and return the rows of points that are given up.

        Args:
            chunk: the chunk.
            how: description of the end.
            late: whether the worker was ended for a timeout; a single point with a timeout is not retried.
        """
        self._out -= 1
        tries, alone = chunk.tries + 1, len(chunk.points) == 1
        if tries < TRIES and not (late and alone):
            self._again.extend(Chunk([one], tries) for one in chunk.points)
            return []
        text = how if late else f"{how} ({tries} times)"
        return [(number, SweepRow(point, {}, text)) for number, point in chunk.points]
