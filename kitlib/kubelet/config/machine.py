"""The kubelet's information about its machine: processors and their groups, memory, huge pages, disk, PIDs.

On a real node the values are read from the host (`node/real`), in a simulation they are declared; the kubelet's
arithmetic uses only this information. It determines the node's capacity, before any reservation.

Source: cadvisor info/v1 MachineInfo; kubelet cadvisor.CapacityFromMachineInfo,
cadvisor.EphemeralStorageCapacityFromFsInfo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kitlib.api.core import ResourceList
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity

PIDS = "pid"
"""The kubelet's internal resource for process ids; never part of a node's status. Source: kubelet pidlimit.PIDs."""

PAGE_SIZE = 4096
_KIB, _UNITS = 1024, ("", "KB", "MB", "GB", "TB", "PB")


class CPU(NamedTuple):
    """A logical processor and its groups, with the kernel's ids."""

    id: int
    core: int
    socket: int
    numa: int
    uncore_cache: int


def grouped(
    sockets: int = 1, numa: int = 1, cores: int = 1, threads: int = 2, *, caches: int = 1, siblings: str = "apart"
) -> tuple[CPU, ...]:
    """Return the processors of a machine whose groups of a kind all have the same size.

    Args:
        sockets: the number of sockets.
        numa: the number of NUMA nodes in each socket.
        cores: the number of cores in each NUMA node.
        threads: the number of threads in each core.
        caches: the number of last-level caches in each NUMA node.
        siblings: the numbering of a core's threads: "apart" = the second threads follow all first ones (most servers),
            "next" = side by side.
    """
    total = sockets * numa * cores
    made = []
    for core in range(total):
        node = core // cores
        cache = node * caches + (core % cores) * caches // cores
        for thread in range(threads):
            number = core * threads + thread if siblings == "next" else thread * total + core
            made.append(CPU(number, core, node // numa, node, cache))
    return tuple(sorted(made))


@dataclass(frozen=True, slots=True)
class HugePages:
    """A pool of preallocated huge pages.

    Attributes:
        page_size: bytes of one page.
        pages: the number of pages in the pool.
    """

    page_size: int
    pages: int

    @property
    def resource_name(self) -> str:
        """The name of the resource: `hugepages-2Mi` for pages of 2 MiB."""
        return f"hugepages-{Quantity.from_int(self.page_size, 'BinarySI')}"


@dataclass(frozen=True, slots=True)
class MachineInfo:
    """A machine's resources.

    Attributes:
        cores: number of logical processors.
        memory: bytes of RAM (on a node in a container: its own limit).
        swap: bytes of swap space.
        huge_pages: the pools of huge pages; their memory is part of `memory`.
        ephemeral_storage: bytes of the file system of /var/lib/kubelet; 0 = unknown.
        image_storage: bytes of a separate file system for images and containers' layers; 0 = they are in
            `ephemeral_storage`.
        max_pid: the number of process ids, the minimum of the kernel's pid_max and threads-max; 0 = unknown.
        topology: one entry a processor (`grouped` makes them); empty means one socket, one NUMA node, one thread a
            core.
        numa_memory: bytes of RAM of each NUMA node; empty means all memory on node 0.
        numa_distances: NUMA node -> its distances to all nodes; empty means 10 to itself and 20 to any other.
        page_size: bytes of an ordinary page.
        cgroups: paths of the cgroups that the administrator makes before the kubelet starts, `("/sys",)`.
        apparmor: whether its kernel enforces AppArmor profiles.
    """

    cores: int
    memory: int
    swap: int = 0
    huge_pages: tuple[HugePages, ...] = ()
    ephemeral_storage: int = 0
    image_storage: int = 0
    max_pid: int = 0
    topology: tuple[CPU, ...] = ()
    numa_memory: dict[int, int] = field(default_factory=dict)
    numa_distances: dict[int, tuple[int, ...]] = field(default_factory=dict)
    page_size: int = PAGE_SIZE
    cgroups: tuple[str, ...] = ()
    apparmor: bool = True

    def __post_init__(self) -> None:
        if self.cores < 1:
            raise MachineError(f"machine.cores: {self.cores} must be at least 1")
        if self.memory < 1:
            raise MachineError(f"machine.memory: {self.memory} must be greater than 0 bytes")
        if self.topology and len(self.topology) != self.cores:
            raise MachineError(f"machine.topology: {len(self.topology)} processors listed, but cores is {self.cores}")
        ids = [cpu.id for cpu in self.topology]
        if len(set(ids)) != len(ids):
            raise MachineError("machine.topology: a processor id is listed twice")

    @property
    def cpus(self) -> tuple[CPU, ...]:
        """The processors with their groups; without a declared topology, one socket without hyper-threading."""
        return self.topology or tuple(CPU(i, i, 0, 0, 0) for i in range(self.cores))

    @property
    def huge_page_sizes(self) -> tuple[int, ...]:
        """The page sizes in bytes for which cgroups have hugetlb files."""
        return tuple(pool.page_size for pool in self.huge_pages)

    @classmethod
    def declare(
        cls,
        cpus: int,
        memory: str | int,
        *,
        swap: str | int = 0,
        huge_pages: dict[str, int] | None = None,
        ephemeral_storage: str | int = 0,
        image_storage: str | int = 0,
        max_pid: int = 0,
        cgroups: Sequence[str] = (),
        **more: Any,
    ) -> MachineInfo:
        """Make a machine from quantities as in manifests: `MachineInfo.declare(8, "16Gi", huge_pages={"2Mi": 512})`.

        Without `max_pid`, the number of process ids is the default of the kernel and systemd on such a machine.
        """
        pools = tuple(HugePages(Quantity(size).value(), count) for size, count in (huge_pages or {}).items())
        return cls(
            cores=cpus,
            memory=Quantity(memory).value(),
            swap=Quantity(swap).value(),
            huge_pages=pools,
            ephemeral_storage=Quantity(ephemeral_storage).value(),
            image_storage=Quantity(image_storage).value(),
            max_pid=max_pid or default_max_pid(Quantity(memory).value()),
            cgroups=tuple(cgroups),
            **more,
        )

    @property
    def huge_page_memory(self) -> int:
        """Bytes of all pools of huge pages."""
        return sum(pool.page_size * pool.pages for pool in self.huge_pages)

    def capacity(self) -> ResourceList:
        """Return CPU, memory and huge pages as in the node's status.

        Source: kubelet cadvisor.CapacityFromMachineInfo.
        """
        resources = {
            "cpu": Quantity.from_milli(self.cores * 1000, "DecimalSI"),
            "memory": Quantity.from_int(self.memory, "BinarySI"),
        }
        for pool in self.huge_pages:
            resources[pool.resource_name] = Quantity.from_int(pool.page_size * pool.pages, "BinarySI")
        return resources

    def container_manager_capacity(self) -> ResourceList:
        """Return `capacity()` and ephemeral storage. Source: kubelet containerManagerImpl.GetCapacity."""
        resources = self.capacity()
        if self.ephemeral_storage:
            resources["ephemeral-storage"] = Quantity.from_int(self.ephemeral_storage, "BinarySI")
        return resources

    def internal_capacity(self) -> ResourceList:
        """Return `capacity()` and the process ids, from which the limits of all pods together are computed.

        Source: kubelet cm.NewContainerManager (internalCapacity).
        """
        resources = self.capacity()
        if self.max_pid:
            resources[PIDS] = Quantity.from_int(self.max_pid, "DecimalSI")
        return resources


class MachineError(KitError, ValueError):
    """An invalid declaration of a machine."""


PID_MAX_LIMIT = 4 * 1024 * 1024
"""The kernel's largest pid_max on 64 bits, which systemd sets. Source: include/linux/threads.h PID_MAX_LIMIT."""
_THREAD_SIZE = 16 * 1024


def default_max_pid(memory: int) -> int:
    """Return the minimum of pid_max and threads-max.

    Args:
        memory: bytes of the machine's memory.

    Source: kernel/fork.c set_max_threads; kubelet pidlimit.Stats.
    """
    # The kernel's default of threads-max lets the stacks of all threads fill an eighth of memory; its minimum is 20.
    return max(min(memory // (8 * _THREAD_SIZE), PID_MAX_LIMIT), 20)


def huge_page_unit(page_size: int) -> str:
    """Return the kernel's name of a page size, as in `hugetlb.2MB.max`: `2MB` for 2097152.

    Source: kubelet v1helper.HugePageUnitSizeFromByteSize, opencontainers/cgroups HugePageSizes.
    """
    size, unit = page_size, 0
    while size >= _KIB and size % _KIB == 0 and unit + 1 < len(_UNITS):
        size //= _KIB
        unit += 1
    return f"{size}{_UNITS[unit]}"


def huge_page_limits(resources: ResourceList) -> dict[int, int]:
    """Return page size -> limit of every `hugepages-<size>`, both in bytes. Source: kubelet cm.HugePageLimits."""
    limits: dict[int, int] = {}
    for name, quantity in resources.items():
        if name.startswith("hugepages-"):
            size = Quantity(name.removeprefix("hugepages-")).value()
            limits[size] = limits.get(size, 0) + quantity.value()
    return limits
