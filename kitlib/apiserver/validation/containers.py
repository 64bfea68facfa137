"""Validation of a pod's init containers, containers and ephemeral containers.

Source: pkg/apis/core/validation validateContainers, validateInitContainers, validateEphemeralContainers,
validateContainerCommon, validateContainerPorts, AccumulateUniqueHostPorts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kitlib.api.core import Container, PodSpec, Volume
from kitlib.api.field_errors import (
    Errors,
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
    validate_enum,
)
from kitlib.api.names import is_dns1123_label, is_valid_ip, is_valid_port_name, is_valid_port_num
from kitlib.apiserver.validation.resources import validate_resize_policy, validate_resource_requirements

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
RESTART_ACTIONS = ("Restart", "RestartAllContainers")
MAX_RESTART_RULES = 20
MAX_EXIT_CODES = 255
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


@dataclass(frozen=True)
class Surroundings:
    """The parts of a pod that the checks of its containers need.

    Attributes:
        spec: the pod's spec.
        volumes: the pod's valid volumes, name -> volume.
        claims: the names of the pod's `resourceClaims`.
    """

    spec: PodSpec
    volumes: Mapping[str, Volume]
    claims: Collection[str]


def validate_containers(pod: Surroundings, field: str) -> Errors:
    """Source: validateContainers."""
    containers = pod.spec.containers
    if not containers:
        return [required(field)]
    found: Errors = []
    names: set[str] = set()
    for i, container in enumerate(containers):
        place = f"{field}[{i}]"
        found += validate_container_common(container, pod, place)
        if container.name in names:
            found.append(duplicate(f"{place}.name", container.name))
        names.add(container.name)
        found += _while_it_runs(container, pod.spec, place)
        found += validate_container_restart_policy(container, place)
    return found + check_host_port_conflicts(containers, field)


def validate_init_containers(pod: Surroundings, field: str) -> Errors:
    """Source: validateInitContainers."""
    found: Errors = []
    names = {container.name for container in pod.spec.containers}
    for i, container in enumerate(pod.spec.init_containers):
        place = f"{field}[{i}]"
        found += validate_container_common(container, pod, place)
        found += validate_container_restart_policy(container, place)
        if container.name in names:
            found.append(duplicate(f"{place}.name", container.name))
        elif container.name:
            names.add(container.name)
        found += check_host_port_conflicts([container], field)
        if container.restart_policy == "Always":
            found += _while_it_runs(container, pod.spec, place)
            continue
        for name, value in (
            ("lifecycle", container.lifecycle),
            ("livenessProbe", container.liveness_probe),
            ("readinessProbe", container.readiness_probe),
            ("startupProbe", container.startup_probe),
        ):
            if value is not None:
                found.append(forbidden(f"{place}.{name}", _ONLY_SIDECARS))
    return found


def validate_ephemeral_containers(pod: Surroundings, field: str) -> Errors:
    """Source: validateEphemeralContainers."""
    found: Errors = []
    others = {container.name for container in (*pod.spec.containers, *pod.spec.init_containers)}
    names = set(others)
    for i, container in enumerate(pod.spec.ephemeral_containers):
        place = f"{field}[{i}]"
        found += validate_container_common(container, pod, place)
        found += validate_container_only_for_pod(container, place)
        if container.name in names:
            found.append(duplicate(f"{place}.name", container.name))
        names.add(container.name)
        if container.target_container_name and container.target_container_name not in others:
            found.append(not_found(f"{place}.targetContainerName", container.target_container_name))
        resources = container.resources
        for name, value in (
            ("ports", container.ports),
            ("resources", resources.requests or resources.limits or resources.claims),
            ("resizePolicy", container.resize_policy),
            ("restartPolicy", container.restart_policy),
            ("restartPolicyRules", container.restart_policy_rules),
            ("livenessProbe", container.liveness_probe),
            ("readinessProbe", container.readiness_probe),
            ("startupProbe", container.startup_probe),
            ("lifecycle", container.lifecycle),
        ):
            if value:
                found.append(forbidden(f"{place}.{name}", _NOT_EPHEMERAL))
        for j, mount in enumerate(container.volume_mounts):
            for name, path in (("subPath", mount.sub_path), ("subPathExpr", mount.sub_path_expr)):
                if path:
                    found.append(forbidden(f"{place}.volumeMounts[{j}].{name}", _NOT_EPHEMERAL))
    return found


def _while_it_runs(container: Container, spec: PodSpec, field: str) -> Errors:
    """Check hooks and probes, which containers and sidecars can have."""
    grace = spec.termination_grace_period_seconds
    os = spec.os.name if spec.os is not None else ""
    found: Errors = []
    kept = (container.lifecycle, container.liveness_probe, container.readiness_probe, container.startup_probe)
    if all(one is None for one in kept):
        return found
    from kitlib.apiserver.validation.probes import (
        validate_lifecycle,
        validate_liveness_probe,
        validate_readiness_probe,
    )

    if container.lifecycle is not None:
        found += validate_lifecycle(container.lifecycle, grace, os, f"{field}.lifecycle")
    if container.liveness_probe is not None:
        found += validate_liveness_probe(container.liveness_probe, grace, f"{field}.livenessProbe")
    if container.readiness_probe is not None:
        found += validate_readiness_probe(container.readiness_probe, grace, f"{field}.readinessProbe")
    if container.startup_probe is not None:
        found += validate_liveness_probe(container.startup_probe, grace, f"{field}.startupProbe")
    return found


def validate_container_restart_policy(container: Container, field: str) -> Errors:
    """Source: validateContainerRestartPolicy, KEP-5307."""
    found: Errors = []
    policy, rules = container.restart_policy, container.restart_policy_rules
    if policy is None:
        if rules:
            found.append(required(f"{field}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy not in RESTART_POLICIES:
        found.append(not_supported(f"{field}.restartPolicy", policy, RESTART_POLICIES))
    place = f"{field}.restartPolicyRules"
    if len(rules) > MAX_RESTART_RULES:
        found.append(too_many(place, len(rules), MAX_RESTART_RULES))
    for i, rule in enumerate(rules):
        if rule.action not in RESTART_ACTIONS:
            found.append(not_supported(f"{place}[{i}].action", rule.action, RESTART_ACTIONS))
        if rule.exit_codes is None:
            found.append(required(f"{place}[{i}].exitCodes", "must be specified"))
            continue
        found += validate_enum(rule.exit_codes.operator, f"{place}[{i}].exitCodes.operator", ("In", "NotIn"))
        if len(rule.exit_codes.values) > MAX_EXIT_CODES:
            found.append(too_many(f"{place}[{i}].exitCodes.values", len(rule.exit_codes.values), MAX_EXIT_CODES))
    return found


def validate_container_common(container: Container, pod: Surroundings, field: str) -> Errors:
    """Source: validateContainerCommon."""
    found: Errors = []
    if not container.name:
        found.append(required(f"{field}.name"))
    else:
        found += each(f"{field}.name", container.name, is_dns1123_label(container.name))
    if not container.image:
        found.append(required(f"{field}.image"))
    found += validate_enum(container.termination_message_policy, f"{field}.terminationMessagePolicy", MESSAGE_POLICIES)
    if container.ports:
        found += validate_container_ports(container, f"{field}.ports")
    if container.env or container.env_from:
        from kitlib.apiserver.validation.env import validate_env, validate_env_from

        found += validate_env(container.env, f"{field}.env")
        found += validate_env_from(container.env_from, f"{field}.envFrom")
    if container.volume_mounts or container.volume_devices:
        from kitlib.apiserver.validation.volumes import validate_volume_devices, validate_volume_mounts

        found += validate_volume_mounts(container, pod.volumes, f"{field}.volumeMounts")
        found += validate_volume_devices(container, pod.volumes, f"{field}.volumeDevices")
    found += validate_enum(container.image_pull_policy, f"{field}.imagePullPolicy", PULL_POLICIES)
    found += validate_resource_requirements(container.resources, f"{field}.resources", pod.claims)
    if container.resize_policy:
        found += validate_resize_policy(container.resize_policy, pod.spec.restart_policy, f"{field}.resizePolicy")
    if container.security_context is not None:
        from kitlib.apiserver.validation.security_context import validate_security_context

        host_users = pod.spec.host_users is not False
        found += validate_security_context(
            container.security_context, f"{field}.securityContext", host_users=host_users
        )
    return found


def validate_container_ports(container: Container, field: str) -> Errors:
    """Source: validateContainerPorts."""
    found: Errors = []
    names: set[str] = set()
    for i, port in enumerate(container.ports):
        place = f"{field}[{i}]"
        if port.name:
            problems = is_valid_port_name(port.name)
            found += each(f"{place}.name", port.name, problems)
            if not problems and port.name in names:
                found.append(duplicate(f"{place}.name", port.name))
            names.add(port.name)
        if port.container_port == 0:
            found.append(required(f"{place}.containerPort"))
        else:
            found += each(f"{place}.containerPort", port.container_port, is_valid_port_num(port.container_port))
        if port.host_port:
            found += each(f"{place}.hostPort", port.host_port, is_valid_port_num(port.host_port))
        if port.host_ip:
            found += each(f"{place}.hostIP", port.host_ip, is_valid_ip(port.host_ip))
        found += validate_enum(port.protocol, f"{place}.protocol", PROTOCOLS)
    return found


def check_host_port_conflicts(containers: Sequence[Container], field: str) -> Errors:
    """Source: checkHostPortConflicts, AccumulateUniqueHostPorts."""
    found: Errors = []
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.ports):
            if port.host_port:
                key = f"{port.protocol}/{port.host_ip}/{port.host_port}"
                if key in seen:
                    found.append(duplicate(f"{field}[{i}].ports[{j}].hostPort", key))
                seen.add(key)
    return found


def validate_container_only_for_pod(container: Container, field: str) -> Errors:
    """Check the image's whitespace, which templates may contain. Source: validateContainerOnlyForPod."""
    if container.image != container.image.strip():
        return [invalid(f"{field}.image", container.image, "must not have leading or trailing whitespace")]
    return []
