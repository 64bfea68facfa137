"""A container ends with all of its processes, on kernels with and without cgroup.kill."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.node.common.errors import CgroupError
from kitlib.node.real.killing import AGAIN, Killing, kill_all
from kitlib.node.real.running import Running


class Cgroups:
    """Cgroups with real processes in them; those that are `stuck` stay a while though they were killed.

    Args:
        version: the cgroup version.
        kills: whether the kernel has cgroup.kill.
        processes: path -> what runs there.
    """

    def __init__(self, version: int, kills: bool, processes: dict[str, list[subprocess.Popen[bytes]]]) -> None:
        self.version, self._kills, self._processes = version, kills, processes
        self.written: list[tuple[str, str, str]] = []
        self.stuck = 0

    def children(self, path: str) -> list[str]:
        return [one for one in self._processes if one.rpartition("/")[0] == path]

    def procs(self, path: str) -> list[int]:
        if path not in self._processes:
            raise CgroupError(errno.ENOENT, path, "cgroup.procs")
        alive = [one.pid for one in self._processes[path] if one.poll() is None]
        if not alive and self.stuck:
            self.stuck -= 1
            return [self._processes[path][0].pid]
        return alive

    def write(self, path: str, file: str, value: str) -> None:
        if file == "cgroup.kill":
            if not self._kills:
                raise CgroupError(errno.ENOENT, path, file)
            for one in self._processes[path]:
                one.kill()
        self.written.append((path, file, value))


Made = Any


@pytest.fixture
def start() -> Iterator[Made]:
    made: list[subprocess.Popen[bytes]] = []

    def begin(count: int) -> list[subprocess.Popen[bytes]]:
        new = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) for _ in range(count)]
        made.extend(new)
        return new

    yield begin
    for one in made:
        one.kill()
        one.wait()


def wait(processes: list[subprocess.Popen[bytes]]) -> list[int]:
    return [one.wait(30) for one in processes]


KERNELS = {
    "v1: none is forked, each is killed": (1, False, [("cpu.cfs_quota_us", "-1"), ("pids.max", "0")]),
    "v2 before 5.14": (2, False, [("cpu.max", "max"), ("pids.max", "0")]),
    "v2: the kernel kills all at once": (2, True, [("cpu.max", "max"), ("cgroup.kill", "1")]),
}


@pytest.mark.parametrize(("version", "kills", "written"), KERNELS.values(), ids=KERNELS.keys())
def test_all_processes_are_killed(start: Made, version: int, kills: bool, written: list[tuple[str, str]]) -> None:
    processes, below = start(3), start(1)
    cgroups: Any = Cgroups(version, kills, {"/pod/c": processes, "/pod/c/container": below, "/pod/other": start(1)})
    assert not kill_all(cgroups, "/pod/c")
    assert wait(processes + below) == [-9] * 4
    assert cgroups.written == [(path, *one) for path in ("/pod/c", "/pod/c/container") for one in written]
    assert kill_all(cgroups, "/pod/c"), "now nothing is left"
    assert len(cgroups.procs("/pod/other")) == 1
    assert kill_all(cgroups, "/pod/gone"), "nor in a cgroup that does not exist"


def test_a_container_has_ended_when_its_last_process_is_gone(start: Made) -> None:
    now = [0.0]
    processes = start(2)
    cgroups: Any = Cgroups(2, True, {"/c": processes})
    killing = Killing(cgroups, lambda: now[0])
    running = Running("id", "/c", processes[0].pid)
    processes[0].kill()
    processes[0].wait()
    assert not killing.has_ended(running, 9), "one more is there, and killed"
    wait(processes)
    assert killing.ended() == [], "not looked at again at once"
    now[0], cgroups.stuck = AGAIN, 1
    assert killing.next_look(running) == AGAIN
    assert killing.ended() == [], "it does not die yet"
    now[0] += AGAIN
    assert killing.ended() == [(running, 9)]
    assert killing.ended() == [] and killing.next_look(running) == float("inf")


def test_a_process_that_does_not_die_is_killed_again_and_not_without_a_pause(start: Made) -> None:
    now = [5.0]
    processes = start(1)
    cgroups: Any = Cgroups(1, False, {"/c": processes})
    killing = Killing(cgroups, lambda: now[0])
    running = Running("id", "/c", processes[0].pid, kill_at=5.0)
    assert killing.next_look(running) == 5.0
    assert killing.look([running]) == []
    assert wait(processes) == [-9] and killing.next_look(running) == 5.0 + AGAIN
    cgroups.written.clear()
    cgroups.stuck = 9
    now[0] += AGAIN / 2
    killing.look([running])
    assert cgroups.written == []
    now[0] += AGAIN
    killing.look([running])
    assert ("/c", "pids.max", "0") in cgroups.written
