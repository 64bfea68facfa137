"""The processes of the system that the kubelet moves into `--system-cgroups` and `--kubelet-cgroups`.

    --system-cgroups    every process in the root cgroup, except process 1 and the kernel's threads, which must not be
                        limited: other processes may wait for locks that they hold. Every minute.
    --kubelet-cgroups   the kubelet itself, with an oom_score_adj of -999. Every minute; without the flag only the
                        score, every 5 minutes.

On a machine with systemd every process is already in a slice or scope, so the root cgroup has no process to move, and
`--system-cgroups` only makes an empty cgroup.

Source: kubelet cm.setupNode, ensureSystemCgroups, isKernelPid, ensureProcessInContainerWithOOMScore, Start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

EVERY_MINUTE, EVERY_FIVE_MINUTES = 60.0, 300.0
"""Seconds between two rounds. Source: containerManagerImpl.Start."""
KUBELET = "kubelet"
ROOT = "/"


class SystemProcess(NamedTuple):
    """A process of the machine that belongs to no pod.

    Attributes:
        pid, name: the process id and the name.
        cgroup: the path of its cgroup.
        oom_score_adj: its oom_score_adj, -1000 to 1000.
        kernel: whether it is one of the kernel's threads (its /proc/PID/exe cannot be read).
    """

    pid: int
    name: str
    cgroup: str
    oom_score_adj: int = 0
    kernel: bool = False


class ProcessMove(NamedTuple):
    """The kubelet's decision about a process.

    Attributes:
        process: the process.
        to: the cgroup that it is moved to; "" = it is not moved.
        score: its new oom_score_adj, -1000 to 1000; None = unchanged.
        why: the reason of the decision.
    """

    process: SystemProcess
    to: str = ""
    score: int | None = None
    why: str = ""


def system_steps(processes: Iterable[SystemProcess], target: str) -> list[ProcessMove]:
    """Return the decision of `--system-cgroups TARGET` for each process in the root cgroup, moved or not.

    Source: ensureSystemCgroups, isKernelPid.
    """
    steps = []
    for process in processes:
        if process.cgroup != ROOT:
            continue
        if process.pid == 1:
            steps.append(ProcessMove(process, why="process 1 is never moved"))
        elif process.kernel:
            steps.append(
                ProcessMove(process, why="a thread of the kernel is never moved: others may wait for what it holds")
            )
        else:
            steps.append(ProcessMove(process, place(target), why="it stood in the root cgroup"))
    return steps


def kubelet_step(processes: Iterable[SystemProcess], target: str, score: int) -> ProcessMove | None:
    """Return the kubelet's decision about its own process; None if its process is not known.

    Args:
        processes: the machine's processes.
        target: `--kubelet-cgroups`; "" = it is not moved.
        score: `--oom-score-adj`.

    Source: ensureProcessInContainerWithOOMScore.
    """
    own = next((process for process in processes if process.name == KUBELET), None)
    if own is None:
        return None
    moves = bool(target) and own.cgroup != place(target)
    return ProcessMove(own, place(target) if moves else "", score, "the kubelet looks after itself")


def place(path: str) -> str:
    """Return a cgroup's absolute path; the driver does not convert these flags."""
    return "/" + path.strip("/")
