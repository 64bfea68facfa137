"""The contents of a cgroup's read-only files: counters, usage, events, pressure.

Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst; kernel/cgroup/pids.c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.oom import PAGE
from kitlib.node.simulated.pressure import NOTHING, Pressure
from kitlib.node.simulated.reclaim import Reclaim
from kitlib.node.simulated.stalls import Stalls
from kitlib.node.simulated.tmpfs import Tmpfs


@dataclass(frozen=True)
class KernelStatistics:
    """The source of the read-only files of one kernel's cgroups.

    Attributes:
        kernel: the kernel's state.
        reclaim: the kernel's reclaim.
        tmpfs: the files in tmpfs.
        stalls: the processes that wait for memory or the disk.
    """

    kernel: KernelState
    reclaim: Reclaim
    tmpfs: Tmpfs
    stalls: Stalls

    def content(self, path: str, file: str) -> str | None:
        """Return the content of a read-only file; None if the model does not have it."""
        answer = _ANSWERS.get(file)
        return answer(self, path) if answer is not None else None

    def pressure(self, resource: str, path: str) -> Pressure | None:
        """Return the pressure of cpu, memory or io in a cgroup; None = none so far."""
        if resource == "cpu":
            return self.kernel.scheduler.group(path).pressure
        return self.stalls.pressure(resource, path)


def _cpu_stat(model: KernelStatistics, path: str) -> str:
    group = model.kernel.scheduler.group(path)
    group.settle(model.kernel.now)
    periods, throttled = int(group.periods + 1e-6), int(group.throttled + 1e-6)
    if model.kernel.version == 1:
        nanoseconds = int(group.throttled_seconds * 1e9)
        return f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time {nanoseconds}"
    used = int(group.seconds * 1e6)
    return (
        f"usage_usec {used}\nuser_usec {used}\nsystem_usec 0\nnr_periods {periods}\nnr_throttled {throttled}\n"
        f"throttled_usec {int(group.throttled_seconds * 1e6)}\n"
        f"nr_bursts {group.bursts}\nburst_usec {int(group.burst_seconds * 1e6)}"
    )


def _cpu_usage(model: KernelStatistics, path: str) -> str:
    group = model.kernel.scheduler.group(path)
    group.settle(model.kernel.now)
    return str(int(group.seconds * 1e9))


def _memory_stat(model: KernelStatistics, path: str) -> str:
    whole, cache, shmem = model.kernel.memory.anonymous(path), model.kernel.memory.cache(path), model.tmpfs.size(path)
    anonymous, file = whole - shmem, cache + shmem  # pages of a tmpfs are file pages on the list of anonymous ones
    active, dirty = model.kernel.memory.active(path), model.kernel.memory.dirty(path)
    swap, counted = model.kernel.memory.swap(path), model.kernel.memory.counters[path]
    faults = counted.swapped_in // PAGE
    if model.kernel.version == 1:
        return (
            f"cache {file}\nrss {anonymous}\nshmem {shmem}\ndirty {dirty}\n"
            f"inactive_file {cache - active}\nactive_file {active}\n"
            f"total_cache {file}\ntotal_rss {anonymous}\ntotal_shmem {shmem}\ntotal_dirty {dirty}\n"
            f"total_inactive_file {cache - active}\ntotal_active_file {active}\nswap {swap}\ntotal_swap {swap}\n"
            f"pgmajfault {faults}\ntotal_pgmajfault {faults}"
        )
    return (
        f"anon {anonymous}\nfile {file}\nshmem {shmem}\nfile_dirty {dirty}\ninactive_anon 0\nactive_anon {whole}\n"
        f"inactive_file {cache - active}\nactive_file {active}\nworkingset_refault_anon {faults}\n"
        f"pswpin {faults}\npswpout {counted.swapped_out // PAGE}\npgmajfault {faults}"
    )


def _memory_events(model: KernelStatistics, path: str) -> str:
    c = model.kernel.memory.counters[path]
    names = ("low", "high", "max", "oom", "oom_kill", "oom_group_kill")
    return "\n".join(f"{name} {getattr(c, name)}" for name in names)


def _memory_events_local(model: KernelStatistics, path: str) -> str:
    local = model.kernel.memory.counters[path].local
    names = ("low", "high", "max", "oom", "oom_kill", "oom_group_kill")
    return "\n".join(f"{name} {local.get(name, 0)}" for name in names)


def _swap_events(model: KernelStatistics, path: str) -> str:
    counted = model.kernel.memory.counters[path]
    return f"high 0\nmax {counted.swap_max}\nfail {counted.swap_fail}"


def _unreclaimable(model: KernelStatistics, path: str) -> str:
    return str(model.kernel.memory.anonymous(path) - model.reclaim.swappable(path))


def _unreclaimable_with_swap(model: KernelStatistics, path: str) -> str:
    return str(model.kernel.memory.anonymous(path) + model.kernel.memory.swap(path))


def _pressure(resource: str) -> Callable[[KernelStatistics, str], str]:
    def show(model: KernelStatistics, path: str) -> str:
        found = model.pressure(resource, path)
        return found.show(model.kernel.now) if found is not None else NOTHING

    return show


_ANSWERS: dict[str, Callable[[KernelStatistics, str], str]] = {
    "cpu.stat": _cpu_stat,
    "cpuacct.usage": _cpu_usage,
    "memory.current": lambda model, path: str(model.kernel.memory.usage(path)),
    "memory.usage_in_bytes": lambda model, path: str(model.kernel.memory.usage(path)),
    "memory.unreclaimable": _unreclaimable,
    "memory.memsw.unreclaimable": _unreclaimable_with_swap,
    "memory.swap.current": lambda model, path: str(model.kernel.memory.swap(path)),
    "memory.swap.peak": lambda model, path: str(model.kernel.memory.counters[path].swap_peak),
    "memory.swap.events": _swap_events,
    "memory.memsw.usage_in_bytes": lambda model, path: str(model.kernel.memory.memory_and_swap(path)),
    "memory.memsw.max_usage_in_bytes": lambda model, path: str(model.kernel.memory.counters[path].swap_peak),
    "memory.memsw.failcnt": lambda model, path: str(model.kernel.memory.counters[path].swap_failures),
    "memory.peak": lambda model, path: str(model.kernel.memory.counters[path].peak),
    "memory.max_usage_in_bytes": lambda model, path: str(model.kernel.memory.counters[path].peak),
    "memory.failcnt": lambda model, path: str(model.kernel.memory.counters[path].failures),
    "memory.stat": _memory_stat,
    "memory.events": _memory_events,
    "memory.events.local": _memory_events_local,
    "memory.oom_control": lambda model, path: (
        f"oom_kill_disable 0\nunder_oom 0\noom_kill {model.kernel.memory.counters[path].oom_kill}"
    ),
    "pids.current": lambda model, path: str(model.kernel.processes_in(path)),
    "pids.peak": lambda model, path: str(model.kernel.memory.counters[path].most_processes),
    "pids.events": lambda model, path: f"max {model.kernel.memory.counters[path].forks_refused}",
    "cpu.pressure": _pressure("cpu"),
    "memory.pressure": _pressure("memory"),
    "io.pressure": _pressure("io"),
}
