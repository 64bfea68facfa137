"""A copy of another cluster's objects on hollow nodes and virtual time; the original does not change.

Pods keep their nodes and names; controllers and scheduler work as in any simulated cluster. Events, Leases, CronJobs
and autoscalers are left out; the last two would act by themselves while time advances. StatefulSets and DaemonSets
without ControllerRevisions in the data do not roll out, because their pods' revisions cannot be compared. A missing
ReplicaSet is reconstructed from its pods. References to other missing owners are dropped, because the garbage
collector treats an absent owner as a deleted one.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from kitlib.api.apps import ControllerRevision, DaemonSet, ReplicaSet, ReplicaSetSpec, StatefulSet
from kitlib.api.clock import EPOCH
from kitlib.api.copying import shallow_copy
from kitlib.api.core import TERMINAL_PHASES, Namespace, Node, Pod, PodTemplateSpec
from kitlib.api.errors import AlreadyExists
from kitlib.api.meta import Condition, KubeObject, LabelSelector, ObjectMeta, is_condition_true, with_condition
from kitlib.api.release import Release
from kitlib.apiserver.store.kinds import RESOURCES
from kitlib.cluster.base import BaseCluster
from kitlib.cluster.control_plane.options import ClusterOptions, SimulationOptions
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.nodes.hollow import mark_running
from kitlib.cluster.nodes.kubelets import KUBELET
from kitlib.controllers.node_lifecycle import older_labels
from kitlib.controllers.ttl import ANNOTATION as TTL
from kitlib.controllers.ttl import BOUNDARIES
from kitlib.scheduler.profile import Profile

WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
LEFT_OUT = ("Event", "Lease", "CronJob", "HorizontalPodAutoscaler", "Secret", *WEBHOOKS)
"""The kinds that are not copied; a copy cannot call webhooks, and an unreachable one would refuse every pod."""


class CopiedCluster(SimulatedCluster):
    """A copy of a cluster on hollow nodes.

    Args:
        objects: the objects to copy; they must not change afterwards, since the copy shares their parts.
        release: the Kubernetes release that the copy behaves like.
        profile: the scheduler's profile; None = the defaults.
        start: the date at which the copy begins.
        tick: the seconds between two steps while time advances.
    """

    def __init__(
        self,
        objects: Iterable[KubeObject],
        *,
        release: Release | None = None,
        profile: Profile | None = None,
        start: datetime | None = None,
        tick: float = 1.0,
    ) -> None:
        simulation = SimulationOptions(kubelets=False, start=start or EPOCH, tick=tick)
        super().__init__(ClusterOptions.of((), release=release, scheduler=profile), simulation)
        copies = [_with_own_metadata(obj) for obj in objects if obj.kind not in LEFT_OUT]
        made_again = _unread_replica_sets(copies)
        copies += made_again
        _name_owners(copies)
        if not any(isinstance(obj, ControllerRevision) for obj in copies):
            _keep_revisions(copies)
        store = self.api.store
        _label_nodes([obj for obj in copies if isinstance(obj, Node)])
        with store.transaction():
            present = {obj.name for obj in copies if isinstance(obj, Namespace)}
            for name in sorted({obj.namespace for obj in copies} - present - {""}):
                copies.insert(0, Namespace(metadata=ObjectMeta(name=name)))
            for obj in sorted(copies, key=lambda item: (item.kind != "Namespace", item.kind != "Node")):
                if isinstance(obj, Node) and _is_healthy(obj):
                    obj.status = shallow_copy(obj.status)
                    _give_kubelet(obj)
                if isinstance(obj, Pod) and obj.status.phase == "Running" and not obj.status.conditions:
                    # a hand-written pod without a status: budgets and Deployments count only Ready pods
                    obj.status = shallow_copy(obj.status)
                    mark_running(obj, self.now())
                with suppress(AlreadyExists):
                    store.adopt(obj)
        for replica_set in made_again:
            # Such a set has the pods that it wants, so its first sync could only write its status.
            self.controllers.controller("replicaset-controller").queue.drop((replica_set.namespace, replica_set.name))
        self.settle()

    def adopt_node(self, node: Node) -> None:
        """Add a hollow node, with its kubelet, for an existing Node object."""
        _give_kubelet(node)
        self.api.store.create(node)
        self.settle()

    def retry_unschedulable(self) -> None:
        """Let the scheduler try each pod in the pool now, as after the maximum time in it; no time passes.

        Source: flushUnschedulablePodsLeftover.
        """
        scheduler = self.scheduler
        if scheduler is not None:
            queue = scheduler.loop.queue
            newest = max((queued_pod.timestamp_ms for queued_pod in queue.unschedulable()), default=0)
            queue.flush_unschedulable(newest + queue.max_in_pool_ms + 1)
            scheduler.sync()
            self.settle()

    def stop_kubelet(self, node: str) -> None:
        """Stop a node's kubelet as if its machine had failed: no Lease is renewed, no pod status is reported."""
        self._nodes.pop(node, None)
        self.api.leases.drop(node)
        silent = self.api.store.get(Node, node)
        for condition in silent.status.conditions:
            condition.last_heartbeat_time = (
                self.now()
            )  # its last report, where the node controller's grace period starts
        self.api.update_status(silent)


def _with_own_metadata(obj: KubeObject) -> KubeObject:
    """Return a copy that shares all but its metadata with the original: stored objects never change."""
    made = shallow_copy(obj)
    made.metadata = shallow_copy(obj.metadata)
    return made


def _label_nodes(nodes: list[Node]) -> None:
    """Give nodes what their controllers write at the first sync, which would take a write for each node of a dump."""
    seconds = str(next(seconds for _, most, seconds in BOUNDARIES if len(nodes) <= most))
    for node in nodes:
        node.metadata.annotations = {**node.metadata.annotations, TTL: seconds}
        node.metadata.labels = {**node.metadata.labels, **older_labels(node)}


def _give_kubelet(node: Node) -> None:
    node.metadata.annotations = {**node.metadata.annotations, KUBELET: "true"}
    ready = Condition(type="Ready", status="True", reason="KubeletReady")
    # A Node without the condition Ready would get the status of a new machine.
    node.status.conditions = with_condition(node.status.conditions, ready)


def _is_healthy(node: Node) -> bool:
    """Return whether a node is ready; a hand-written Node without conditions counts as healthy."""
    return not node.status.conditions or is_condition_true(node.status.conditions, "Ready")


def _name_owners(objects: list[KubeObject]) -> None:
    """Add missing UIDs to objects and owner references, because controllers find their objects by UID."""
    known = {}
    for number, obj in enumerate(objects):
        obj.metadata.uid = obj.metadata.uid or f"copied-{number}"
        known[obj.kind, obj.namespace, obj.name] = obj.metadata.uid
    for obj in objects:
        kept = []
        for owner in obj.metadata.owner_references:
            found = known.get((owner.kind, obj.namespace, owner.name)) or known.get((owner.kind, "", owner.name))
            if found and not owner.uid:
                owner = shallow_copy(owner)
                owner.uid = found
            kept += [owner] if found else []
        obj.metadata.owner_references = kept


def _unread_replica_sets(objects: list[KubeObject]) -> list[ReplicaSet]:
    """Reconstruct missing ReplicaSets from the pods that they own, which give the replicas and the template."""
    known = {(item.namespace, item.name) for item in objects if isinstance(item, ReplicaSet)}
    groups: dict[tuple[str, str], list[Pod]] = {}
    for pod in objects:
        if isinstance(pod, Pod) and pod.status.phase not in TERMINAL_PHASES:
            for owner in pod.metadata.owner_references:
                if owner.controller and owner.kind == "ReplicaSet" and (pod.namespace, owner.name) not in known:
                    groups.setdefault((pod.namespace, owner.name), []).append(pod)
    return [made for key, pods in groups.items() if (made := _from_pods(*key, pods)) is not None]


def _from_pods(namespace: str, name: str, pods: list[Pod]) -> ReplicaSet | None:
    # The common labels are a selector that matches all pods; it may be narrower than the original one.
    labels = dict(set.intersection(*(set(pod.metadata.labels.items()) for pod in pods)))
    if not labels:
        return None
    spec = shallow_copy(pods[0].spec)
    spec.node_name = ""
    own = next(reference for reference in pods[0].metadata.owner_references if reference.controller)
    return ReplicaSet(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=own.uid, labels=labels),
        spec=ReplicaSetSpec(
            replicas=len(pods),
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=spec),
        ),
    )


def _keep_revisions(objects: list[KubeObject]) -> None:
    for obj in objects:
        if isinstance(obj, StatefulSet | DaemonSet):
            # Without revisions every pod would count as outdated, and a rolling update would replace all of them.
            obj.spec = shallow_copy(obj.spec)
            obj.spec.update_strategy = shallow_copy(obj.spec.update_strategy)
            obj.spec.update_strategy.type = "OnDelete"


def fork(cluster: BaseCluster) -> CopiedCluster:
    """Return a copy of a cluster in its current state."""
    objects = [one for resource in RESOURCES for one in cluster.api.store.list(resource.kind, copy=False)]
    return CopiedCluster(objects, release=cluster.release, start=cluster.now())


def of_dump(dump: Any) -> CopiedCluster:
    """Return a copy of the cluster of a `kitlib.advisor.dump.Dump`, which this package does not know."""
    return CopiedCluster(dump.objects, release=dump.release, profile=dump.profile, start=dump.newest_time)
