"""Warnings about IP addresses, and about the Services, slices, policies and Nodes that contain them.

Source: apimachinery util/validation ip.go; pkg/api/service/warnings.go; the strategies of endpoints, endpointslice,
networkpolicy and node in pkg/registry.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kitlib.api.core import Endpoints, Node, Service
from kitlib.api.names import has_leading_zeros, is_mapped, parse_cidr, parse_ip
from kitlib.api.networking import EndpointSlice, NetworkPolicy

_TOPOLOGY_HINTS, _TOPOLOGY_MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_SLICE_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_SLICE_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_FUTURE = "will be considered invalid in a future Kubernetes release: use"


def ip_warnings(text: str, field: str) -> Iterator[str]:
    """Source: validation.GetWarningsForIP."""
    ip = parse_ip(text)
    if ip is None:
        return
    preferred = _preferred(ip)
    if is_mapped(ip) or (ip.version == 4 and has_leading_zeros(text)):
        yield f'{field}: non-standard IP address "{text}" {_FUTURE} "{preferred}"'
    elif ip.version == 6 and preferred != text:
        yield f'{field}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{preferred}")'


def cidr_warnings(text: str, field: str) -> Iterator[str]:
    """Source: validation.GetWarningsForCIDR."""
    cidr = parse_cidr(text)
    if cidr is None:
        return
    quiet = True
    if cidr.ip != cidr.network.network_address:
        quiet = False
        whole = f"{cidr.ip}/{cidr.max_prefixlen}"
        yield f'{field}: CIDR value "{text}" is ambiguous in this context (should be "{cidr.network}" or "{whole}"?)'
    address, _, bits = text.partition("/")
    if is_mapped(cidr.ip) or has_leading_zeros(bits) or (cidr.version == 4 and has_leading_zeros(address)):
        quiet = False
        yield f'{field}: non-standard CIDR value "{text}" {_FUTURE} "{cidr.network}"'
    if quiet and cidr.version == 6 and str(cidr) != text:
        yield f'{field}: IPv6 CIDR value "{text}" should be in RFC 5952 canonical format ("{cidr}")'


def _preferred(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)


def service_warnings(obj: Service) -> Iterator[str]:
    """Source: GetWarningsForService."""
    spec = obj.spec
    if _TOPOLOGY_HINTS in obj.metadata.annotations:
        yield f"annotation {_TOPOLOGY_HINTS} is deprecated, please use {_TOPOLOGY_MODE} instead"
    if spec.cluster_ip not in ("", "None"):
        for i, address in enumerate(spec.cluster_ips or [spec.cluster_ip]):
            yield from ip_warnings(address, f"spec.clusterIPs[{i}]")
    if spec.type == "ClusterIP" and spec.cluster_ip == "None":
        for name, ignored in (
            ("loadBalancerIP", spec.load_balancer_ip),
            ("externalIPs", spec.external_ips),
            ("SessionAffinity", spec.session_affinity != "None"),
        ):
            if ignored:
                yield f"spec.{name} is ignored for headless services"
    if spec.external_ips:
        yield "spec.externalIPs is deprecated"
    for i, address in enumerate(spec.external_ips):
        yield from ip_warnings(address, f"spec.externalIPs[{i}]")
    if spec.load_balancer_ip:
        yield from ip_warnings(spec.load_balancer_ip, "spec.loadBalancerIP")
    for i, block in enumerate(spec.load_balancer_source_ranges):
        yield from cidr_warnings(block, f"spec.loadBalancerSourceRanges[{i}]")
    if spec.type == "ExternalName" and spec.external_ips:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.type != "ExternalName" and spec.external_name:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.traffic_distribution == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def endpoints_warnings(obj: Endpoints) -> Iterator[str]:
    """Source: endpointsWarnings; Endpoints of the controller are skipped."""
    if obj.metadata.labels.get(_MANAGED_BY) == "endpoint-controller":
        return
    for i, subset in enumerate(obj.subsets):
        for name, addresses in (("addresses", subset.addresses), ("notReadyAddresses", subset.not_ready_addresses)):
            for j, address in enumerate(addresses):
                yield from ip_warnings(address.ip, f"subsets[{i}].{name}[{j}].ip")


def endpoint_slice_warnings(obj: EndpointSlice) -> Iterator[str]:
    """Source: warnOnBadIPs; slices of the controllers are skipped."""
    if obj.metadata.labels.get(_SLICE_MANAGED_BY) in _SLICE_CONTROLLERS or obj.address_type == "FQDN":
        return
    for i, endpoint in enumerate(obj.endpoints):
        for j, address in enumerate(endpoint.addresses):
            yield from ip_warnings(address, f"endpoints[{i}].addresses[{j}]")


def network_policy_warnings(obj: NetworkPolicy) -> Iterator[str]:
    """Source: networkPolicyWarnings."""
    peers = [
        (peer, f"spec.ingress[{i}].from[{j}]")
        for i, incoming in enumerate(obj.spec.ingress)
        for j, peer in enumerate(incoming.from_)
    ] + [
        (peer, f"spec.egress[{i}].to[{j}]")
        for i, outgoing in enumerate(obj.spec.egress)
        for j, peer in enumerate(outgoing.to)
    ]
    for peer, field in peers:
        if peer.ip_block is not None:
            yield from cidr_warnings(peer.ip_block.cidr, f"{field}.ipBlock.cidr")
            for k, text in enumerate(peer.ip_block.except_):
                yield from cidr_warnings(text, f"{field}.ipBlock.except[{k}]")


def node_warnings(obj: Node) -> Iterator[str]:
    """Source: fieldIsDeprecatedWarnings."""
    if obj.spec.external_id:
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for i, block in enumerate(obj.spec.pod_cidrs or [obj.spec.pod_cidr]):
        yield from cidr_warnings(block, f"spec.podCIDRs[{i}]")
