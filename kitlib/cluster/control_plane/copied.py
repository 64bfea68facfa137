"""A cluster made of another one's objects, on hollow nodes and virtual time: what happens to it happens to a copy.

Pods keep their nodes and names, controllers and scheduler work as in any simulated cluster. Left out are events,
Leases, CronJobs and autoscalers, which would act by themselves while time passes. StatefulSets and DaemonSets whose
ControllerRevisions were not read roll out nothing, because their pods' revisions cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kitlib.api.apps import ControllerRevision, DaemonSet, StatefulSet
from kitlib.api.clock import EPOCH
from kitlib.api.core import Namespace, Node, Pod
from kitlib.api.meta import Condition, KubeObject, ObjectMeta, is_condition_true, with_condition
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.store.kinds import RESOURCES
from kitlib.cluster.base import BaseCluster
from kitlib.cluster.control_plane.options import ClusterOptions, SimulationOptions
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.nodes.hollow import mark_running
from kitlib.cluster.nodes.kubelets import KUBELET
from kitlib.scheduler.profile import Profile

LEFT_OUT = ("Event", "Lease", "CronJob", "HorizontalPodAutoscaler", "Secret")
"""Kinds that are not copied."""


class CopiedCluster(SimulatedCluster):
    """A copy of a cluster.

    Args:
        objects: the objects to copy; they are not changed.
        release: the release with the behaviour to follow.
        profile: the scheduler's; None = the defaults.
        start: the time at which the copy begins.
        tick: seconds between two steps while time passes.
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
        copies = [deepcopy(obj) for obj in objects if obj.kind not in LEFT_OUT]
        _name_owners(copies)
        if not any(isinstance(obj, ControllerRevision) for obj in copies):
            _keep_revisions(copies)
        store = self.api.store
        with store.transaction():
            for name in sorted({obj.namespace for obj in copies} - {""}):
                if not any(isinstance(obj, Namespace) and obj.name == name for obj in copies):
                    copies.insert(0, Namespace(metadata=ObjectMeta(name=name)))
            for obj in sorted(copies, key=lambda one: (one.kind != "Namespace", one.kind != "Node")):
                if isinstance(obj, Node) and _is_healthy(obj):
                    _give_kubelet(obj)
                if isinstance(obj, Pod) and obj.status.phase == "Running" and not obj.status.conditions:
                    mark_running(obj, self.now())  # a hand-written pod: budgets and Deployments count Ready ones
                if store.standing(obj) is None:
                    store.create(obj)
        self.settle()

    def adopt_node(self, node: Node) -> None:
        """Add a node as it is described, with a kubelet."""
        _give_kubelet(node)
        self.api.store.create(node)
        self.settle()

    def stop_kubelet(self, node: str) -> None:
        """End a node's kubelet, as when its machine dies: its Lease is renewed no longer, its pods report nothing."""
        self._nodes.pop(node, None)
        self.api.leases.drop(node)
        silent = self.api.store.get(Node, node)
        for one in silent.status.conditions:
            one.last_heartbeat_time = self.now()  # its last report, from which the node controller counts
        self.api.update_status(silent)


def _give_kubelet(node: Node) -> None:
    node.metadata.annotations = {**node.metadata.annotations, KUBELET: "true"}
    ready = Condition(type="Ready", status="True", reason="KubeletReady")
    # a Node without the condition would get the status of a new machine
    node.status.conditions = with_condition(node.status.conditions, ready)


def _is_healthy(node: Node) -> bool:
    """Whether a node's kubelet reports; a hand-written Node without conditions counts as healthy."""
    return not node.status.conditions or is_condition_true(node.status.conditions, "Ready")


def _name_owners(objects: list[KubeObject]) -> None:
    """Give objects and owner references the UIDs that they lack: controllers know their objects by UID."""
    known = {}
    for number, obj in enumerate(objects):
        obj.metadata.uid = obj.metadata.uid or f"copied-{number}"
        known[obj.kind, obj.namespace, obj.name] = obj.metadata.uid
    for obj in objects:
        for owner in obj.metadata.owner_references:
            found = known.get((owner.kind, obj.namespace, owner.name)) or known.get((owner.kind, "", owner.name))
            owner.uid = owner.uid or found or f"unread-{owner.kind}-{owner.name}"


def _keep_revisions(objects: list[KubeObject]) -> None:
    for obj in objects:
        if isinstance(obj, StatefulSet | DaemonSet):
            obj.spec.update_strategy.type = "OnDelete"


def fork(cluster: BaseCluster) -> CopiedCluster:
    """Return a copy of a cluster as it stands."""
    objects = [one for resource in RESOURCES for one in cluster.api.store.list(resource.kind)]
    return CopiedCluster(objects, release=cluster.release, start=cluster.now())


def of_dump(dump: Any) -> CopiedCluster:
    """Return a copy of the cluster of a `kitlib.advisor.dump.Dump`, which this package does not know."""
    return CopiedCluster(dump.objects, release=dump.release, profile=dump.profile, start=dump.newest_time)
