"""The nominated pods by node: a pod that preempted others waits until its nominated node has room.

When pods of lower or equal priority are filtered, a nominated pod counts as if it already ran on its node.

Source: pkg/scheduler/backend/queue nominator.go.
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Pod
from kitlib.scheduler.queue.queued_pod_info import pod_uid


class Nominator:
    """The nominated pods by node, which may be ahead of `status.nominatedNodeName`: that is written later.

    Args:
        is_alive: the function that returns whether a pod exists and is not bound; None = every pod is.
    """

    def __init__(self, is_alive: Callable[[Pod], bool] | None = None) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        self._is_alive = is_alive

    def add(self, pod: Pod, node_name: str | None = None) -> None:
        """Nominate a pod.

        Args:
            pod: the pod; an earlier nomination of it is removed.
            node_name: the node, an empty text to clear, or None for the pod's own `status.nominatedNodeName`.
        """
        self.delete(pod)
        node = pod.status.nominated_node_name if node_name is None else node_name
        if not node or (self._is_alive is not None and not self._is_alive(pod)):
            return
        self._node_of[pod_uid(pod)] = node
        self._by_node.setdefault(node, {})[pod_uid(pod)] = pod

    def update(self, old: Pod, new: Pod) -> None:
        """Follow a pod's update; a nomination that only this object knows survives updates of other fields."""
        # The update may have been sent before the nomination was written to the status. If the status had one, an empty
        # status now means that it was cleared.
        keep = None
        if not old.status.nominated_node_name and not new.status.nominated_node_name:
            keep = self._node_of.get(pod_uid(old))
        self.delete(old)
        self.add(new, keep)

    def delete(self, pod: Pod) -> None:
        uid = pod_uid(pod)
        node = self._node_of.pop(uid, None)
        if node is None:
            return
        pods = self._by_node[node]
        pods.pop(uid, None)
        if not pods:
            del self._by_node[node]

    def node_of(self, pod: Pod) -> str:
        """Return the node that a pod is nominated to; "" = none."""
        return self._node_of.get(pod_uid(pod), "")

    def pods_on(self, node_name: str) -> list[Pod]:
        return list(self._by_node.get(node_name, {}).values())

    def by_node(self) -> dict[str, list[Pod]]:
        """Return node name -> nominated pods, in the order of nomination."""
        return {node: list(pods.values()) for node, pods in self._by_node.items()}

    def __len__(self) -> int:
        return len(self._node_of)
