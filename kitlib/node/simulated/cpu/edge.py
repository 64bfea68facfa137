"""Cgroups that get about their quota: whether ticks must be followed to count their throttled periods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kitlib.node.simulated.cpu import ticks
from kitlib.node.simulated.cpu.group import INFINITE, TaskGroup
from kitlib.node.simulated.cpu.sharing import task_weight, water_fill

EDGE = 2 * ticks.TICK / 1e9
"""Distance from the quota in seconds a period beyond which a cgroup is throttled in all periods, or in none."""
CROWD = 64
"""Maximum number of busy cgroups to follow tick by tick."""


def busy_groups(group: TaskGroup) -> Iterator[TaskGroup]:
    """Yield a cgroup and its active descendants, each before its children, in the order of their names."""
    yield group
    for _, child in sorted(group.active.items()):
        yield from busy_groups(child)


def never_pauses(group: TaskGroup) -> bool:
    """Return whether the demand of each process is a whole number of threads, which run whenever they may."""
    return all(want % 1 == 0 for want in group.tasks.values())


def as_busy(group: TaskGroup) -> ticks.BusyCgroup:
    """Convert cgroups to the form that `ticks` reads."""
    below = tuple(as_busy(child) for _, child in sorted(group.active.items()))
    period = round(group.period * 1e9)
    quota = 0 if group.quota == INFINITE else round(group.quota * group.period * 1e9)
    return ticks.BusyCgroup(round(group.weight), round(sum(group.tasks.values())), below, quota, period)


def is_at_the_edge(group: TaskGroup) -> bool:
    """Return whether a cgroup without its quota would get about its quota (of one processor)."""
    if group.quota == INFINITE:
        return False
    path, wishes = [group], [min(group.wanted, float(len(group.cpus)))]
    while (above := path[-1].parent) is not None:
        wishes.append(min(above.wanted - path[-1].wish + wishes[-1], above.limit))
        path.append(above)
    part = min(1.0, wishes[-1])
    for (below, wish), (above, _) in reversed(list(pairwise(zip(path, wishes, strict=True)))):
        others = [(child.weight, child.wish) for child in above.active.values() if child is not below]
        others += [(task_weight(want), want) for want in above.tasks.values()]
        part = water_fill([(below.weight, wish), *others], part)[0]
    return abs(part - group.quota) * group.period < EDGE
