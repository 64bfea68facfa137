"""When the eviction manager looks: every ten seconds, but never while it kills a pod.

It waits until the pod's containers are gone, one and a half times the grace period and ten seconds at least; a pod that
still runs then gets the event ExceededGracePeriod, and counts as evicted. Then it waits until the pod is cleaned up,
thirty seconds at most, and looks again at once. Whatever else happens on the node meanwhile, no other pod is evicted.

Source: kubelet eviction managerImpl.Start, evictPod, waitForPodsCleanup; killPodNow.
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.kubelet.loop.eviction import EVERY
from kitlib.kubelet.loop.interfaces import Reports
from kitlib.kubelet.loop.pod_worker import PodWorker

CLEANUP_TIMEOUT = 30.0
"""Seconds that the eviction manager waits for an evicted pod to be gone. Source: eviction.podCleanupTimeout."""
MINIMUM_TIMEOUT = 10.0
"""Seconds that it waits at least for a pod's containers to end. Source: killPodNow, minTimeout."""
EXCEEDED = "Container runtime did not kill the pod within specified grace period."


def effective_grace(pod: Pod, override: float, release: Release) -> float:
    """Return the seconds that a pod gets which is killed with this override; one at least.

    Before 1.31 an override of 0 was taken for none, so that the pod got its own grace period.

    Source: pod_workers.go calculateEffectiveGracePeriod; kubernetes#124063.
    """
    if not override and not release.default("immediateEvictionGracePeriodSeconds"):
        override = float(pod.spec.termination_grace_period_seconds or 0)
    return max(override, 1.0)


class EvictionPace:
    """The waits of one node's eviction manager.

    Args:
        reports: takes the event of a pod that does not end.
        running: whether any process of a pod is still there.
        cleaned_up: whether nothing of a pod is left.
        now: seconds on the node's clock.
    """

    def __init__(
        self,
        reports: Reports,
        running: Callable[[PodWorker], bool],
        cleaned_up: Callable[[PodWorker], bool],
        now: float,
    ) -> None:
        self._reports, self._running, self._cleaned_up = reports, running, cleaned_up
        self._next = now + EVERY
        self._worker: PodWorker | None = None
        self._kill_by, self._clean_by = 0.0, 0.0

    def due(self, now: float) -> bool:
        """Whether it looks now."""
        worker = self._worker
        if worker is None:
            return now >= self._next
        if not self._clean_by:
            if self._running(worker):
                if now < self._kill_by:
                    return False
                self._reports.event(worker.pod, "Warning", "ExceededGracePeriod", EXCEEDED)
            self._clean_by = now + CLEANUP_TIMEOUT
        return now >= self._clean_by or self._cleaned_up(worker)

    def looked(self, now: float) -> None:
        """It has looked, and evicted no pod."""
        self._worker, self._next = None, now + EVERY

    def kills(self, worker: PodWorker, grace: float, now: float) -> None:
        """It kills a pod, and asked for this grace period."""
        self._worker, self._clean_by = worker, 0.0
        self._kill_by = now + max(1.5 * grace, MINIMUM_TIMEOUT)
