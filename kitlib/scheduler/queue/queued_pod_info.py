"""What the scheduling queue remembers about one waiting pod.

Source: pkg/scheduler/framework types.go QueuedPodInfo.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.api.core import Pod
from kitlib.scheduler.framework.events import ClusterEvent


def pod_key(pod: Pod) -> str:
    """`namespace/name`; a pod without a namespace stands in `default`."""
    return f"{pod.metadata.namespace or 'default'}/{pod.metadata.name}"


def pod_uid(pod: Pod) -> str:
    """The pod's uid; its key where nobody gave it one."""
    return pod.metadata.uid or pod_key(pod)


@dataclass(eq=False)
class QueuedPod:
    """A pod in the queue, or popped from it and not done yet.

    Attributes:
        pod: the manifest as last seen.
        timestamp_ms: when it last entered the queue (added, or failed an attempt).
        attempts: scheduling attempts begun.
        unschedulable_count: attempts that a plugin refused.
        consecutive_errors: attempts in a row that ended in an error rather than a refusal.
        initial_attempt_ms: when it first became ready for an attempt.
        unschedulable_plugins: plugins that refused it last, or gate it now.
        pending_plugins: plugins that asked to wait (Permit), whose event skips back-off.
        gating_plugin: the PreEnqueue plugin that keeps it out; empty where none does.
        gating_events: events that this plugin registered.
        backoff_expires_ms: when it may be tried again; None where that was not computed or there is no wait.
        sits_out: it is not taken from backoffQ early.
        message: why it waits, for people.
        order: rank of entering the queue, which separates pods of the same instant.
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
        """All plugins whose events may bring the pod back."""
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0


def priority_sort_key(info: QueuedPod) -> tuple[int, int, int]:
    """Higher priority first, then who entered the queue earlier.

    Source: plugins/queuesort PrioritySort.Less.
    """
    return (-info.priority, info.timestamp_ms, info.order)
