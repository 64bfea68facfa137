"""kube-controller-manager: each controller brings one kind of object to its desired state.

Source: cmd/kube-controller-manager, pkg/controller.
"""

from __future__ import annotations

from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.controller import Controller
from kitlib.cluster.controllers.cronjob import CronJobController
from kitlib.cluster.controllers.daemon import DaemonSetController
from kitlib.cluster.controllers.deployment import DeploymentController
from kitlib.cluster.controllers.disruption import DisruptionController
from kitlib.cluster.controllers.endpoints import EndpointsController, EndpointSliceController
from kitlib.cluster.controllers.garbagecollector import GarbageCollector
from kitlib.cluster.controllers.job import JobController
from kitlib.cluster.controllers.manager import ControllerManager
from kitlib.cluster.controllers.namespace import NamespaceController
from kitlib.cluster.controllers.node_lifecycle import NodeLifecycleController
from kitlib.cluster.controllers.podautoscaler import HorizontalController
from kitlib.cluster.controllers.podgc import PodGCController
from kitlib.cluster.controllers.replicaset import ReplicaSetController, ReplicationControllerController
from kitlib.cluster.controllers.resourceclaim import ResourceClaimController
from kitlib.cluster.controllers.resourcequota import ResourceQuotaController
from kitlib.cluster.controllers.serviceaccounts import ServiceAccountsController
from kitlib.cluster.controllers.statefulset import StatefulSetController
from kitlib.cluster.controllers.tainteviction import TaintEvictionController
from kitlib.cluster.controllers.ttlafterfinished import TTLAfterFinishedController
from kitlib.cluster.controllers.volume.ephemeral import EphemeralVolumeController
from kitlib.cluster.controllers.volume.persistentvolume import PersistentVolumeController
from kitlib.cluster.controllers.volume.protection import ClaimProtectionController, VolumeProtectionController

CONTROLLERS: tuple[type[Controller], ...] = (
    NamespaceController,
    GarbageCollector,
    PodGCController,
    NodeLifecycleController,
    DeploymentController,
    ReplicaSetController,
    ReplicationControllerController,
    StatefulSetController,
    DaemonSetController,
    EphemeralVolumeController,
    PersistentVolumeController,
    ClaimProtectionController,
    VolumeProtectionController,
    ResourceClaimController,
    TaintEvictionController,
    DisruptionController,
    ResourceQuotaController,
    JobController,
    CronJobController,
    TTLAfterFinishedController,
    EndpointsController,
    EndpointSliceController,
    ServiceAccountsController,
    HorizontalController,
)
"""In the order in which they run; taint eviction comes behind the DaemonSet controller, which deletes such pods too."""


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
