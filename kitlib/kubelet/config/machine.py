"""What the kubelet knows about its machine: processors and how they are grouped, memory, huge pages, disk, PIDs.

On a real node the figures are read from the host (`node/real`), in a simulation they are declared; the arithmetic of
the kubelet only ever sees this value. From it comes the node's capacity, before anything is reserved.

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
    """One logical processor and the groups it belongs to; ids as the kernel numbers them."""

    id: int
    core: int
    socket: int
    numa: int
    uncore_cache: int


def grouped(
    sockets: int = 1, numa: int = 1, cores: int = 1, threads: int = 2, *, caches: int = 1, siblings: str = "apart"
) -> tuple[CPU, ...]:
    """The processors of a regular machine.

    Args:
        sockets: how many.
        numa: NUMA nodes in each.
        cores: in each NUMA node.
        threads: of each core.
        caches: last-level caches in each NUMA node.
        siblings: "apart" numbers the second threads after all first ones (most servers), "next" side by side.
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
        pages: how many pages the pool has.
    """

    page_size: int
    pages: int

    @property
    def resource_name(self) -> str:
        """`hugepages-2Mi` for pages of 2 MiB."""
        return f"hugepages-{Quantity.from_int(self.page_size, 'BinarySI')}"


@dataclass(frozen=True, slots=True)
class MachineInfo:
    """A machine's resources.

    Attributes:
        cores: number of logical processors.
        memory: bytes of RAM (on a node in a container: its own limit).
        swap: bytes of swap space.
        huge_pages: the pools of huge pages; their memory is part of `memory`.
        ephemeral_storage: bytes of the file system that holds /var/lib/kubelet; 0 = unknown.
        image_storage: bytes of a file system that holds images and containers' layers alone; 0 = they share the former.
        max_pid: how many process ids there are: the lesser of the kernel's pid_max and threads-max; 0 = unknown.
        topology: one entry a processor (`grouped` makes them); empty means one socket, one NUMA node, one thread a
            core.
        numa_memory: bytes of RAM of each NUMA node; empty means all memory on node 0.
        numa_distances: NUMA node -> its distances to all nodes; empty means 10 to itself and 20 to any other.
        page_size: bytes of an ordinary page.
        cgroups: paths of the cgroups that its administrator made before the kubelet starts, `("/sys",)`.
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
        """The processors with their groups; where none were declared, one socket without hyper-threading."""
        return self.topology or tuple(CPU(i, i, 0, 0, 0) for i in range(self.cores))

    @property
    def huge_page_sizes(self) -> tuple[int, ...]:
        """The page sizes of which there are cgroup files, in bytes."""
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
        """A machine in the words of manifests: `MachineInfo.declare(8, "16Gi", huge_pages={"2Mi": 512})`.

        Process ids that are not declared are as many as the kernel and systemd allow on such a machine.
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
        """CPU, memory and huge pages, as the node reports them. Source: kubelet cadvisor.CapacityFromMachineInfo."""
        resources = {
            "cpu": Quantity.from_milli(self.cores * 1000, "DecimalSI"),
            "memory": Quantity.from_int(self.memory, "BinarySI"),
        }
        for pool in self.huge_pages:
            resources[pool.resource_name] = Quantity.from_int(pool.page_size * pool.pages, "BinarySI")
        return resources

    def container_manager_capacity(self) -> ResourceList:
        """`capacity()` and the disk for containers' own writing. Source: kubelet containerManagerImpl.GetCapacity."""
        resources = self.capacity()
        if self.ephemeral_storage:
            resources["ephemeral-storage"] = Quantity.from_int(self.ephemeral_storage, "BinarySI")
        return resources

    def internal_capacity(self) -> ResourceList:
        """`capacity()` and the process ids: what the cgroup of all pods is cut from.

        Source: kubelet cm.NewContainerManager (internalCapacity).
        """
        resources = self.capacity()
        if self.max_pid:
            resources[PIDS] = Quantity.from_int(self.max_pid, "DecimalSI")
        return resources


class MachineError(KitError, ValueError):
    """A machine that cannot be."""


PID_MAX_LIMIT = 4 * 1024 * 1024
"""The kernel's largest pid_max on 64 bits, which systemd sets. Source: include/linux/threads.h PID_MAX_LIMIT."""
_THREAD_SIZE = 16 * 1024


def default_max_pid(memory: int) -> int:
    """The lesser of pid_max and threads-max, which lets thread stacks fill an eighth of memory.

    Args:
        memory: bytes of the machine.

    Source: kernel/fork.c set_max_threads; kubelet pidlimit.Stats.
    """
    return max(min(memory // (8 * _THREAD_SIZE), PID_MAX_LIMIT), 20)


def huge_page_unit(page_size: int) -> str:
    """`2097152` is `2MB`: how the kernel names the page size in `hugetlb.2MB.max`.

    Source: kubelet v1helper.HugePageUnitSizeFromByteSize, opencontainers/cgroups HugePageSizes.
    """
    size, unit = page_size, 0
    while size >= _KIB and size % _KIB == 0 and unit + 1 < len(_UNITS):
        size //= _KIB
        unit += 1
    return f"{size}{_UNITS[unit]}"


def huge_page_limits(resources: ResourceList) -> dict[int, int]:
    """Page size in bytes -> limit in bytes, of every `hugepages-<size>`. Source: kubelet cm.HugePageLimits."""
    limits: dict[int, int] = {}
    for name, quantity in resources.items():
        if name.startswith("hugepages-"):
            size = Quantity(name.removeprefix("hugepages-")).value()
            limits[size] = limits.get(size, 0) + quantity.value()
    return limits
