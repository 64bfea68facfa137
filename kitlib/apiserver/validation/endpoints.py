"""Validation of Endpoints and EndpointSlices.

Source: pkg/apis/core/validation validateEndpointSubsets; pkg/apis/discovery/validation.
"""

from __future__ import annotations

from collections.abc import Collection

from kitlib.api.core import EndpointAddress, EndpointPort, Endpoints
from kitlib.api.field_errors import (
    Errors,
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_many,
    validate_enum,
    validate_fully_qualified_domain_name,
    validate_immutable_field,
)
from kitlib.api.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_qualified_name,
    is_valid_ip,
    is_valid_port_num,
    non_special_ip,
    parse_ip,
)
from kitlib.api.networking import EndpointSlice
from kitlib.apiserver.validation.object_meta import (
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.rules import Rules

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
PROTOCOLS = ("SCTP", "TCP", "UDP")
MAX_ENDPOINTS, MAX_ADDRESSES, MAX_PORTS, MAX_TOPOLOGY, MAX_HINTS = 1000, 100, 20000, 16, 8


def validate_endpoints(obj: Endpoints) -> Errors:
    """Source: ValidateEndpoints."""
    return validate_object_meta(obj.metadata, namespaced=True) + _subsets(obj)


def _subsets(obj: Endpoints) -> Errors:
    """Source: validateEndpointSubsets."""
    found: Errors = []
    for i, subset in enumerate(obj.subsets):
        place = f"subsets[{i}]"
        if not subset.addresses and not subset.not_ready_addresses:
            found.append(required(place, "must specify `addresses` or `notReadyAddresses`"))
        for name, addresses in (("addresses", subset.addresses), ("notReadyAddresses", subset.not_ready_addresses)):
            for j, address in enumerate(addresses):
                found += _address(address, f"{place}.{name}[{j}]")
        for j, port in enumerate(subset.ports):
            found += _port(port, len(subset.ports) > 1, f"{place}.ports[{j}]")
    return found


def _address(address: EndpointAddress, field: str) -> Errors:
    """Source: validateEndpointAddress."""
    found = each(f"{field}.ip", address.ip, is_valid_ip(address.ip))
    if address.hostname:
        found += each(f"{field}.hostname", address.hostname, is_dns1123_label(address.hostname))
    if address.node_name is not None:
        found += each(f"{field}.nodeName", address.node_name, is_dns1123_subdomain(address.node_name))
    return found + each(f"{field}.ip", address.ip, non_special_ip(address.ip))


def _port(port: EndpointPort, named: bool, field: str) -> Errors:
    """Source: validateEndpointPort."""
    found: Errors = []
    if named and not port.name:
        found.append(required(f"{field}.name"))
    elif port.name:
        found += each(f"{field}.name", port.name, is_dns1123_label(port.name))
    found += each(f"{field}.port", port.port, is_valid_port_num(port.port))
    found += validate_enum(port.protocol, f"{field}.protocol", PROTOCOLS)
    if port.app_protocol is not None:
        found += each(f"{field}.appProtocol", port.app_protocol, is_qualified_name(port.app_protocol))
    return found


def validate_endpoints_update(new: Endpoints, old: Endpoints) -> Errors:
    """Check an update; unchanged subsets are not checked again. Source: ValidateEndpointsUpdate, ValidateEndpoints."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    found += validate_object_meta(new.metadata, namespaced=True)
    return found if new.subsets == old.subsets else found + _subsets(new)


def validate_endpoint_slice(obj: EndpointSlice, existing: Collection[str] = ()) -> Errors:
    """Source: ValidateEndpointSlice.

    Args:
        obj: the slice.
        existing: the addresses of the stored slice.
    """
    found = validate_object_meta(obj.metadata, namespaced=True)
    found += validate_enum(obj.address_type, "addressType", ADDRESS_TYPES)
    if len(obj.endpoints) > MAX_ENDPOINTS:
        found.append(too_many("endpoints", len(obj.endpoints), MAX_ENDPOINTS))
    else:
        found += _endpoints(obj, existing)
    if len(obj.ports) > MAX_PORTS:
        return [*found, too_many("ports", len(obj.ports), MAX_PORTS)]
    names: set[str] = set()
    for i, port in enumerate(obj.ports):
        place, name = f"ports[{i}]", port.name or ""
        if name:
            found += each(f"{place}.name", name, is_dns1123_label(name))
        if name in names:
            found.append(duplicate(f"{place}.name", name))
        names.add(name)
        if port.protocol is None:
            found.append(required(f"{place}.protocol"))
        elif port.protocol not in PROTOCOLS:
            found.append(not_supported(f"{place}.protocol", port.protocol, PROTOCOLS))
        if port.app_protocol is not None:
            found += each(f"{place}.appProtocol", port.app_protocol, is_qualified_name(port.app_protocol))
    return found


def _endpoints(obj: EndpointSlice, existing: Collection[str]) -> Errors:
    """Source: validateEndpoints."""
    found: Errors = []
    for i, endpoint in enumerate(obj.endpoints):
        place = f"endpoints[{i}]"
        if not endpoint.addresses:
            found.append(required(f"{place}.addresses", "must contain at least 1 address"))
        elif len(endpoint.addresses) > MAX_ADDRESSES:
            found.append(too_many(f"{place}.addresses", len(endpoint.addresses), MAX_ADDRESSES))
        for j, address in enumerate(endpoint.addresses):
            found += _slice_address(address, obj.address_type, f"{place}.addresses[{j}]", existing)
        if endpoint.node_name is not None:
            found += each(f"{place}.nodeName", endpoint.node_name, is_dns1123_subdomain(endpoint.node_name))
        topology = endpoint.deprecated_topology
        if len(topology) > MAX_TOPOLOGY:
            found.append(too_many(f"{place}.deprecatedTopology", len(topology), MAX_TOPOLOGY))
        found += validate_labels(topology, f"{place}.deprecatedTopology")
        if endpoint.hostname is not None:
            found += each(f"{place}.hostname", endpoint.hostname, is_dns1123_label(endpoint.hostname))
        if endpoint.hints is not None:
            found += _hints([zone.name for zone in endpoint.hints.for_zones], f"{place}.hints.forZones")
            found += _hints([node.name for node in endpoint.hints.for_nodes], f"{place}.hints.forNodes")
    return found


def _slice_address(address: str, kind: str, field: str, existing: Collection[str]) -> Errors:
    """Check an address for the slice's type; addresses of an unknown type are not checked."""
    if kind == "FQDN":
        return validate_fully_qualified_domain_name(address, field)
    if kind not in ("IPv4", "IPv6"):
        return []
    wrong = is_valid_ip(address, existing)
    if wrong:
        return each(field, address, wrong)
    ip = parse_ip(address)
    other = ip is not None and kind != f"IPv{ip.version}"
    found = [invalid(field, address, f"must be an {kind} address")] if other else []
    return found + each(field, address, non_special_ip(address))


def _hints(names: list[str], field: str) -> Errors:
    """Source: validateHints."""
    if len(names) > MAX_HINTS:
        return [too_many(field, len(names), MAX_HINTS)]
    found: Errors = []
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            found.append(duplicate(f"{field}[{i}].name", name))
        seen.add(name)
        found += [required(f"{field}[{i}].name")] if not name else []
        found += each(f"{field}[{i}].name", name, is_qualified_name(name)) if name else []
    return found


def validate_endpoint_slice_update(new: EndpointSlice, old: EndpointSlice) -> Errors:
    """Source: ValidateEndpointSliceUpdate."""
    found = validate_endpoint_slice(new, {text for endpoint in old.endpoints for text in endpoint.addresses})
    return found + validate_immutable_field(new.address_type, old.address_type, "addressType")


KINDS: Rules = {
    Endpoints: (validate_endpoints, validate_endpoints_update),
    EndpointSlice: (validate_endpoint_slice, validate_endpoint_slice_update),
}
