"""The state of a container that the runtime of a real node has started."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TypeVar

from kitlib.node.common.log import Log
from kitlib.node.real.pod_network import PodNamespace

K = TypeVar("K")
V = TypeVar("V")
_RATE_WINDOW = 0.1
"""Minimum seconds over which a rate of CPU usage is computed."""
ENDED_KEPT = 1000
"""Number of ended containers whose logs and exit codes are kept: a node runs at most a few hundred."""


class Newest(dict[K, V]):
    """A mapping that drops its oldest entries, so that the memory of a long-running node is bounded.

    Args:
        most: maximum number of entries.
    """

    def __init__(self, most: int = ENDED_KEPT) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)  # a rewritten entry becomes the newest
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


@dataclass
class Running:
    """A started container.

    Attributes:
        id: id of the container.
        cgroup: path of its cgroup.
        pid: id of its first process.
        kill_at: time of SIGKILL on the clock in seconds; infinite = it is not being stopped.
        ours: whether the kubelet stops it, so that its end is not reported.
        output: read end of its output; -1 = none.
        input: write end of its standard input; -1 = none.
        input_once: whether its standard input ends with the first attached client (`stdinOnce`).
        terminal: master side of its terminal; -1 = none.
        namespace, pod: namespace and name of its pod.
        log: its output.
        place: the network namespace of its pod; None = all pods share the node's.
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
    place: PodNamespace | None = None

    def sample(self, now: float, used: float) -> None:
        """Update the rate of CPU usage from the CPU time in seconds that was used until now."""
        then, before = self.sampled
        if now - then >= _RATE_WINDOW:
            self.rate = max(0.0, (used - before) / (now - then))
            self.sampled = (now, used)
