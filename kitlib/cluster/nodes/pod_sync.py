"""Selection of the pods to send to a node: a changed pod once and in full, an unchanged pod by its UID alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from kitlib.api.core import Pod
from kitlib.api.serialize import to_dict
from kitlib.node.real import protocol


class SyncRequest(TypedDict, total=False):
    """The content of one `sync` request.

    Attributes:
        pods: the manifests of new and changed pods.
        same: the UIDs of the other pods.
    """

    pods: list[dict[str, object]]
    same: list[str]


class PodSync:
    """The pods that one node has received."""

    def __init__(self) -> None:
        self._sent: dict[str, bytes] = {}
        self._signatures: dict[str, tuple[str, bytes]] = {}
        self._acknowledged = False

    @property
    def uids(self) -> Iterable[str]:
        """The UIDs of the pods that the node knows."""
        return self._sent.keys()

    def changes(self, pods: Sequence[Pod]) -> SyncRequest:
        """Return the request for a node with these pods, and count it as sent; {} where nothing has changed."""
        now = {pod.metadata.uid: self._signature(pod) for pod in pods}
        if now == self._sent:
            return {}
        # "same" is safe only after an acknowledgement; otherwise the node may not have the pod's last version.
        same = {uid for uid, signature in now.items() if self._acknowledged and self._sent.get(uid) == signature}
        self._sent, self._acknowledged = now, False
        self._signatures = {uid: self._signatures[uid] for uid in now}
        return {"pods": [to_dict(pod) for pod in pods if pod.metadata.uid not in same], "same": list(same)}

    def acknowledge(self) -> None:
        """Confirm the last request; otherwise the next change is sent with all pods in full."""
        self._acknowledged = True

    def knows(self, pod: Pod) -> bool:
        """Return whether the node knows the current version of a pod."""
        return self._sent.get(pod.metadata.uid) == self._signature(pod)

    def record_reported(self, pod: Pod) -> None:
        """Count a pod's state as known to the node, because the node itself has reported it."""
        self._sent[pod.metadata.uid] = self._signature(pod)

    def _signature(self, pod: Pod) -> bytes:
        """Return a pod's encoding without its resource version, from the cache if the version is unchanged."""
        uid, version = pod.metadata.uid, pod.metadata.resource_version
        found = self._signatures.get(uid)
        if found is None or found[0] != version:
            data = to_dict(pod)
            # The version changes with every status that the node itself reports; the pod need not be sent for that.
            data.get("metadata", {}).pop("resourceVersion", None)
            found = self._signatures[uid] = version, protocol.encode(data)
        return found[1]
