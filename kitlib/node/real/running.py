"""What the runtime of a real node remembers of a container that it started."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeVar

from kitlib.node.common.log import Log

K = TypeVar("K")
V = TypeVar("V")
_RATE_WINDOW = 0.1
"""Seconds: the shortest time over which a rate of CPU use is computed."""
ENDED_KEPT = 1000
"""Containers that have ended of which logs and exit codes are kept: a node runs at most a few hundred."""


class Newest(dict[K, V]):
    """A mapping that forgets its oldest entries, so that a node that runs for days does not grow.

    Args:
        most: entries that are kept.
    """

    def __init__(self, most: int = ENDED_KEPT) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)  # what is written again is the newest
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


@dataclass
class Running:
    """A container that was started.

    Attributes:
        id: its own.
        cgroup: path.
        pid: of its first process.
        kill_at: seconds, when it is killed; inf = it was not asked to end.
        ours: the kubelet asked it to end, so its end is not reported.
        output: the read end of its output, or -1.
        input: where its standard input is written to, or -1: it has none.
        input_once: its standard input ends with the first that attaches to it (`stdinOnce`).
        terminal: the master side of its terminal, or -1.
        namespace, pod: whose it is.
        log: its output.
    """

    id: str
    cgroup: str
    pid: int
    name: str = ""
    kill_at: float = float("inf")
    ours: bool = False
    output: int = -1
    score: int = 0
    sampled: tuple[float, float] = (0.0, 0.0)
    rate: float = 0.0
    input: int = -1
    input_once: bool = False
    terminal: int = -1
    namespace: str = ""
    pod: str = ""
    log: Log = field(default_factory=lambda: Log(time.time))

    def sample(self, now: float, used: float) -> None:
        """Compute the rate of CPU use from the seconds of a processor that were used until now."""
        then, before = self.sampled
        if now - then >= _RATE_WINDOW:
            self.rate = max(0.0, (used - before) / (now - then))
            self.sampled = (now, used)
