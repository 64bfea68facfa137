"""The actions of the scheduling loop on a cluster: bind, write statuses, delete victims and record events.

A sink carries out an action and reports the changed objects to the loop's event handlers, as the API server does with
watches: the loop learns of its own bindings in the same way as of other clients' changes.
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
        """Record an event of the API; `kind` is `Normal` or `Warning`."""

    def trace(self, reason: str, about: str, message: str) -> None:
        """Record an event of the queue that the API does not show, such as `AssignedPodDelete` or `BackoffComplete`.

        Args:
            reason: the event's name.
            about: `namespace/name` of a pod, or another object's name.
            message: a description of the event.
        """
