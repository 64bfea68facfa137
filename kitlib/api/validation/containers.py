"""Containers, their ports and mounts, and the pod's volumes.

Sources: pkg/apis/core/validation validateContainers, validateInitContainers, validateContainerCommon,
validateContainerPorts, ValidateVolumeMounts, ValidateVolumes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from kitlib.api.core import Container, PodSpec, Volume
from kitlib.api.validation import resources
from kitlib.api.validation.fields import (
    Errors,
    FieldError,
    dns_label,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    port_name,
    required,
)

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_SOURCES = tuple(f.encode_name for f in msgspec.structs.fields(Volume) if f.name != "name")


@dataclass
class _Seen:
    """Names and host ports that were met on the way through a pod's containers."""

    names: set[str] = field(default_factory=set)
    host_ports: set[tuple[str, str, int]] = field(default_factory=set)


def all_containers(spec: PodSpec, path: str) -> Errors:
    """Init containers and containers; names are unique among both."""
    found: Errors = []
    if not spec.containers:
        found.append(required(f"{path}.containers"))
    seen = _Seen()
    for i, container in enumerate(spec.containers):
        found += _container(container, spec, f"{path}.containers[{i}]", seen)
    for i, container in enumerate(spec.init_containers):
        place = f"{path}.initContainers[{i}]"
        found += _container(container, spec, place, seen)
        if container.restart_policy is not None and container.restart_policy not in RESTART_POLICIES:
            found.append(not_supported(f"{place}.restartPolicy", container.restart_policy, RESTART_POLICIES))
    return found


def _container(container: Container, spec: PodSpec, path: str, seen: _Seen) -> Errors:
    """Source: validateContainerCommon."""
    found: Errors = []
    if not container.name:
        found.append(required(f"{path}.name"))
    else:
        found += each(f"{path}.name", container.name, dns_label(container.name))
    if container.name and container.name in seen.names:
        found.append(duplicate(f"{path}.name", container.name))
    seen.names.add(container.name)
    if not container.image:
        found.append(required(f"{path}.image"))
    elif container.image != container.image.strip():
        found.append(invalid(f"{path}.image", container.image, "must not have leading or trailing whitespace"))
    if container.image_pull_policy and container.image_pull_policy not in PULL_POLICIES:
        found.append(not_supported(f"{path}.imagePullPolicy", container.image_pull_policy, PULL_POLICIES))
    policy = container.termination_message_policy
    if policy and policy not in MESSAGE_POLICIES:
        found.append(not_supported(f"{path}.terminationMessagePolicy", policy, sorted(MESSAGE_POLICIES)))
    found += _ports(container, spec, path, seen)
    for i, variable in enumerate(container.env):
        if not variable.name:
            found.append(required(f"{path}.env[{i}].name"))
    found += _mounts(container, spec, path)
    return found + resources.requirements(container.resources, f"{path}.resources")


def _ports(container: Container, spec: PodSpec, path: str, seen: _Seen) -> Errors:
    """Source: validateContainerPorts, checkHostPortConflicts, validateHostNetwork."""
    found: Errors = []
    names: set[str] = set()
    for i, port in enumerate(container.ports):
        place = f"{path}.ports[{i}]"
        if port.name:
            problems = port_name(port.name)
            found += each(f"{place}.name", port.name, problems)
            if not problems and port.name in names:
                found.append(duplicate(f"{place}.name", port.name))
            names.add(port.name)
        if port.container_port == 0:
            found.append(required(f"{place}.containerPort"))
        elif not 0 < port.container_port < 65536:
            found.append(invalid(f"{place}.containerPort", port.container_port, _PORT_RANGE))
        if port.host_port and not 0 < port.host_port < 65536:
            found.append(invalid(f"{place}.hostPort", port.host_port, _PORT_RANGE))
        if not port.protocol:
            found.append(required(f"{place}.protocol"))
        elif port.protocol not in PROTOCOLS:
            found.append(not_supported(f"{place}.protocol", port.protocol, PROTOCOLS))
        if port.host_port:
            key = (port.host_ip, port.protocol, port.host_port)
            if key in seen.host_ports:
                found.append(duplicate(f"{place}.hostPort", f"{port.protocol}/{port.host_ip}/{port.host_port}"))
            seen.host_ports.add(key)
        if spec.host_network and port.host_port != port.container_port:
            detail = "must match `hostPort` when `hostNetwork` is true"
            found.append(invalid(f"{place}.containerPort", port.container_port, detail))
    return found


def _mounts(container: Container, spec: PodSpec, path: str) -> Errors:
    """Source: ValidateVolumeMounts."""
    found: Errors = []
    volumes, places = {volume.name for volume in spec.volumes}, set()
    for i, mount in enumerate(container.volume_mounts):
        place = f"{path}.volumeMounts[{i}]"
        if not mount.name:
            found.append(required(f"{place}.name"))
        if mount.name not in volumes:
            found.append(FieldError("FieldValueNotFound", f"{place}.name", mount.name))
        if not mount.mount_path:
            found.append(required(f"{place}.mountPath"))
        if mount.mount_path in places:
            found.append(invalid(f"{place}.mountPath", mount.mount_path, "must be unique"))
        places.add(mount.mount_path)
    return found


def volumes(spec: PodSpec, path: str) -> Errors:
    """Source: ValidateVolumes, validateVolumeSource."""
    found: Errors = []
    names: set[str] = set()
    for i, volume in enumerate(spec.volumes):
        place = f"{path}.volumes[{i}]"
        if not volume.name:
            found.append(required(f"{place}.name"))
        else:
            found += each(f"{place}.name", volume.name, dns_label(volume.name))
            if volume.name in names:
                found.append(duplicate(f"{place}.name", volume.name))
        names.add(volume.name)
        set_ = [name for name, value in zip(_SOURCES, _values(volume), strict=True) if value is not None]
        set_ += [name for name in volume.unknown_fields if name != "name"]
        if not set_:
            found.append(required(place, "must specify a volume type"))
        found += [forbidden(f"{place}.{name}", "may not specify more than 1 volume type") for name in set_[1:]]
    return found


def _values(volume: Volume) -> list[object]:
    return [getattr(volume, f.name) for f in msgspec.structs.fields(Volume) if f.name != "name"]
