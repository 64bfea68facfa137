"""The kernel log's lines about an OOM kill; imported at the first kill.

Source: mm/oom_kill.c (dump_header, dump_tasks, __oom_kill_process), mm/memcontrol.c (mem_cgroup_print_oom_context).
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.node.simulated.oom import PAGE, OOMCandidate


def _charged(table: list[OOMCandidate], excess: int) -> list[OOMCandidate]:
    """Return the processes with charged pages only: the excess is subtracted from the largest one.

    Source: mm/memcontrol.c try_charge_memcg, which fails before the page becomes part of the process.
    """
    if excess <= 0 or not table:
        return table
    largest = max(table, key=lambda one: one.memory)
    return [one._replace(memory=max(one.memory - excess, 0)) if one is largest else one for one in table]


def log_lines(
    now: float, victim: OOMCandidate, where: str, *, invoker: str, limit: int, usage: int, table: Iterable[OOMCandidate]
) -> list[str]:
    """Return the kernel's lines about a kill, as dmesg shows them.

    Args:
        now: seconds since boot.
        victim: the killed process.
        where: path of the cgroup whose limit was reached; "" = the machine as a whole.
        invoker: name of the process whose allocation failed.
        limit: limit of that cgroup or machine in bytes.
        usage: usage of that cgroup or machine in bytes.
        table: the candidates.
    """
    lines = [f"{invoker} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj={victim.oom_score_adj}"]
    if where:
        charged = min(usage, limit)  # a failed charge is not counted: the usage never exceeds the limit
        table = _charged(list(table), usage - charged)
        victim = next((one for one in table if one.pid == victim.pid), victim)
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
