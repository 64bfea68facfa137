"""Which nodes a cluster autoscaler may remove, where their pods would go, and which pod keeps a node.

    for found in removals(cluster.list("Node"), cluster.list("Pod"), budgets=cluster.list("PodDisruptionBudget")):
        print(found)

A node is a candidate while its requests are below half of what is allocatable. Then each of its pods is asked whether
it may be moved, and for each that may the scheduler looks for another node, with the node still in its view, tainted as
it is while it is drained: a zone that becomes empty still counts for spread constraints that ignore taints. Nothing is
changed; nodes that may be removed may be removed together.

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
"""--scale-down-utilization-threshold: from here on a node is in use."""
DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
MIRROR = "kubernetes.io/config.mirror"
REPLICATED = frozenset({"ReplicationController", "ReplicaSet", "Job", "StatefulSet"})
"""Controllers that make a pod again. A pod of another one keeps the node (--skip-nodes-with-custom-controller-pods)."""


@dataclass(frozen=True)
class Removal:
    """What the autoscaler makes of one node.

    Attributes:
        node: its name.
        utilization: the larger part of CPU and memory that is requested, 0 to 1.
        reason: the autoscaler's name for why it stays; "" = it may be removed.
        pod: the pod that keeps it.
        why: the same in words.
        moves: pod -> node to which it would go.
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
    """What the autoscaler makes of every node, in their order.

    Args:
        nodes, pods, budgets: of the cluster; budgets as the disruption controller has counted them.
        release: whose scheduler is asked.
        threshold: see `THRESHOLD`.
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
    """The larger part of CPU and memory that pods request of what is allocatable. Source: utilization.Calculate."""
    asked = [pod_requests(pod) for pod in pods]
    parts = [0.0]
    for name in ("cpu", "memory"):
        most = node.status.allocatable.get(name)
        if most is not None and most.milli_value() > 0:
            parts.append(sum(one[name].milli_value() for one in asked if name in one) / most.milli_value())
    return max(parts)


def _in_use(node: Node, used: float, threshold: float) -> Removal | None:
    """Why a node is no candidate; None = it is one. Source: eligibility.Checker FilterOutUnremovable."""
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
    """Find a place for every pod; where one has none, all is as it was. Source: findPlaceFor."""
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
    scheduler.remove_node(node)
    return Removal(node.name, used, moves=moves)


def _stays_behind(pod: Pod) -> bool:
    """Pods that end with their node. Source: rules mirror, daemonset."""
    return MIRROR in pod.metadata.annotations or _controller(pod) == "DaemonSet"


def _controller(pod: Pod) -> str:
    return next((owner.kind for owner in pod.metadata.owner_references if owner.controller), "")


@dataclass(frozen=True)
class _Rules:
    """Whether a pod may be moved. Source: rules.Default, in its order."""

    budgets: Sequence[PodDisruptionBudget]
    system: bool
    local: bool

    def blocked(self, pod: Pod) -> tuple[str, str]:
        """(The autoscaler's name of the obstacle, in words); "" = none."""
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
            one
            for one in self.budgets
            if one.metadata.namespace == namespace and LabelSelectorMatcher(one.spec.selector).matches(labels)
        ]


def _local_volume(pod: Pod) -> str:
    """The first volume that ends with the node; memory-backed ones do not count. Source: HasBlockingLocalStorage."""
    safe = {one.strip() for one in pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")}
    for volume in pod.spec.volumes:
        kept = volume.host_path is not None
        kept |= volume.empty_dir is not None and volume.empty_dir.medium != "Memory"
        if kept and volume.name not in safe:
            return volume.name
    return ""
