"""The rules of cgroup files that depend on other files, on parent and child cgroups, and on processes.

Rules of a value alone are in `rules.py`. The rules here compare: a quota with those of ancestors and descendants,
memory with memory and swap and with the usage, processors with the parent's and the children's; they decide which
controllers can be enabled for children, and which cgroups may hold processes.

A cgroup "hands down" the controllers in its cgroup.subtree_control: its children have their files. `kept` dispatches by
the name of the file, and the order of its tests matters: special names of v1 precede the prefix `memory.`.

Sources: kernel/sched/core.c (__cfs_schedulable), mm/memcontrol*.c (mem_cgroup_resize_max), kernel/cgroup/cpuset*.c
(validate_change), kernel/cgroup/cgroup.c (cgroup_subtree_control_write, cgroup_vet_subtree_control_enable,
cgroup_migrate_vet_dst).
"""

from __future__ import annotations

import errno

from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.simulated import rules
from kitlib.node.simulated.cgroup_files import CgroupFiles
from kitlib.node.simulated.initial_files import memory_nodes
from kitlib.node.simulated.rules import Refused

THREADED = frozenset({"cpu", "cpuset", "pids"})
"""Threaded controllers, which may be enabled for children of a cgroup that holds processes.

The kernel's fourth one, perf_event, is not simulated.
"""
MEMORY_NODES = 1024
"""Maximum number of memory nodes of a kernel. Source: CONFIG_NODES_SHIFT of usual x86 kernels."""


def kept(fs: CgroupFiles, path: str, file: str, value: str) -> str:
    """Check a write and return the text that the file then contains.

    Some writes also change other files: cpu.idle and cpu.weight.nice set cpu.weight, cgroup.subtree_control resets the
    children's settings. All checks of a write precede its effects.

    Raises:
        Refused: the write fails.
    """
    # The root has no hugetlb settings on v2. On v1 they can be written here; hugetlb_cgroup_write refuses that.
    if path == "/" and not file.startswith(("cgroup.", "hugetlb.")):
        raise Refused(errno.EINVAL, "the root cgroup cannot be limited")
    if file == "cpu.shares":
        return rules.shares(value)
    if file in ("cpu.weight", "cpu.weight.nice") and fs.setting(path, "cpu.idle") == "1":
        raise Refused(errno.EINVAL, "the cgroup is idle: cpu.idle is 1")  # sched_group_set_shares
    if file == "cpu.weight":
        return rules.weight(value)
    if file == "cpu.cfs_quota_us":
        return _within_parent(fs, path, rules.quota_v1(value), fs.setting(path, "cpu.cfs_period_us"))
    if file == "cpu.cfs_period_us":
        period = rules.period(value)
        _within_parent(fs, path, fs.setting(path, "cpu.cfs_quota_us"), period)
        return period
    if file == "cpu.max":  # unlike on v1 not compared with other cgroups: the least limit on the path holds
        return rules.cpu_max(value, fs.setting(path, file))
    if file in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):
        return _memory_v1(fs, path, file, rules.memory_v1(value))
    if file == "memory.soft_limit_in_bytes":
        return rules.memory_v1(value)
    if file == "memory.kmem.limit_in_bytes":
        return rules.kernel_memory(value)
    if file == "cpu.weight.nice":
        return rules.nice_of_weight(fs.set_weight(path, rules.weight_of_nice(value)))
    if file == "cpu.max.burst":  # compared with the quota only here: cpu.max does not check an existing burst
        return rules.burst(value, fs.setting(path, "cpu.max").split()[0])
    if file == "memory.swappiness":
        return rules.swappiness(value)
    if file == "memory.use_hierarchy":
        return rules.hierarchy(value)
    if file == "cpuset.cpus.partition":
        if value.strip() != "member":
            raise Refused(errno.EINVAL, "the simulated kernel makes no partitions of processors")
        return "member"
    if file == "cgroup.freeze":
        return rules.freeze(value)
    if file == "cpuset.cpu_exclusive":
        return _exclusive(fs, path, rules.flag(value))
    if file == "cpu.idle" and rules.flag(value) != fs.setting(path, file):
        # An idle group has 3 shares (WEIGHT_IDLEPRIO), which cpu.weight shows as 0. The end of idle gives the default
        # weight, not the one before. Source: sched_group_set_idle.
        fs.set_weight(path, "0" if rules.flag(value) == "1" else "100")
    if file in ("memory.oom.group", "cpu.idle", "cpuset.sched_load_balance"):
        return rules.flag(value)
    if file.startswith("memory."):  # the limits of v2: max, high, low, min, swap.max
        return rules.memory_v2(value)
    if file == "pids.max":
        return rules.pids(value)
    if file.startswith("hugetlb."):
        return rules.hugetlb(file, value, fs.version)
    if file == "cpuset.cpus":
        return _cpus(fs, path, value)
    if file == "cpuset.mems":
        return _memory_nodes(fs, path, value)
    if file == "cgroup.subtree_control":
        return _subtree(fs, path, value)
    raise Refused(errno.EINVAL, "this file takes no value")  # a file without a rule


def _within_parent(fs: CgroupFiles, path: str, quota: str, period: str) -> str:
    """Check (v1) a quota against the cgroups around it.

    The ratio quota/period is at most that of the nearest ancestor with a quota, and at least those of the descendants.
    A descendant with a quota bounds the cgroups below it, so the search ends there.
    """
    if quota == "-1":  # no check: the descendants already fit the ancestors
        return quota
    ratio = int(quota) / int(period)
    above = _parent(path)
    while above != "/":
        own = _ratio(fs, above)
        if own is not None:
            if ratio > own:
                raise Refused(errno.EINVAL, f"more than {above} may use")
            break
        above = _parent(above)
    stack = fs.children(path)
    while stack:
        below = stack.pop()
        own = _ratio(fs, below)
        if own is None:
            stack += fs.children(below)
        elif own > ratio:
            raise Refused(errno.EINVAL, f"less than {below} may use")
    return quota


def _ratio(fs: CgroupFiles, path: str) -> float | None:
    """Return the CPUs of a quota; None = no quota."""
    quota = fs.setting(path, "cpu.cfs_quota_us")
    return None if quota == "-1" else int(quota) / int(fs.setting(path, "cpu.cfs_period_us"))


def _memory_v1(fs: CgroupFiles, path: str, file: str, limit: str) -> str:
    """Check that the limit of memory and swap is at least the limit of memory, and that the usage allows the limit."""
    if file == "memory.limit_in_bytes":
        # both: the limit of memory and swap together
        memory, both = limit, fs.setting(path, "memory.memsw.limit_in_bytes")
    else:
        memory, both = fs.setting(path, "memory.limit_in_bytes"), limit
    if int(memory) > int(both):
        raise Refused(errno.EINVAL, "memory.limit_in_bytes must not exceed memory.memsw.limit_in_bytes")
    # These names are not files: the kernel's model answers them with bytes that reclaim cannot free.
    used = fs.statistics(
        path, "memory.unreclaimable" if file == "memory.limit_in_bytes" else "memory.memsw.unreclaimable"
    )
    if used is not None and int(limit) < int(used):
        if fs.on_reclaim is not None and file == "memory.limit_in_bytes":
            # the kernel gives up only after it has reclaimed all that it can (mem_cgroup_resize_max)
            fs.on_reclaim(path, int(fs.statistics(path, "memory.usage_in_bytes") or 0) - int(limit))
        raise Refused(errno.EBUSY, f"{used} bytes are in use and cannot be given back")
    return limit


def _cpus(fs: CgroupFiles, path: str, value: str) -> str:
    """Check a cpuset: with processes it must not become empty; on v1 it fits between the parent's and the children's.

    On v1 `effective_cpus` is the cgroup's own set. Exclusive siblings are not checked here.
    """
    shown, cpus = rules.cpu_list(value, fs.machine.cores)
    if fs.version == 1:
        above = fs.effective_cpus(_parent(path))
        _fits(cpus, above, {below: fs.effective_cpus(below) for below in fs.children(path)}, "CPUs")
    if not cpus and fs.procs(path) and fs.setting(path, "cpuset.cpus"):
        raise Refused(errno.ENOSPC, "processes stand in it")
    return shown


def _exclusive(fs: CgroupFiles, path: str, flag: str) -> str:
    """Check a write of 1 to cpuset.cpu_exclusive: the parent is exclusive, and no sibling has one of the CPUs.

    Only this write is checked. The kernel also checks later writes of siblings' cpuset.cpus.

    Source: validate_change.
    """
    if flag == "1":
        above, own = _parent(path), fs.effective_cpus(path)
        if fs.setting(above, "cpuset.cpu_exclusive") != "1":
            raise Refused(errno.EACCES, f"{above} is not exclusive")
        for other in fs.children(above):
            if other != path and fs.effective_cpus(other) & own:
                raise Refused(errno.EINVAL, f"{other} has some of its CPUs")
    return flag


def _memory_nodes(fs: CgroupFiles, path: str, value: str) -> str:
    """Check memory nodes: existing ones only; on v1 with the rules of cpuset.cpus."""
    nodes = rules.number_list(value, MEMORY_NODES, f"memory nodes are 0 to {MEMORY_NODES - 1}")
    if not nodes <= frozenset(range(memory_nodes(fs.machine))):
        raise Refused(errno.EINVAL, "there is no such memory node")
    if fs.version == 1:
        below = {child: _nodes(fs, child) for child in fs.children(path)}
        _fits(nodes, _nodes(fs, _parent(path)), below, "memory nodes")
    if not nodes and fs.procs(path) and fs.setting(path, "cpuset.mems"):
        raise Refused(errno.ENOSPC, "processes stand in it")
    return format_cpus(nodes)


def _nodes(fs: CgroupFiles, path: str) -> frozenset[int]:
    return rules.number_list(fs.setting(path, "cpuset.mems"), MEMORY_NODES, "")


def _fits(wanted: frozenset[int], above: frozenset[int], below: dict[str, frozenset[int]], what: str) -> None:
    """Check a set of CPUs or memory nodes (v1): it contains the sets of the children, and the parent's contains it.

    Args:
        wanted: the new set.
        above: the parent's set.
        below: child -> its set. A child with other CPUs than the new set is reported first.
        what: the noun for the message.

    Source: validate_change.
    """
    for name, held in below.items():
        if not held <= wanted:
            raise Refused(errno.EBUSY, f"{name} uses others")
    if not wanted <= above:
        raise Refused(errno.EACCES, f"not all of these are {what} of the parent")


def _handed(fs: CgroupFiles, path: str) -> set[str]:
    """Return the controllers in cgroup.subtree_control."""
    return set(fs.setting(path, "cgroup.subtree_control").split())


def _subtree(fs: CgroupFiles, path: str, value: str) -> str:
    """Apply a write to cgroup.subtree_control (`+cpu -memory`); the last word about a controller counts."""
    wanted: dict[str, str] = {}
    for word in value.split():
        sign, name = word[:1], word[1:]
        # `split` yields no empty word, so `sign` is one character.
        if sign not in "+-" or name not in fs.available:
            raise Refused(errno.EINVAL, f"{word!r} is no controller with + or -")
        wanted[name] = sign
    handed, have = _handed(fs, path), fs.controllers(path)
    enable = {name for name, sign in wanted.items() if sign == "+"} - handed
    disable = {name for name, sign in wanted.items() if sign == "-"} & handed
    for name in fs.available:  # the kernel's order, so the same error is reported if several apply
        if name in enable and name not in have:
            raise Refused(errno.ENOENT, f"the parent does not hand {name} down")
        if name in disable:
            for below in fs.children(path):
                if name in _handed(fs, below):
                    raise Refused(errno.EBUSY, f"{below} hands {name} down")
    if enable and path != "/":
        _may_enable(fs, path, enable)
    for name in disable:
        for below in fs.children(path):
            # The kernel drops the state of a disabled controller: enabled again it starts with the defaults.
            fs.begin_anew(below, name)
    handed = (handed | enable) - disable
    return " ".join(name for name in fs.available if name in handed)


def _may_enable(fs: CgroupFiles, path: str, enable: set[str]) -> None:
    """Check that controllers can be enabled for children; with processes only threaded ones can.

    Source: cgroup_vet_subtree_control_enable.
    """
    if enable - THREADED:
        if _threads_inside(fs, path):
            raise Refused(errno.EOPNOTSUPP, "it divides its own threads' resources")
    elif _could_divide_threads(fs, path):
        return
    if fs.procs(path):
        raise Refused(errno.EBUSY, "processes stand in it")


def _threads_inside(fs: CgroupFiles, path: str) -> bool:
    """Return whether a cgroup is a thread root: it has processes and enables threaded controllers for its children.

    Source: cgroup_is_thread_root.
    """
    return path != "/" and bool(fs.procs(path)) and bool(_handed(fs, path) & THREADED)


def _could_divide_threads(fs: CgroupFiles, path: str) -> bool:
    """Return whether a cgroup could be a thread root: no domain controller is enabled, no child has processes.

    Source: cgroup_can_be_thread_root.
    """
    if path == "/":
        return True
    return not _handed(fs, path) - THREADED and not any(_populated(fs, below) for below in fs.children(path))


def _populated(fs: CgroupFiles, path: str) -> bool:
    return bool(fs.procs(path)) or any(_populated(fs, below) for below in fs.children(path))


def may_hold_processes(fs: CgroupFiles, path: str) -> None:
    """Check that a process may be moved into a cgroup.

    Raises:
        Refused: ENOSPC on v1 without processors or memory nodes. EBUSY on v2 if controllers are enabled for its
            children, except if all are threaded and no child has processes. EOPNOTSUPP below a thread root, whose
            descendants are invalid domains.
    """
    if fs.version == 1:
        if path != "/" and not (fs.effective_cpus(path) and fs.setting(path, "cpuset.mems")):
            raise Refused(errno.ENOSPC, "cpuset.cpus or cpuset.mems is empty")
        return
    if path == "/":
        return
    above = _parent(path)
    while above != "/":
        if _threads_inside(fs, above):
            raise Refused(errno.EOPNOTSUPP, f"{above} has processes and hands controllers down")
        above = _parent(above)
    if _handed(fs, path) and not _could_divide_threads(fs, path):
        raise Refused(errno.EBUSY, "it hands controllers down to its children")


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
