"""Points in chunks of about equal time for workers; a chunk whose worker ended is tried again, point by point.

So a worker that is killed loses nothing, and a point that kills its worker again and again is found: it becomes a row
with that error. A worker reports a chunk once, as done or as failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kitlib.api.errors import KitError
from kitlib.study.sweeps.grid import Point
from kitlib.study.sweeps.row import SweepRow

TRIES = 3
"""How often a worker may end at a point: in its chunk, then twice alone."""
MAX_CHUNK = 1000
Numbered = tuple[int, Point]


class NoProcesses(KitError):
    """No process can be started here."""


@dataclass(frozen=True)
class Chunk:
    """Points for one worker.

    Attributes:
        points: (number, point).
        tries: how often a worker has ended with these.
    """

    points: Sequence[Numbered]
    tries: int = 0

    def rows(self, rows: Sequence[SweepRow]) -> list[tuple[int, SweepRow]]:
        """The rows with their points' numbers."""
        return [(number, row) for (number, _), row in zip(self.points, rows, strict=True)]


class Chunks:
    """What is left of a sweep.

    Args:
        points: (number, point), in order.
        workers: how many take chunks at the same time.
        seconds: that a chunk should take.
    """

    def __init__(self, points: Sequence[Numbered], workers: int, seconds: float) -> None:
        self._left, self._again = deque(points), deque[Chunk]()
        self._workers, self._seconds = max(1, workers), seconds
        self._out = 0
        self._per_point = 0.0

    @property
    def finished(self) -> bool:
        """Nothing is left and nothing is being computed."""
        return not (self._left or self._again or self._out)

    @property
    def waiting(self) -> int:
        """Points that no worker has."""
        return len(self._left) + len(self._again)

    @property
    def seconds_left(self) -> float:
        """Estimated seconds of one worker for what waits; 0 while nothing is known."""
        return self._per_point * self.waiting

    def take(self) -> Chunk | None:
        """The next chunk; None = nothing waits (what others compute may still come back)."""
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
        """A chunk was computed in that time."""
        self._out -= 1
        each = seconds / len(chunk.points)
        self._per_point = each if not self._per_point else 0.7 * self._per_point + 0.3 * each

    def failed(self, chunk: Chunk, how: str, *, late: bool = False) -> list[tuple[int, SweepRow]]:
        """A chunk's worker ended; the rows of points that are given up.

        Args:
            how: it ended, in words.
            late: it was ended because it took too long: a point that did so alone is not tried again.
        """
        self._out -= 1
        tries, alone = chunk.tries + 1, len(chunk.points) == 1
        if tries < TRIES and not (late and alone):
            self._again.extend(Chunk([one], tries) for one in chunk.points)
            return []
        text = how if late else f"{how} ({tries} times)"
        return [(number, SweepRow(point, {}, text)) for number, point in chunk.points]
