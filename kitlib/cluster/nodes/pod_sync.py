"""Which pods a node must be sent: a change once, in full; a pod that stands as it stood only by its UID."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from kitlib.api.core import Pod
from kitlib.api.serialize import to_dict
from kitlib.node.real import protocol


class SyncRequest(TypedDict, total=False):
    """What one `sync` request carries.

    Attributes:
        pods: manifests of the pods that are new or have changed.
        same: UIDs of the others.
    """

    pods: list[dict[str, object]]
    same: list[str]


class PodSync:
    """The pods of one node as the node knows them."""

    def __init__(self) -> None:
        self._sent: dict[str, bytes] = {}
        self._signatures: dict[str, tuple[str, bytes]] = {}
        self._acknowledged = False

    @property
    def uids(self) -> Iterable[str]:
        """Of the pods that the node knows."""
        return self._sent.keys()

    def changes(self, pods: Sequence[Pod]) -> SyncRequest:
        """What to send to a node that these pods are bound to; it counts as sent. Empty where nothing has changed."""
        now = {pod.metadata.uid: self._signature(pod) for pod in pods}
        if now == self._sent:
            return {}
        same = {uid for uid, signature in now.items() if self._acknowledged and self._sent.get(uid) == signature}
        self._sent, self._acknowledged = now, False
        self._signatures = {uid: self._signatures[uid] for uid in now}
        return {"pods": [to_dict(pod) for pod in pods if pod.metadata.uid not in same], "same": list(same)}

    def acknowledge(self) -> None:
        """The node has taken what was sent; without this, the next change is sent with all pods in full."""
        self._acknowledged = True

    def knows(self, pod: Pod) -> bool:
        """Whether the node knows a pod as it stands."""
        return self._sent.get(pod.metadata.uid) == self._signature(pod)

    def record_reported(self, pod: Pod) -> None:
        """The node itself has reported how a pod stands, so it need not be sent."""
        self._sent[pod.metadata.uid] = self._signature(pod)

    def _signature(self, pod: Pod) -> bytes:
        """Everything but the resource version; an unchanged version makes encoding the rest unnecessary."""
        uid, version = pod.metadata.uid, pod.metadata.resource_version
        found = self._signatures.get(uid)
        if found is None or found[0] != version:
            data = to_dict(pod)
            data.get("metadata", {}).pop("resourceVersion", None)
            found = self._signatures[uid] = version, protocol.encode(data)
        return found[1]
