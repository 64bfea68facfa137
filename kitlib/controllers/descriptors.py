"""The controllers of a cluster: where each is, and which objects it works for; it is loaded with the first of them.

A controller that is started late is told of every object that exists, as every controller is at its start, so it works
as if it had been there. A new controller is one line here.

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
    """Also a tracked pod without a Job is released."""
    return bool(pod.metadata.finalizers)


def _is_disrupted(pod: Pod) -> bool:
    return any(condition.type == "DisruptionTarget" for condition in pod.status.conditions)


def _evicts(node: Node) -> bool:
    return any(taint.effect == "NoExecute" for taint in node.spec.taints)


class Descriptor(NamedTuple):
    """One controller.

    Attributes:
        name: the controller's.
        module, class_name: where its class is: a module of this package, and a name there.
        starts: kind of an object -> whether such an object needs the controller; {} = it runs from the start.
    """

    name: str
    module: str
    class_name: str
    starts: Mapping[str, Wants] = {}

    def wanted_by(self, kind: str, obj: KubeObject) -> bool:
        """Whether the controller has to run because of an object."""
        wants = self.starts.get(kind)
        return wants is not None and wants(obj)

    def load(self) -> type[Controller]:
        """The controller's class."""
        from importlib import import_module

        found: type[Controller] = getattr(import_module(f"{__package__}.{self.module}"), self.class_name)
        return found


def _of(*kinds: str, **wants: Wants) -> Mapping[str, Wants]:
    return {**dict.fromkeys(kinds, _any), **wants}


CONTROLLERS: tuple[Descriptor, ...] = (
    Descriptor("namespace-controller", "namespace", "NamespaceController"),
    Descriptor("garbage-collector-controller", "garbagecollector", "GarbageCollector"),
    Descriptor("pod-garbage-collector-controller", "podgc", "PodGCController"),
    Descriptor("node-controller", "node_lifecycle", "NodeLifecycleController"),
    Descriptor("ttl-controller", "ttl", "TTLController"),
    Descriptor("deployment-controller", "deployment", "DeploymentController", _of("Deployment")),
    Descriptor("replicaset-controller", "replicaset", "ReplicaSetController", _of("ReplicaSet")),
    Descriptor("replication-controller", "replicaset", "ReplicationControllerController", _of("ReplicationController")),
    Descriptor("statefulset-controller", "statefulset", "StatefulSetController", _of("StatefulSet")),
    Descriptor("daemonset-controller", "daemon", "DaemonSetController", _of("DaemonSet")),
    Descriptor("ephemeral_volume", "volume.ephemeral", "EphemeralVolumeController", _of(Pod=_has_ephemeral_volume)),
    Descriptor(
        "persistentvolume-controller",
        "volume.persistentvolume",
        "PersistentVolumeController",
        _of("PersistentVolume", "PersistentVolumeClaim"),
    ),
    Descriptor("volume_expand", "volume.expand", "ExpandController", _of("PersistentVolumeClaim")),
    Descriptor(
        "persistentvolumeclaim-protection-controller",
        "volume.protection",
        "ClaimProtectionController",
        _of("PersistentVolumeClaim"),
    ),
    Descriptor(
        "persistentvolume-protection-controller",
        "volume.protection",
        "VolumeProtectionController",
        _of("PersistentVolume"),
    ),
    Descriptor(
        "resource-claim-controller",
        "resourceclaim",
        "ResourceClaimController",
        _of("ResourceClaim", Pod=_has_claims),
    ),
    Descriptor("taint-eviction-controller", "tainteviction", "TaintEvictionController", _of(Node=_evicts)),
    Descriptor(
        "device-taint-eviction-controller",
        "device_taint_eviction",
        "DeviceTaintEvictionController",
        _of("ResourceClaim", "DeviceTaintRule"),
    ),
    Descriptor("controllermanager", "disruption", "DisruptionController", _of("PodDisruptionBudget")),
    Descriptor("stale-disruption", "stale_disruption", "StaleDisruptionController", _of(Pod=_is_disrupted)),
    Descriptor("resourcequota-controller", "resourcequota", "ResourceQuotaController", _of("ResourceQuota")),
    Descriptor("job-controller", "job", "JobController", _of("Job", Pod=_has_finalizers)),
    Descriptor("cronjob-controller", "cronjob", "CronJobController", _of("CronJob")),
    Descriptor("ttl-after-finished-controller", "ttlafterfinished", "TTLAfterFinishedController", _of("Job")),
    Descriptor("endpoint-controller", "endpoints", "EndpointsController", _of("Service")),
    Descriptor("endpointslice-controller.k8s.io", "endpointslices", "EndpointSliceController", _of("Service")),
    Descriptor(
        "endpointslicemirroring-controller.k8s.io",
        "endpointslices",
        "EndpointSliceMirroringController",
        _of("Endpoints", "EndpointSlice"),
    ),
    Descriptor("service-account-controller", "serviceaccounts", "ServiceAccountsController"),
    Descriptor("serviceaccount-token-controller", "serviceaccounttokens", "TokensController", _of("Secret")),
    Descriptor(
        "root-ca-certificate-publisher-controller",
        "rootcacertpublisher",
        "RootCACertificatePublisher",
        _of("ConfigMap"),
    ),
    Descriptor("horizontal-pod-autoscaler", "podautoscaler", "HorizontalController", _of("HorizontalPodAutoscaler")),
    Descriptor(
        "crd-naming-condition-controller",
        "customresources",
        "CustomResourceDefinitionController",
        _of("CustomResourceDefinition"),
    ),
    Descriptor(
        "clusterrole-aggregation-controller",
        "clusterroleaggregation",
        "ClusterRoleAggregationController",
        _of("ClusterRole"),
    ),
    Descriptor(
        "api-priority-and-fairness-config-consumer-v1",
        "flowcontrol",
        "FlowControlController",
        _of("FlowSchema", "PriorityLevelConfiguration"),
    ),
)
"""In the order in which they run; taint eviction comes behind the DaemonSet controller, which deletes such pods too."""
