"""The kubelet's care for processes outside the pods: when, and what is reported."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.system_cgroups import SystemProcess
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.system import SystemCgroups
from kitlib.kubelet.loop.timeline import KubeletTimeline


class Machine:
    """Processes that can be moved and adjusted."""

    def __init__(self, *processes: SystemProcess, refuses: bool = False) -> None:
        self.listed, self.refuses = list(processes), refuses
        self.reads = 0
        self.done: list[tuple[Any, ...]] = []

    def processes(self) -> list[SystemProcess]:
        self.reads += 1
        return self.listed

    def move(self, pid: int, cgroup: str) -> None:
        self.done.append((pid, cgroup))
        if self.refuses:
            raise KitError("EBUSY")

    def adjust(self, pid: int, oom_score_adj: int) -> None:
        self.done.append((pid, oom_score_adj))
        if self.refuses:
            raise KitError("EACCES")


def rounds(settings: KubeletSettings, times: list[float], machine: Machine) -> list[int]:
    """Return how often the processes were read at each time."""
    made = SystemCgroups(settings, machine, timeline())
    found = []
    for time in times:
        before = machine.reads
        made.tick(time)
        found.append(machine.reads - before)
    return found


TIMES = [0.0, 59.0, 60.0, 119.0, 120.0, 299.0, 300.0, 301.0]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [1, 0, 0, 0, 0, 0, 1, 0]),
        ({"kubelet_cgroups": "/kubelet"}, [1, 0, 1, 0, 1, 1, 0, 0]),
        ({"system_cgroups": "/system"}, [2, 0, 1, 0, 1, 1, 1, 0]),
        ({"system_cgroups": "/system", "kubelet_cgroups": "/kubelet"}, [2, 0, 2, 0, 2, 2, 0, 0]),
    ],
    ids=["nothing", "the kubelet", "the others", "both"],
)
def test_a_round_is_due_every_minute_or_every_five(settings: dict[str, Any], expected: list[int]) -> None:
    """Source: containerManagerImpl.Start."""
    assert rounds(KubeletSettings(**settings), TIMES, Machine()) == expected


def timeline() -> KubeletTimeline:
    return KubeletTimeline(lambda: 0.0)


@pytest.mark.parametrize("refuses", [False, True], ids=["it works", "the kernel rejects it"])
@pytest.mark.parametrize(
    ("process", "settings", "done"),
    [
        (SystemProcess(7, "sshd", "/"), {}, []),
        (SystemProcess(7, "sshd", "/"), {"system_cgroups": "/others"}, [(7, "/others")]),
        (SystemProcess(7, "sshd", "/x"), {"system_cgroups": "/others"}, []),
        (SystemProcess(1, "init", "/"), {"system_cgroups": "/others"}, []),
        (SystemProcess(7, "kubelet", "/x"), {}, [(7, -999)]),
        (SystemProcess(7, "kubelet", "/x", -999), {}, []),
        (SystemProcess(7, "kubelet", "/x", 5), {"oom_score_adj": 0}, [(7, 0)]),
        (SystemProcess(7, "kubelet", "/x"), {"kubelet_cgroups": "/k"}, [(7, "/k"), (7, -999)]),
        (SystemProcess(7, "kubelet", "/k", -999), {"kubelet_cgroups": "/k"}, []),
    ],
)
def test_what_is_done_is_noted(
    process: SystemProcess, settings: dict[str, Any], done: list[tuple[Any, ...]], refuses: bool
) -> None:
    machine, notes = Machine(process, refuses=refuses), timeline()
    SystemCgroups(KubeletSettings(**settings), machine, notes).tick(0.0)
    assert machine.done == done
    actions = [("moving process" if isinstance(what, str) else "setting oom_score_adj of") for _, what in done]
    failed = {"moving process": "failed to move process", "setting oom_score_adj of": "failed to set oom_score_adj of"}
    noted = [note for note in notes if "never moved" not in note.detail]
    assert [note.action for note in noted] == [failed[action] if refuses else action for action in actions]
    assert all(note.about == f"{process.name}, pid {process.pid}" for note in noted)


def test_without_processes_nothing_is_done() -> None:
    notes = timeline()
    SystemCgroups(KubeletSettings(kubelet_cgroups="/k"), None, notes).tick(0.0)
    assert len(notes) == 0
