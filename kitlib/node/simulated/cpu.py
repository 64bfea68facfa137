"""Who gets how much CPU: the fair scheduler's outcome, computed for the hierarchy of cgroups instead of simulated.

At each cgroup its children and its own processes share what the cgroup has, in proportion to their weights; what one
does not want (or may not use: its quota, its cpuset) goes to the others, again by weight. This is what CFS and EEVDF
tend to over a few periods. Where cpusets differ, processors that the same cgroups may use are divided together, those
that the fewest may use first.

A cgroup that would get more than its quota ends every period throttled: so it is but for the edge. The kernel notices a
used-up quota only at a tick (4 ms at 250 Hz), so a cgroup that would get about its quota is throttled in some
periods and not in others. Where that is a matter of rule, on one processor whose threads never pause, the ticks
themselves are followed (`ticks`) to tell how many.

Bursts that are shorter than a period are followed in time (`bursts`): their cgroups have a `bandwidth` in place of a
quota, and the division sees only the threads that may run just now.

Only what has changed is computed anew: a cgroup whose part and whose wishes are as before keeps its figures.

Sources: Documentation/scheduler/sched-design-CFS, sched-bwc; kernel/sched/fair.c (calc_group_shares, throttle_cfs_rq);
kernel/sched/psi.c (tasks that wait for a processor, throttled ones too).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kitlib.node.simulated import ticks
from kitlib.node.simulated.bandwidth import CfsBandwidth
from kitlib.node.simulated.bursts import Bursts
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.pressure import Pressure

TASK_WEIGHT = 1024.0
EPSILON = 1e-9
EDGE = 2 * ticks.TICK / 1e9
"""Seconds of a period: who would get so much more or less than his quota is throttled in all periods, or in none."""
CROWD = 64
"""More busy cgroups than these are not followed tick by tick."""
_INFINITE = float("inf")


@dataclass(eq=False, slots=True)
class Group:
    """One cgroup as the CPU scheduler sees it.

    Attributes:
        weight: cpu.shares, or cpu.weight scaled to the same measure.
        quota: CPUs that cpu.max gives;
        period: seconds of one period.
        cpus: what its processes may run on.
        tasks: process id -> CPUs that the process would like to use.
        active: the cgroups below in which a process wants to run.
        raw: CPUs that all processes in it would like to use;
        wanted: with the limits below respected, its own not;
        wish: with its own limit too;
        got: CPUs that it gets.
        idle: share of the time in which none of its processes runs.
        throttles: share of its periods that end throttled.
        held: seconds a second that it is, on each processor.
        seconds, periods, throttled, throttled_seconds, bursts, burst_seconds: what it has counted until `since`.
        followed: whether its processes are followed in time; its quota is then a `bandwidth`.
        stalled: process id -> CPUs that it would use if it were not throttled, where it is followed.
    """

    path: str
    parent: Group | None
    depth: int
    weight: float = TASK_WEIGHT
    quota: float = _INFINITE
    period: float = 0.1
    cpus: frozenset[int] = frozenset()
    tasks: dict[int, float] = field(default_factory=dict)
    active: dict[str, Group] = field(default_factory=dict)
    raw: float = 0.0
    wanted: float = 0.0
    wish: float = 0.0
    got: float = 0.0
    idle: float = 1.0
    throttles: float = 0.0
    held: float = 0.0
    stale: bool = True
    since: float = 0.0
    seconds: float = 0.0
    periods: float = 0.0
    throttled: float = 0.0
    throttled_seconds: float = 0.0
    bursts: int = 0
    burst_seconds: float = 0.0
    followed: bool = False
    bandwidth: CfsBandwidth | None = None
    stalled: dict[int, float] | None = None
    pressure: Pressure | None = None

    @property
    def limit(self) -> float:
        """CPUs that it may use at most."""
        return min(self.quota, float(len(self.cpus)))

    @property
    def is_throttled(self) -> bool:
        """Whether its quota holds it back, and be it that the cgroup below has the same one."""
        return self.got >= self.quota - EPSILON and min(self.raw, len(self.cpus)) > self.quota + EPSILON

    def differs(self, amount: float) -> bool:
        """Whether it has to be divided anew where it is to get so many CPUs."""
        return self.stale or not -EPSILON < amount - self.got < EPSILON

    def settle(self, now: float) -> None:
        """Count the time since the last call, in which nothing has changed."""
        passed = now - self.since
        self.since = now
        if self.bandwidth is not None:
            self._collect(self.bandwidth)
        if passed <= 0 or self.wanted <= 0:
            return
        self.seconds += self.got * passed
        if self.quota != _INFINITE:
            periods = passed / self.period
            self.periods += periods
            self.throttled += periods * self.throttles
            self.throttled_seconds += passed * self.held

    def _collect(self, counted: CfsBandwidth) -> None:
        """What the quota has counted since the last time."""
        self.periods += counted.nr_periods
        self.throttled += counted.nr_throttled
        self.throttled_seconds += counted.throttled_time / 1e9
        self.bursts += counted.nr_burst
        self.burst_seconds += counted.burst_time / 1e9
        counted.nr_periods = counted.nr_throttled = counted.throttled_time = 0
        counted.nr_burst = counted.burst_time = 0

    def throttle(self, now: float, outcome: ticks.Outcome | None = None) -> None:
        """Which of its periods end throttled from now on: as ticks have it, or else all or none."""
        share = held = 0.0
        if outcome is not None:
            share, held = outcome.throttled, outcome.held
        elif self.is_throttled:
            # each processor that its threads are on stands still for it once the quota is used up
            share, held = 1.0, min(self.raw, float(len(self.cpus))) - self.quota
        if share != self.throttles or held != self.held:
            self.settle(now)
            self.throttles, self.held = share, held


class Scheduler:
    """Divides a machine's processors.

    Args:
        cgroups: whose files rule.
        cores: how many processors there are.
        changed: called with a process id and its new rate, before it holds.
        rate: the rate of a process.
        done: called with a process id and the seconds that a burst of it took.
    """

    def __init__(
        self,
        cgroups: SimulatedCgroupFS,
        cores: int,
        changed: Callable[[int, float], None],
        rate: Callable[[int], float],
        done: Callable[[int, float], None],
    ) -> None:
        self._cgroups, self._cores, self._changed = cgroups, cores, changed
        self._bursts = Bursts(rate, self._wish, done)
        self._followed: set[str] = set()
        self._groups: dict[str, Group] = {}
        self._dirty: set[Group] = set()
        self._busy: dict[Group, frozenset[int]] = {}
        self._split = False
        self._at_the_edge: list[Group] = []

    def group(self, path: str) -> Group:
        """A cgroup's figures; it is taken up where it was not known."""
        found = self._groups.get(path)
        if found is None:
            parent = None if path == "/" else self.group(path.rpartition("/")[0] or "/")
            found = self._groups[path] = Group(path, parent, 0 if parent is None else parent.depth + 1)
            found.followed = parent is not None and parent.followed
            self._read(found)
        return found

    def want(
        self,
        path: str,
        pid: int,
        cpus: float,
        now: float,
        *,
        work: float = _INFINITE,
        every: float = _INFINITE,
        brief: bool = False,
    ) -> None:
        """A process would like to use so many CPUs from now on; 0 = none.

        Args:
            path: its cgroup.
            pid: which.
            cpus: threads that are busy.
            now: seconds since boot.
            work: seconds of CPU time of one burst; infinite = it is busy until it wants something else.
            every: seconds from one burst to the next.
            brief: whether that holds for less than some periods.
        """
        group = self.group(path)
        if brief and cpus and not group.followed:
            self._follow(group, now, burst=work != _INFINITE)
        if group.followed:
            self._bursts.follow(group, pid, cpus, now, work=work, every=every, brief=brief)
            self._leave_steady(now)
            return
        if cpus:
            group.tasks[pid] = cpus
        elif group.tasks.pop(pid, None) is None:
            return
        self._note(group)

    def _note(self, group: Group) -> None:
        """Its processes want something else than before."""
        if group.tasks:
            self._busy[group] = group.cpus
        else:
            self._busy.pop(group, None)
        self._dirty.add(group)

    def upcoming(self) -> float:
        """Seconds since boot at which the rates change by themselves."""
        return self._bursts.upcoming() if self._followed else _INFINITE

    def step(self, now: float) -> None:
        """Bursts that begin or end, ticks and periods that are due."""
        if self._followed:
            self._bursts.step(now)
            if self._bursts.ended:
                self._leave_steady(now)

    def _wish(self, group: Group, pid: int, cpus: float, held: float) -> None:
        """What a process that is followed would like to use just now, and what throttling keeps from it."""
        if cpus:
            group.tasks[pid] = cpus
        elif group.tasks.pop(pid, None) is not None:
            self._changed(pid, 0.0)
        stalled = group.stalled or {}
        stalled.pop(pid, None)
        if held:
            stalled[pid] = held
        group.stalled = stalled
        self._note(group)

    def _follow(self, group: Group, now: float, *, burst: bool) -> None:
        """Follow everything below the topmost cgroup with a quota; without one, bursts only."""
        top, above = group if burst else None, group if group.path != "/" else None
        while above is not None:
            if above.quota != _INFINITE:
                top = above
            above = above.parent
        if top is None:
            return
        self._followed.add(top.path)
        for one in self._below(top.path):
            one.settle(now)
            one.followed = True
            tasks, one.tasks = one.tasks, {}
            self._read(one)
            for pid, cpus in tasks.items():
                self._bursts.follow(one, pid, cpus, now, work=_INFINITE, every=_INFINITE, brief=False)

    def _leave_steady(self, now: float) -> None:
        """Where nobody's work is brief any more averages hold again, once quotas rest or a period has ended."""
        for path in list(self._followed):
            here = self._bursts.processes.items()
            inside = {pid: one for pid, one in here if f"{one.group.path}/".startswith(path + "/")}
            if any(one.brief for one in inside.values()):
                continue
            groups = self._below(path)
            running = any(g.bandwidth is not None and g.bandwidth.ends is not None for g in groups)
            if running and not (self._bursts.ended and any(one.lanes for one in inside.values())):
                continue
            self._followed.discard(path)
            for pid in inside:
                self._bursts.forget(pid, now)
            for group in groups:
                group.settle(now)
                self._bursts.watch(group.path, None)
                group.followed, group.bandwidth, group.stalled = False, None, None
                self._read(group)
                self._dirty.add(group)
            for pid, one in inside.items():
                if one.cpus:
                    self.want(one.group.path, pid, one.cpus, now)

    def _below(self, path: str) -> list[Group]:
        return [one for one in self._groups.values() if one.path == path or one.path.startswith(path + "/")]

    def forget(self, path: str, now: float) -> None:
        """A cgroup has been removed."""
        group = self._groups.pop(path, None)
        if group is not None:
            self._bursts.watch(path, None)
            self._followed.discard(path)
            self._busy.pop(group, None)
            self._dirty.discard(group)
            if group.parent is not None and group.parent.active.pop(path, None) is not None:
                self._dirty.add(group.parent)

    def divide(self, now: float) -> None:
        """Compute everybody's rate anew, as far as anything has changed."""
        for path in self._cgroups.drain():
            group = self._groups.get(path)
            if group is not None:
                group.settle(now)
                self._read(group)
                self._dirty.add(group)
        if not self._dirty:
            return
        self._measure(now)
        masks = set(self._busy.values())
        root = self.group("/")
        split = len(masks) > 1
        if split:
            self._divide_split(root, masks, now)
        else:
            if self._split:
                self._make_all_stale()
            # processors that nobody may use are of no use to anybody
            amount = min(float(len(next(iter(masks)))) if masks else 0.0, root.wish)
            if root.differs(amount):
                self._share(root, amount, now)
        self._split = split
        alone = not split and not self._followed and max(map(len, masks), default=0) == 1
        self._follow_ticks(root, now, list(_busy_groups(root)) if alone else [])

    def _read(self, group: Group) -> None:
        """Weight, quota and cpuset from the files."""
        cgroups, path = self._cgroups, group.path
        group.cpus = cgroups.effective_cpus(path)
        if group in self._busy:
            self._busy[group] = group.cpus
        if path == "/":
            return
        if cgroups.version == 1:
            quota, period = int(cgroups.read(path, "cpu.cfs_quota_us")), int(cgroups.read(path, "cpu.cfs_period_us"))
            group.weight = float(cgroups.read(path, "cpu.shares"))
            group.quota, group.period = quota / period if quota > 0 else _INFINITE, period / 1e6
        elif "cpu" in cgroups.controllers(path):
            limit, period_text = cgroups.read(path, "cpu.max").split()
            group.weight = float(cgroups.read(path, "cpu.weight")) * TASK_WEIGHT / 100
            group.period = int(period_text) / 1e6
            group.quota = _INFINITE if limit == "max" else int(limit) / int(period_text)
        else:
            group.weight, group.quota = TASK_WEIGHT, _INFINITE
        if group.followed:
            self._read_bandwidth(group)
        elif group.quota != _INFINITE and any(one.startswith(path + "/") for one in self._followed):
            self._follow(group, group.since, burst=False)

    def _read_bandwidth(self, group: Group) -> None:
        """The quota of a cgroup that is followed is used slice by slice; the division knows none."""
        quota, group.quota = group.quota, _INFINITE
        if quota == _INFINITE:
            group.bandwidth = None
            self._bursts.watch(group.path, None)
            return
        burst = int(self._cgroups.read(group.path, "cpu.max.burst")) * 1000 if self._cgroups.version == 2 else 0
        limits = round(quota * group.period * 1e9), round(group.period * 1e9), burst
        known = group.bandwidth
        if known is None:
            group.bandwidth = CfsBandwidth(*limits)
            self._bursts.watch(group.path, group.bandwidth)
        elif limits != (known.quota, known.period, known.burst):
            known.limit(*limits)

    def _measure(self, now: float) -> None:
        """What everybody wishes, from below; only above what has changed."""
        by_depth: dict[int, set[Group]] = {}
        for group in self._dirty:
            by_depth.setdefault(group.depth, set()).add(group)
        self._dirty = set()
        depth = max(by_depth, default=-1)
        while depth >= 0:
            for group in by_depth.get(depth, ()):
                group.settle(now)
                own = sum(group.tasks.values())
                group.wanted = own + sum([child.wish for child in group.active.values()])
                group.raw = own + sum([child.raw for child in group.active.values()])
                if group.stalled:
                    group.raw += sum(group.stalled.values())
                group.wish = min(group.wanted, group.quota, float(len(group.cpus)))
                group.stale = True
                parent = group.parent
                if parent is not None:
                    if group.wanted > 0:
                        parent.active[group.path] = group
                    elif parent.active.pop(group.path, None) is not None:
                        self._share(group, 0.0, now)
                    by_depth.setdefault(depth - 1, set()).add(parent)
            depth -= 1

    def _make_all_stale(self) -> None:
        for group in self._groups.values():
            group.stale = True

    def _share(self, group: Group, amount: float, now: float) -> None:
        """Divide `amount`, no more than the group's wish, among its processes and children."""
        group.settle(now)
        tasks, children = group.tasks, group.active
        if len(tasks) + len(children) == 1:  # as in most pods and containers: all of it goes to the only one
            if tasks:
                ((pid, want),) = tasks.items()
                rate = min(want, amount)
                self._changed(pid, rate)
                idle = max(1.0 - rate, 0.0)
            else:
                (child,) = children.values()
                part = min(child.wish, amount)
                if child.differs(part):
                    self._share(child, part, now)
                idle = child.idle
        else:
            idle = self._share_out(group, amount, now)
        group.got, group.stale = amount, False
        if group.throttles or group.is_throttled:
            group.throttle(now)
        self._press(group, idle, now)

    def _share_out(self, group: Group, amount: float, now: float) -> float:
        """The same where there are several; the share of the time in which none of them runs."""
        tasks, children = group.tasks, group.active.values()
        level = _INFINITE
        if group.wanted > amount + EPSILON:
            weights = [child.weight for child in children] + [task_weight(want) for want in tasks.values()]
            level = water_level(weights, [*[child.wish for child in children], *tasks.values()], amount)
        for child in children:
            part = child.weight * level
            if part > child.wish:
                part = child.wish
            if child.stale or not -EPSILON < part - child.got < EPSILON:  # as `differs`, asked of everybody every time
                self._share(child, part, now)
        idle = math.prod([child.idle for child in children])
        for pid, want in tasks.items():
            rate = min(want, task_weight(want) * level)
            self._changed(pid, rate)
            idle *= max(1.0 - rate, 0.0)
        return idle

    def _follow_ticks(self, root: Group, now: float, groups: list[Group]) -> None:
        """Where a cgroup on the only processor gets about its quota, see which periods are throttled."""
        before, self._at_the_edge = self._at_the_edge, []
        if len(groups) <= CROWD and all(map(_never_pauses, groups)) and any(map(_is_at_the_edge, groups)):
            for group, outcome in zip(groups, ticks.run(_as_busy(root), self._cores), strict=True):
                group.throttle(now, outcome)
            self._at_the_edge = groups
        for group in set(before) - set(self._at_the_edge):
            group.throttle(now)

    def _press(self, group: Group, idle: float, now: float) -> None:
        """The shares of time in which some process waits and in which all wait; `idle`: in which none below runs."""
        if group.is_throttled:
            idle = max(idle, 1.0 - group.quota / group.wanted)
        group.idle = idle
        some = min(max(group.raw - group.got, 0.0), 1.0)
        if group.pressure is None:
            if some < EPSILON:
                return
            group.pressure = Pressure(now)
        # the machine as a whole always runs another process while one waits
        group.pressure.set(now, some, 0.0 if group.parent is None else min(idle, some))

    def _divide_split(self, root: Group, masks: set[frozenset[int]], now: float) -> None:
        """The same where cpusets differ: one set of equal processors after another."""
        atoms: dict[frozenset[frozenset[int]], int] = {}
        for cpu in range(self._cores):
            users = frozenset(mask for mask in masks if cpu in mask)
            if users:
                atoms[users] = atoms.get(users, 0) + 1
        got: dict[Group, float] = {}
        rates: dict[int, float] = {}
        for users, cpus in sorted(atoms.items(), key=lambda item: len(item[0])):
            left: dict[Group, float] = {}
            self._left(root, users, got, rates, left)
            self._give(root, min(float(cpus), left.get(root, 0.0)), users, got, rates, left)
        self._settle_split(root, got, rates, now)

    def _left(
        self,
        group: Group,
        users: frozenset[frozenset[int]],
        got: dict[Group, float],
        rates: dict[int, float],
        left: dict[Group, float],
    ) -> float:
        """What a group still wishes of some processors; fills `left`."""
        total = 0.0
        if group.tasks and group.cpus in users:
            total = sum(want - rates.get(pid, 0.0) for pid, want in group.tasks.items())
        total += sum(self._left(child, users, got, rates, left) for child in group.active.values())
        left[group] = max(min(total, group.limit - got.get(group, 0.0)), 0.0)
        return left[group]

    def _give(
        self,
        group: Group,
        amount: float,
        users: frozenset[frozenset[int]],
        got: dict[Group, float],
        rates: dict[int, float],
        left: dict[Group, float],
    ) -> None:
        if amount <= EPSILON:
            return
        got[group] = got.get(group, 0.0) + amount
        tasks = list(group.tasks.items()) if group.cpus in users else []
        children = list(group.active.values())
        wishes = [(task_weight(want), want - rates.get(pid, 0.0)) for pid, want in tasks]
        wishes += [(child.weight, left[child]) for child in children]
        given = water_fill(wishes, amount)
        for (pid, _), part in zip(tasks, given, strict=False):
            rates[pid] = rates.get(pid, 0.0) + part
        for child, part in zip(children, given[len(tasks) :], strict=True):
            self._give(child, part, users, got, rates, left)

    def _settle_split(self, group: Group, got: dict[Group, float], rates: dict[int, float], now: float) -> None:
        group.settle(now)
        for pid in group.tasks:
            self._changed(pid, rates.get(pid, 0.0))
        for child in group.active.values():
            self._settle_split(child, got, rates, now)
        idle = math.prod([child.idle for child in group.active.values()])
        idle *= math.prod([max(1.0 - rates.get(pid, 0.0), 0.0) for pid in group.tasks])
        group.got, group.stale = got.get(group, 0.0), True
        if group.throttles or group.is_throttled:
            group.throttle(now)
        self._press(group, idle, now)


def _busy_groups(group: Group) -> Iterator[Group]:
    """A cgroup and those below in which a process wants to run; each before those in it, by name."""
    yield group
    for _, child in sorted(group.active.items()):
        yield from _busy_groups(child)


def _never_pauses(group: Group) -> bool:
    """Whether each of its processes is so many threads that run whenever they may."""
    return all(want % 1 == 0 for want in group.tasks.values())


def _as_busy(group: Group) -> ticks.Busy:
    """The same cgroups as the ticks see them."""
    below = tuple(_as_busy(child) for _, child in sorted(group.active.items()))
    period = round(group.period * 1e9)
    quota = 0 if group.quota == _INFINITE else round(group.quota * group.period * 1e9)
    return ticks.Busy(round(group.weight), round(sum(group.tasks.values())), below, quota, period)


def _is_at_the_edge(group: Group) -> bool:
    """Whether a cgroup would get about as much without its quota as it may have (of one processor)."""
    if group.quota == _INFINITE:
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


def task_weight(want: float) -> float:
    """That of a process that would like to use so many CPUs: each of its threads has the weight of one task."""
    return TASK_WEIGHT * (want if want > 1.0 else 1.0)


def water_fill(wishes: Sequence[tuple[float, float]], amount: float) -> list[float]:
    """Divide by weight; nobody gets more than wanted, and what is left over is divided again.

    Args:
        wishes: (weight, wanted) of each.
        amount: what there is.

    Returns:
        What each gets; the sum is `amount`, or all that was wanted.
    """
    if sum(want for _, want in wishes) <= amount + EPSILON:
        return [want for _, want in wishes]
    level = water_level([weight for weight, _ in wishes], [want for _, want in wishes], amount)
    return [min(want, weight * level) for weight, want in wishes]


def water_level(weights: Sequence[float], wants: Sequence[float], amount: float) -> float:
    """The level at which Σ min(want, weight · level) is the amount, where that is less than all want together.

    A member that wants no more than an equal level would give is satisfied and leaves more to the others; after a few
    rounds no further one is.
    """
    hungry, left = list(zip(weights, wants, strict=True)), amount
    while True:
        total = sum([weight for weight, _ in hungry])
        level = left / total if total else 0.0
        content = [want for weight, want in hungry if want <= weight * level]
        if not content or len(content) == len(hungry):
            return level
        left -= sum(content)
        hungry = [(weight, want) for weight, want in hungry if want > weight * level]
