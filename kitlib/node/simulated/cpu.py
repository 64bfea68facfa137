"""Who gets how much CPU: the fair scheduler's outcome, computed for the hierarchy of cgroups instead of simulated.

At each cgroup its children and its own processes share what the cgroup has, in proportion to their weights; what one
does not want (or may not use: its quota, its cpuset) goes to the others, again by weight. This is what CFS and EEVDF
tend to over a few periods.

Source: Documentation/scheduler/sched-design-CFS, sched-bwc; kernel/sched/fair.c (calc_group_shares).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TASK_WEIGHT = 1024.0
EPSILON = 1e-9


@dataclass
class Group:
    """One cgroup as the CPU scheduler sees it.

    Attributes:
        weight: cpu.shares, or cpu.weight scaled to the same measure.
        limit: CPUs that it may use at most: its quota and its cpuset; infinite = none.
        tasks: process id -> CPUs that the process would like to use.
        children: the cgroups below.
        wanted: CPUs that everything in it would like to use; set by `measure`.
        got: CPUs that it gets; set by `share_out`.
    """

    path: str
    weight: float = TASK_WEIGHT
    limit: float = float("inf")
    tasks: dict[int, float] = field(default_factory=dict)
    children: list[Group] = field(default_factory=list)
    wanted: float = 0.0
    got: float = 0.0


def measure(group: Group) -> float:
    """How much a cgroup would use, its own limit and those below respected; fills `wanted` everywhere.

    `wanted` keeps what it would like without its own limit: the difference is what its quota throttles.
    """
    total = sum(group.tasks.values()) + sum(measure(child) for child in group.children)
    group.wanted = total
    return min(total, group.limit)


def share_out(group: Group, cpus: float, rates: dict[int, float]) -> None:
    """Divide `cpus` among a cgroup's processes and children; fills `got` and each process's rate."""
    group.got = min(cpus, group.limit, group.wanted)
    wishes: list[tuple[float, float, Any]] = [
        (TASK_WEIGHT * max(want, 1.0), want, pid) for pid, want in group.tasks.items()
    ]
    wishes += [(child.weight, min(child.wanted, child.limit), child) for child in group.children]
    shares = water_fill([(weight, want) for weight, want, _ in wishes], group.got)
    for (_, _, who), amount in zip(wishes, shares, strict=True):
        if isinstance(who, Group):
            share_out(who, amount, rates)
        else:
            rates[who] = amount


def water_fill(wishes: Sequence[tuple[float, float]], amount: float) -> list[float]:
    """Divide by weight; nobody gets more than wanted, and what is left over is divided again.

    Args:
        wishes: (weight, wanted) of each.
        amount: what there is.

    Returns:
        What each gets; the sum is `amount`, or all that was wanted.
    """
    given = [0.0] * len(wishes)
    hungry = [i for i, (weight, want) in enumerate(wishes) if want > EPSILON and weight > 0]
    left = amount
    while hungry and left > EPSILON:
        total = sum(wishes[i][0] for i in hungry)
        full = [i for i in hungry if wishes[i][1] - given[i] <= left * wishes[i][0] / total + EPSILON]
        if not full:
            for i in hungry:
                given[i] += left * wishes[i][0] / total
            break
        for i in full:
            left -= wishes[i][1] - given[i]
            given[i] = wishes[i][1]
        hungry = [i for i in hungry if i not in set(full)]
    return given


def build(
    paths: Sequence[str],
    read: Callable[[str, str], str],
    tasks: Mapping[str, Mapping[int, float]],
    cpus_of: Callable[[str], int],
    version: int,
) -> Group:
    """The hierarchy from the files.

    Args:
        paths: every cgroup, parents first. read: (path, file) -> content.
        tasks: path -> process id -> wanted CPUs. cpus_of: how many CPUs a cgroup's cpuset has.
        version: 1 or 2.
    """
    groups: dict[str, Group] = {}
    for path in paths:
        group = Group(path, tasks=dict(tasks.get(path, {})))
        group.limit = float(cpus_of(path))
        if path != "/":
            group.weight, quota = _figures(path, read, version)
            group.limit = min(group.limit, quota)
            groups[path.rpartition("/")[0] or "/"].children.append(group)
        groups[path] = group
    return groups["/"]


def _figures(path: str, read: Callable[[str, str], str], version: int) -> tuple[float, float]:
    """Weight (1024 = one default cgroup) and quota in CPUs."""
    if version == 1:
        quota, period = int(read(path, "cpu.cfs_quota_us")), int(read(path, "cpu.cfs_period_us"))
        return float(read(path, "cpu.shares")), quota / period if quota > 0 else float("inf")
    try:
        weight = float(read(path, "cpu.weight")) * TASK_WEIGHT / 100
        limit, period_text = read(path, "cpu.max").split()
    except OSError:  # the parent does not hand the cpu controller down
        return TASK_WEIGHT, float("inf")
    return weight, float("inf") if limit == "max" else int(limit) / int(period_text)
