"""RollingUpdate of DaemonSets: old pods are deleted, or new ones are added, as maxUnavailable or maxSurge allow.

Source: pkg/controller/daemon/update.go (rollingUpdate, findUpdatedPodsOnNode, updatedDesiredNodeCounts),
util/daemonset_util.go (UnavailableCount, SurgeCount).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from kitlib.api.apps import DaemonSet
from kitlib.api.core import Pod
from kitlib.api.numbers import scaled_value
from kitlib.controllers.history import REVISION_LABEL
from kitlib.controllers.pod_util import is_available

PodsByNode = Mapping[str, Sequence[Pod]]


def max_surge(daemon_set: DaemonSet, desired: int) -> int:
    """Return the number of nodes that may run an old and a new pod at once. Source: SurgeCount."""
    rolling = daemon_set.spec.update_strategy.rolling_update
    if daemon_set.spec.update_strategy.type == "OnDelete" or rolling is None or rolling.max_surge is None:
        return 0
    return scaled_value(rolling.max_surge, desired, round_up=True)


def max_unavailable(daemon_set: DaemonSet, desired: int) -> int:
    """Return the number of nodes that may lack an available pod, at least 1 without surge. Source: UnavailableCount."""
    rolling = daemon_set.spec.update_strategy.rolling_update
    value = rolling.max_unavailable if rolling is not None else None
    count = scaled_value(1 if value is None else value, desired, round_up=True)
    return count if count or max_surge(daemon_set, desired) else 1


def is_updated(pod: Pod, revision_hash: str) -> bool:
    """Return whether the pod was made from the current template. Source: IsPodUpdated."""
    return pod.metadata.labels.get(REVISION_LABEL) == revision_hash


def updated_pods_on_node(pods: Sequence[Pod], revision_hash: str) -> tuple[Pod | None, Pod | None, bool]:
    """Return a node's new and old pod, and whether it has at most one of each. Source: findUpdatedPodsOnNode."""
    new: Pod | None = None
    old: Pod | None = None
    for pod in pods:
        # Terminating pods are not counted, so that an update makes progress while nodes are down.
        if pod.metadata.deletion_timestamp is not None:
            continue
        if is_updated(pod, revision_hash):
            if new is not None:
                return None, None, False
            new = pod
        else:
            if old is not None:
                return None, None, False
            old = pod
    return new, old, True


def rolling_update(
    daemon_set: DaemonSet, by_node: PodsByNode, desired: int, revision_hash: str, now: datetime
) -> tuple[list[Pod], list[str]]:
    """Return the old pods to delete now, and the nodes that get a new pod besides an old one. Source: rollingUpdate."""
    surge = max_surge(daemon_set, desired)
    if surge:
        return _surge(daemon_set, by_node, surge, revision_hash, now)
    return _replace(daemon_set, by_node, max_unavailable(daemon_set, desired), revision_hash, now), []


def _replace(daemon_set: DaemonSet, by_node: PodsByNode, most: int, revision_hash: str, now: datetime) -> list[Pod]:
    min_ready, unavailable = daemon_set.spec.min_ready_seconds, 0
    allowed: list[Pod] = []
    candidates: list[Pod] = []
    for pods in by_node.values():
        new, old, clear = updated_pods_on_node(pods, revision_hash)
        # No pod, or an old and a new one: `_manage` cleans up this node, which counts as unavailable meanwhile.
        if not clear or (old is None) == (new is None):
            unavailable += 1
        elif new is not None:
            unavailable += not is_available(new, min_ready, now)
        elif old is not None and not is_available(old, min_ready, now):
            # It is unavailable already, so its replacement needs no room.
            allowed.append(old)
        elif old is not None and unavailable < most:
            candidates.append(old)
    room = max(0, most - unavailable)
    return [*allowed, *candidates[:room]]


def _surge(
    daemon_set: DaemonSet, by_node: PodsByNode, most: int, revision_hash: str, now: datetime
) -> tuple[list[Pod], list[str]]:
    min_ready, surging = daemon_set.spec.min_ready_seconds, 0
    delete: list[Pod] = []
    allowed: list[str] = []
    candidates: list[str] = []
    for node, pods in by_node.items():
        new, old, clear = updated_pods_on_node(pods, revision_hash)
        if not clear:
            surging += 1
        elif old is None:
            continue
        elif new is None:
            (candidates if is_available(old, min_ready, now) else allowed).append(node)
        elif not is_available(new, min_ready, now):
            surging += 1
        else:
            delete.append(old)
    return delete, [*allowed, *candidates[: max(0, most - surging)]]
