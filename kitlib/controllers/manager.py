"""The controller manager: it hands every change of the store to the controllers that watch such objects, and runs them.

Controllers work in rounds until no queue has a key that is due. An error in one object is kept, logged and tried again
after a back-off; it stops neither the other objects nor the other controllers.

Source: cmd/kube-controller-manager/app (NewControllerDescriptors).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from kitlib.api.guard import Guard, described
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.apiserver.store.kinds import watched_kind
from kitlib.apiserver.store.store import WatchEvent
from kitlib.controllers.clusterroleaggregation import ClusterRoleAggregationController
from kitlib.controllers.controller import ANY_KIND, Controller, Handler, Key, Usages
from kitlib.controllers.cronjob import CronJobController
from kitlib.controllers.customresources import CustomResourceDefinitionController
from kitlib.controllers.daemon import DaemonSetController
from kitlib.controllers.deployment import DeploymentController
from kitlib.controllers.device_taint_eviction import DeviceTaintEvictionController
from kitlib.controllers.disruption import DisruptionController
from kitlib.controllers.endpoints import EndpointsController
from kitlib.controllers.endpointslices import EndpointSliceController, EndpointSliceMirroringController
from kitlib.controllers.flowcontrol import FlowControlController
from kitlib.controllers.garbagecollector import GarbageCollector
from kitlib.controllers.informers import NOT_INDEXED, Change, Informers
from kitlib.controllers.job import JobController
from kitlib.controllers.namespace import NamespaceController
from kitlib.controllers.node_lifecycle import NodeLifecycleController
from kitlib.controllers.podautoscaler import HorizontalController
from kitlib.controllers.podgc import PodGCController
from kitlib.controllers.replicaset import ReplicaSetController, ReplicationControllerController
from kitlib.controllers.resourceclaim import ResourceClaimController
from kitlib.controllers.resourcequota import ResourceQuotaController
from kitlib.controllers.rootcacertpublisher import RootCACertificatePublisher
from kitlib.controllers.serviceaccounts import ServiceAccountsController
from kitlib.controllers.serviceaccounttokens import TokensController
from kitlib.controllers.stale_disruption import StaleDisruptionController
from kitlib.controllers.statefulset import StatefulSetController
from kitlib.controllers.tainteviction import TaintEvictionController
from kitlib.controllers.ttl import TTLController
from kitlib.controllers.ttlafterfinished import TTLAfterFinishedController
from kitlib.controllers.volume.ephemeral import EphemeralVolumeController
from kitlib.controllers.volume.expand import ExpandController
from kitlib.controllers.volume.persistentvolume import PersistentVolumeController
from kitlib.controllers.volume.protection import ClaimProtectionController, VolumeProtectionController
from kitlib.controllers.workqueue import WorkQueue

MAX_ROUNDS = 500
ERRORS_KEPT = 100

CONTROLLERS: tuple[type[Controller], ...] = (
    NamespaceController,
    GarbageCollector,
    PodGCController,
    NodeLifecycleController,
    TTLController,
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
    EphemeralVolumeController,
    PersistentVolumeController,
    ExpandController,
    ClaimProtectionController,
    VolumeProtectionController,
    ResourceClaimController,
    TaintEvictionController,
    DeviceTaintEvictionController,
    DisruptionController,
    StaleDisruptionController,
    ResourceQuotaController,
    JobController,
    CronJobController,
    TTLAfterFinishedController,
    EndpointsController,
    EndpointSliceController,
    EndpointSliceMirroringController,
    ServiceAccountsController,
    TokensController,
    RootCACertificatePublisher,
    HorizontalController,
    CustomResourceDefinitionController,
    ClusterRoleAggregationController,
    FlowControlController,
)
"""In the order in which they run; taint eviction comes behind the DaemonSet controller, which deletes such pods too."""


class ControllerManager:
    """The controllers of one cluster.

    Attributes:
        api: the API server.
        informers: what all controllers read.
        errors: the last defects: controller, key, exception. Empty unless a controller is wrong.
        metrics: what containers use now: (namespace, pod) -> container -> (CPUs, bytes of memory).
        is_restless: whether the last run was ended before every controller was at rest.

    Args:
        api: existing objects are handed to the controllers as new ones.
        kinds: the controllers' classes.
    """

    def __init__(self, api: APIServer, kinds: Iterable[type[Controller]] = CONTROLLERS) -> None:
        self.api = api
        self.informers = Informers(api.store)
        self.metrics: Callable[[], Usages] = dict
        self.is_restless = False
        self.errors: deque[tuple[str, Key, Exception]] = deque(maxlen=ERRORS_KEPT)
        self._guard: Guard[Change] = Guard("controller-manager", self._failed)
        self.controllers = [kind(self) for kind in kinds]
        self._queues = [controller.queue for controller in self.controllers]
        self._watching = [controller.handlers() for controller in self.controllers]
        self._handlers: dict[str, list[Handler]] = {}
        existing, self.informers.existing = self.informers.existing, []
        for obj in existing:
            self._notify(Change("ADDED", None, obj))
        self._unsubscribe: Callable[[], None] = api.store.subscribe(self._on_change)

    def _on_change(self, event: WatchEvent) -> None:
        if watched_kind(event.object) not in NOT_INDEXED:
            self._notify(self.informers.apply(event))

    def _notify(self, change: Change) -> None:
        kind = watched_kind(change.new)
        handlers = self._handlers.get(kind)
        if handlers is None:
            found = (watching.get(kind) or watching.get(ANY_KIND) for watching in self._watching)
            handlers = self._handlers[kind] = [one for one in found if one is not None]
        for handler in handlers:
            try:
                handler(change)
            except Exception as error:
                self._guard.caught(change, error)

    def _failed(self, change: Change, error: Exception) -> None:
        """A defect in the work on one change: the object says so, unless it is an event itself."""
        self.errors.append(("controller-manager", (change.new.namespace, change.new.name), error))
        if watched_kind(change.new) not in NOT_INDEXED:
            record(self.api, change.new, "Warning", "InternalError", described(error), "controller-manager")

    def controller(self, name: str) -> Controller:
        """The controller with this name."""
        return next(one for one in self.controllers if one.name == name)

    def is_due(self) -> bool:
        """Whether a controller has something to do now."""
        return any(map(WorkQueue.is_due, self._queues))

    def run(self) -> bool:
        """Let all controllers work until none has anything to do, at most 500 rounds.

        Returns:
            Whether the store has changed.
        """
        began = self.api.store.version
        self.is_restless = False
        for _ in range(MAX_ROUNDS):
            busy = [controller.process() for controller in self.controllers if controller.queue.is_due()]
            if not any(busy):
                break
        else:
            self.is_restless = True
        return self.api.store.version != began

    def close(self) -> None:
        """Watch the store no longer."""
        self._unsubscribe()


def reconcile(api: APIServer) -> bool:
    """Let all controllers of an API server without a control plane work until none has anything to do.

    Returns:
        Whether the store has changed.
    """
    manager = ControllerManager(api)
    try:
        return manager.run()
    finally:
        manager.close()
