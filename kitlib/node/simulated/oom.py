"""The OOM killer: the kernel's choice of a process, and the scores behind it; `oom_log` has its log lines.

    points = resident pages + swapped pages + page tables + oom_score_adj × total pages / 1000

The candidates are the processes with oom_score_adj above -1000 below the cgroup whose limit was reached, or of the
whole machine. The one with the most points is killed, with memory.oom.group everything in that cgroup. `total pages` is
the limit of the cgroup, or the memory of the machine.

Source: mm/oom_kill.c (oom_badness, select_bad_process, __oom_kill_process), fs/proc/base.c
(proc_oom_score).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PAGE = 4096
UNKILLABLE = -1000


class OOMCandidate(NamedTuple):
    """The values of a process that the OOM killer uses.

    Attributes:
        pid: process id.
        name: name of the process.
        cgroup: path of its cgroup.
        oom_score_adj: -1000 to 1000.
        memory: resident bytes.
        tables: bytes of page tables.
        swapped: bytes in swap.
    """

    pid: int
    name: str
    cgroup: str
    oom_score_adj: int
    memory: int
    tables: int = 0
    swapped: int = 0


def badness(one: OOMCandidate, total_pages: int) -> int | None:
    """Return the points of a process; None if it must not be killed."""
    if one.oom_score_adj == UNKILLABLE:
        return None
    points = -(-one.memory // PAGE) + -(-one.swapped // PAGE) + -(-one.tables // PAGE)
    # Divided first, as in oom_badness (adj *= totalpages / 1000): below 1000 pages oom_score_adj has no effect.
    adjustment = one.oom_score_adj * (abs(total_pages) // 1000)
    return points + adjustment


def oom_score(one: OOMCandidate, machine_pages: int) -> int:
    """Return the content of /proc/PID/oom_score: 0 to 2000 since Linux 5.9, relative to the machine's memory."""
    points = badness(one, machine_pages)
    if points is None:
        return 0
    scaled = points * 1000
    # C's division truncates towards zero, Python's rounds down.
    part = scaled // machine_pages if scaled >= 0 else -(-scaled // machine_pages)
    return max((1000 + part) * 2 // 3, 0)


def choose(candidates: Iterable[OOMCandidate], total_pages: int) -> OOMCandidate | None:
    """Return the process with the most points, the last of equal ones; None if all are unkillable.

    Source: oom_evaluate_task, which keeps the chosen task only against fewer points.
    """
    best: tuple[int, OOMCandidate] | None = None
    for candidate in candidates:
        points = badness(candidate, total_pages)
        if points is not None and (best is None or points >= best[0]):
            best = (points, candidate)
    return best[1] if best else None
