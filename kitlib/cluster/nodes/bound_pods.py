"""The pods that are bound to one node, with the changes since the node's last sync.

A node may have tens of thousands of terminated pods. So the cost of a sync must depend on the number of changes, not on
the number of pods. The kubelet receives additions, updates and removals, too.

Source: kubelet config PodConfig (ADD, UPDATE, REMOVE).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from kitlib.api.core import Pod


class PodChanges(NamedTuple):
    """Changes of a node's pods: the new and the changed ones, and the UIDs of deleted ones."""

    changed: list[Pod]
    removed: list[str]


class BoundPods(Collection[Pod]):
    """The pods of one node, in the order in which they were bound."""

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self._pods: dict[str, Pod] = {}
        self._changed: dict[str, Pod] = {}
        self._removed: dict[str, None] = {}
        for pod in pods:
            self.put(pod)

    def put(self, pod: Pod) -> None:
        """Add a pod, or replace an older version of it."""
        uid = pod.metadata.uid
        self._pods[uid] = self._changed[uid] = pod
        self._removed.pop(uid, None)

    def remove(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if self._pods.pop(uid, None) is not None:
            self._changed.pop(uid, None)
            self._removed[uid] = None

    def take(self) -> PodChanges:
        """Return the changes since the last call."""
        found = PodChanges(list(self._changed.values()), list(self._removed))
        self._changed, self._removed = {}, {}
        return found

    def repeat(self) -> None:
        """Mark every pod as changed, because it is unknown how much of the last change was applied."""
        self._changed = dict(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, pod: object) -> bool:
        return isinstance(pod, Pod) and pod.metadata.uid in self._pods
