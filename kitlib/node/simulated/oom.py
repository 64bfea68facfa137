"""The OOM killer: whom the kernel chooses, and the scores behind it; `oom_log` has the lines that it logs.

    points = resident pages + swapped pages + page tables + oom_score_adj × total pages / 1000

of every process that may be chosen (oom_score_adj above -1000) below the cgroup whose limit was reached, or of the
whole machine; the highest is killed, and with memory.oom.group everything in that cgroup. total pages is the limit of
that cgroup or the memory of the machine.

Source: mm/oom_kill.c (oom_badness, select_bad_process, __oom_kill_process), fs/proc/base.c
(proc_oom_score).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PAGE = 4096
UNKILLABLE = -1000


class OOMCandidate(NamedTuple):
    """A process as the OOM killer sees it.

    Attributes:
        pid, name, cgroup: which.
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
    """Points of a process; None where it may not be chosen."""
    if one.oom_score_adj == UNKILLABLE:
        return None
    points = -(-one.memory // PAGE) + -(-one.swapped // PAGE) + -(-one.tables // PAGE)
    adjustment = one.oom_score_adj * (abs(total_pages) // 1000)
    return points + adjustment


def oom_score(one: OOMCandidate, machine_pages: int) -> int:
    """What /proc/PID/oom_score shows: 0 to 2000 since Linux 5.9, from the badness against the whole machine."""
    points = badness(one, machine_pages)
    if points is None:
        return 0
    scaled = points * 1000
    part = scaled // machine_pages if scaled >= 0 else -(-scaled // machine_pages)
    return max((1000 + part) * 2 // 3, 0)


def choose(candidates: Iterable[OOMCandidate], total_pages: int) -> OOMCandidate | None:
    """The process with the most points; of equals the one that was started first. None where all are unkillable."""
    best: tuple[int, OOMCandidate] | None = None
    for one in candidates:
        points = badness(one, total_pages)
        if points is not None and (best is None or points > best[0]):
            best = (points, one)
    return best[1] if best else None
