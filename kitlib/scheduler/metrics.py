"""The metrics of a scheduler.

Durations of attempts are left out: on a virtual clock an attempt takes no time.

Source: pkg/scheduler/metrics/metrics.go; schedule_one.go (PodScheduled, PodUnschedulable, PodScheduleError),
preemption.go (PreemptionAttempts, PreemptionVictims), scheduling_queue.go (pendingPods), util getAttemptsLabel.
"""

from __future__ import annotations

from kitlib.api.prometheus import Family, Histogram, exponential_buckets
from kitlib.scheduler.queue.queued_pod_info import QueuedPod
from kitlib.scheduler.queue.scheduling_queue import SchedulingQueue

_ATTEMPTS = 15
"""The number of attempts from which on pods share one label (`15+`)."""


class SchedulingMetrics:
    """The counters of one scheduling loop.

    Args:
        queue: the queue whose lengths are reported.
    """

    def __init__(self, queue: SchedulingQueue) -> None:
        self._queue = queue
        self._attempts = Family(
            "scheduler_schedule_attempts_total",
            "[STABLE] Scheduling attempts, by profile and by result: scheduled, unschedulable, error.",
            ("profile", "result"),
        )
        self._tries = Histogram(
            "scheduler_pod_scheduling_attempts",
            "[STABLE] Attempts that pods needed until they were bound.",
            exponential_buckets(1, 2, 5),
        )
        self._waits = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "[BETA] Seconds from a pod's first attempt until it was bound, by the number of attempts.",
            exponential_buckets(0.01, 2, 20),
            ("attempts",),
        )
        self._preemptions = Family("scheduler_preemption_attempts_total", "[STABLE] How often preemption was tried.")
        self._victims = Histogram(
            "scheduler_preemption_victims",
            "[STABLE] Victims of a preemption.",
            exponential_buckets(1, 2, 7),
        )

    def scheduled(self, info: QueuedPod, now_ms: int) -> None:
        """Count a pod that was bound."""
        self._attempts.add((info.pod.spec.scheduler_name, "scheduled"))
        self._tries.observe(info.attempts)
        began = now_ms if info.initial_attempt_ms is None else info.initial_attempt_ms
        label = str(info.attempts) if info.attempts < _ATTEMPTS else f"{_ATTEMPTS}+"
        self._waits.observe((now_ms - began) / 1000, (label,))

    def failed(self, info: QueuedPod, *, error: bool) -> None:
        """Count an attempt that ended without a node."""
        self._attempts.add((info.pod.spec.scheduler_name, "error" if error else "unschedulable"))

    def preempted(self, victims: int) -> None:
        """Count a call of PostFilter that named this number of victims (0 = it found no node)."""
        self._preemptions.add()
        if victims:
            self._victims.observe(victims)

    def families(self) -> list[Family | Histogram]:
        """Return all metrics, with the number of pods that wait now."""
        pending = Family(
            "scheduler_pending_pods",
            "[STABLE] Pods without a node, by where they wait: active, backoff, unschedulable, gated.",
            ("queue",),
            "gauge",
        )
        names = {"activeQ": "active", "backoffQ": "backoff"}
        for name, pods in self._queue.pending_pods().items():
            pending.set((names.get(name, name),), len(pods))
        return [self._attempts, self._tries, self._waits, self._preemptions, self._victims, pending]
