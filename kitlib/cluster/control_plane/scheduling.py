"""kube-scheduler in a cluster: the scheduling loop connected to the API server.

Watch events of the store call the loop's event handlers, and the loop's decisions are written through the API server.
The loop, its queue and its rules are those of `kitlib.scheduler`.

Source: pkg/scheduler eventhandlers.go (addAllEventHandlers), plugins/defaultbinder, util PatchPodStatus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from kitlib.api.core import Node, Pod, PodExtendedResourceClaimStatus
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import Condition, KubeObject
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission import binding
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.requester import SCHEDULER, requested_by
from kitlib.apiserver.store.events import record
from kitlib.apiserver.store.store import WatchEvent
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    PV,
    PVC,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    ActionType,
    ClusterEvent,
)
from kitlib.scheduler.framework.status import Status
from kitlib.scheduler.profile import DEFAULT_SCHEDULER, Profile
from kitlib.scheduler.schedule_one import SchedulingLoop
from kitlib.scheduler.scheduler import Scheduler

if TYPE_CHECKING:  # loaded with the first extender, volume or claim
    from kitlib.api.devices import ResourceClaim
    from kitlib.scheduler.extender import Extender
    from kitlib.scheduler.framework.dra_manager import DRAManager, Known
    from kitlib.scheduler.framework.volumes import Volumes

_OBJECTS = {
    "Namespace": "namespaces",
    "Service": "services",
    "ReplicationController": "replication_controllers",
    "ReplicaSet": "replica_sets",
    "StatefulSet": "stateful_sets",
    "PodDisruptionBudget": "budgets",
}
"""The kinds that plugins read, with the scheduler's names for them."""
_SELECTOR_ONLY = ("ReplicationController", "ReplicaSet", "StatefulSet")
"""The kinds of which plugins read only the selector, which never changes."""
_STORAGE = {
    "PersistentVolumeClaim": PVC,
    "PersistentVolume": PV,
    "StorageClass": STORAGE_CLASS,
    "CSINode": CSI_NODE,
    "CSIDriver": CSI_DRIVER,
    "CSIStorageCapacity": CSI_STORAGE_CAPACITY,
    "VolumeAttachment": VOLUME_ATTACHMENT,
}
_DEVICES = ("ResourceClaim", "DeviceClass", "ResourceSlice", "DeviceTaintRule")
_ACTIONS = {"ADDED": ActionType.ADD, "MODIFIED": ActionType.UPDATE, "DELETED": ActionType.DELETE}


class _Clock:
    """The cluster's clock in the milliseconds of the queue."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds

    def now_ms(self) -> int:
        return round(self._seconds() * 1000)


class ClusterScheduler:
    """The scheduler of one cluster.

    Args:
        api: the cluster's API server.
        release: the Kubernetes release to follow.
        configuration: a Profile, a KubeSchedulerConfiguration, or None for the defaults.
        seed: the seed of the choice between equal nodes; None = the first by name.
        seconds: returns the time of the cluster's clock, in seconds.
        own: the user's custom plugins.

    Attributes:
        loop: the scheduling loop, with its queue and its decisions.
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
        self._api, self._release, self._seed = api, release, seed
        self._profiles = profiles(configuration, own)
        asked = configuration.get("extenders") if isinstance(configuration, Mapping) else None
        self._extenders: list[Extender] = []
        if asked:
            from kitlib.scheduler.extender import Extender

            self._extenders = [Extender.from_configuration(one) for one in asked]
        self._pods: dict[str, Pod] = {}
        self._changed: set[str] = set()
        claims = [obj for kind in _DEVICES for obj in api.store.list(kind, copy=False)]
        self.loop = SchedulingLoop(self._make([], claims), self, _Clock(seconds))
        self.loop.scheduler.context.connect(storage=self._connect_volumes, devices=self._connect_claims)
        for kind in (Node, Pod):  # replay existing objects
            for standing in api.store.list(kind, copy=False):
                self._handle(WatchEvent("ADDED", standing))
        api.store.subscribe(self._handle)

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """The last Decision about each pod, by UID."""
        return self.loop.decisions

    # Handlers of watch events.

    def _handle(self, event: WatchEvent) -> None:
        obj, handlers = event.object, self.loop.handlers
        if isinstance(obj, Pod):
            self._handle_pod(event.type, obj)
        elif isinstance(obj, Node):
            old = self.loop.scheduler.node(obj.name)
            if event.type == "DELETED":
                handlers.delete_node(obj)
            elif old is None:
                handlers.add_node(obj)
            else:
                handlers.update_node(old, obj)
        elif type(obj) is KubeObject:
            return  # no plugin reads custom objects
        elif obj.kind in _DEVICES:
            device = cast("Known", obj)
            (handlers.delete_device_object if event.type == "DELETED" else handlers.put_device_object)(device)
        elif obj.kind in _OBJECTS and (event.type != "MODIFIED" or obj.kind not in _SELECTOR_ONLY):
            self._changed.add(obj.kind)
        elif obj.kind in _STORAGE:
            self._changed.add(obj.kind)
            happened = ClusterEvent(_STORAGE[obj.kind], _ACTIONS[event.type])
            gone = event.type == "DELETED"
            handlers.move_all(happened, obj if gone else None, None if gone else obj, obj.name)

    def _handle_pod(self, change: str, pod: Pod) -> None:
        old = self._pods.get(pod.metadata.uid)
        if change == "DELETED":
            self._pods.pop(pod.metadata.uid, None)
            self.loop.handlers.delete_pod(old or pod)
            self.loop.decisions.pop(pod.metadata.uid, None)
            return
        self._pods[pod.metadata.uid] = pod
        if old is None:
            self.loop.handlers.add_pod(pod)
        else:
            self.loop.handlers.update_pod(old, pod)

    def refresh(self) -> None:
        """Update the objects that plugins read besides pods and nodes."""
        changed, self._changed = self._changed, set()
        if changed:
            self.loop.scheduler.set_objects(**self._objects(changed))

    def _objects(self, kinds: set[str]) -> dict[str, Any]:
        """Return the objects of these kinds, by the scheduler's names of the kinds."""
        store = self._api.store
        found: dict[str, Any] = {_OBJECTS[kind]: store.list(kind, copy=False) for kind in kinds & _OBJECTS.keys()}
        if kinds & _STORAGE.keys():
            found["volumes"] = [obj for kind in _STORAGE for obj in store.list(kind, copy=False)]
        return found

    # The loop and its waiting pods.

    def sync(self) -> bool:
        """Try every pod in the active queue, in order of priority.

        Returns:
            Whether any pod was tried.
        """
        tried = False
        while self.due():
            self.refresh()
            with requested_by(SCHEDULER):
                self.loop.schedule_one()
            tried = True
        return tried

    def due(self) -> bool:
        """Return whether a pod's back-off or timeout has ended, so that there is work although nothing has changed."""
        return self.loop.is_due()

    def allow(self, pod: Pod) -> None:
        """Allow a pod that waits on a Permit plugin.

        Raises:
            KitError: the pod does not wait.
        """
        self.loop.allow(pod)

    def reject(self, pod: Pod, reason: str = "rejected while waiting on permit") -> None:
        """Reject a pod that waits on a Permit plugin: it loses its reservation and returns to the queue.

        Raises:
            KitError: the pod does not wait.
        """
        self.loop.reject(pod, reason)

    # Implementation of the loop's interface to the cluster.

    def bind(self, pod: Pod, node: str) -> None:
        binding.bind(self._api, pod.name, pod.namespace, node)

    def patch_pod_status(self, pod: Pod, condition: Condition | None, nominated_node_name: str) -> None:
        changed = deepcopy(pod)
        changed.status.nominated_node_name = nominated_node_name
        if condition is not None:
            new = deepcopy(condition)
            standing = next((c for c in pod.status.conditions if c.type == new.type), None)
            same = standing is not None and standing.status == new.status
            # The transition time changes only with the status, so a repeated failure does not change the pod.
            new.last_transition_time = standing.last_transition_time if same and standing else self._api.store.now()
            new.observed_generation = self._tracked(pod)
            changed.status.conditions = [*(c for c in pod.status.conditions if c.type != new.type), new]
        if changed.status != pod.status:
            self._api.update_status(changed)

    def preempt_pod(self, victim: Pod, condition: Condition) -> None:
        try:
            standing = self._api.store.get(Pod, victim.name, victim.namespace)
        except NotFound:
            return
        target = deepcopy(condition)
        target.last_transition_time = self._api.store.now()
        target.observed_generation = self._tracked(standing)
        standing.status.conditions = [*standing.status.conditions, target]
        # The condition first, so that controllers (podFailurePolicy) see the reason on the deleted pod.
        self._api.update_status(standing)
        self._api.delete(Pod, victim.name, victim.namespace, grace=None)

    def _tracked(self, pod: Pod) -> int | None:
        """Return the observed generation of a condition. Source: CalculatePodConditionObservedGeneration."""
        on = self._api.release.enabled("PodObservedGenerationTracking")
        return pod.metadata.generation or None if on else None

    def record_event(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        record(self._api, pod, kind, reason, message, reporter=pod.spec.scheduler_name)

    def trace(self, reason: str, about: str, message: str) -> None:
        """Do nothing: the API does not show steps of the queue."""

    # Decisions without effect.

    def pre_enqueue(self, pod: Pod) -> Status:
        """Run the PreEnqueue plugins for a pod of one of the profiles and return their status."""
        self.refresh()
        return self.loop.scheduler.pre_enqueue(pod)

    def explain(self, pod: Pod, more: list[Node] | None = None) -> Decision:
        """Return the decision that the scheduler would make for a pod now; nothing is changed.

        Args:
            pod: a pod, which need not be in the cluster; a bound pod is treated as unbound.
            more: additional nodes that do not exist yet.

        Raises:
            KitError: no profile has the pod's scheduler name.
        """
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
        if name not in self._profiles:
            raise KitError(f"no scheduler {name!r}; valid values: {', '.join(self._profiles)}")
        scheduler = self.loop.scheduler
        placed = pod.metadata.uid in scheduler.pods
        if not more and not placed:
            self.refresh()
            return scheduler.explain(pod)
        # The loop's snapshot includes the pod itself: a bound pod would compete with itself for its node.
        asked = deepcopy(pod)
        if placed:
            asked.spec.node_name = ""
        nodes = [*self._api.store.list(Node, copy=False), *(more or ())]
        return self._make(nodes, scheduler.context.devices or (), but=pod.metadata.uid).explain(asked)

    def _connect_volumes(self, volumes: Volumes) -> None:
        volumes.assumed.write = self._api.store.update

    def _connect_claims(self, claims: DRAManager) -> None:
        claims.write = partial(_put_allocation, self._api)
        claims.create = partial(_make_extended_claim, self._api)
        claims.remove = partial(_remove_extended_claim, self._api)

    def _make(self, nodes: list[Node], claims: DRAManager | Iterable[object], but: str | None = None) -> Scheduler:
        """Return a scheduler with the cluster's objects.

        Args:
            nodes: the nodes of its snapshot.
            claims: the claims, classes and slices of devices.
            but: the UID of a pod to leave out of the snapshot; None = a snapshot without pods.
        """
        pods = [] if but is None else [pod for pod in self._pods.values() if pod.metadata.uid != but]
        made = Scheduler(
            nodes,
            [pod for pod in pods if pod.spec.node_name],
            release=self._release,
            profile=self._profiles,
            seed=self._seed,
            extenders=self._extenders,
            claims=claims,
            nominated=[pod for pod in pods if pod.status.nominated_node_name and not pod.spec.node_name],
            **self._objects({*_OBJECTS, *_STORAGE}),
        )
        storage = self.loop.scheduler.context.storage if but is not None else None
        if storage is not None:  # volumes assumed for unbound pods are not free for this pod either
            made.context.volumes.assumed = storage.assumed
        return made


def profiles(configuration: Profile | Mapping[str, Any] | None, own: tuple[Any, ...] = ()) -> dict[str, Profile]:
    """Return the profiles of a configuration by scheduler name.

    Raises:
        KitError: the configuration is invalid, or two profiles have the same name.
    """
    if configuration is None:
        return {DEFAULT_SCHEDULER: Profile.default()}
    if isinstance(configuration, Profile):
        return {configuration.name: configuration}
    if not isinstance(configuration, Mapping):
        raise KitError("scheduler: must be a Profile or a KubeSchedulerConfiguration (a mapping)")
    return Profile.load(configuration, own=own, adaptive=True)


# The module of the claims' controller is loaded only with the first claim that the scheduler writes.


def _put_allocation(api: APIServer, claim: ResourceClaim) -> ResourceClaim:
    from kitlib.controllers.resourceclaim import put_allocation

    return put_allocation(api, claim)


def _make_extended_claim(api: APIServer, claim: ResourceClaim, status: PodExtendedResourceClaimStatus) -> ResourceClaim:
    from kitlib.controllers.resourceclaim import make_extended_claim

    return make_extended_claim(api, claim, status)


def _remove_extended_claim(api: APIServer, claim: ResourceClaim) -> None:
    from kitlib.controllers.resourceclaim import remove_extended_claim

    remove_extended_claim(api, claim)
