"""The pods that are bound to one node, with those that have changed since the node last looked.

A node may have held tens of thousands of pods that have ended. The cost of a round must depend on the number of
changes, not on the number of all pods: kubelets receive additions, updates and removals, too.

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
        """Return what has changed since the last call."""
        found = PodChanges(list(self._changed.values()), list(self._removed))
        self._changed, self._removed = {}, {}
        return found

    def repeat(self) -> None:
        """Count every pod as changed: it is not known how far the last change was carried out."""
        self._changed = dict(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, pod: object) -> bool:
        return isinstance(pod, Pod) and pod.metadata.uid in self._pods
