"""The periodic work of a kubelet on its node: garbage, volumes, eviction, node status, and the times of all of these.

Source: kubelet Kubelet.Run, syncLoopIteration (housekeeping); cm.containerManagerImpl.Start.
"""

from __future__ import annotations

from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.evicting import Evicting
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.pod_syncer import PodSyncer
from kitlib.kubelet.loop.pod_workers import PodWorkers
from kitlib.kubelet.loop.resize import RETRY
from kitlib.kubelet.loop.system import SystemCgroups
from kitlib.kubelet.loop.watcher import Watcher

QOS_EVERY = 60.0
"""Seconds between two updates of the QoS cgroups. Source: kubelet periodicQOSCgroupUpdateInterval."""
HOUSEKEEPING = 2.0
"""Seconds between two cleanups of orphaned cgroups. Source: kubelet housekeepingPeriod."""
SYNC_FREQUENCY = 60.0
"""Seconds between two updates of running pods' files. Source: KubeletConfiguration syncFrequency."""


class Housekeeping:
    """The periodic work of one kubelet.

    Args:
        node: the settings, the timeline and the clock.
        pods: the pods that the kubelet knows.
        managers: the managers of CPUs, memory and devices.
        cgroups: the manager of the node's cgroups.
        system: the manager of processes outside the pods.
        garbage: the garbage collector.
        watcher: the watcher of the machine's signals.
        syncer: works on pods.
    """

    def __init__(
        self,
        node: Dependencies,
        pods: PodWorkers,
        managers: ResourceManagers,
        cgroups: CgroupManager,
        system: SystemCgroups,
        garbage: KubeletGarbageCollector,
        watcher: Watcher,
        syncer: PodSyncer,
    ) -> None:
        self._node, self._pods, self._managers, self._cgroups = node, pods, managers, cgroups
        self._system, self._garbage, self._watcher, self._syncer = system, garbage, watcher, syncer
        self._evicting = Evicting(node, pods, watcher, garbage, syncer)
        self._next_qos, self._next_cleaning, self._next_retry = QOS_EVERY, HOUSEKEEPING, RETRY
        self._next_sync = SYNC_FREQUENCY
        self._next_reconcile = node.clock() + node.config.settings.cpu_manager_reconcile_period

    def tick(self) -> bool:
        """Run the work that is due; return whether it has changed pods."""
        part, now, changed = self._syncer.faults.part, self._node.clock(), False
        part("system", lambda: self._system.tick(now))
        if now >= self._next_qos:
            self._next_qos = now + QOS_EVERY
            again = "writing again, as every minute,"
            part("QoS cgroups", lambda: self._cgroups.update_qos_cgroups(self._pods.by_uid.values(), again))
        if self._managers.cpu_manager is not None and now >= self._next_reconcile:
            self._next_reconcile += self._node.config.settings.cpu_manager_reconcile_period
            part("CPU manager", self._reconcile_cpus)
        part("garbage collection", lambda: self._garbage.tick(now))
        if now >= self._next_sync:
            self._next_sync = now + SYNC_FREQUENCY
            part("volumes", lambda: self._syncer.starter.refresh_volumes(self._pods))
        if self._pods.deadlines:
            changed |= part("active deadlines", self._end_overdue)
        if part("eviction", lambda: self._evicting.due(now)):
            changed |= part("eviction", lambda: self._evicting.watch(now))
        part("node status", lambda: self._watcher.tick(now))
        if now >= self._next_cleaning:
            self._next_cleaning = now + HOUSEKEEPING
            part("orphaned cgroups", self._cgroups.clean_up)
        if now >= self._next_retry:  # deferred resizes
            self._next_retry = now + RETRY
            changed |= any(worker.resizing for worker in self._pods.dirty.values())
        return changed

    def _end_overdue(self) -> bool:
        from kitlib.kubelet.loop.active_deadline import end_overdue  # loaded with the first deadline

        return end_overdue(self._pods, self._syncer, self._node.reports)

    def _reconcile_cpus(self) -> None:
        from kitlib.kubelet.loop.cpu_reconciler import reconcile_cpus

        self._syncer.write(reconcile_cpus(self._managers, self._cgroups, self._node.timeline, self._pods))
