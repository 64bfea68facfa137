"""The table of controllers, with module and watched objects; each is loaded for the first of these objects.

A controller that is started late receives every existing object, as every controller does at its start, so that it
works as if it had always run. A new controller is one line of this table.

Source: cmd/kube-controller-manager/app/controller_descriptor.go (NewControllerDescriptors).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kitlib.api.core import Node, Pod
from kitlib.api.meta import KubeObject

if TYPE_CHECKING:
    from kitlib.controllers.controller import Controller

Wants = Callable[[Any], bool]


def _any(obj: KubeObject) -> bool:
    return True


def _has_ephemeral_volume(pod: Pod) -> bool:
    return any(volume.ephemeral is not None for volume in pod.spec.volumes)


def _has_claims(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims)


def _has_finalizers(pod: Pod) -> bool:
    """Return whether a pod has finalizers; the Job controller also releases tracked pods without a Job."""
    return bool(pod.metadata.finalizers)


def _is_disrupted(pod: Pod) -> bool:
    return any(condition.type == "DisruptionTarget" for condition in pod.status.conditions)


def _evicts(node: Node) -> bool:
    return any(taint.effect == "NoExecute" for taint in node.spec.taints)


class ControllerDescriptor(NamedTuple):
    """An entry of the table of controllers.

    Attributes:
        name: the controller's name.
        module, class_name: a module of this package, and the name of the class there.
        starts: the predicate, by kind, of objects that need the controller; {} = it runs from the start.
    """

    name: str
    module: str
    class_name: str
    starts: Mapping[str, Wants] = {}

    def wanted_by(self, kind: str, obj: KubeObject) -> bool:
        """Return whether an object needs the controller to run."""
        wants = self.starts.get(kind)
        return wants is not None and wants(obj)

    def load(self) -> type[Controller]:
        """Return the controller's class."""
        from importlib import import_module

        found: type[Controller] = getattr(import_module(f"{__package__}.{self.module}"), self.class_name)
        return found


def _of(*kinds: str, **wants: Wants) -> Mapping[str, Wants]:
    return {**dict.fromkeys(kinds, _any), **wants}


CONTROLLERS: tuple[ControllerDescriptor, ...] = (
    ControllerDescriptor("namespace-controller", "namespace", "NamespaceController"),
    ControllerDescriptor("garbage-collector-controller", "garbagecollector", "GarbageCollector"),
    ControllerDescriptor("pod-garbage-collector-controller", "podgc", "PodGCController"),
    ControllerDescriptor("node-controller", "node_lifecycle", "NodeLifecycleController"),
    ControllerDescriptor("ttl-controller", "ttl", "TTLController"),
    ControllerDescriptor("deployment-controller", "deployment", "DeploymentController", _of("Deployment")),
    ControllerDescriptor("replicaset-controller", "replicaset", "ReplicaSetController", _of("ReplicaSet")),
    ControllerDescriptor(
        "replication-controller", "replicaset", "ReplicationControllerController", _of("ReplicationController")
    ),
    ControllerDescriptor("statefulset-controller", "statefulset", "StatefulSetController", _of("StatefulSet")),
    ControllerDescriptor("daemonset-controller", "daemon", "DaemonSetController", _of("DaemonSet")),
    ControllerDescriptor(
        "ephemeral_volume", "volume.ephemeral", "EphemeralVolumeController", _of(Pod=_has_ephemeral_volume)
    ),
    ControllerDescriptor(
        "persistentvolume-controller",
        "volume.persistentvolume",
        "PersistentVolumeController",
        _of("PersistentVolume", "PersistentVolumeClaim"),
    ),
    ControllerDescriptor("volume_expand", "volume.expand", "ExpandController", _of("PersistentVolumeClaim")),
    ControllerDescriptor(
        "persistentvolumeclaim-protection-controller",
        "volume.protection",
        "ClaimProtectionController",
        _of("PersistentVolumeClaim"),
    ),
    ControllerDescriptor(
        "persistentvolume-protection-controller",
        "volume.protection",
        "VolumeProtectionController",
        _of("PersistentVolume"),
    ),
    ControllerDescriptor(
        "resource-claim-controller",
        "resourceclaim",
        "ResourceClaimController",
        _of("ResourceClaim", Pod=_has_claims),
    ),
    ControllerDescriptor("taint-eviction-controller", "tainteviction", "TaintEvictionController", _of(Node=_evicts)),
    ControllerDescriptor(
        "device-taint-eviction-controller",
        "device_taint_eviction",
        "DeviceTaintEvictionController",
        _of("ResourceClaim", "DeviceTaintRule"),
    ),
    ControllerDescriptor("controllermanager", "disruption", "DisruptionController", _of("PodDisruptionBudget")),
    ControllerDescriptor("stale-disruption", "stale_disruption", "StaleDisruptionController", _of(Pod=_is_disrupted)),
    ControllerDescriptor("resourcequota-controller", "resourcequota", "ResourceQuotaController", _of("ResourceQuota")),
    ControllerDescriptor("job-controller", "job", "JobController", _of("Job", Pod=_has_finalizers)),
    ControllerDescriptor("cronjob-controller", "cronjob", "CronJobController", _of("CronJob")),
    ControllerDescriptor("ttl-after-finished-controller", "ttlafterfinished", "TTLAfterFinishedController", _of("Job")),
    ControllerDescriptor("endpoint-controller", "endpoints", "EndpointsController", _of("Service")),
    ControllerDescriptor(
        "endpointslice-controller.k8s.io", "endpointslices", "EndpointSliceController", _of("Service")
    ),
    ControllerDescriptor(
        "endpointslicemirroring-controller.k8s.io",
        "endpointslices",
        "EndpointSliceMirroringController",
        _of("Endpoints", "EndpointSlice"),
    ),
    ControllerDescriptor("service-account-controller", "serviceaccounts", "ServiceAccountsController"),
    ControllerDescriptor("serviceaccount-token-controller", "serviceaccounttokens", "TokensController", _of("Secret")),
    ControllerDescriptor(
        "root-ca-certificate-publisher-controller",
        "rootcacertpublisher",
        "RootCACertificatePublisher",
        _of("ConfigMap"),
    ),
    ControllerDescriptor(
        "horizontal-pod-autoscaler", "podautoscaler", "HorizontalController", _of("HorizontalPodAutoscaler")
    ),
    ControllerDescriptor(
        "crd-naming-condition-controller",
        "customresources",
        "CustomResourceDefinitionController",
        _of("CustomResourceDefinition"),
    ),
    ControllerDescriptor(
        "clusterrole-aggregation-controller",
        "clusterroleaggregation",
        "ClusterRoleAggregationController",
        _of("ClusterRole"),
    ),
    ControllerDescriptor(
        "api-priority-and-fairness-config-consumer-v1",
        "flowcontrol",
        "FlowControlController",
        _of("FlowSchema", "PriorityLevelConfiguration"),
    ),
)
"""The controllers in running order; taint eviction follows the DaemonSet controller, which deletes such pods too."""
OF_API_SERVER = ("crd-naming-condition-controller", "api-priority-and-fairness-config-consumer-v1")
"""The controllers that run in kube-apiserver. Source: apiextensions-apiserver apiserver.go; util/flowcontrol."""


def descriptors_of(*, manager: bool) -> tuple[ControllerDescriptor, ...]:
    """Return the controllers of a cluster with or without a kube-controller-manager of the kit."""
    return tuple(one for one in CONTROLLERS if manager or one.name in OF_API_SERVER)
