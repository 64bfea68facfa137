"""Which processes of the system the kubelet moves into `--system-cgroups` and `--kubelet-cgroups`, and which it leaves.

    --system-cgroups    every process that stands in the root cgroup, except process 1 and the kernel's threads, which
                        must not fall under a quota: others may wait for what they hold. Every minute.
    --kubelet-cgroups   the kubelet itself, and its oom_score_adj, -999. Every minute; without the flag only the score,
                        every 5 minutes.

On a machine with systemd every process already stands in a slice or scope of its own, so nothing is found in the root
and nothing is moved: `--system-cgroups` then only makes an empty cgroup.

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
        pid, name: which.
        cgroup: where it stands.
        oom_score_adj: its own.
        kernel: whether it is one of the kernel's threads (its /proc/PID/exe leads nowhere).
    """

    pid: int
    name: str
    cgroup: str
    oom_score_adj: int = 0
    kernel: bool = False


class ProcessMove(NamedTuple):
    """What becomes of a process.

    Attributes:
        process: which.
        to: the cgroup that it is moved to; "" = it stays where it is.
        score: the oom_score_adj that it gets; None = as it is.
        why: in words.
    """

    process: SystemProcess
    to: str = ""
    score: int | None = None
    why: str = ""


def system_steps(processes: Iterable[SystemProcess], target: str) -> list[ProcessMove]:
    """What `--system-cgroups TARGET` does with the processes of a machine, moved or not; a step for each in the root.

    Source: ensureSystemCgroups, isKernelPid.
    """
    steps = []
    for one in processes:
        if one.cgroup != ROOT:
            continue
        if one.pid == 1:
            steps.append(ProcessMove(one, why="process 1 is never moved"))
        elif one.kernel:
            steps.append(
                ProcessMove(one, why="a thread of the kernel is never moved: others may wait for what it holds")
            )
        else:
            steps.append(ProcessMove(one, place(target), why="it stood in the root cgroup"))
    return steps


def kubelet_step(processes: Iterable[SystemProcess], target: str, score: int) -> ProcessMove | None:
    """What the kubelet does with itself; None where its process is not known.

    Args:
        processes: of the machine.
        target: `--kubelet-cgroups`; "" = it stays.
        score: `--oom-score-adj`.

    Source: ensureProcessInContainerWithOOMScore.
    """
    own = next((one for one in processes if one.name == KUBELET), None)
    if own is None:
        return None
    moves = bool(target) and own.cgroup != place(target)
    return ProcessMove(own, place(target) if moves else "", score, "the kubelet looks after itself")


def place(path: str) -> str:
    """A cgroup's path from the root on; these flags are taken as they are, whatever the driver."""
    return "/" + path.strip("/")
