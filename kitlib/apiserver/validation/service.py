"""Validation of Services: ports, addresses, families, traffic policies; and whether their values can be allocated.

The checks of allocation look at one Service and the cluster's ranges. Addresses and node ports of other Services are
compared in `admission/service_allocation.py`, when the values are allocated. The cluster has one family, IPv4.

Source: pkg/apis/core/validation ValidateService, ValidateServiceUpdate; registry/core/service/storage alloc.go.
"""

from __future__ import annotations

import ipaddress

from kitlib.api.core import Service, ServicePort
from kitlib.api.field_errors import (
    IMMUTABLE,
    Errors,
    GoStruct,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    validate_enum,
)
from kitlib.api.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_qualified_name,
    is_valid_cidr,
    is_valid_ip,
    is_valid_port_num,
    non_special_ip,
    parse_ip,
)
from kitlib.apiserver.validation.object_meta import (
    name_is_dns_label,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.probes import validate_port_num_or_name
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.service_addresses import (
    ONCE_SET,
    cluster_ips,
    is_headless,
    validate_service_cluster_ips_related_fields,
    validate_upgrade_downgrade_cluster_ips,
    validate_upgrade_downgrade_ip_families,
)

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")  # sorted, as the message lists them; networking.py has another order
TRAFFIC_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
MAX_AFFINITY_SECONDS = 86400
SERVICE_CIDR = ipaddress.ip_network("10.96.0.0/16")
"""The range of Service addresses, that of kind; kubeadm's default is 10.96.0.0/12.

Source: kube-apiserver --service-cluster-ip-range. ServiceCIDR objects do not change it.
"""
NODE_PORTS = range(30000, 32768)
"""The range of node ports. Source: kube-apiserver --service-node-port-range."""
_LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"


def validate_service(service: Service) -> Errors:
    """Check a new Service: allocation errors first, other errors only if there are none.

    Upstream's BeginCreate hook allocates before the object is validated, and its error ends the request.

    Source: REST.beginCreate, ValidateServiceCreate.
    """
    return validate_service_allocation(service) or _service(service)


def validate_service_allocation(service: Service, old: Service | None = None) -> Errors:
    """Check that families, addresses and node ports are in the cluster's ranges; of an update only new values.

    Addresses of an update are checked only if the Service was an ExternalName, since others cannot change theirs.

    Source: allocateCreate, allocateUpdate.
    """
    if service.spec.type == "ExternalName":
        return []
    found = _families(service, old)
    if not found and (old is None or old.spec.type == "ExternalName"):
        found = _addresses(service)
    return found or _requested_node_ports(service, old)


def _families(service: Service, old: Service | None) -> Errors:
    """Source: initIPFamilyFields."""
    spec = service.spec
    if old is not None and _prefers_the_same(service, old):
        return []
    found = validate_service_cluster_ips_related_fields(service, old)
    if found:
        return found
    if old is not None and spec.ip_family_policy != "SingleStack":
        for what, now, before in (
            ("cluster IP", cluster_ips(service), cluster_ips(old)),
            ("IP family", spec.ip_families, old.spec.ip_families),
        ):
            if now and len(now) < len(before):  # an empty list keeps the stored values, so it releases none
                detail = f"must be 'SingleStack' to release the secondary {what}"
                found.append(invalid("spec.ipFamilyPolicy", spec.ip_family_policy, detail))
    addresses = cluster_ips(service)
    if spec.ip_family_policy in (None, "SingleStack") and not _is_free_of_families(service):
        for what, given in (("cluster IPs", addresses), ("IP families", spec.ip_families)):
            if len(given) == 2:
                detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                # Upstream has set the default by now, so the message shows it also for an unset policy.
                found.append(invalid("spec.ipFamilyPolicy", "SingleStack", detail))
    # Families are derived only from addresses beyond the given families. The value is the whole list, as upstream.
    for i, address in enumerate(addresses[len(spec.ip_families) :], len(spec.ip_families)):
        ip = parse_ip(address)
        if ip is not None and ip.version == 6:
            found.append(invalid(f"spec.clusterIPs[{i}]", addresses, "IPv6 is not configured on this cluster"))
    if not found and not (is_headless(service) and not spec.selector):
        if spec.ip_family_policy == "RequireDualStack":
            detail = "this cluster is not configured for dual-stack services"
            found.append(invalid("spec.ipFamilyPolicy", spec.ip_family_policy, detail))
        for i, family in enumerate(spec.ip_families):
            if family != "IPv4":
                found.append(invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster"))
    return found


def _prefers_the_same(service: Service, old: Service) -> bool:
    """Source: isMatchingPreferDualStackClusterIPFields."""
    new, before = service.spec, old.spec
    return (
        new.type == before.type
        and new.ip_family_policy == "PreferDualStack"
        and before.ip_family_policy in (None, "PreferDualStack")
        and cluster_ips(service) == cluster_ips(old)
        and new.ip_families == before.ip_families
    )


def _addresses(service: Service) -> Errors:
    """Check that addresses are in the range without its network and broadcast address, which are never allocated.

    Source: allocIPs, ipallocator Allocator.allocateService.
    """
    addresses = cluster_ips(service)
    ends = (SERVICE_CIDR.network_address, SERVICE_CIDR.broadcast_address)
    for address in addresses:
        ip = parse_ip(address)
        if ip is not None and (ip.version != SERVICE_CIDR.version or ip not in SERVICE_CIDR or ip in ends):
            detail = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {SERVICE_CIDR}"
            )
            return [invalid("spec.clusterIPs", addresses, detail)]
    return []


def _requested_node_ports(service: Service, old: Service | None) -> Errors:
    """Check that node ports are in the range, and that no two ports of a new Service with different numbers share one.

    Ports with the same number, such as 53/TCP and 53/UDP, may share a node port. On creation the first of them takes
    the node port that any of them requests. An update only checks node ports that the stored Service does not have,
    and each number once.

    Source: initNodePorts, updateNodePorts, PortAllocationOperation.Allocate.
    """
    spec = service.spec
    if spec.type not in ("NodePort", "LoadBalancer"):
        return []
    standing = {port.node_port for port in old.spec.ports} if old is not None else set()
    taken: set[int] = set()
    by_number: dict[int, int] = {}
    for i, port in enumerate(spec.ports):
        number = port.node_port
        if old is None and port.port not in by_number:
            # A later port of the same number may request the node port. Source: findRequestedNodePort.
            same = (other.node_port for other in spec.ports if other.port == port.port and other.node_port)
            number = by_number[port.port] = next(same, 0)
        elif old is None and number == by_number[port.port]:
            continue  # shared with an earlier port of the same number
        if not number or number in standing or (old is not None and number in taken):
            continue
        place = f"spec.ports[{i}].nodePort"
        if number not in NODE_PORTS:
            valid = f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            detail = f"provided port is not in the valid range. The range of valid ports is {valid}"
            return [invalid(place, number, detail)]
        if number in taken:  # only on creation: an update has skipped such a number above
            return [invalid(place, number, "provided port is already allocated")]
        taken.add(number)
    return []


def _is_free_of_families(service: Service) -> bool:
    """Return whether the Service may list two families: headless, without selector, and without a policy.

    Its default policy is RequireDualStack instead of SingleStack, also on a cluster with one family.

    Source: initIPFamilyFields, the special case "headless + selectorless".
    """
    return is_headless(service) and not service.spec.selector and service.spec.ip_family_policy is None


def _service(service: Service, old: Service | None = None) -> Errors:
    """Source: ValidateService."""
    spec = service.spec
    headless = is_headless(service)
    found: Errors = []
    if old is None:
        found += validate_object_meta(service.metadata, namespaced=True, name_rule=name_is_dns_label)
    mode, hints = (service.metadata.annotations.get(name) for name in (_TOPOLOGY_MODE, _TOPOLOGY_HINTS))
    if None not in (mode, hints) and mode != hints:
        detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        found.append(invalid(f"metadata.annotations[{_TOPOLOGY_MODE}]", mode, detail))
    if not spec.ports and not headless and spec.type != "ExternalName":
        found.append(required("spec.ports"))
    if spec.type in ("LoadBalancer", "NodePort") and headless:
        detail = f"may not be set to 'None' for {spec.type} services"
        found.append(invalid("spec.clusterIPs[0]", "None", detail))  # upstream's path, also if only clusterIP is set
    if spec.type == "ExternalName":
        found += _external_name(service)
    names: set[str] = set()
    for i, port in enumerate(spec.ports):
        found += _port(port, len(spec.ports) > 1, names, f"spec.ports[{i}]")
    found += validate_labels(spec.selector, "spec.selector")
    found += _session_affinity(service)
    found += validate_service_cluster_ips_related_fields(service, old)
    existing = old.spec.external_ips if old is not None else ()
    for i, address in enumerate(spec.external_ips):
        # Both return texts of errors, an empty tuple for a valid address.
        wrong = is_valid_ip(address, existing) or non_special_ip(address)
        found += each(f"spec.externalIPs[{i}]", address, wrong)
    found += validate_enum(spec.type, "spec.type", TYPES)
    found += _port_numbers(service)
    found += _load_balancer(service, old)
    return found + _traffic(service)


def _external_name(service: Service) -> Errors:
    spec = service.spec
    detail = "may not be set for ExternalName services"
    found = [
        forbidden(f"spec.{name}", detail)
        for name, value in (
            ("clusterIPs", cluster_ips(service)),
            ("ipFamilies", spec.ip_families),
            ("ipFamilyPolicy", spec.ip_family_policy),
        )
        if value
    ]
    name = spec.external_name.removesuffix(".")
    if not name:
        return [*found, required("spec.externalName")]
    return found + each("spec.externalName", name, is_dns1123_subdomain(name))


def _port(port: ServicePort, named: bool, names: set[str], field: str) -> Errors:
    """Check one port.

    Args:
        port: the port.
        named: whether a name is required, because the Service has several ports.
        names: the names of the earlier ports; the port's name is added.
        field: the path of the port.

    Source: validateServicePort.
    """
    found: Errors = []
    if named and not port.name:
        found.append(required(f"{field}.name"))
    elif port.name:
        found += each(f"{field}.name", port.name, is_dns1123_label(port.name))
        if port.name in names:
            found.append(duplicate(f"{field}.name", port.name))
        names.add(port.name)
    found += each(f"{field}.port", port.port, is_valid_port_num(port.port))
    found += validate_enum(port.protocol, f"{field}.protocol", PROTOCOLS)
    found += validate_port_num_or_name(port.target_port if port.target_port is not None else 0, f"{field}.targetPort")
    if port.app_protocol is not None:
        found += each(f"{field}.appProtocol", port.app_protocol, is_qualified_name(port.app_protocol))
    return found


def _session_affinity(service: Service) -> Errors:
    """Source: validateClientIPAffinityConfig."""
    spec = service.spec
    found = validate_enum(spec.session_affinity, "spec.sessionAffinity", ("ClientIP", "None"))
    config, place = spec.session_affinity_config, "spec.sessionAffinityConfig"
    if spec.session_affinity == "None" and config is not None:
        found.append(forbidden(place, "must not be set when session affinity is None"))
    if spec.session_affinity != "ClientIP":
        return found
    detail = "when session affinity type is ClientIP"
    if config is None:
        return [*found, required(place, detail)]
    if config.client_ip is None:
        return [*found, required(f"{place}.clientIP", detail)]
    seconds, place = config.client_ip.timeout_seconds, f"{place}.clientIP.timeoutSeconds"
    if seconds is None:
        return [*found, required(place, detail)]
    if not 0 < seconds <= MAX_AFFINITY_SECONDS:  # the maximum itself is valid, despite upstream's "less than"
        found.append(invalid(place, seconds, f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"))
    return found


def _port_numbers(service: Service) -> Errors:
    """Check that node ports are allowed, and that pairs of protocol and port are unique."""
    found: Errors = []
    spec = service.spec
    if spec.type == "ClusterIP":
        for i, port in enumerate(spec.ports):
            if port.node_port:
                detail = "may not be used when `type` is 'ClusterIP'"
                found.append(forbidden(f"spec.ports[{i}].nodePort", detail))
    pairs: set[tuple[str, int]] = set()
    for i, port in enumerate(spec.ports):
        if port.node_port and (port.protocol, port.node_port) in pairs:
            found.append(duplicate(f"spec.ports[{i}].nodePort", port.node_port))
        pairs.add((port.protocol, port.node_port))
    pairs = set()
    for i, port in enumerate(spec.ports):
        if (port.protocol, port.port) in pairs:
            found.append(duplicate(f"spec.ports[{i}]", _go_port(port)))
        pairs.add((port.protocol, port.port))
    return found


def _go_port(port: ServicePort) -> GoStruct:
    """Return a pair of protocol and port as the message prints it: upstream makes a ServicePort with these fields."""
    nothing = {"TargetPort": 0, "NodePort": 0}
    return GoStruct({"Name": "", "Protocol": port.protocol, "AppProtocol": None, "Port": port.port, **nothing})


def _load_balancer(service: Service, old: Service | None) -> Errors:
    spec = service.spec
    before = old if old is not None else Service()
    existing = {text.strip() for text in before.spec.load_balancer_source_ranges}
    balanced = spec.type == "LoadBalancer"
    found: Errors = []
    annotation = service.metadata.annotations.get(_SOURCE_RANGES)
    if spec.load_balancer_source_ranges:
        place = "spec.LoadBalancerSourceRanges"  # upstream's path has the capital L
        if not balanced:
            found.append(forbidden(place, _LOAD_BALANCER_ONLY))
        for i, text in enumerate(spec.load_balancer_source_ranges):
            found += each(f"{place}[{i}]", text.strip(), is_valid_cidr(text.strip(), existing))
    elif annotation is not None:
        place = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not balanced:
            found.append(forbidden(place, _LOAD_BALANCER_ONLY))
        # Unlike stored ranges, an unchanged annotation is skipped as a whole.
        is_new = annotation != before.metadata.annotations.get(_SOURCE_RANGES)
        for text in annotation.strip().split(",") if is_new and annotation.strip() else ():
            found += each(place, text.strip(), is_valid_cidr(text.strip()))
    if spec.allocate_load_balancer_node_ports is not None and not balanced:
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCER_ONLY))
    return found + _load_balancer_class(service)


def _traffic(service: Service) -> Errors:
    """Source: validateServiceExternalTrafficPolicy, validateServiceInternalTrafficFieldsValue."""
    spec = service.spec
    found: Errors = []
    policy, place = spec.external_traffic_policy, "spec.externalTrafficPolicy"
    reachable = spec.type in ("NodePort", "LoadBalancer") or (spec.type == "ClusterIP" and bool(spec.external_ips))
    if reachable:
        found += validate_enum(policy, place, ("Cluster", "Local"))
    elif policy:
        found.append(invalid(place, policy, "may only be set for externally-accessible services"))
    number, place = spec.health_check_node_port, "spec.healthCheckNodePort"
    if needs_health_check(service):
        # 0 passes: admission/service_allocation.py allocates a port for it.
        found += each(place, number, is_valid_port_num(number)) if number else []
    elif number:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(invalid(place, number, detail))
    if spec.internal_traffic_policy is not None and spec.internal_traffic_policy not in ("Cluster", "Local"):
        place = "spec.internalTrafficPolicy"
        found.append(not_supported(place, spec.internal_traffic_policy, ("Cluster", "Local")))
    if spec.traffic_distribution is not None and spec.traffic_distribution not in TRAFFIC_DISTRIBUTIONS:
        found.append(not_supported("spec.trafficDistribution", spec.traffic_distribution, TRAFFIC_DISTRIBUTIONS))
    return found


def validate_service_update(new: Service, old: Service) -> Errors:
    """Check an update: allocation errors first; addresses are immutable once they are set.

    Source: REST.beginUpdate, ValidateServiceUpdate.
    """
    found = validate_service_allocation(new, old)
    if found:
        return found
    found = validate_object_meta_update(new.metadata, old.metadata)
    found += validate_upgrade_downgrade_cluster_ips(new, old) + validate_upgrade_downgrade_ip_families(new, old)
    name, place = new.spec.load_balancer_class, "spec.loadBalancerClass"
    if new.spec.type == old.spec.type == "LoadBalancer" and name != old.spec.load_balancer_class:
        found.append(invalid(place, name, ONCE_SET))
    found += _load_balancer_class(new)  # `_service` checks it again, so errors are listed twice, as upstream
    if needs_health_check(new) and needs_health_check(old):
        number = new.spec.health_check_node_port
        if number != old.spec.health_check_node_port:
            found.append(forbidden("spec.healthCheckNodePort", IMMUTABLE))
    return found + _service(new, old)


def needs_health_check(service: Service) -> bool:
    """Source: apiservice.NeedsHealthCheck."""
    return service.spec.type == "LoadBalancer" and service.spec.external_traffic_policy == "Local"


def _load_balancer_class(service: Service) -> Errors:
    """Source: validateLoadBalancerClassField."""
    name, place = service.spec.load_balancer_class, "spec.loadBalancerClass"
    if name is None:
        return []
    if service.spec.type != "LoadBalancer":
        return [forbidden(place, _LOAD_BALANCER_ONLY)]
    return each(place, name, is_qualified_name(name))


KINDS: Rules = {
    Service: (validate_service, validate_service_update),
}
