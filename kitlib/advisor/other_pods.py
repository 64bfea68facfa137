"""Changes of other pods: a blocking pod leaves or moves, a pending resize is reverted, a volume is released."""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.advisor.blockers import blocking_pods, rejected_by, resize_of
from kitlib.advisor.change import Change
from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import PLATFORM, TEAM, YOU
from kitlib.advisor.pod_changes import SYSTEM_NAMESPACE, is_of_daemon_set
from kitlib.api.core import Pod
from kitlib.api.meta import OwnerReference
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.volumes import claim_names
from kitlib.scheduler.scheduler import Scheduler

MIRROR = "kubernetes.io/config.mirror"
MOST_MOVED = 20
"""Maximum number of pods per node that are tried as the one to move."""


def other_pod_changes(dump: Dump, pod: Pod, scheduler: Scheduler, decision: Decision) -> Iterator[Change]:
    """Yield the single changes of other pods that are worth trying."""
    for other, _ in blocking_pods(scheduler, decision, pod):
        yield _leaves(dump, pod, other)
    yield from _resizes(dump, pod, scheduler)
    rejected = rejected_by(decision)
    if "NodeVolumeLimits" in rejected:
        yield from _free_volumes(dump, pod, scheduler, rejected["NodeVolumeLimits"])
    if is_of_daemon_set(pod):
        yield from _make_room(dump, pod, scheduler, rejected.get("NodeResourcesFit", []))


def root_of(dump: Dump, pod: Pod) -> OwnerReference | None:
    """Return the top-level controller of a pod; None = the pod has none."""
    owner = next((reference for reference in pod.metadata.owner_references if reference.controller), None)
    if owner is None or owner.kind != "ReplicaSet":
        return owner
    made = dump.replica_sets.get((pod.namespace, owner.name))
    above = made and next((reference for reference in made.metadata.owner_references if reference.controller), None)
    return above or owner


def _is_movable(other: Pod) -> bool:
    return not (is_of_daemon_set(other) or MIRROR in other.metadata.annotations or other.namespace == SYSTEM_NAMESPACE)


def _leaves(dump: Dump, pod: Pod, other: Pod) -> Change:
    own, theirs = root_of(dump, pod), root_of(dump, other)
    if own is not None and theirs is not None and own == theirs and own.kind == "Deployment":
        text = (
            f"let the rollout of Deployment {own.name} end old pods first (maxSurge: 0 with maxUnavailable: 1, or "
            f"strategy Recreate), so that {other.key} leaves"
        )
        return Change(text, "pod", YOU, others=((other, None),))
    owner = TEAM if other.namespace == pod.namespace else PLATFORM
    by = f" ({theirs.kind} {theirs.name})" if theirs is not None else ""
    return Change(f"move or delete {other.key}{by}", "pod", owner, others=((other, None),))


def _resizes(dump: Dump, pod: Pod, scheduler: Scheduler) -> Iterator[Change]:
    """Revert a pod's pending resize to the amounts that the kubelet has allocated to it."""
    for other in dump.pods:
        if not other.spec.node_name or other is pod or not resize_of(other):
            continue
        reverted = deepcopy(other)
        given = {status.name: status.allocated_resources for status in other.status.container_statuses}
        changed = False
        for container in reverted.spec.containers:
            for name, amount in (given.get(container.name) or {}).items():
                if name in container.resources.requests and container.resources.requests[name].nano > amount.nano:
                    container.resources.requests = {**container.resources.requests, name: amount}
                    changed = True
        if changed:
            owner = TEAM if other.namespace == pod.namespace else PLATFORM
            text = f"take back the resize of {other.key} ({resize_of(other)})"
            yield Change(text, "resize", owner, others=((other, reverted),))


def _free_volumes(dump: Dump, pod: Pod, scheduler: Scheduler, rows: list[int]) -> Iterator[Change]:
    """Move a pod with volumes away from a node at its attach limit."""
    tried = 0
    for row in rows:
        for info in scheduler.snapshot.pods[row].values():
            if claim_names(info.pod) and _is_movable(info.pod) and tried < MOST_MOVED:
                tried += 1
                owner = TEAM if info.pod.namespace == pod.namespace else PLATFORM
                text = f"move {info.pod.key} with its volumes away from {scheduler.snapshot.names[row]}"
                yield Change(text, "volume", owner, others=((info.pod, None),), about="free a volume")


def _make_room(dump: Dump, pod: Pod, scheduler: Scheduler, rows: list[int]) -> Iterator[Change]:
    """Move one pod away from the only node of a DaemonSet's pod, the smallest one that makes room."""
    for row in rows if len(rows) < 3 else ():
        here = [info for info in scheduler.snapshot.pods[row].values() if _is_movable(info.pod)]
        for info in sorted(here, key=lambda pod_info: sorted(pod_info.requests.items()))[:MOST_MOVED]:
            owner = TEAM if info.pod.namespace == pod.namespace else PLATFORM
            text = f"move {info.pod.key} away from {scheduler.snapshot.names[row]}"
            yield Change(text, "pod", owner, others=((info.pod, None),), about="make room")
