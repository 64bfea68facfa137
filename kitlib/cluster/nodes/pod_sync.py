"""What a node has been told of its pods: a change is said once, and what stands as it stood is not said again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.serialize import to_dict
from kitlib.node.real import protocol


class Told:
    """The pods of one node as the node knows them."""

    def __init__(self) -> None:
        self._told: dict[str, bytes] = {}
        self._looked_at: dict[str, tuple[str, bytes]] = {}
        self._taken = False

    @property
    def uids(self) -> Iterable[str]:
        """Of the pods that the node knows."""
        return self._told.keys()

    def news(self, pods: Sequence[Pod]) -> dict[str, Any]:
        """What a node must hear where these pods are bound to it now; it counts as told.

        Returns:
            `pods`: those that are new or have changed. `same`: the UIDs of the others. Nothing where all are the same.
        """
        now = {pod.metadata.uid: self._signature(pod) for pod in pods}
        if now == self._told:
            return {}
        same = {uid for uid, signature in now.items() if self._taken and self._told.get(uid) == signature}
        self._told, self._taken = now, False
        self._looked_at = {uid: self._looked_at[uid] for uid in now}
        return {"pods": [to_dict(pod) for pod in pods if pod.metadata.uid not in same], "same": list(same)}

    def taken(self) -> None:
        """The node has taken the news; what it could not take it is told again, all of it, with the next change."""
        self._taken = True

    def knows(self, pod: Pod) -> bool:
        """Whether the node knows a pod as it stands."""
        return self._told.get(pod.metadata.uid) == self._signature(pod)

    def heard(self, pod: Pod) -> None:
        """The node itself has said how a pod stands."""
        self._told[pod.metadata.uid] = self._signature(pod)

    def _signature(self, pod: Pod) -> bytes:
        """Everything but the version, which says whether the rest has to be looked at again."""
        uid, version = pod.metadata.uid, pod.metadata.resource_version
        found = self._looked_at.get(uid)
        if found is None or found[0] != version:
            data = to_dict(pod)
            data.get("metadata", {}).pop("resourceVersion", None)
            found = self._looked_at[uid] = version, protocol.encode(data)
        return found[1]
