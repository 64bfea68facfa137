"""The nodes that a cluster autoscaler may remove, the new nodes of their pods, and the pod that keeps a node.

    for found in removals(cluster.list("Node"), cluster.list("Pod"), budgets=cluster.list("PodDisruptionBudget")):
        print(found)

A node is a candidate while its requests are below half of its allocatable resources. Each of its pods is checked for
reasons not to move it; for the others the scheduler looks for another node. The candidate stays in the scheduler's
snapshot, tainted as during the drain: a zone that becomes empty still counts for spread constraints that ignore taints.
The objects are not changed. A node's pods are placed on top of those of the nodes removed before, so all removable
nodes may be removed together.

Source: cluster-autoscaler core/scaledown/eligibility, simulator/utilization Calculate, simulator SimulateNodeRemoval,
findPlaceFor, replaceWithTaintedGhostNode, simulator/drainability/rules Default, utils/drain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.core import TERMINAL_PHASES, Node, Pod, Taint
from kitlib.api.podresources import pod_requests
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.scheduler import Scheduler

THRESHOLD = 0.5
"""--scale-down-utilization-threshold: the utilization, 0 to 1, from which on a node is kept."""
DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
MIRROR = "kubernetes.io/config.mirror"
REPLICATED = frozenset({"ReplicationController", "ReplicaSet", "Job", "StatefulSet"})
"""Controllers that recreate pods; pods of others keep their node (--skip-nodes-with-custom-controller-pods)."""


@dataclass(frozen=True)
class Removal:
    """The autoscaler's verdict on one node.

    Attributes:
        node: the node's name.
        utilization: the larger of the requested shares of CPU and memory, 0 to 1.
        reason: the autoscaler's name for the reason to keep it; "" = it may be removed.
        pod: name of the pod that keeps it.
        why: the reason in words.
        moves: new node by name of the moved pod.
    """

    node: str
    utilization: float
    reason: str = ""
    pod: str = ""
    why: str = ""
    moves: Mapping[str, str] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether the node may be removed."""
        return not self.reason

    def __str__(self) -> str:
        if self.possible:
            to = ", ".join(f"{pod} to {node}" for pod, node in self.moves.items()) or "no pod has to move"
            return f"{self.node} ({self.utilization:.0%} requested) may be removed: {to}"
        return f"{self.node} ({self.utilization:.0%} requested) stays: {self.reason}, {self.why}"


def removals(
    nodes: Sequence[Node],
    pods: Iterable[Pod],
    *,
    budgets: Sequence[PodDisruptionBudget] = (),
    release: Release | str | None = None,
    threshold: float = THRESHOLD,
    skip_system_pods: bool = True,
    skip_local_storage: bool = True,
) -> list[Removal]:
    """Return the autoscaler's verdict on every node, in their order.

    Args:
        nodes: the cluster's nodes.
        pods: the cluster's pods.
        budgets: the cluster's disruption budgets, with the status that the disruption controller computes.
        release: release of the scheduler; None = the one followed.
        threshold: utilization from which on a node is kept, 0 to 1.
        skip_system_pods: --skip-nodes-with-system-pods.
        skip_local_storage: --skip-nodes-with-local-storage.
    """
    placed = [p for p in pods if p.spec.node_name and p.status.phase not in TERMINAL_PHASES]
    scheduler = Scheduler([*nodes], placed, release=Release.of(release))
    rules = _Rules(budgets, skip_system_pods, skip_local_storage)
    used = {node.name: utilization(node, [p for p in placed if p.spec.node_name == node.name]) for node in nodes}
    return [
        _in_use(node, used[node.name], threshold) or _removal(node, used[node.name], scheduler, rules) for node in nodes
    ]


def utilization(node: Node, pods: Iterable[Pod]) -> float:
    """Return the larger of the requested shares of allocatable CPU and memory, 0 to 1.

    Source: utilization.Calculate.
    """
    asked = [pod_requests(pod) for pod in pods]
    parts = [0.0]
    for name in ("cpu", "memory"):
        most = node.status.allocatable.get(name)
        if most is not None and most.milli_value() > 0:
            parts.append(sum(one[name].milli_value() for one in asked if name in one) / most.milli_value())
    return max(parts)


def _in_use(node: Node, used: float, threshold: float) -> Removal | None:
    """Return why a node is no candidate for removal; None = it is one.

    Source: eligibility.Checker FilterOutUnremovable.
    """
    if node.metadata.annotations.get(DISABLED) == "true":
        return Removal(node.name, used, "ScaleDownDisabledAnnotation", why=f"annotation {DISABLED}")
    if used >= threshold:
        return Removal(node.name, used, "NotUnderutilized", why=f"{used:.0%} of it is requested")
    return None


def _removal(node: Node, used: float, scheduler: Scheduler, rules: _Rules) -> Removal:
    moving = []
    for pod in [info.pod for info in scheduler.pods.values() if info.pod.spec.node_name == node.name]:
        stays, why = rules.blocked(pod)
        if stays:
            return Removal(node.name, used, f"BlockedByPod ({stays})", pod.name, why)
        if not _stays_behind(pod):
            moving.append(pod)
    return _moved(node, moving, scheduler, used)


def _moved(node: Node, moving: list[Pod], scheduler: Scheduler, used: float) -> Removal:
    """Place every pod of a node elsewhere; if one has no place, the scheduler's state is restored.

    Source: findPlaceFor.
    """
    for pod in moving:
        scheduler.remove_pod(pod)
    ghost = deepcopy(node)
    ghost.spec.taints = [*ghost.spec.taints, Taint(key=TO_BE_DELETED, effect="NoSchedule")]
    scheduler.update_node(ghost)
    moves: dict[str, str] = {}
    came: list[Pod] = []
    for pod in moving:
        made = deepcopy(pod)
        made.spec.node_name = made.status.nominated_node_name = ""
        decision = scheduler.explain(made)
        fits = [name for name in decision.feasible if name != node.name]
        if not fits:
            for one in came:
                scheduler.remove_pod(one)
            scheduler.update_node(node)
            for one in moving:
                scheduler.add_pod(one)
            why = f"{pod.name} finds no other node: {decision.filter_message}"
            return Removal(node.name, used, "NoPlaceToMovePods", pod.name, why)
        made.spec.node_name = moves[pod.name] = fits[0]
        scheduler.add_pod(made)
        came.append(made)
    # Removed for good: pods of later candidates must not move to it.
    scheduler.remove_node(node)
    return Removal(node.name, used, moves=moves)


def _stays_behind(pod: Pod) -> bool:
    """Return whether a pod ends with its node. Source: rules mirror, daemonset."""
    return MIRROR in pod.metadata.annotations or _controller(pod) == "DaemonSet"


def _controller(pod: Pod) -> str:
    return next((owner.kind for owner in pod.metadata.owner_references if owner.controller), "")


@dataclass(frozen=True)
class _Rules:
    """The rules that decide whether a pod may be moved. Source: rules.Default, in its order."""

    budgets: Sequence[PodDisruptionBudget]
    system: bool
    local: bool

    def blocked(self, pod: Pod) -> tuple[str, str]:
        """Return the autoscaler's name of the obstacle to moving a pod and a description; both "" if there is none."""
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        if _stays_behind(pod) or safe == "true":
            return "", ""
        if _controller(pod) not in REPLICATED:
            return "NotReplicated", f"no controller would make {pod.name} again"
        if self.system and pod.metadata.namespace == "kube-system" and not self._of(pod):
            return "UnmovableKubeSystemPod", f"{pod.name} is in kube-system and has no disruption budget"
        if safe == "false":
            return "NotSafeToEvictAnnotation", f"{pod.name} says {SAFE_TO_EVICT}: false"
        if self.local and (volume := _local_volume(pod)):
            return "LocalStorageRequested", f"{pod.name} would lose its local volume {volume}"
        for budget in self._of(pod):
            if budget.status.disruptions_allowed < 1:
                return "NotEnoughPdb", f"budget {budget.name} allows no disruption of {pod.name}"
        return "", ""

    def _of(self, pod: Pod) -> list[Any]:
        labels, namespace = pod.metadata.labels, pod.metadata.namespace
        return [
            budget
            for budget in self.budgets
            if budget.metadata.namespace == namespace and LabelSelectorMatcher(budget.spec.selector).matches(labels)
        ]


def _local_volume(pod: Pod) -> str:
    """Return the name of the first volume whose data is lost with the node, except memory-backed ones.

    Source: HasBlockingLocalStorage.
    """
    safe = {one.strip() for one in pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")}
    for volume in pod.spec.volumes:
        kept = volume.host_path is not None
        kept |= volume.empty_dir is not None and volume.empty_dir.medium != "Memory"
        if kept and volume.name not in safe:
            return volume.name
    return ""
