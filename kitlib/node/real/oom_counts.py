"""The number of OOM-killed processes of a container that has ended.

The counter is in the container's own cgroup. On cgroup v2 systemd removes a scope as soon as its last process exits,
and the counter with it, possibly before it was read. The pod's counter includes all descendants and remains: its value
minus those of the running containers and of those counted before is the lost one.

Source: cgroup-v2.rst, memory.events; containerd's watch of memory.events (cgroup2 Manager.EventChan).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class OOMCounterReader(Protocol):
    """A reader of the counters."""

    def oom_kills(self, path: str) -> int:
        """Return the kills in a cgroup, on v2 including its descendants; 0 if it does not exist."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether the cgroup exists."""
        ...


class OomCounts:
    """The counts of a node's containers.

    Args:
        cgroups: reader of the counters.
    """

    def __init__(self, cgroups: OOMCounterReader) -> None:
        self._cgroups = cgroups
        self._counted: dict[str, int] = {}

    def ended(self, path: str, standing: Iterable[str]) -> int:
        """Return the number of kills in the cgroup of an ended container; each container is asked for once.

        Args:
            path: path of its cgroup.
            standing: paths of all containers whose kills are not counted yet.
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
