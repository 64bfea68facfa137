"""The scheduling queue's data about one pod.

Source: pkg/scheduler/framework types.go QueuedPodInfo.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.api.core import Pod
from kitlib.scheduler.framework.events import ClusterEvent


def pod_key(pod: Pod) -> str:
    """Return `namespace/name`; the default namespace is `default`."""
    return f"{pod.metadata.namespace or 'default'}/{pod.metadata.name}"


def pod_uid(pod: Pod) -> str:
    """Return the pod's UID, or its key if it has none."""
    return pod.metadata.uid or pod_key(pod)


@dataclass(eq=False)
class QueuedPod:
    """A pod in the queue, or popped from it and not done yet.

    Attributes:
        pod: the manifest as last seen.
        timestamp_ms: the time at which it last entered the queue (was added, or failed an attempt).
        attempts: the number of scheduling attempts.
        unschedulable_count: the number of attempts that a plugin refused.
        consecutive_errors: the number of last attempts that ended in an error.
        initial_attempt_ms: the time of the first attempt; None = there was none.
        unschedulable_plugins: the plugins that refused it last, or gate it now.
        pending_plugins: the plugins that asked to wait, whose events skip the back-off.
        gating_plugin: the PreEnqueue plugin that gates it; "" = none.
        gating_events: the events that this plugin registered.
        backoff_expires_ms: the end of its back-off; None = not computed, or there is no back-off.
        sits_out: whether it stays in backoffQ until its back-off is over.
        message: the reason why it waits.
        order: the rank of entering the queue, which orders pods of the same instant.
    """

    pod: Pod
    timestamp_ms: int
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    initial_attempt_ms: int | None = None
    unschedulable_plugins: set[str] = field(default_factory=set)
    pending_plugins: set[str] = field(default_factory=set)
    gating_plugin: str = ""
    gating_events: tuple[ClusterEvent, ...] = ()
    backoff_expires_ms: int | None = None
    sits_out: bool = False
    message: str = ""
    order: int = 0

    @property
    def key(self) -> str:
        return pod_key(self.pod)

    @property
    def uid(self) -> str:
        return pod_uid(self.pod)

    @property
    def is_gated(self) -> bool:
        return bool(self.gating_plugin)

    @property
    def rejectors(self) -> set[str]:
        """All plugins whose events may move the pod out of the pool."""
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0


def priority_sort_key(info: QueuedPod) -> tuple[int, int, int]:
    """Return the key of activeQ: higher priority first, then the earlier entry into the queue.

    Source: plugins/queuesort PrioritySort.Less.
    """
    return (-info.priority, info.timestamp_ms, info.order)
