"""The order in which a set's surplus pods are deleted.

The first ones are those without a node; then Pending before Unknown before Running; not ready; lower deletion cost;
more pods of the same owner on the node; ready for a shorter time; more restarts; newer. Times are compared by magnitude
(LogarithmicScaleDown).

Source: pkg/controller/controller_utils.go (ActivePodsWithRanks.Less, logarithmicRankDiff; ActivePods.Less for Jobs),
replica_set.go (getPodsRankedByRelatedPodsOnSameNode).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cmp_to_key

from kitlib.api.core import ContainerStatus, Pod
from kitlib.apiserver.store.store import age
from kitlib.controllers.pod_util import condition_of, is_ready

POD_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASE = {"Pending": 0, "Unknown": 1, "Running": 2}


def ranked_for_deletion(pods: Sequence[Pod], related: Iterable[Pod], now: datetime) -> list[Pod]:
    """Return the pods in the order of deletion.

    Args:
        pods: the pods of the set.
        related: the active pods of all sets with the same controller, including this set.
        now: the current date.
    """
    on_node = Counter(pod.spec.node_name for pod in related)

    def compare(a: Pod, b: Pod) -> int:
        return _compare(a, b, on_node, now)

    return sorted(pods, key=cmp_to_key(compare))


def jobs_pods_for_deletion(pods: Sequence[Pod]) -> list[Pod]:
    """Return a Job's active pods in the order of deletion, without costs and nodes, and by exact times.

    Source: ActivePods.Less.
    """

    def key(pod: Pod) -> tuple[bool, int, bool, float, int, int, float]:
        ready = condition_of(pod, "Ready") if is_ready(pod) else None
        restarts = _most_restarts(pod.status.container_statuses), _most_restarts(pod.status.init_container_statuses)
        return (
            bool(pod.spec.node_name),
            _PHASE.get(pod.status.phase, 2),
            ready is not None,
            _latest_first(ready.last_transition_time if ready is not None else None),
            -restarts[0],
            -restarts[1],
            _latest_first(pod.metadata.creation_timestamp),
        )

    return sorted(pods, key=key)


def _latest_first(moment: datetime | None) -> float:
    return -moment.timestamp() if moment is not None else -math.inf


def _compare(a: Pod, b: Pod, on_node: Counter[str], now: datetime) -> int:
    """Return a negative number if `a` is deleted first."""
    for left, right in zip(_static(a, on_node), _static(b, on_node), strict=True):
        if left != right:
            return -1 if left < right else 1
    if is_ready(a) and is_ready(b):
        ready = condition_of(a, "Ready"), condition_of(b, "Ready")
        times = [condition.last_transition_time if condition else None for condition in ready]
        if times[0] != times[1]:
            return _compare_ages(a, b, times[0], times[1], now)
    for restarts in (_restarts(a, b, "container_statuses"), _restarts(a, b, "init_container_statuses")):
        if restarts:
            return restarts
    made = a.metadata.creation_timestamp, b.metadata.creation_timestamp
    if made[0] != made[1]:
        return _compare_ages(a, b, made[0], made[1], now)
    return age(b) - age(a)  # upstream leaves the order of equal pods open


def _static(pod: Pod, on_node: Counter[str]) -> tuple[int, int, int, int, int]:
    return (
        bool(pod.spec.node_name),
        _PHASE.get(pod.status.phase, 2),
        is_ready(pod),
        deletion_cost(pod),
        -on_node[pod.spec.node_name],
    )


def deletion_cost(pod: Pod) -> int:
    """Return the deletion cost annotation; 0 without a number. Source: helper.GetDeletionCostFromPodAnnotations."""
    try:
        return int(pod.metadata.annotations.get(POD_DELETION_COST, "0"))
    except ValueError:
        return 0


def _compare_ages(a: Pod, b: Pod, left: datetime | None, right: datetime | None, now: datetime) -> int:
    """Compare ages: the younger pod is first if the magnitudes differ, else the one with the lower UID."""
    if left is None or right is None:
        return -1 if left is None else 1
    difference = _magnitude(left, now) - _magnitude(right, now)
    if difference:
        return difference
    return -1 if a.metadata.uid < b.metadata.uid else 1


def _magnitude(since: datetime, now: datetime) -> int:
    nanoseconds = int((now - since).total_seconds() * 1e9)
    # Ages of the same power of two count as equal, so that the newest pods, often those of one failure domain, are
    # not always the first ones. Source: the gate LogarithmicScaleDown.
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _restarts(a: Pod, b: Pod, field: str) -> int:
    """Compare restarts: the pod with more of them is first. Source: compareMaxContainerRestarts."""
    return _most_restarts(getattr(b.status, field)) - _most_restarts(getattr(a.status, field))


def _most_restarts(statuses: Iterable[ContainerStatus]) -> int:
    return max((status.restart_count for status in statuses), default=0)
