"""What the API server fills in before it validates an object: `set_defaults`.

Source: zz_generated.defaults.go of every API group (SetObjectDefaults_Pod and its siblings).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from kitlib.api.meta import KubeObject

T = TypeVar("T", bound=KubeObject)


def set_defaults(obj: T) -> T:
    """Fill in what the API server would; in place.

    Returns:
        The same object.
    """
    rule = _rules().get(type(obj))
    if rule is not None:
        rule(obj)
    return obj


@lru_cache(maxsize=1)
def _rules() -> dict[type, Callable[[Any], None]]:
    """Type -> its defaults."""
    from kitlib.api import (
        admissionregistration,
        apiextensions,
        apps,
        autoscaling,
        batch,
        certificates,
        core,
        flowcontrol,
        networking,
        policy,
        rbac,
        storage,
    )  # fmt: skip
    from kitlib.api import (
        devices as device_types,
    )
    from kitlib.api.defaults import admission, cluster, others, pod, volumes, workloads

    return {
        core.Pod: pod.pod,
        apps.Deployment: workloads.deployment,
        apps.ReplicaSet: workloads.replica_set,
        apps.StatefulSet: workloads.stateful_set,
        apps.DaemonSet: workloads.daemon_set,
        core.ReplicationController: workloads.replication_controller,
        core.PodTemplate: lambda obj: workloads.template_spec(obj.template.spec),
        batch.Job: workloads.job,
        batch.CronJob: workloads.cron_job,
        core.PersistentVolumeClaim: volumes.claim,
        core.PersistentVolume: volumes.persistent_volume,
        storage.StorageClass: volumes.storage_class,
        storage.CSIDriver: volumes.csi_driver,
        core.Service: others.service,
        core.Secret: others.secret,
        core.Endpoints: others.endpoints,
        networking.EndpointSlice: others.endpoint_slice,
        networking.NetworkPolicy: others.network_policy,
        networking.IngressClass: others.ingress_class,
        rbac.RoleBinding: others.binding,
        rbac.ClusterRoleBinding: others.binding,
        autoscaling.HorizontalPodAutoscaler: others.horizontal_pod_autoscaler,
        apiextensions.CustomResourceDefinition: others.custom_resource_definition,
        admissionregistration.ValidatingWebhookConfiguration: admission.webhook_configuration,
        admissionregistration.MutatingWebhookConfiguration: admission.webhook_configuration,
        admissionregistration.ValidatingAdmissionPolicy: admission.admission_policy,
        admissionregistration.MutatingAdmissionPolicy: admission.admission_policy,
        admissionregistration.ValidatingAdmissionPolicyBinding: admission.admission_policy_binding,
        admissionregistration.MutatingAdmissionPolicyBinding: admission.admission_policy_binding,
        flowcontrol.FlowSchema: admission.flow_schema,
        flowcontrol.PriorityLevelConfiguration: admission.priority_level_configuration,
        certificates.APIService: admission.api_service,
        core.Node: cluster.node,
        core.Namespace: cluster.namespace,
        core.LimitRange: cluster.limit_range,
        policy.PriorityClass: cluster.priority_class,
        device_types.ResourceClaim: cluster.resource_claim,
        device_types.ResourceClaimTemplate: cluster.resource_claim_template,
    }
