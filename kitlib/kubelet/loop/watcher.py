"""The observation of the machine every ten seconds: eviction, the node's pressure conditions and their events.

Source: kubelet eviction managerImpl.Start, makeSignalObservations; nodestatus.MemoryPressureCondition,
DiskPressureCondition, PIDPressureCondition; kubelet recordNodeStatusEvent; oomwatcher (SystemOOM).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from kitlib.kubelet.eviction.ranking import ContainerStats, PodStats
from kitlib.kubelet.eviction.thresholds import Observation, without_huge_pages
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.eviction import EvictionManager, PodEviction
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.node_conditions import (
    PRESSURES,
    event_reason,
    pressure_condition,
    ready_condition,
    status_message,
)
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.util.cgroup_usage import memory_use
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT

if TYPE_CHECKING:
    from kitlib.kubelet.loop.node_shutdown import NodeShutdown

STATUS_PHASE = 5.0
"""Seconds from the eviction manager's check to the node status, observed on 1.36.2. Source: Kubelet.Run."""


class Watcher:
    """Observes one node.

    Args:
        node: the cgroup file system, the runtime with the machine's signals, the reports and the timeline.
        manager: the manager of the node's cgroups.
        garbage: the garbage collector, which reclaims disk space before an eviction.

    Attributes:
        eviction: the eviction manager.
        shutdown: the shutdown of the node; None = the machine has not announced one.
    """

    def __init__(self, node: Dependencies, manager: CgroupManager, garbage: KubeletGarbageCollector) -> None:
        config = node.config
        self.eviction = EvictionManager(config.settings, config.gates, dedicated=bool(config.machine.image_storage))
        self._config, self._cgroups, self._runtime = config, node.cgroups, node.runtime
        self._reports, self._timeline, self._manager, self._garbage = node.reports, node.timeline, manager, garbage
        self._reported: tuple[str, ...] = ()
        self.shutdown: NodeShutdown | None = None
        self._ready = True
        self._next_status = config.settings.node_status_update_frequency + STATUS_PHASE

    def look(self, now: float, workers: Collection[PodWorker]) -> PodEviction | None:
        """Check once; the pressures are reported with the next node status.

        Returns:
            The pod to evict, or None.
        """
        running = {w.pod.metadata.uid: w for w in workers if w.ending is None and w.rejected is None and w.running}
        pods = [w.pod for w in running.values()]

        def reclaim(signal: str) -> Mapping[str, Observation] | None:
            return self._garbage.reclaim(signal, now, self.observations)

        found = self.eviction.look(now, self.observations(), pods, self._stats(running), reclaim)
        short = self.eviction.reclaiming
        if short:
            self._reports.event(None, "Warning", "EvictionThresholdMet", f"Attempting to reclaim {short}")
            enough = "enough without ending a pod" if self.eviction.relieved else ""
            self._timeline.note("eviction manager", "attempting to reclaim", short, enough, "managerImpl.synchronize")
        if found is not None:
            self._timeline.note("eviction manager", "evicting", found.pod.key, found.message.strip(), "evictPod")
        return found

    def tick(self, now: float) -> None:
        """Report the node's status if it is due."""
        if now >= self._next_status:
            self._next_status = now + self._config.settings.node_status_update_frequency
            self.report_conditions()

    def report_conditions(self) -> None:
        """Report the conditions that have changed since the last node status. Source: Kubelet.syncNodeStatus."""
        standing = self.eviction.conditions
        for kind in PRESSURES:
            if (kind in standing) != (kind in self._reported):
                self._report(kind, kind in standing)
        self._reported = standing
        if self.shutdown is not None and self.shutdown.announced == self._ready:
            self._ready = not self._ready
            self._reports.condition(ready_condition(self._reports.now(), shutting_down=not self._ready))
            self._tell("NodeReady" if self._ready else "NodeNotReady")

    def observations(self) -> dict[str, Observation]:
        """Return signal -> its observation; that of allocatable memory is read from the cgroup of all pods."""
        machine = self._config.machine
        seen = without_huge_pages(self._runtime.signals(), machine.huge_page_memory, self._config.gates)
        whole = self._allocatable()
        if whole is not None:
            seen["allocatableMemory.available"] = whole
        return seen

    def _allocatable(self) -> Observation | None:
        for cgroup in self._manager.node_level("kubepods"):
            name = MEMORY_LIMIT[self._cgroups.version]
            text = self._cgroups.read(cgroup.path, name) if name in cgroup else "max"
            # v1 shows "no limit" as the largest signed 64-bit number, rounded down to a page.
            if text == "max" or int(text) >= 2**62:
                return None
            used = memory_use(partial(self._cgroups.read, cgroup.path), self._cgroups.version)
            return Observation(int(text) - used.working_set, int(text))
        return None

    def _stats(self, workers: Mapping[str, PodWorker]) -> Callable[[], Mapping[str, PodStats]]:
        """Return a function that measures the pods' usage at its first call."""

        @lru_cache(maxsize=1)
        def measured() -> dict[str, PodStats]:
            return {uid: self._stats_of(worker) for uid, worker in workers.items()}

        return measured

    def _stats_of(self, worker: PodWorker) -> PodStats:
        used = {state.container.name: self._runtime.usage(state.id) for state in worker.states if state.alive}
        return PodStats(
            memory=sum(usage.memory for usage in used.values()),
            processes=sum(usage.processes for usage in used.values()),
            containers=tuple(
                ContainerStats(name, memory=usage.memory, rootfs=usage.rootfs, logs=usage.logs)
                for name, usage in used.items()
            ),
            volumes=sum(usage.volumes for usage in used.values()),
            inodes=sum(usage.inodes for usage in used.values()),
        )

    def _report(self, kind: str, holds: bool) -> None:
        self._reports.condition(pressure_condition(kind, holds, self._reports.now()))
        self._tell(event_reason(kind, holds))
        self._timeline.note("kubelet", "reporting", kind, str(holds), f"nodestatus.{kind}Condition")

    def _tell(self, event: str) -> None:
        self._reports.event(None, "Normal", event, status_message(self._config.name, event))

    def system_out_of_memory(self, process: str, pid: int) -> None:
        """Report that the kernel killed a process because the whole machine ran out of memory.

        Source: oomwatcher.Start.
        """
        text = f"System OOM encountered, victim process: {process}, pid: {pid}"
        self._reports.event(None, "Warning", "SystemOOM", text)
        self._timeline.note("oomWatcher", "system OOM killed", process, f"pid {pid}", "oomwatcher.Start")
