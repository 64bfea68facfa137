"""Validation of new pods and of pod templates.

Source: pkg/apis/core/validation ValidatePodCreate, ValidatePodSpec, ValidatePodTemplateSpec;
registry/core/pod Strategy.
"""

from __future__ import annotations

from kitlib.api.core import Pod, PodSpec, PodTemplateSpec, Volume
from kitlib.api.field_errors import Errors, each, forbidden, invalid, required, validate_enum
from kitlib.api.meta import ObjectMeta
from kitlib.api.names import in_range, is_dns1123_subdomain, is_qualified_name
from kitlib.api.numbers import MAX_INT32
from kitlib.apiserver.validation import resources, scheduling
from kitlib.apiserver.validation.containers import (
    Surroundings,
    validate_container_only_for_pod,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from kitlib.apiserver.validation.dns import (
    validate_host_aliases,
    validate_hostname_override,
    validate_hostnames,
    validate_pod_dns_config,
)
from kitlib.apiserver.validation.object_meta import (
    validate_annotations,
    validate_labels,
    validate_object_meta,
)
from kitlib.apiserver.validation.pod_annotations import (
    validate_annotations_and_fields_match,
    validate_pod_specific_annotations,
)
from kitlib.apiserver.validation.pod_os import validate_os
from kitlib.apiserver.validation.security_context import (
    validate_host_users,
    validate_pod_spec_security_context,
    validate_windows_host_process_pod,
)

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_NO_TOKEN = "must not be specified when serviceAccountName is not set"


def validate_pod_create(pod: Pod) -> Errors:
    """Return the errors of a new, defaulted pod; [] = it is valid. Source: ValidatePodCreate."""
    spec = pod.spec
    found = validate_pod_metadata_and_spec(pod)
    if spec.ephemeral_containers:
        found.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.node_name and spec.scheduling_gates:
        found.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return found + validate_annotations_and_fields_match(pod.metadata, spec, "spec")


def validate_pod_metadata_and_spec(pod: Pod) -> Errors:
    """Source: validatePodMetadataAndSpec."""
    spec = pod.spec
    found = validate_object_meta(pod.metadata, namespaced=True)
    found += validate_pod_specific_annotations(pod.metadata, spec, "metadata.annotations")
    found += validate_pod_spec(spec, "spec", pod.metadata)
    if not spec.service_account_name:
        for i, volume in enumerate(spec.volumes):
            for j, source in enumerate(volume.projected.sources if volume.projected is not None else ()):
                if source.service_account_token is not None:
                    place = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                    found.append(forbidden(place, _NO_TOKEN))
    for i, container in enumerate(spec.containers):
        found += validate_container_only_for_pod(container, f"spec.containers[{i}]")
    for i, container in enumerate(spec.init_containers):
        found += validate_container_only_for_pod(container, f"spec.initContainers[{i}]")
    return found


def validate_pod_template_spec(template: PodTemplateSpec, field: str) -> Errors:
    """Check the pod template of a workload. Source: ValidatePodTemplateSpec."""
    meta = template.metadata
    found = validate_labels(meta.labels, f"{field}.labels")
    found += validate_annotations(meta.annotations, f"{field}.annotations")
    found += validate_pod_specific_annotations(meta, template.spec, f"{field}.annotations")
    found += validate_pod_spec(template.spec, f"{field}.spec", None)
    if template.spec.ephemeral_containers:
        detail = "ephemeral containers not allowed in pod template"
        found.append(forbidden(f"{field}.spec.ephemeralContainers", detail))
    return found


def validate_pod_spec(spec: PodSpec, field: str, meta: ObjectMeta | None) -> Errors:
    """Check the spec of a pod or a template.

    Args:
        spec: the spec.
        field: the path of the spec.
        meta: the pod's metadata; None for a template.

    Source: ValidatePodSpec.
    """
    found: Errors = []
    if spec.termination_grace_period_seconds is None:
        found.append(required(f"{field}.terminationGracePeriodSeconds"))
    usable: dict[str, Volume] = {}
    if spec.volumes:
        from kitlib.apiserver.validation.volumes import validate_volumes

        usable, wrong = validate_volumes(spec.volumes, meta, f"{field}.volumes")
        found += wrong
    claims = {claim.name for claim in spec.resource_claims if claim.name}
    if spec.resource_claims:
        from kitlib.apiserver.validation.devices import validate_pod_resource_claims

        found += validate_pod_resource_claims(spec, field)
    pod = Surroundings(spec, usable, claims)
    found += validate_containers(pod, f"{field}.containers")
    if spec.init_containers:
        found += validate_init_containers(pod, f"{field}.initContainers")
    if spec.ephemeral_containers:
        found += validate_ephemeral_containers(pod, f"{field}.ephemeralContainers")
    found += resources.validate_pod_resources(spec, claims, f"{field}.resources")
    if spec.host_network:
        found += validate_pod_host_network_deps(spec, f"{field}.containers", template=meta is None)
    found += validate_enum(spec.restart_policy, f"{field}.restartPolicy", RESTART_POLICIES)
    found += validate_enum(spec.dns_policy, f"{field}.dnsPolicy", DNS_POLICIES)
    found += validate_labels(spec.node_selector, f"{field}.nodeSelector")
    found += validate_pod_spec_security_context(spec, f"{field}.securityContext")
    found += scheduling.validate_affinity(spec.affinity, f"{field}.affinity")
    found += validate_pod_dns_config(spec, f"{field}.dnsConfig")
    for i, gate in enumerate(spec.readiness_gates):
        place = f"{field}.readinessGates[{i}].conditionType"
        found += each(place, gate.condition_type, is_qualified_name(gate.condition_type))
    found += scheduling.validate_scheduling_gates(spec.scheduling_gates, f"{field}.schedulingGates")
    constraints = spec.topology_spread_constraints
    found += scheduling.validate_topology_spread_constraints(constraints, f"{field}.topologySpreadConstraints")
    found += validate_windows_host_process_pod(spec, field)
    found += validate_host_users(spec, field)
    found += _names(field, ("serviceAccountName", spec.service_account_name), ("nodeName", spec.node_name))
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        found.append(invalid(f"{field}.activeDeadlineSeconds", deadline, in_range(1, MAX_INT32)))
    found += validate_hostnames(spec, field)
    found += scheduling.validate_tolerations(spec.tolerations, f"{field}.tolerations")
    found += validate_host_aliases(spec.host_aliases, f"{field}.hostAliases")
    found += _names(field, ("priorityClassName", spec.priority_class_name))
    if spec.runtime_class_name is not None:
        name = spec.runtime_class_name
        found += each(f"{field}.runtimeClassName", name, is_dns1123_subdomain(name))
    if spec.preemption_policy is not None:
        found += validate_enum(spec.preemption_policy, f"{field}.preemptionPolicy", PREEMPTION_POLICIES)
    if spec.overhead:
        found += resources.validate_overhead(spec.overhead, f"{field}.overhead")
    return found + validate_os(spec, field) + validate_hostname_override(spec, field)


def _names(field: str, *names: tuple[str, str]) -> Errors:
    return [
        error for name, value in names if value for error in each(f"{field}.{name}", value, is_dns1123_subdomain(value))
    ]


def validate_pod_host_network_deps(spec: PodSpec, field: str, *, template: bool) -> Errors:
    """Check that host ports on the host's network equal the container ports; templates may omit them."""
    detail = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{field}[{i}].ports[{j}].hostPort", port.host_port, detail)
        for i, container in enumerate(spec.containers)
        for j, port in enumerate(container.ports)
        if port.host_port != port.container_port and (port.host_port or not template)
    ]
