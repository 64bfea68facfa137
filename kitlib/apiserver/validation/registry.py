"""Which rules hold for which type: one for a new object, one for a change.

Source: the Validate and ValidateUpdate of every strategy in pkg/registry.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kitlib.api import (
    admissionregistration as admission_types,
)
from kitlib.api import (
    apiextensions as crd_types,
)
from kitlib.api import (
    apps,
    batch,
    certificates,
    coordination,
    core,
    devices,
    flowcontrol,
)
from kitlib.api import (
    autoscaling as hpa_types,
)
from kitlib.api import (
    networking as net_types,
)
from kitlib.api import (
    policy as policy_types,
)
from kitlib.api import (
    rbac as rbac_types,
)
from kitlib.api import (
    storage as storage_types,
)
from kitlib.api.field_errors import Errors
from kitlib.api.meta import KubeObject
from kitlib.apiserver.validation import (
    admission_policies,
    autoscaling,
    config,
    custom_resource_definition,
    endpoints,
    flow_control,
    networking,
    node,
    policy,
    quota,
    rbac,
    storage,
    webhooks,
    workloads,
)
from kitlib.apiserver.validation import batch as jobs
from kitlib.apiserver.validation import certificates as requests
from kitlib.apiserver.validation import device_taints as taints
from kitlib.apiserver.validation import devices as claims
from kitlib.apiserver.validation import resource_slices as slices
from kitlib.apiserver.validation.controller_revision import (
    validate_controller_revision,
    validate_controller_revision_update,
)
from kitlib.apiserver.validation.cron_job import validate_cron_job, validate_cron_job_update
from kitlib.apiserver.validation.job_update import validate_job_update
from kitlib.apiserver.validation.object_meta import (
    validate_object_meta,
    validate_object_meta_update,
    validate_path_segment_name,
)
from kitlib.apiserver.validation.persistent_volume import validate_persistent_volume, validate_persistent_volume_update
from kitlib.apiserver.validation.persistent_volume_claim import (
    validate_persistent_volume_claim,
    validate_persistent_volume_claim_update,
)
from kitlib.apiserver.validation.pod import validate_pod_create, validate_pod_template_spec
from kitlib.apiserver.validation.pod_update import validate_pod_update
from kitlib.apiserver.validation.service import validate_service, validate_service_update

Create = Callable[[Any], Errors]
Update = Callable[[Any, Any], Errors]

RULES: dict[type[KubeObject], tuple[Create, Update]] = {
    core.Pod: (validate_pod_create, validate_pod_update),
    core.Service: (validate_service, validate_service_update),
    core.Endpoints: (endpoints.validate_endpoints, endpoints.validate_endpoints_update),
    core.ConfigMap: (config.validate_config_map, config.validate_config_map_update),
    core.Secret: (config.validate_secret, config.validate_secret_update),
    core.ServiceAccount: (config.validate_service_account, config.validate_service_account_update),
    core.Namespace: (config.validate_namespace, config.validate_namespace_update),
    core.Node: (node.validate_node, node.validate_node_update),
    core.LimitRange: (quota.validate_limit_range, quota.validate_limit_range_update),
    core.ResourceQuota: (quota.validate_resource_quota, quota.validate_resource_quota_update),
    core.PersistentVolume: (validate_persistent_volume, validate_persistent_volume_update),
    core.PersistentVolumeClaim: (validate_persistent_volume_claim, validate_persistent_volume_claim_update),
    core.ReplicationController: (
        workloads.validate_replication_controller,
        workloads.validate_replication_controller_update,
    ),
    apps.Deployment: (workloads.validate_deployment, workloads.validate_deployment_update),
    apps.ReplicaSet: (workloads.validate_replica_set, workloads.validate_replica_set_update),
    apps.StatefulSet: (workloads.validate_stateful_set, workloads.validate_stateful_set_update),
    apps.DaemonSet: (workloads.validate_daemon_set, workloads.validate_daemon_set_update),
    apps.ControllerRevision: (validate_controller_revision, validate_controller_revision_update),
    batch.Job: (jobs.validate_job, validate_job_update),
    batch.CronJob: (validate_cron_job, validate_cron_job_update),
    hpa_types.HorizontalPodAutoscaler: (
        autoscaling.validate_horizontal_pod_autoscaler,
        autoscaling.validate_horizontal_pod_autoscaler_update,
    ),
    net_types.Ingress: (networking.validate_ingress, networking.validate_ingress_update),
    net_types.IngressClass: (networking.validate_ingress_class, networking.validate_ingress_class_update),
    net_types.NetworkPolicy: (networking.validate_network_policy, networking.validate_network_policy_update),
    net_types.IPAddress: (networking.validate_ip_address, networking.validate_ip_address_update),
    net_types.ServiceCIDR: (networking.validate_service_cidr, networking.validate_service_cidr_update),
    net_types.EndpointSlice: (endpoints.validate_endpoint_slice, endpoints.validate_endpoint_slice_update),
    policy_types.PodDisruptionBudget: (
        policy.validate_pod_disruption_budget,
        policy.validate_pod_disruption_budget_update,
    ),
    policy_types.PriorityClass: (policy.validate_priority_class, policy.validate_priority_class_update),
    rbac_types.Role: (rbac.validate_role, rbac.validate_role_update),
    rbac_types.ClusterRole: (rbac.validate_role, rbac.validate_role_update),
    rbac_types.RoleBinding: (rbac.validate_role_binding, rbac.validate_role_binding_update),
    rbac_types.ClusterRoleBinding: (rbac.validate_role_binding, rbac.validate_role_binding_update),
    storage_types.StorageClass: (storage.validate_storage_class, storage.validate_storage_class_update),
    storage_types.CSIDriver: (storage.validate_csi_driver, storage.validate_csi_driver_update),
    storage_types.CSINode: (storage.validate_csi_node, storage.validate_csi_node_update),
    storage_types.CSIStorageCapacity: (
        storage.validate_csi_storage_capacity,
        storage.validate_csi_storage_capacity_update,
    ),
    storage_types.VolumeAttachment: (storage.validate_volume_attachment, storage.validate_volume_attachment_update),
    storage_types.VolumeAttributesClass: (
        storage.validate_volume_attributes_class,
        storage.validate_volume_attributes_class_update,
    ),
    coordination.Lease: (node.validate_lease, node.validate_lease_update),
    coordination.RuntimeClass: (node.validate_runtime_class, node.validate_runtime_class_update),
    crd_types.CustomResourceDefinition: (
        custom_resource_definition.validate_custom_resource_definition,
        custom_resource_definition.validate_custom_resource_definition_update,
    ),
    **dict.fromkeys(
        (admission_types.ValidatingWebhookConfiguration, admission_types.MutatingWebhookConfiguration),
        (webhooks.validate_webhook_configuration, webhooks.validate_webhook_configuration_update),
    ),
    **dict.fromkeys(
        (admission_types.ValidatingAdmissionPolicy, admission_types.MutatingAdmissionPolicy),
        (admission_policies.validate_admission_policy, admission_policies.validate_admission_policy_update),
    ),
    **dict.fromkeys(
        (admission_types.ValidatingAdmissionPolicyBinding, admission_types.MutatingAdmissionPolicyBinding),
        (
            admission_policies.validate_admission_policy_binding,
            admission_policies.validate_admission_policy_binding_update,
        ),
    ),
    flowcontrol.FlowSchema: (flow_control.validate_flow_schema, flow_control.validate_flow_schema_update),
    flowcontrol.PriorityLevelConfiguration: (
        flow_control.validate_priority_level_configuration,
        flow_control.validate_priority_level_configuration_update,
    ),
    certificates.CertificateSigningRequest: (
        requests.validate_certificate_signing_request,
        requests.validate_certificate_signing_request_update,
    ),
    certificates.APIService: (requests.validate_api_service, requests.validate_api_service_update),
    devices.ResourceClaim: (claims.validate_resource_claim, claims.validate_resource_claim_update),
    devices.ResourceClaimTemplate: (
        claims.validate_resource_claim_template,
        claims.validate_resource_claim_template_update,
    ),
    devices.DeviceClass: (claims.validate_device_class, claims.validate_device_class_update),
    devices.DeviceTaintRule: (taints.validate_device_taint_rule, taints.validate_device_taint_rule_update),
    devices.ResourceSlice: (slices.validate_resource_slice, slices.validate_resource_slice_update),
}


@lru_cache(maxsize=256)
def rules_of(type_: type[KubeObject], *, namespaced: bool) -> tuple[Create, Update]:
    """The two rules of a type; of one without rules of its own those of all objects.

    Args:
        namespaced: whether such objects live in namespaces.
    """
    if type_ in RULES:
        return RULES[type_]
    if type_ is core.PodTemplate:
        return _pod_template, _pod_template_update

    def create(obj: KubeObject) -> Errors:
        rule = validate_path_segment_name
        return validate_object_meta(obj.metadata, namespaced=namespaced, name_rule=rule, known_finalizers=False)

    return create, _update


def _pod_template_update(new: core.PodTemplate, old: core.PodTemplate) -> Errors:
    """Source: ValidatePodTemplateUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + validate_pod_template_spec(
        new.template, "template"
    )


def _pod_template(obj: core.PodTemplate) -> Errors:
    """Source: ValidatePodTemplate."""
    return validate_object_meta(obj.metadata, namespaced=True) + validate_pod_template_spec(obj.template, "template")


def _update(new: KubeObject, old: KubeObject) -> Errors:
    return validate_object_meta_update(new.metadata, old.metadata, known_finalizers=False)
