"""What the scheduling loop does to a cluster: it binds, writes statuses, deletes victims and records events.

A sink carries an action out and reports what changed to the loop's event handlers, as the API server does by its
watches: the loop learns of its own bindings in the same way as of everybody else's changes.
"""

from __future__ import annotations

from typing import Protocol

from kitlib.api.core import Pod
from kitlib.api.meta import Condition


class Sink(Protocol):
    """The cluster as the scheduling loop writes to it."""

    def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod to a node.

        Raises:
            KitError: the API server refuses.
        """

    def patch_pod_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str) -> None:
        """Set a waiting pod's condition (None = leave it) and `nominatedNodeName` ("" = none)."""

    def preempt_pod(self, victim: Pod, condition: Condition) -> None:
        """Set a victim's DisruptionTarget condition and delete it with its grace period."""

    def record_event(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        """An event of the API, `Normal` or `Warning`."""

    def trace(self, reason: str, about: str, message: str) -> None:
        """A happening in the queue that the API does not show: `AssignedPodDelete`, `BackoffComplete`, …

        Args:
            reason: the happening.
            about: `namespace/name` of a pod, or another object's name.
            message: in words.
        """
