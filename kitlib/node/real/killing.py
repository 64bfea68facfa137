"""The end of a container with all of its processes, including those of a fork bomb.

A container has ended when its cgroup holds no process. SIGKILL to the first process is not enough: processes that
joined its namespaces survive, and thousands of processes take time to exit, during which they must not fork.

* `cgroup.kill` (v2 since Linux 5.14) kills all of them at once, including those being forked.
* Elsewhere the cgroup's `pids.max` is set to 0, so that no process is forked, and each process gets SIGKILL until none
  is left. Freezing the cgroup instead would wait until every process has run once, which takes long for a fork bomb.

The CPU quota is removed: a throttled process cannot exit before its next period.

Source: containerd's task deletion, runc `signalAllProcesses`; kernel cgroup-v2.rst cgroup.kill, pids.rst.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from kitlib.node.common.errors import CgroupError
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.running import Running

AGAIN = 0.05
"""Seconds between two checks of processes that were killed and still exist."""
_UNLIMITED = {1: ("cpu.cfs_quota_us", "-1"), 2: ("cpu.max", "max")}


def kill_all(cgroups: RealCgroupFS, path: str) -> bool:
    """Send SIGKILL to every process of a cgroup and of those below it; return whether none is left."""
    below = [path]
    for one in below:
        # The list grows while it is iterated, so that it ends with all descendants.
        below += cgroups.children(one)
    left = False
    for one in below:
        with suppress(CgroupError):  # the cgroup was removed
            if not cgroups.procs(one):
                continue
            left = True
            with suppress(CgroupError):
                cgroups.write(one, *_UNLIMITED[cgroups.version])
            try:
                cgroups.write(one, "cgroup.kill", "1")
            except CgroupError:  # v1, or a kernel before 5.14
                _kill_each(cgroups, one)
    return not left


def _kill_each(cgroups: RealCgroupFS, path: str) -> None:
    with suppress(CgroupError):
        cgroups.write(path, "pids.max", "0")
    for pid in cgroups.procs(path):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Killing:
    """The containers that are being killed.

    Args:
        cgroups: the node's cgroups.
        clock: returns seconds.
    """

    def __init__(self, cgroups: RealCgroupFS, clock: Callable[[], float]) -> None:
        self._cgroups, self._clock = cgroups, clock
        self._next: dict[str, float] = {}
        self._exited: dict[str, tuple[Running, int]] = {}

    def kill(self, running: Running) -> None:
        """Kill all processes of a container."""
        self._next[running.id] = self._clock() + AGAIN
        with suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGKILL)
        kill_all(self._cgroups, running.cgroup)

    def look(self, containers: Iterable[Running]) -> list[tuple[Running, int]]:
        """Kill the containers whose grace period has passed, and return the killed containers that have ended.

        Returns:
            (container, exit status of its first process) of each.
        """
        for running in containers:
            if max(running.kill_at, self._next.get(running.id, 0.0)) <= self._clock():
                self.kill(running)
        return self.ended()

    def next_look(self, running: Running) -> float:
        """Return the time of the next check of a container, in seconds on the clock; infinite = never."""
        again = self._next.get(running.id, 0.0)
        return again if running.id in self._exited else max(running.kill_at, again)

    def has_ended(self, running: Running, status: int) -> bool:
        """Return whether a container has ended with its first process; remaining processes are killed."""
        if kill_all(self._cgroups, running.cgroup):
            self._forget(running)
            return True
        self._next[running.id] = self._clock() + AGAIN
        self._exited[running.id] = running, status
        return False

    def ended(self) -> list[tuple[Running, int]]:
        """Return the containers without any remaining process, with the status of their first process."""
        found = []
        for running, status in list(self._exited.values()):
            if self._next[running.id] <= self._clock() and self.has_ended(running, status):
                found.append((running, status))
        return found

    def _forget(self, running: Running) -> None:
        self._next.pop(running.id, None)
        self._exited.pop(running.id, None)
