"""The table of the modules with validation rules; a module is loaded with the first object of one of its kinds.

A module of rules ends with its table `KINDS`. A new kind gets its rules there and its name in `MODULES`.

Source: the Validate and ValidateUpdate of every strategy in pkg/registry.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from kitlib.api.field_errors import Errors
from kitlib.api.meta import KubeObject
from kitlib.apiserver.validation.object_meta import (
    validate_object_meta,
    validate_object_meta_update,
    validate_path_segment_name,
)
from kitlib.apiserver.validation.rules import Create, Rules, Update

MODULES = {
    "admission_policies": (
        "ValidatingAdmissionPolicy",
        "MutatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicyBinding",
    ),
    "autoscaling": ("HorizontalPodAutoscaler",),
    "certificates": ("CertificateSigningRequest", "APIService"),
    "config": ("ConfigMap", "Secret", "ServiceAccount", "Namespace"),
    "controller_revision": ("ControllerRevision",),
    "cron_job": ("CronJob",),
    "custom_resource_definition": ("CustomResourceDefinition",),
    "device_taints": ("DeviceTaintRule",),
    "devices": ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass"),
    "endpoints": ("Endpoints", "EndpointSlice"),
    "events": ("Event",),
    "flow_control": ("FlowSchema", "PriorityLevelConfiguration"),
    "job_update": ("Job",),
    "networking": ("Ingress", "IngressClass", "NetworkPolicy", "IPAddress", "ServiceCIDR"),
    "node": ("Node", "Lease", "RuntimeClass"),
    "persistent_volume": ("PersistentVolume",),
    "persistent_volume_claim": ("PersistentVolumeClaim",),
    "pod_update": ("Pod",),
    "policy": ("PodDisruptionBudget", "PriorityClass"),
    "quota": ("LimitRange", "ResourceQuota"),
    "rbac": ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
    "resource_slices": ("ResourceSlice",),
    "service": ("Service",),
    "storage": (
        "StorageClass",
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ),
    "webhooks": ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
    "workloads": ("ReplicationController", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "PodTemplate"),
}
"""Module of this package -> the kinds of its table."""
_MODULE_OF = {kind: module for module, kinds in MODULES.items() for kind in kinds}


@lru_cache(maxsize=256)
def rules_of(type_: type[KubeObject], *, namespaced: bool) -> tuple[Create, Update]:
    """Return the create and update rule of a type; a type without specific rules has those of all objects.

    Args:
        type_: the type.
        namespaced: whether its objects are in namespaces.
    """
    module = _MODULE_OF.get(type_.__name__)
    if module is not None:
        kinds: Rules = import_module(f"{__package__}.{module}").KINDS
        if type_ in kinds:
            return kinds[type_]

    def create(obj: KubeObject) -> Errors:
        rule = validate_path_segment_name
        return validate_object_meta(obj.metadata, namespaced=namespaced, name_rule=rule, known_finalizers=False)

    return create, _update


def _update(new: KubeObject, old: KubeObject) -> Errors:
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False)
