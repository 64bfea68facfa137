"""The resources that a container sees: `free`, /proc/meminfo and /proc/cpuinfo inside a pod, without and with lxcfs.

/proc/meminfo ignores cgroups: in every container it shows the machine's memory, whatever the limit is, so `free` and
runtimes that size their heap by it are wrong. lxcfs mounts its own files over these; they show the smallest limit from
the container's cgroup up to the root, and the usage of the container's cgroup.

Source: fs/proc/meminfo.c; lxcfs proc_fuse.c (proc_meminfo_read, get_min_memlimit), proc_cpuview.c (max_cpu_count);
procps free.c.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from kitlib.api.errors import KitError, NotFound
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT, MEMORY_USAGE

if TYPE_CHECKING:
    import pandas as pd

_KIB = 1024


class Seen(NamedTuple):
    """The content of the files in a container.

    Attributes:
        total: total memory in bytes.
        free: free memory in bytes.
        cached: page cache in bytes.
        reclaimable: bytes of page cache that can be reclaimed; the rest of the cache is shared memory.
        swap: size of the swap space in bytes.
        swapped: used swap space in bytes.
        cpus: number of processors in /proc/cpuinfo.
        why: reason for the total.
        why_cpus: reason for the number of processors.
    """

    total: int
    free: int
    cached: int
    reclaimable: int
    swap: int
    swapped: int
    cpus: int
    why: str
    why_cpus: str

    @property
    def available(self) -> int:
        """Free memory plus reclaimable page cache, in bytes."""
        return min(self.free + self.reclaimable, self.total)


def seen(node: Any, pod: str, container: str = "", namespace: str = "default", *, lxcfs: bool = False) -> Seen:
    """Return the resources that a container sees.

    Args:
        node: a node of a cluster.
        pod: the pod's name.
        container: the container's name; "" = the pod's only container.
        namespace: the pod's namespace.
        lxcfs: whether lxcfs replaces the kernel's files.

    Raises:
        NotFound: the container does not exist.
    """
    machine = node.config.machine
    path = _path(node, pod, container, namespace)
    if not lxcfs:
        used = node.total_usage()[1]
        cached, reclaimable = _cache(node, "/")
        free = max(machine.memory - used - cached, 0)
        return Seen(
            machine.memory,
            free,
            cached,
            reclaimable,
            machine.swap,
            _swapped(node),
            machine.cores,
            "the machine's memory: /proc/meminfo knows nothing of cgroups",
            "the machine's processors: /proc/cpuinfo knows nothing of quotas",
        )
    version = node.desired().version
    limit, where = machine.memory, ""
    for above in _upwards(path):
        own = _bytes(node, above, MEMORY_LIMIT[version])
        if own is not None and own < limit:
            limit, where = own, above
    # The limit may belong to an ancestor, but the usage is always that of the container's own cgroup.
    used = int(node.read(path, MEMORY_USAGE[version]))
    cached, reclaimable = (min(amount, limit) for amount in _cache(node, path))
    why = f"the smallest limit on the way up: {where}" if where else "no cgroup on the way up has a limit"
    cpus, why_cpus = _cpus(node, path, version, machine.cores)
    swap, swapped = _swap(node, path, version)
    return Seen(limit, max(limit - used, 0), cached, reclaimable, swap, swapped, cpus, why, why_cpus)


def meminfo(found: Seen) -> str:
    """Return the first lines of /proc/meminfo."""
    lines = (
        ("MemTotal", found.total),
        ("MemFree", found.free),
        ("MemAvailable", found.available),
        ("Buffers", 0),
        ("Cached", found.cached),
        ("SwapTotal", found.swap),
        ("SwapFree", found.swap - found.swapped),
    )
    return "\n".join(f"{name + ':':<16}{amount // _KIB:>8} kB" for name, amount in lines)


def free(found: Seen) -> str:
    """Return the output of `free -m` in MiB; used memory is total minus available."""
    mib = _KIB * _KIB
    names = ("total", "used", "free", "shared", "buff/cache", "available")
    amounts = (found.total, found.total - found.available, found.free, 0, found.cached, found.available)
    head = " " * 7 + "".join(f"{name:>12}" for name in names)
    memory = "Mem:   " + "".join(f"{amount // mib:>12}" for amount in amounts)
    swap = "".join(f"{amount // mib:>12}" for amount in (found.swap, found.swapped, found.swap - found.swapped))
    return f"{head}\n{memory}\nSwap:  {swap}"


_INSIDE = ("question", "asked where", "without lxcfs", "with lxcfs", "why")


def inside_rows(node: Any, pod: str, container: str = "", namespace: str = "default") -> list[dict[str, Any]]:
    """Return the values that a program reads, without lxcfs and with it, and the reasons."""
    plain = seen(node, pod, container, namespace)
    faked = seen(node, pod, container, namespace, lxcfs=True)
    process = node.proc(pod, container, namespace) if hasattr(node, "proc") else {}
    allowed = process.get("Cpus_allowed_list", "")
    rows = [
        ("total memory", "free, /proc/meminfo: MemTotal", plain.total, faked.total, faked.why),
        ("available memory", "/proc/meminfo: MemAvailable", plain.available, faked.available, "limit − usage + cache"),
        ("processors", "/proc/cpuinfo", plain.cpus, faked.cpus, faked.why_cpus),
        (
            "processors it may run on",
            "nproc, sched_getaffinity: Cpus_allowed_list",
            allowed,
            allowed,
            "the cpuset, which the kernel itself shows; a quota does not change it",
        ),
    ]
    return [dict(zip(_INSIDE, row, strict=True)) for row in rows]


def inside_frame(node: Any, pod: str, container: str = "", namespace: str = "default") -> pd.DataFrame:
    """Return the rows of `inside_rows` as a data frame."""
    import pandas as pd

    return pd.DataFrame(inside_rows(node, pod, container, namespace), columns=list(_INSIDE))


def _path(node: Any, pod: str, container: str, namespace: str) -> str:
    for cgroup in node.desired().of_kind("container"):
        if cgroup.pod == f"{namespace}/{pod}" and container in ("", cgroup.container):
            return str(cgroup.path)
    raise NotFound("containers", f"{namespace}/{pod}/{container}")


def _upwards(path: str) -> list[str]:
    found = []
    while path not in ("", "/"):
        found.append(path)
        path = path.rpartition("/")[0]
    return found


def _bytes(node: Any, path: str, file: str) -> int | None:
    """Return the amount in a cgroup's file; None if the file does not exist or means no limit."""
    try:
        text = node.read(path, file)
    except (KitError, OSError):
        return None
    return None if text == "max" or int(text) >= UNLIMITED_V1 else int(text)


def _cache(node: Any, path: str) -> tuple[int, int]:
    """Return the bytes of page cache, and those of files in it. Source: lxcfs proc_meminfo_read (MemAvailable)."""
    try:
        text = node.read(path, "memory.stat")
    except (KitError, OSError):
        return 0, 0
    figures = {name: int(value) for name, value in (line.split() for line in text.splitlines())}
    total = "total_" if "total_cache" in figures else ""
    cached = figures.get("file", figures.get(f"{total}cache", 0))
    return cached, figures.get(f"{total}inactive_file", cached) + figures.get(f"{total}active_file", 0)


def _swapped(node: Any) -> int:
    """Return the used bytes of the machine's swap; on a real node the kernel's own counter is not read."""
    return sum(getattr(process, "swapped", 0) for process in node.processes())


def _swap(node: Any, path: str, version: int) -> tuple[int, int]:
    """Return the bytes of swap that lxcfs shows to a container, and the used part of it.

    The size is the smallest swap limit up to the root, at most the machine's swap. Cgroup v1 counts memory and swap
    together.

    Source: lxcfs proc_fuse.c, get_swap_info.
    """
    limits: list[int] = [node.config.machine.swap]
    for above in _upwards(path):
        if version == 2:
            own = _bytes(node, above, "memory.swap.max")
        else:
            both, memory = (_bytes(node, above, f"memory.{kind}limit_in_bytes") for kind in ("memsw.", ""))
            own = None if both is None else both - memory if memory is not None else 0
        limits += [own] if own is not None else []
    if version == 2:
        used = _bytes(node, path, "memory.swap.current") or 0
    else:
        both, memory = (_bytes(node, path, f"memory.{kind}usage_in_bytes") for kind in ("memsw.", ""))
        used = both - memory if both is not None and memory is not None else 0
    total = max(min(limits), 0)
    return total, min(used, total)


def _cpus(node: Any, path: str, version: int, cores: int) -> tuple[int, str]:
    """Return the processors that lxcfs shows: the quota in CPUs, rounded up. Source: lxcfs max_cpu_count."""
    best, where = float(cores), ""
    for above in _upwards(path):
        try:
            if version == 2:
                quota, period = node.read(above, "cpu.max").split()
            else:
                quota, period = node.read(above, "cpu.cfs_quota_us"), node.read(above, "cpu.cfs_period_us")
        except (KitError, OSError):
            continue
        if quota in ("max", "-1"):
            continue
        share = int(quota) / int(period)
        if share < best:
            best, where = share, above
    why = f"the smallest quota on the way up, rounded up: {where}" if where else "no quota on the way up"
    return min(math.ceil(best), cores), why
