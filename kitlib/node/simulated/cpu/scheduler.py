"""The division of CPU time: the fair scheduler's outcome, computed for the hierarchy of cgroups, not simulated.

At each cgroup its children and its own processes share the cgroup's CPU time in proportion to their weights. What one
of them does not want, or may not use (its quota, its cpuset), goes to the others, again by weight. CFS and EEVDF
approach this over a few periods. With different cpusets, processors that the same cgroups may use are divided together,
those with the fewest users first.

A cgroup that would get more than its quota is throttled at the end of every period, except near the edge: the kernel
notices a used-up quota only at a tick (4 ms at 250 Hz), so a cgroup that would get about its quota is throttled in some
periods and not in others. Where that is deterministic, on one processor whose threads never pause, the ticks themselves
are followed (`ticks`) to count them.

Bursts shorter than a period are followed in time (`bursts`): their cgroups have a `bandwidth` in place of a quota, and
the division sees only the runnable threads.

Only changes are recomputed: a cgroup with the same share and the same demands keeps its results.

Sources: Documentation/scheduler/sched-design-CFS, sched-bwc; kernel/sched/fair.c (calc_group_shares, throttle_cfs_rq);
kernel/sched/psi.c (tasks that wait for a processor, throttled ones too).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.cpu import ticks
from kitlib.node.simulated.cpu.bandwidth import CfsBandwidth
from kitlib.node.simulated.cpu.bursts import Bursts
from kitlib.node.simulated.cpu.edge import CROWD, as_busy, busy_groups, is_at_the_edge, never_pauses
from kitlib.node.simulated.cpu.group import INFINITE, TaskGroup
from kitlib.node.simulated.cpu.sharing import EPSILON, IDLE_WEIGHT, TASK_WEIGHT, task_weight, water_fill, water_level
from kitlib.node.simulated.pressure import Pressure


class CPUScheduler:
    """The CPU scheduler of one machine.

    Args:
        cgroups: the cgroup files with the settings.
        cores: number of processors.
        changed: function that receives a process id and its new rate in CPUs, before it applies.
        rate: returns a process's rate in CPUs, by its id.
        done: function that receives a process id and the duration of a burst in seconds.
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
        self._groups: dict[str, TaskGroup] = {}
        self._dirty: set[TaskGroup] = set()
        self._busy: dict[TaskGroup, frozenset[int]] = {}
        self._split = False
        self._at_the_edge: list[TaskGroup] = []

    def group(self, path: str) -> TaskGroup:
        """Return a cgroup's scheduling state, created if necessary."""
        found = self._groups.get(path)
        if found is None:
            parent = None if path == "/" else self.group(path.rpartition("/")[0] or "/")
            found = self._groups[path] = TaskGroup(path, parent, 0 if parent is None else parent.depth + 1)
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
        work: float = INFINITE,
        every: float = INFINITE,
        brief: bool = False,
    ) -> None:
        """Set a process's demand in CPUs from now on; 0 = none.

        Args:
            path: path of its cgroup.
            pid: process id.
            cpus: demand in CPUs: the number of busy threads.
            now: seconds since boot.
            work: CPU time of one burst in seconds; infinite = busy until the next call.
            every: seconds between the starts of two bursts.
            brief: whether the demand lasts less than some periods.
        """
        group = self.group(path)
        if brief and cpus and not group.followed:
            self._follow(group, now, burst=work != INFINITE)
        if group.followed:
            self._bursts.follow(group, pid, cpus, now, work=work, every=every, brief=brief)
            self._leave_steady(now)
            return
        if cpus:
            group.tasks[pid] = cpus
        elif group.tasks.pop(pid, None) is None:
            return
        self._note(group)

    def _note(self, group: TaskGroup) -> None:
        """Mark a cgroup whose processes' demand has changed."""
        if group.tasks:
            self._busy[group] = group.cpus
        else:
            self._busy.pop(group, None)
        self._dirty.add(group)

    def upcoming(self) -> float:
        """Return the time of the next event of bursts, in seconds since boot; infinite = none."""
        return self._bursts.upcoming() if self._followed else INFINITE

    def step(self, now: float) -> None:
        """Process the events of bursts that are due: starts, ends, ticks and periods."""
        if self._followed:
            self._bursts.step(now)
            if self._bursts.ended:
                self._leave_steady(now)

    def _wish(self, group: TaskGroup, pid: int, cpus: float, held: float) -> None:
        """Set the current demand of a followed process, and the part withheld by throttling."""
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

    def _follow(self, group: TaskGroup, now: float, *, burst: bool) -> None:
        """Follow everything below the topmost cgroup with a quota; without a quota, bursts only."""
        top, above = group if burst else None, group if group.path != "/" else None
        while above is not None:
            if above.quota != INFINITE:
                top = above
            above = above.parent
        if top is None:
            return
        self._followed.add(top.path)
        for task_group in self._below(top.path):
            task_group.settle(now)
            task_group.followed = True
            tasks, task_group.tasks = task_group.tasks, {}
            self._read(task_group)
            for pid, cpus in tasks.items():
                self._bursts.follow(task_group, pid, cpus, now, work=INFINITE, every=INFINITE, brief=False)

    def _leave_steady(self, now: float) -> None:
        """Return to averages below cgroups without brief work, as soon as quotas are unused or a period has ended."""
        for path in list(self._followed):
            here = self._bursts.processes.items()
            inside = {pid: burster for pid, burster in here if f"{burster.group.path}/".startswith(path + "/")}
            if any(burster.brief for burster in inside.values()):
                continue
            groups = self._below(path)
            running = any(g.bandwidth is not None and g.bandwidth.ends is not None for g in groups)
            if running and not (self._bursts.ended and any(burster.lanes for burster in inside.values())):
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
            for pid, thread in inside.items():
                if thread.cpus:
                    self.want(thread.group.path, pid, thread.cpus, now)

    def _below(self, path: str) -> list[TaskGroup]:
        return [group for group in self._groups.values() if group.path == path or group.path.startswith(path + "/")]

    def forget(self, path: str, now: float) -> None:
        """Remove a deleted cgroup."""
        group = self._groups.pop(path, None)
        if group is not None:
            self._bursts.watch(path, None)
            self._followed.discard(path)
            self._busy.pop(group, None)
            self._dirty.discard(group)
            if group.parent is not None and group.parent.active.pop(path, None) is not None:
                self._dirty.add(group.parent)

    def divide(self, now: float) -> None:
        """Recompute the rates of all processes, as far as anything has changed."""
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
            # A split division bypasses `_share`: its results cannot be reused.
            if self._split:
                self._make_all_stale()
            # processors that no pod may use count for nothing
            amount = min(float(len(next(iter(masks)))) if masks else 0.0, root.wish)
            if root.differs(amount):
                self._share(root, amount, now)
        self._split = split
        alone = not split and not self._followed and max(map(len, masks), default=0) == 1
        self._follow_ticks(root, now, list(busy_groups(root)) if alone else [])

    def _read(self, group: TaskGroup) -> None:
        """Read weight, quota and cpuset from the cgroup's files."""
        cgroups, path = self._cgroups, group.path
        group.cpus = cgroups.effective_cpus(path)
        if group in self._busy:
            self._busy[group] = group.cpus
        if path == "/":
            return
        if cgroups.version == 1:
            quota, period = int(cgroups.read(path, "cpu.cfs_quota_us")), int(cgroups.read(path, "cpu.cfs_period_us"))
            group.weight = float(cgroups.read(path, "cpu.shares"))
            group.quota, group.period = quota / period if quota > 0 else INFINITE, period / 1e6
        elif "cpu" in cgroups.controllers(path):
            limit, period_text = cgroups.read(path, "cpu.max").split()
            group.weight = float(cgroups.read(path, "cpu.weight")) * TASK_WEIGHT / 100 or IDLE_WEIGHT
            group.period = int(period_text) / 1e6
            group.quota = INFINITE if limit == "max" else int(limit) / int(period_text)
        else:
            group.weight, group.quota = TASK_WEIGHT, INFINITE
        if group.followed:
            self._read_bandwidth(group)
        elif group.quota != INFINITE and any(followed.startswith(path + "/") for followed in self._followed):
            self._follow(group, group.since, burst=False)

    def _read_bandwidth(self, group: TaskGroup) -> None:
        """Move a followed cgroup's quota to its `bandwidth`; the division then sees no quota."""
        quota, group.quota = group.quota, INFINITE
        if quota == INFINITE:
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
        """Compute the demands of all changed cgroups and those above them, from the bottom up."""
        by_depth: dict[int, set[TaskGroup]] = {}
        for group in self._dirty:
            by_depth.setdefault(group.depth, set()).add(group)
        self._dirty = set()
        # From the deepest level upwards: a cgroup's demand depends on its children's.
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
                    # Its parent no longer divides anything to it, so its rates are set to 0 here.
                    elif parent.active.pop(group.path, None) is not None:
                        self._share(group, 0.0, now)
                    by_depth.setdefault(depth - 1, set()).add(parent)
            depth -= 1

    def _make_all_stale(self) -> None:
        for group in self._groups.values():
            group.stale = True

    def _share(self, group: TaskGroup, amount: float, now: float) -> None:
        """Divide an amount of CPUs, at most the cgroup's wish, among its processes and children."""
        group.settle(now)
        tasks, children = group.tasks, group.active
        if len(tasks) + len(children) == 1:  # the common case of pods and containers, without weights
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

    def _share_out(self, group: TaskGroup, amount: float, now: float) -> float:
        """Divide among several members; return the share of the time in which none of them runs."""
        tasks, children = group.tasks, group.active.values()
        level = INFINITE
        if group.wanted > amount + EPSILON:
            weights = [child.weight for child in children] + [task_weight(want) for want in tasks.values()]
            level = water_level(weights, [*[child.wish for child in children], *tasks.values()], amount)
        for child in children:
            part = child.weight * level
            if part > child.wish:
                part = child.wish
            if child.stale or not -EPSILON < part - child.got < EPSILON:  # `differs`, inlined for speed
                self._share(child, part, now)
        idle = math.prod([child.idle for child in children])
        for pid, want in tasks.items():
            rate = min(want, task_weight(want) * level)
            self._changed(pid, rate)
            idle *= max(1.0 - rate, 0.0)
        return idle

    def _follow_ticks(self, root: TaskGroup, now: float, groups: list[TaskGroup]) -> None:
        """Follow the ticks of cgroups at the edge of their quota on the only processor."""
        before, self._at_the_edge = self._at_the_edge, []
        if len(groups) <= CROWD and all(map(never_pauses, groups)) and any(map(is_at_the_edge, groups)):
            for group, outcome in zip(groups, ticks.run(as_busy(root), self._cores), strict=True):
                group.throttle(now, outcome)
            self._at_the_edge = groups
        for group in set(before) - set(self._at_the_edge):
            group.throttle(now)

    def _press(self, group: TaskGroup, idle: float, now: float) -> None:
        """Set the shares of time in which some, and in which all processes wait."""
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

    def _divide_split(self, root: TaskGroup, masks: set[frozenset[int]], now: float) -> None:
        """Divide with different cpusets: one set of equivalent processors after another."""
        atoms: dict[frozenset[frozenset[int]], int] = {}
        for cpu in range(self._cores):
            users = frozenset(mask for mask in masks if cpu in mask)
            if users:
                atoms[users] = atoms.get(users, 0) + 1
        got: dict[TaskGroup, float] = {}
        rates: dict[int, float] = {}
        # Processors with the fewest users first: what their users get there they do not demand of shared ones.
        for users, cpus in sorted(atoms.items(), key=lambda item: len(item[0])):
            left: dict[TaskGroup, float] = {}
            self._left(root, users, got, rates, left)
            self._give(root, min(float(cpus), left.get(root, 0.0)), users, got, rates, left)
        self._settle_split(root, got, rates, now)

    def _left(
        self,
        group: TaskGroup,
        users: frozenset[frozenset[int]],
        got: dict[TaskGroup, float],
        rates: dict[int, float],
        left: dict[TaskGroup, float],
    ) -> float:
        """Return a cgroup's remaining demand for some processors; stores it in `left` with those of its children."""
        total = 0.0
        if group.tasks and group.cpus in users:
            total = sum(want - rates.get(pid, 0.0) for pid, want in group.tasks.items())
        total += sum(self._left(child, users, got, rates, left) for child in group.active.values())
        left[group] = max(min(total, group.limit - got.get(group, 0.0)), 0.0)
        return left[group]

    def _give(
        self,
        group: TaskGroup,
        amount: float,
        users: frozenset[frozenset[int]],
        got: dict[TaskGroup, float],
        rates: dict[int, float],
        left: dict[TaskGroup, float],
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

    def _settle_split(self, group: TaskGroup, got: dict[TaskGroup, float], rates: dict[int, float], now: float) -> None:
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
