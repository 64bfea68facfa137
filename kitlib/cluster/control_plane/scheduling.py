"""kube-scheduler in a cluster: it watches the store, tries waiting pods one by one, binds, preempts, and says why.

A pod that found no node waits until something happens that may help it and its back-off is over (1 s, 2 s, … 10 s);
after five minutes it is tried in any case. Every attempt leaves a Decision, a condition on the pod and an event.

Source: pkg/scheduler schedule_one.go (handleSchedulingFailure, bind), eventhandlers.go, backend/queue; preemption
(prepareCandidate).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import Condition
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.resourceclaim import put_allocation
from kitlib.cluster.events import record
from kitlib.cluster.store.store import WatchEvent, age
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.extender import Extender
from kitlib.scheduler.framework.dra_manager import Claims, Known
from kitlib.scheduler.plugins.dynamicresources import plugin as dynamic_resources
from kitlib.scheduler.profile import DEFAULT_SCHEDULER, Profile
from kitlib.scheduler.queue.backoff import Backoff
from kitlib.scheduler.queue.hints import claim_changed
from kitlib.scheduler.queue.scheduling_queue import max_in_pool_ms
from kitlib.scheduler.scheduler import Scheduler

_LOOKED_AT = ("Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet", "PodDisruptionBudget")
_STORAGE = (
    *("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity"),
    "VolumeAttachment",
)
_DEVICES = ("ResourceClaim", "DeviceClass", "ResourceSlice")
_LABELS_MATTER = ("Namespace", "Service", "PodDisruptionBudget")
_NEEDS_NEIGHBOURS = {"InterPodAffinity", "PodTopologySpread"}


@dataclass
class Waiting:
    """A pod without a node.

    Attributes:
        order: when it came. attempts: made so far. tried_at: seconds, the last one.
        moved: something has happened since that may help. rejected_by: the plugins that said no.
    """

    order: int
    attempts: int = 0
    tried_at: float = 0.0
    moved: bool = True
    rejected_by: frozenset[str] = frozenset()
    held: bool = False
    patient: bool = False


class ClusterScheduler:
    """The scheduler of one cluster.

    Args:
        api: of the cluster.
        release: whose behaviour is followed.
        configuration: a Profile, a KubeSchedulerConfiguration, or None for the defaults.
        seed: of the choice between equal nodes; None = the first by name.
        seconds: the cluster's clock.
        own: plugins of the user's.

    Attributes:
        decisions: pod UID -> its last Decision.
    """

    def __init__(
        self,
        api: APIServer,
        release: Release,
        configuration: Profile | Mapping[str, Any] | None,
        seed: int | None,
        seconds: Callable[[], float],
        own: tuple[Any, ...] = (),
    ) -> None:
        self._api, self._release, self._seed, self._seconds = api, release, seed, seconds
        self._profiles = profiles(configuration, own)
        asked = configuration.get("extenders") if isinstance(configuration, Mapping) else None
        self._extenders = [Extender.from_configuration(one) for one in asked or ()]
        self._held: dict[str, tuple[Scheduler, Pod]] = {}
        self._early = release.enabled("SchedulerPopFromBackoffQ")
        self._backoff = Backoff(aligned=self._early)
        self._flush_after = max_in_pool_ms(release) / 1000
        self._views: dict[str, Scheduler] = {}
        self._waiting: dict[str, Waiting] = {}
        self._placed: dict[str, Pod] = {}
        self._nodes: dict[str, tuple[Any, ...]] = {}
        self._unbound: dict[str, Pod] = {}
        self._unbound_version = -1
        self._claims = Claims.of(obj for kind in _DEVICES for obj in api.store.list(kind, copy=False))
        self._claims.write = lambda claim: put_allocation(api, claim)
        self.decisions: dict[str, Decision] = {}
        for kind in (Node, Pod):  # what stood before this was there
            for standing in api.store.list(kind, copy=False):
                self._heard(WatchEvent("ADDED", standing))
        api.store.subscribe(self._heard)

    # What happens in the cluster.

    def _heard(self, event: WatchEvent) -> None:
        obj = event.object
        if isinstance(obj, Pod):
            self._pod(event.type, obj)
        elif isinstance(obj, Node):
            matters = (obj.spec, obj.metadata.labels, obj.status.allocatable, obj.status.images)
            if event.type == "DELETED":
                self._nodes.pop(obj.name, None)
            elif self._nodes.get(obj.name) == matters:
                return
            else:
                self._nodes[obj.name] = matters
            self._views.clear()
            self._move()
        elif obj.kind in _LOOKED_AT and (event.type != "MODIFIED" or obj.kind in _LABELS_MATTER):
            self._views.clear()
        elif obj.kind in _STORAGE:
            self._views.clear()
            self._move()
        elif isinstance(obj, Known):
            self._devices(event.type, obj)

    def _devices(self, change: str, obj: Known) -> None:
        """Claims, classes and devices: all views look into the same book; pods that wait for them try again."""
        if change == "DELETED":
            self._claims.drop(obj)
            return
        old = self._claims.put(obj)
        for uid, waiting in self._waiting.items():
            if isinstance(obj, ResourceClaim):
                pod = self._find(uid)
                if pod is None or not pod.spec.resource_claims or not claim_changed(self._claims, pod, old, obj):
                    continue
            waiting.moved = waiting.moved or dynamic_resources.NAME in waiting.rejected_by

    def _pod(self, change: str, pod: Pod) -> None:
        uid = pod.metadata.uid
        before = self._placed.get(uid)
        stands = bool(pod.spec.node_name) and change != "DELETED" and pod.status.phase not in ("Succeeded", "Failed")
        if before is not None and stands and _same(before, pod):
            self._placed[uid] = pod
            return
        if before is not None:
            for view in self._views.values():
                view.remove_pod(before)
            del self._placed[uid]
            if not stands:
                self._move()
        if stands:
            self._placed[uid] = pod
            for view in self._views.values():
                view.add_pod(pod)
            self._move(lambda waiting: bool(waiting.rejected_by & _NEEDS_NEIGHBOURS))
        if change == "DELETED":
            self._let_go(uid)
            self._waiting.pop(uid, None)
            self.decisions.pop(uid, None)
        elif not pod.spec.node_name and pod.metadata.deletion_timestamp is None:
            waiting = self._waiting.get(uid)
            if waiting is None:
                self._waiting[uid] = Waiting(order=age(pod))
            elif change == "MODIFIED" and self.decisions.get(uid) and not _same(self.decisions[uid].pod, pod):
                waiting.moved = True
        else:
            self._waiting.pop(uid, None)

    def _move(self, which: Callable[[Waiting], bool] | None = None) -> None:
        for waiting in self._waiting.values():
            if which is None or which(waiting):
                waiting.moved = True

    # What the scheduler does.

    def sync(self) -> bool:
        """Try every pod that may be tried now, the most important first.

        Returns:
            Whether any was tried.
        """
        tried = False
        while (pod := self._next()) is not None:
            tried = True
            self._attempt(pod)
        return tried

    def due(self) -> bool:
        """Whether a waiting pod's time has come, so that there is something to do although nothing has changed."""
        return bool(self._waiting) and self._next() is not None

    def _next(self) -> Pod | None:
        active: list[tuple[int, int, Pod]] = []
        backing_off: list[tuple[float, int, int, Pod]] = []
        now = self._seconds()
        for uid, waiting in self._waiting.items():
            if waiting.held or (not waiting.moved and now - waiting.tried_at < self._flush_after):
                continue
            pod = self._find(uid)
            if pod is None or pod.spec.scheduler_name not in self._profiles or self._is_gated(pod):
                continue
            rank = (-(pod.spec.priority or 0), waiting.order)
            expires = self._backoff.expires_ms(waiting.attempts, int(waiting.tried_at * 1000))
            if self._backoff.is_waiting(expires, int(now * 1000)):
                if waiting.patient:
                    continue
                backing_off.append((float(expires or 0), *rank, pod))
            else:
                active.append((*rank, pod))
        if active:
            return min(active, key=lambda one: one[:2])[-1]
        if backing_off and self._early:
            return min(backing_off, key=lambda one: one[:3])[-1]
        return None

    def _find(self, uid: str) -> Pod | None:
        if self._unbound_version != self._api.store.version:
            pods = self._api.store.list(Pod, copy=False)
            self._unbound = {pod.metadata.uid: pod for pod in pods if not pod.spec.node_name}
            self._unbound_version = self._api.store.version
        return self._unbound.get(uid)

    def _is_gated(self, pod: Pod) -> bool:
        if pod.spec.resource_claims:  # they may not be there yet
            return not self.view(pod.spec.scheduler_name).pre_enqueue(pod).ok
        return bool(pod.spec.scheduling_gates) and self._release.enabled("PodSchedulingReadiness")

    def _attempt(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        waiting = self._waiting[uid]
        waiting.attempts += 1
        waiting.tried_at, waiting.moved, waiting.patient = self._seconds(), False, False
        view = self.view(pod.spec.scheduler_name)
        decision = view.schedule(deepcopy(pod))
        self._answer(pod, view, decision)

    def _answer(self, pod: Pod, view: Scheduler, decision: Decision) -> None:
        """What follows from a cycle: the pod is bound, held by a Permit plugin, or waits."""
        self.decisions[pod.metadata.uid] = decision
        waiting = self._waiting[pod.metadata.uid]
        binding = decision.binding
        if decision.suggested_host and binding is not None and binding.waits:
            waiting.held = True
            self._held[pod.metadata.uid] = view, binding.info.pod
            for other in self._views.values():
                if other is not view:
                    other.add_pod(binding.info.pod)
            return
        waiting.held = False
        if decision.suggested_host:
            view.remove_pod(pod)  # the copy that the cycle assumed gives way to the bound pod
            self._bind(pod, decision.suggested_host)
            return
        refused_by = decision.unschedulable_plugins if binding is None else [binding.status.plugin]
        waiting.rejected_by = frozenset(refused_by)
        if decision.failed:  # after an error it is tried again, but never before its back-off is over
            waiting.moved = waiting.patient = True
        if binding is not None:
            # The place that it held is free again, for others; cycles take no time here, so that two pods which are
            # both refused would make way for each other for ever if they did not sit out their back-off.
            for neighbour in self._waiting.values():
                if neighbour is not waiting:
                    neighbour.moved = neighbour.patient = True
        self._failed(pod, decision)

    def allow(self, pod: Pod) -> None:
        """Let a pod go on that a Permit plugin holds.

        Raises:
            KitError: none does.
        """
        view, _ = self._take_held(pod)
        self._answer(pod, view, view.allow(pod))

    def reject(self, pod: Pod, reason: str = "rejected while waiting on permit") -> None:
        """Refuse a pod that a Permit plugin holds: it loses its place and waits again.

        Raises:
            KitError: none does.
        """
        view, _ = self._take_held(pod)
        self._answer(pod, view, view.reject(pod, reason))

    def _take_held(self, pod: Pod) -> tuple[Scheduler, Pod]:
        found = self._held.get(pod.metadata.uid)
        if found is None:
            raise KitError(f"pod {pod.key}: no Permit plugin holds it")
        self._let_go(pod.metadata.uid, besides=found[0])
        return found

    def _let_go(self, uid: str, besides: Scheduler | None = None) -> None:
        """A held pod's place is free again in every view."""
        held = self._held.pop(uid, None)
        for view in self._views.values() if held is not None else ():
            if held is not None and view is not besides:
                view.remove_pod(held[1])

    def _bind(self, pod: Pod, node: str) -> None:
        bound = self._api.bind(pod.name, pod.namespace, node)
        conditions = [c for c in bound.status.conditions if c.type != "PodScheduled"]
        scheduled = Condition(type="PodScheduled", status="True", last_transition_time=self._api.store.now())
        bound.status.conditions = [*conditions, scheduled]
        bound = self._api.update_status(bound)
        record(self._api, bound, "Normal", "Scheduled", f"Successfully assigned {pod.key} to {node}")

    def _failed(self, pod: Pod, decision: Decision) -> None:
        changed = deepcopy(pod)
        standing = next((c for c in pod.status.conditions if c.type == "PodScheduled"), None)
        failed = Condition(type="PodScheduled", status="False", reason="Unschedulable", message=decision.message)
        same = standing is not None and standing.status == failed.status
        failed.last_transition_time = standing.last_transition_time if same and standing else self._api.store.now()
        changed.status.conditions = [*(c for c in pod.status.conditions if c.type != "PodScheduled"), failed]
        if decision.preemption is not None:
            changed.status.nominated_node_name = decision.nominated or pod.status.nominated_node_name
        if changed.status.nominated_node_name != pod.status.nominated_node_name:
            self._views.clear()
        if changed.status != pod.status:
            self._api.update_status(changed)
        record(self._api, pod, "Warning", "FailedScheduling", decision.message)
        for victim in decision.victims:
            self._preempt(victim, pod, decision.nominated)

    def _preempt(self, victim: Pod, by: Pod, node: str) -> None:
        try:
            standing = self._api.store.get(Pod, victim.name, victim.namespace)
        except NotFound:
            return
        message = f"{by.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        target = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=message)
        target.last_transition_time = self._api.store.now()
        standing.status.conditions = [*standing.status.conditions, target]
        self._api.update_status(standing)
        record(self._api, standing, "Normal", "Preempted", f"Preempted by pod {by.metadata.uid} on node {node}")
        self._api.delete(Pod, victim.name, victim.namespace, grace=None)

    # The scheduler's view.

    def view(self, name: str = DEFAULT_SCHEDULER) -> Scheduler:
        """A profile's scheduler with the cluster as it stands."""
        if name not in self._views:
            made = self._views[name] = self._make(name, self._api.store.list(Node, copy=False))
            for _, assumed in self._held.values():
                made.add_pod(assumed)
        return self._views[name]

    def _make(self, name: str, nodes: list[Node], but: str = "") -> Scheduler:
        store = self._api.store
        pods = [pod for pod in store.list(Pod, copy=False) if not but or pod.metadata.uid != but]
        return Scheduler(
            nodes,
            [pod for pod in pods if pod.spec.node_name],
            release=self._release,
            profile=self._profiles[name],
            seed=self._seed,
            namespaces=store.list("Namespace", copy=False),
            services=store.list("Service", copy=False),
            replication_controllers=store.list("ReplicationController", copy=False),
            replica_sets=store.list("ReplicaSet", copy=False),
            stateful_sets=store.list("StatefulSet", copy=False),
            budgets=store.list("PodDisruptionBudget", copy=False),
            volumes=[obj for kind in _STORAGE for obj in store.list(kind, copy=False)],
            extenders=self._extenders,
            claims=self._claims,
            nominated=[pod for pod in pods if pod.status.nominated_node_name and not pod.spec.node_name],
        )

    def explain(self, pod: Pod, more: list[Node] | None = None) -> Decision:
        """What the scheduler would decide for a pod now; nothing is changed.

        Args:
            pod: any pod, of the cluster or not; one that stands on a node is looked at as if it did not.
            more: nodes that there are not (yet).
        """
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
        if name not in self._profiles:
            raise KitError(f"no scheduler {name!r}; there are: {', '.join(self._profiles)}")
        if not more and pod.metadata.uid not in self._placed:
            return self.view(name).explain(pod)
        asked = deepcopy(pod)
        if pod.metadata.uid in self._placed:
            asked.spec.node_name = ""
        nodes = [*self._api.store.list(Node, copy=False), *(more or ())]
        return self._make(name, nodes, but=pod.metadata.uid).explain(asked)


def profiles(configuration: Profile | Mapping[str, Any] | None, own: tuple[Any, ...] = ()) -> dict[str, Profile]:
    """Scheduler name -> profile.

    Raises:
        KitError: for a configuration that is none, or two profiles of one name.
    """
    if configuration is None:
        return {DEFAULT_SCHEDULER: Profile.default()}
    if isinstance(configuration, Profile):
        return {configuration.name: configuration}
    if not isinstance(configuration, Mapping):
        raise KitError("scheduler: a Profile or a KubeSchedulerConfiguration (a mapping) is expected")
    return Profile.load(configuration, own=own)


def _same(before: Pod, now: Pod) -> bool:
    """Whether nothing has changed that the scheduler looks at."""
    return (
        before.spec == now.spec
        and before.metadata.labels == now.metadata.labels
        and before.metadata.deletion_timestamp == now.metadata.deletion_timestamp
    )
