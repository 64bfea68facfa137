"""The schedule of the eviction manager: every ten seconds, except while it kills a pod.

After an eviction it waits until the pod's containers have ended, up to one and a half times the grace period or ten
seconds, whichever is longer. A pod that still runs then gets the event ExceededGracePeriod, and counts as evicted. Then
it waits until the pod is cleaned up, up to thirty seconds, and checks again immediately. Meanwhile no other pod is
evicted, even if the pressure rises.

Source: kubelet eviction managerImpl.Start, evictPod, waitForPodsCleanup; killPodNow.
"""

from __future__ import annotations

from kitlib.kubelet.loop.eviction import EVERY, PodEviction
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.killing import effective_grace
from kitlib.kubelet.loop.pod_syncer import PodSyncer
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers
from kitlib.kubelet.loop.watcher import Watcher

CLEANUP_TIMEOUT = 30.0
"""Maximum seconds to wait for the cleanup of an evicted pod. Source: eviction.podCleanupTimeout."""
MINIMUM_TIMEOUT = 10.0
"""Minimum of the timeout for the end of a pod's containers, in seconds. Source: killPodNow, minTimeout."""
EXCEEDED = "Container runtime did not kill the pod within specified grace period."


class Evicting:
    """The loop of one node's eviction manager.

    Args:
        node: the release and the reports.
        pods: the pods that the kubelet knows.
        watcher: the watcher of the machine's signals.
        garbage: the collector of the remains of evicted pods.
        syncer: ends pods, and reports whether any of their processes or cgroups are left.
    """

    def __init__(
        self,
        node: Dependencies,
        pods: PodWorkers,
        watcher: Watcher,
        garbage: KubeletGarbageCollector,
        syncer: PodSyncer,
    ) -> None:
        self._reports, self._release, self._pods = node.reports, node.config.release, pods
        self._watcher, self._garbage, self._syncer = watcher, garbage, syncer
        self._next = EVERY
        self._worker: PodWorker | None = None
        self._kill_by, self._clean_by = 0.0, 0.0

    def due(self, now: float) -> bool:
        """Return whether the eviction manager runs now."""
        worker = self._worker
        if worker is None:
            return now >= self._next
        # Two waits of upstream in turn: killPodNow for the containers (`_clean_by` is 0), then waitForPodsCleanup.
        if not self._clean_by:
            if self._syncer.killer.running(worker):
                if now < self._kill_by:
                    return False
                self._reports.event(worker.pod, "Warning", "ExceededGracePeriod", EXCEEDED)
            self._clean_by = now + CLEANUP_TIMEOUT
        return now >= self._clean_by or not (worker.holds_resources or self._syncer.is_held(worker))

    def watch(self, now: float) -> bool:
        """Remove the containers of evicted pods, run the eviction manager once, and return whether it evicts a pod."""
        self._worker, self._next = None, now + EVERY
        for gone in self._pods:
            if gone.ending is not None:
                self._garbage.remove_containers_of(gone)
        found = self._watcher.look(now, self._pods.by_uid.values())
        if found is not None:
            self._evict(self._pods.by_uid[found.pod.metadata.uid], found, now)
        return found is not None

    def _evict(self, worker: PodWorker, found: PodEviction, now: float) -> None:
        """Evict a pod. Source: managerImpl.evictPod."""
        self._reports.event(worker.pod, "Warning", "Evicted", found.message, annotations=found.annotations)
        grace = effective_grace(worker.pod, found.grace, self._release)
        worker.ending = Ending("Evicted", found.message, found.message, grace)
        self._worker, self._clean_by = worker, 0.0
        # killPodNow computes its timeout from the override, not from the effective grace period.
        self._kill_by = now + max(1.5 * found.grace, MINIMUM_TIMEOUT)
        self._syncer.kill(worker)
