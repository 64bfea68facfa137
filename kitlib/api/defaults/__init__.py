"""Defaults that the API server sets before it validates an object: `set_defaults`.

Imported by admission, by labs and by code that reads manifests without a server. Face: `set_defaults`.

Source: zz_generated.defaults.go of every API group (SetObjectDefaults_Pod and its siblings).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from kitlib.api.meta import KubeObject

T = TypeVar("T", bound=KubeObject)
RULES = {
    "core.Pod": "pod.pod",
    "apps.Deployment": "workloads.deployment",
    "apps.ReplicaSet": "workloads.replica_set",
    "apps.StatefulSet": "workloads.stateful_set",
    "apps.DaemonSet": "workloads.daemon_set",
    "core.ReplicationController": "workloads.replication_controller",
    "core.PodTemplate": "workloads.pod_template",
    "batch.Job": "workloads.job",
    "batch.CronJob": "workloads.cron_job",
    "persistent_volume.PersistentVolumeClaim": "volumes.claim",
    "persistent_volume.PersistentVolume": "volumes.persistent_volume",
    "storage.StorageClass": "volumes.storage_class",
    "storage.CSIDriver": "volumes.csi_driver",
    "core.Service": "others.service",
    "core.Secret": "others.secret",
    "core.Endpoints": "others.endpoints",
    "networking.EndpointSlice": "others.endpoint_slice",
    "networking.NetworkPolicy": "others.network_policy",
    "networking.IngressClass": "others.ingress_class",
    "rbac.RoleBinding": "others.binding",
    "rbac.ClusterRoleBinding": "others.binding",
    "autoscaling.HorizontalPodAutoscaler": "others.horizontal_pod_autoscaler",
    "apiextensions.CustomResourceDefinition": "others.custom_resource_definition",
    "admissionregistration.ValidatingWebhookConfiguration": "admission.webhook_configuration",
    "admissionregistration.MutatingWebhookConfiguration": "admission.webhook_configuration",
    "admissionregistration.ValidatingAdmissionPolicy": "admission.admission_policy",
    "admissionregistration.MutatingAdmissionPolicy": "admission.admission_policy",
    "admissionregistration.ValidatingAdmissionPolicyBinding": "admission.admission_policy_binding",
    "admissionregistration.MutatingAdmissionPolicyBinding": "admission.admission_policy_binding",
    "flowcontrol.FlowSchema": "admission.flow_schema",
    "flowcontrol.PriorityLevelConfiguration": "admission.priority_level_configuration",
    "certificates.APIService": "admission.api_service",
    "core.Node": "cluster.node",
    "core.Namespace": "cluster.namespace",
    "quota.LimitRange": "cluster.limit_range",
    "policy.PriorityClass": "cluster.priority_class",
    "devices.ResourceClaim": "claims.resource_claim",
    "devices.ResourceClaimTemplate": "claims.resource_claim_template",
}
"""The module and name of each type's rule, by module and name of the type; loaded with the first such object."""


def set_defaults(obj: T) -> T:
    """Set the API server's defaults of the object's kind, in place.

    Returns:
        The same object.
    """
    rule = _rule_of(type(obj))
    if rule is not None:
        rule(obj)
    return obj


@cache
def _rule_of(type_: type) -> Callable[[Any], None] | None:
    place = RULES.get(f"{type_.__module__.removeprefix('kitlib.api.')}.{type_.__name__}")
    if place is None:
        return None
    module, _, name = place.partition(".")
    rule: Callable[[Any], None] = getattr(import_module(f"{__package__}.{module}"), name)
    return rule
