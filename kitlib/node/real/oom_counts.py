"""How many processes of a container the OOM killer has ended, asked when the container has ended.

The counter stands in the container's own cgroup. On cgroup v2 systemd removes a scope as soon as its last process has
gone, and the counter with it, possibly before it was read. The pod's counter counts everything below it and stays:
what it has more than the containers that still run and those that were counted before is the lost one's.

Source: cgroup-v2.rst, memory.events; containerd's watch of memory.events (cgroup2 Manager.EventChan).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class OOMCounterReader(Protocol):
    """Who reads the counters."""

    def oom_kills(self, path: str) -> int:
        """Of a cgroup, on v2 with those below it; 0 where it has gone."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""
        ...


class OomCounts:
    """The kills of a node's containers.

    Args:
        cgroups: where the counters are read.
    """

    def __init__(self, cgroups: OOMCounterReader) -> None:
        self._cgroups = cgroups
        self._counted: dict[str, int] = {}

    def ended(self, path: str, standing: Iterable[str]) -> int:
        """The kills in the cgroup of a container that has ended.

        Args:
            path: of it.
            standing: paths of all containers that have not been asked about yet.
        """
        pod = path.rpartition("/")[0]
        own = self._cgroups.oom_kills(path)
        if not own and not self._cgroups.exists(path):
            others = [one for one in standing if one != path and one.rpartition("/")[0] == pod]
            known = sum(map(self._cgroups.oom_kills, others)) + self._counted.get(pod, 0)
            own = max(0, self._cgroups.oom_kills(pod) - known)
        if own:
            self._counted[pod] = self._counted.get(pod, 0) + own
        return own
