"""Allocation of Services' addresses and node ports: requested ones are checked, others chosen; updates keep the rest.

The choice depends on the Service's name, so that the same manifests get the same addresses.

Source: registry/core/service/storage alloc.go (allocateCreate, initIPFamilyFields, allocClusterIPs, allocNodePorts),
storage.go (normalizeClusterIPs, patchAllocatedValues), strategy.go (dropTypeDependentFields).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from zlib import crc32

from kitlib.api.core import Service
from kitlib.api.field_errors import Errors, invalid
from kitlib.apiserver.validation.service import NODE_PORTS, SERVICE_CIDR, needs_health_check
from kitlib.apiserver.validation.service_addresses import cluster_ips

NONE = "None"
STATIC_ADDRESSES = 256
"""The number of low addresses that are only allocated on request. Source: ipallocator calculateRangeOffset."""
STATIC_PORTS = 86
"""The number of low node ports that are only allocated on request. Source: portallocator calculateRangeOffset."""
_NODE_PORT_TYPES = ("NodePort", "LoadBalancer")


def prepare_service(made: Service, old: Service | None) -> None:
    """Keep allocated values that an update omits, drop fields of another type, and set clusterIPs, in place."""
    if old is not None:
        _drop_type_dependent_fields(made, old)
        _patch_allocated_values(made, old)
        if made.spec.ip_family_policy == "SingleStack" and made.spec.ip_families == old.spec.ip_families:
            made.spec.ip_families = made.spec.ip_families[:1]
    spec = made.spec
    if spec.type != "ExternalName" and spec.cluster_ip and (not spec.cluster_ips or _is_singular_change(made, old)):
        spec.cluster_ips = [spec.cluster_ip]


def _is_singular_change(made: Service, old: Service | None) -> bool:
    """Return whether an older client has changed the only address that it knows. Source: normalizeClusterIPs."""
    if old is None:
        return False
    new, before = made.spec, old.spec
    return new.cluster_ip != before.cluster_ip and new.cluster_ips == before.cluster_ips


def init_ip_family_fields(made: Service) -> None:
    """Set families and policy of a valid Service, in place; a headless one without selector may have both families."""
    spec = made.spec
    if spec.type == "ExternalName":
        return
    families = list(spec.ip_families) or ["IPv4"]
    if cluster_ips(made) == [NONE] and not spec.selector:
        if len(families) < 2 and spec.ip_family_policy != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec.ip_family_policy = spec.ip_family_policy or "RequireDualStack"
    spec.ip_families, spec.ip_family_policy = families, spec.ip_family_policy or "SingleStack"


def allocate(made: Service, others: Iterable[Service]) -> Errors:
    """Allocate a Service's addresses and node ports, in place, and return the errors of the requested ones."""
    standing = [service for service in others if service.key != made.key]
    return _cluster_ip(made, standing) or _node_ports(made, standing)


def _cluster_ip(made: Service, others: Iterable[Service]) -> Errors:
    spec = made.spec
    if spec.type == "ExternalName" or cluster_ips(made) == [NONE]:
        return []
    taken = {address for service in others for address in cluster_ips(service)}
    if spec.cluster_ips:
        for address in spec.cluster_ips:
            if address in taken:
                detail = f"failed to allocate IP {address}: provided IP is already allocated"
                return [invalid("spec.clusterIPs", spec.cluster_ips, detail)]
    else:
        size = SERVICE_CIDR.num_addresses - STATIC_ADDRESSES - 1
        start = crc32(made.key.encode())
        first = int(SERVICE_CIDR.network_address) + STATIC_ADDRESSES
        candidates = (str(ipaddress.ip_address(first + (start + i) % size)) for i in range(size))
        spec.cluster_ips = [next(candidate for candidate in candidates if candidate not in taken)]
    spec.cluster_ip = spec.cluster_ips[0]
    return []


def _node_ports(made: Service, others: Iterable[Service]) -> Errors:
    """Allocate one node port per port; ports of the same number and different protocols share it.

    A Service that needs none may still request some, and may have one for its health check.

    Source: initNodePorts, allocHealthCheckNodePort.
    """
    spec = made.spec
    if spec.type not in _NODE_PORT_TYPES:
        return []
    taken = {port.node_port for service in others for port in service.spec.ports} | {
        service.spec.health_check_node_port for service in others
    }
    given: dict[int, int] = {}
    for i, port in enumerate(spec.ports):
        if port.node_port in taken and port.node_port:
            return [invalid(f"spec.ports[{i}].nodePort", port.node_port, "provided port is already allocated")]
        if port.node_port:
            given.setdefault(port.port, port.node_port)
    used = taken | set(given.values())
    for port in spec.ports if needs_node_ports(made) else ():
        if not port.node_port:
            protocols = {one.protocol for one in spec.ports if one.node_port == given.get(port.port)}
            if port.port not in given or port.protocol in protocols:
                given[port.port] = _free_port(f"{made.key}:{port.port}", used)
            port.node_port = given[port.port]
            used.add(port.node_port)
    if needs_health_check(made) and not spec.health_check_node_port:
        spec.health_check_node_port = _free_port(f"{made.key}:healthcheck", used)
    return []


def needs_node_ports(service: Service) -> bool:
    """Return whether a Service needs node ports. Source: shouldAllocateNodePorts."""
    spec = service.spec
    return spec.type == "NodePort" or (
        spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is not False
    )


def _free_port(about: str, used: set[int]) -> int:
    ports = NODE_PORTS[STATIC_PORTS:]
    start = crc32(about.encode())
    return next(one for i in range(len(ports)) if (one := ports[(start + i) % len(ports)]) not in used)


def _patch_allocated_values(made: Service, old: Service) -> None:
    """Copy the allocated values that an update omits. Source: patchAllocatedValues."""
    new, before = made.spec, old.spec
    if "ExternalName" not in (new.type, before.type):
        new.cluster_ip = new.cluster_ip or before.cluster_ip
        new.cluster_ips = new.cluster_ips or list(before.cluster_ips)
        new.ip_families = new.ip_families or list(before.ip_families)
        new.ip_family_policy = new.ip_family_policy or before.ip_family_policy
    if new.type in _NODE_PORT_TYPES and before.type in _NODE_PORT_TYPES and needs_node_ports(made):
        ports = {port.name: port.node_port for port in before.ports}
        named = {port.node_port for port in new.ports}
        for port in new.ports:
            number = ports.get(port.name, 0)
            if not port.node_port and number not in named:
                port.node_port = number
    if needs_health_check(old) and needs_health_check(made):
        new.health_check_node_port = new.health_check_node_port or before.health_check_node_port


def _drop_type_dependent_fields(made: Service, old: Service) -> None:
    """Clear the fields that the new type does not have, unless the update changes them.

    Source: dropTypeDependentFields.
    """
    new, before = made.spec, old.spec
    if new.type == "ExternalName" and before.type != "ExternalName":
        if (new.cluster_ip, new.cluster_ips) == (before.cluster_ip, before.cluster_ips):
            new.cluster_ip, new.cluster_ips = "", []
        if new.ip_families == before.ip_families:
            new.ip_families = []
        if new.ip_family_policy == before.ip_family_policy:
            new.ip_family_policy = None
    if before.type in _NODE_PORT_TYPES and new.type not in _NODE_PORT_TYPES:
        if {port.node_port for port in new.ports} - {0} <= {port.node_port for port in before.ports}:
            for port in new.ports:
                port.node_port = 0
        if new.external_traffic_policy == before.external_traffic_policy:
            new.external_traffic_policy = ""
    if (
        needs_health_check(old)
        and not needs_health_check(made)
        and new.health_check_node_port == before.health_check_node_port
    ):
        new.health_check_node_port = 0
    if new.type != "LoadBalancer" and before.type == "LoadBalancer":
        for name in ("allocate_load_balancer_node_ports", "load_balancer_class"):
            if getattr(new, name) == getattr(before, name):
                setattr(new, name, None)
