"""Services: ports, addresses, families, traffic policies; and what the allocators of this cluster can give.

Source: pkg/apis/core/validation ValidateService, ValidateServiceClusterIPsRelatedFields, ValidateServiceUpdate;
registry/core/service/storage alloc.go.
"""

from __future__ import annotations

import ipaddress

from kitlib.api.core import Service, ServicePort
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
from kitlib.api.validation.fields import (
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
from kitlib.api.validation.object_meta import (
    name_is_dns_label,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.api.validation.probes import validate_port_num_or_name

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
TRAFFIC_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
KUBELET_PORT = 10250
MAX_AFFINITY_SECONDS = 86400
SERVICE_CIDR = ipaddress.ip_network("10.96.0.0/16")
"""Addresses of Services, as kubeadm sets them. Source: kube-apiserver --service-cluster-ip-range."""
NODE_PORTS = range(30000, 32768)
"""Source: kube-apiserver --service-node-port-range."""
_LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def validate_service(service: Service) -> Errors:
    """A new Service: first what cannot be allocated, and only then everything else.

    Source: REST.beginCreate, ValidateServiceCreate.
    """
    return validate_service_allocation(service) or _service(service)


def validate_service_allocation(service: Service) -> Errors:
    """Families, addresses and node ports that this cluster does not have.

    Source: allocateCreate, initIPFamilyFields, allocClusterIPs, allocNodePorts.
    """
    spec = service.spec
    if spec.type == "ExternalName":
        return []
    found = validate_service_cluster_ips_related_fields(service)
    if found:
        return found
    addresses = cluster_ips(service)
    if spec.ip_family_policy in (None, "SingleStack") and not _is_free_of_families(service):
        for what, given in (("cluster IPs", addresses), ("IP families", spec.ip_families)):
            if len(given) == 2:
                detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                found.append(invalid("spec.ipFamilyPolicy", "SingleStack", detail))
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
    if found:
        return found
    for address in addresses:
        ip = parse_ip(address)
        if ip is not None and (ip.version != SERVICE_CIDR.version or ip not in SERVICE_CIDR):
            detail = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {SERVICE_CIDR}"
            )
            return [invalid("spec.clusterIPs", addresses, detail)]
    if spec.type in ("NodePort", "LoadBalancer"):
        for i, port in enumerate(spec.ports):
            if port.node_port and port.node_port not in NODE_PORTS:
                detail = (
                    "provided port is not in the valid range. The range of valid ports is "
                    f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
                )
                return [invalid(f"spec.ports[{i}].nodePort", port.node_port, detail)]
    return []


def cluster_ips(service: Service) -> list[str]:
    """The addresses that are asked for, in either field. Source: normalizeClusterIPs."""
    spec = service.spec
    return spec.cluster_ips or ([spec.cluster_ip] if spec.cluster_ip else [])


def is_headless(service: Service) -> bool:
    """Source: isHeadlessService."""
    return cluster_ips(service) == ["None"]


def _is_free_of_families(service: Service) -> bool:
    """A headless Service without a selector and a policy requires both families."""
    return is_headless(service) and not service.spec.selector and service.spec.ip_family_policy is None


def _service(service: Service, old: Service | None = None) -> Errors:
    """Source: ValidateService."""
    spec = service.spec
    headless = is_headless(service)
    found = validate_object_meta(service.metadata, namespaced=True, name_rule=name_is_dns_label)
    if not spec.ports and not headless and spec.type != "ExternalName":
        found.append(required("spec.ports"))
    if spec.type == "LoadBalancer":
        for i, port in enumerate(spec.ports):
            if port.port == KUBELET_PORT:
                detail = f"may not expose port {KUBELET_PORT} externally since it is used by kubelet"
                found.append(invalid(f"spec.ports[{i}]", port.port, detail))
    if spec.type in ("LoadBalancer", "NodePort") and headless:
        detail = f"may not be set to 'None' for {spec.type} services"
        found.append(invalid("spec.clusterIPs[0]", "None", detail))
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
    """Source: validateServicePort."""
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
    if not 0 < seconds <= MAX_AFFINITY_SECONDS:
        found.append(invalid(place, seconds, f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"))
    return found


def validate_service_cluster_ips_related_fields(service: Service, old: Service | None = None) -> Errors:
    """Source: ValidateServiceClusterIPsRelatedFields."""
    spec = service.spec
    if spec.type == "ExternalName":
        return []
    found: Errors = []
    place, addresses = "spec.clusterIPs", cluster_ips(service)
    if spec.cluster_ip:
        if addresses[0] != spec.cluster_ip:
            found.append(invalid(place, addresses, "first value must match `clusterIP`"))
    elif addresses:
        found.append(invalid(place, addresses, "must be empty when `clusterIP` is not specified"))
    seen: set[str] = set()
    for i, family in enumerate(spec.ip_families):
        if family not in FAMILIES:
            found.append(not_supported(f"spec.ipFamilies[{i}]", family, FAMILIES))
        if family in seen:
            found.append(duplicate(f"spec.ipFamilies[{i}]", family))
        seen.add(family)
    if spec.ip_family_policy is not None and spec.ip_family_policy not in FAMILY_POLICIES:
        found.append(not_supported("spec.ipFamilyPolicy", spec.ip_family_policy, FAMILY_POLICIES))
    wrong = False
    for i, address in enumerate(addresses):
        if i == 0 and address == "None":
            if len(addresses) > 1:
                wrong = True
                found.append(invalid(place, addresses, "'None' must be the first and only value"))
            continue
        problems = is_valid_ip(address, cluster_ips(old) if old is not None else ())
        wrong = wrong or bool(problems)
        found += each(f"{place}[{i}]", address, problems)
    if len(addresses) > 2:
        found.append(invalid(place, addresses, "may only hold up to 2 values"))
    if wrong:
        return found
    parsed = [parse_ip(address) for address in addresses if address != "None"]
    versions = [ip.version for ip in parsed if ip is not None]
    if len(addresses) > 1 and len(set(versions)) < 2:
        found.append(invalid(place, addresses, "may specify no more than one IP for each IP family"))
    if found:
        return found
    for i, (address, version, family) in enumerate(zip(addresses, versions, spec.ip_families, strict=False)):
        if family in FAMILIES and family != f"IPv{version}":
            detail = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            found.append(invalid(f"{place}[{i}]", address, detail))
    return found


def _port_numbers(service: Service) -> Errors:
    """Node ports where they can be, and no pair of protocol and port twice."""
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
    """The pair as the message shows it: a port with nothing else set."""
    nothing = {"TargetPort": 0, "NodePort": 0}
    return GoStruct({"Name": "", "Protocol": port.protocol, "AppProtocol": None, "Port": port.port, **nothing})


def _load_balancer(service: Service, old: Service | None) -> Errors:
    spec = service.spec
    before = old if old is not None else Service()
    existing = {text.strip() for text in before.spec.load_balancer_source_ranges}
    existing |= {text.strip() for text in before.metadata.annotations.get(_SOURCE_RANGES, "").split(",")}
    balanced = spec.type == "LoadBalancer"
    found: Errors = []
    annotation = service.metadata.annotations.get(_SOURCE_RANGES)
    if spec.load_balancer_source_ranges:
        place = "spec.LoadBalancerSourceRanges"
        if not balanced:
            found.append(forbidden(place, _LOAD_BALANCER_ONLY))
        for i, text in enumerate(spec.load_balancer_source_ranges):
            found += each(f"{place}[{i}]", text.strip(), is_valid_cidr(text.strip(), existing))
    elif annotation is not None:
        place = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not balanced:
            found.append(forbidden(place, _LOAD_BALANCER_ONLY))
        for text in annotation.strip().split(",") if annotation.strip() else ():
            found += each(place, text.strip(), is_valid_cidr(text.strip(), existing))
    if spec.allocate_load_balancer_node_ports is not None and not balanced:
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCER_ONLY))
    if spec.load_balancer_class is not None:
        if balanced:
            name = spec.load_balancer_class
            found += each("spec.loadBalancerClass", name, is_qualified_name(name))
        else:
            found.append(forbidden("spec.loadBalancerClass", _LOAD_BALANCER_ONLY))
    return found


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
    if spec.type == "LoadBalancer" and policy == "Local":
        found += each(place, number, is_valid_port_num(number)) if number else []  # 0: one is allocated
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
    """An address stays once it is set. Source: ValidateServiceUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    now, before = cluster_ips(new), cluster_ips(old)
    if "ExternalName" not in (new.spec.type, old.spec.type):
        for i, (address, was) in enumerate(zip(now, before, strict=False)):
            if address != was:
                found.append(invalid(f"spec.clusterIPs[{i}]", now, "may not change once set"))
    if new.spec.type == old.spec.type == "LoadBalancer":
        name = new.spec.load_balancer_class
        if name != old.spec.load_balancer_class:
            found.append(invalid("spec.loadBalancerClass", name, "may not change once set"))
    return found + _service(new, old)
