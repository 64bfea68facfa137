"""The OOM killer: whom the kernel chooses, the scores behind it, and the lines that it logs.

    points = resident pages + swapped pages + page tables + oom_score_adj × total pages / 1000

of every process that may be chosen (oom_score_adj above -1000) below the cgroup whose limit was reached, or of the
whole machine; the highest is killed, and with memory.oom.group everything in that cgroup. total pages is the limit of
that cgroup or the memory of the machine.

Source: mm/oom_kill.c (oom_badness, select_bad_process, __oom_kill_process, dump_header), fs/proc/base.c
(proc_oom_score).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PAGE = 4096
UNKILLABLE = -1000


class Candidate(NamedTuple):
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


def badness(one: Candidate, total_pages: int) -> int | None:
    """Points of a process; None where it may not be chosen."""
    if one.oom_score_adj == UNKILLABLE:
        return None
    points = -(-one.memory // PAGE) + -(-one.swapped // PAGE) + -(-one.tables // PAGE)
    adjustment = one.oom_score_adj * (abs(total_pages) // 1000)
    return points + adjustment


def oom_score(one: Candidate, machine_pages: int) -> int:
    """What /proc/PID/oom_score shows: 0 to 2000 since Linux 5.9, from the badness against the whole machine."""
    points = badness(one, machine_pages)
    if points is None:
        return 0
    scaled = points * 1000
    part = scaled // machine_pages if scaled >= 0 else -(-scaled // machine_pages)
    return max((1000 + part) * 2 // 3, 0)


def choose(candidates: Iterable[Candidate], total_pages: int) -> Candidate | None:
    """The process with the most points; of equals the one that was started first. None where all are unkillable."""
    best: tuple[int, Candidate] | None = None
    for one in candidates:
        points = badness(one, total_pages)
        if points is not None and (best is None or points > best[0]):
            best = (points, one)
    return best[1] if best else None


def log_lines(
    now: float, victim: Candidate, where: str, *, invoker: str, limit: int, usage: int, table: Iterable[Candidate]
) -> list[str]:
    """What the kernel writes about it, as dmesg shows it.

    Args:
        now: seconds since boot.
        victim: who dies.
        where: the cgroup whose limit was reached; "" = the machine as a whole.
        invoker: name of the process that asked for the page.
        limit, usage: bytes, of that cgroup or machine.
        table: the processes that were looked at.
    """
    lines = [f"{invoker} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj={victim.oom_score_adj}"]
    if where:
        charged = min(usage, limit)  # what did not fit was never charged: usage ends at the limit
        lines.append(f"memory: usage {charged // 1024}kB, limit {limit // 1024}kB, failcnt 1")
    lines.append("Tasks state (memory values in pages):")
    lines.append("[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name")
    for one in table:
        pages, swapped = one.memory // PAGE, one.swapped // PAGE
        lines.append(
            f"[{one.pid:7d}]     0 {one.pid:5d} {pages + swapped:8d} {pages:8d} {one.tables:8d} {swapped:8d} "
            f"{one.oom_score_adj:13d} {one.name}"
        )
    constraint = "CONSTRAINT_MEMCG" if where else "CONSTRAINT_NONE"
    cgroup = f"oom_memcg={where}" if where else "global_oom"
    lines.append(
        f"oom-kill:constraint={constraint},nodemask=(null),cpuset=/,mems_allowed=0,{cgroup},"
        f"task_memcg={victim.cgroup},task={victim.name},pid={victim.pid},uid=0"
    )
    kind = "Memory cgroup out of memory" if where else "Out of memory"
    lines.append(
        f"{kind}: Killed process {victim.pid} ({victim.name}) total-vm:{(victim.memory + victim.swapped) // 1024}kB, "
        f"anon-rss:{victim.memory // 1024}kB, file-rss:0kB, shmem-rss:0kB, UID:0 "
        f"pgtables:{victim.tables // 1024}kB oom_score_adj:{victim.oom_score_adj}"
    )
    return [f"[{now:12.6f}] {line}" for line in lines]
