"""Validation of Ingresses, IngressClasses, NetworkPolicies, IPAddresses and ServiceCIDRs.

Errors have the order, the fields, the values and the texts of upstream, with its peculiarities. The `is_…` functions
return the errors of a value as texts, none if it is valid; `each` makes an error of a field from each text.

Source: pkg/apis/networking/validation.
"""

from __future__ import annotations

from collections.abc import Collection

from kitlib.api.core import TypedLocalObjectReference
from kitlib.api.field_errors import (
    Errors,
    GoStruct,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long_value,
    validate_domain_prefixed_path,
    validate_immutable_field,
)
from kitlib.api.names import (
    is_canonical_cidr,
    is_canonical_ip,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_valid_cidr,
    is_valid_port_name,
    is_valid_port_num,
    is_wildcard_dns1123_subdomain,
    parse_cidr,
    parse_ip,
)
from kitlib.api.networking import (
    HTTPIngressPath,
    Ingress,
    IngressBackend,
    IngressClass,
    IngressClassParametersReference,
    IPAddress,
    IPBlock,
    NetworkPolicy,
    NetworkPolicyPeer,
    NetworkPolicyPort,
    ServiceCIDR,
)
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from kitlib.apiserver.validation.rules import Rules

# The order of each tuple is the order in the message: upstream sorts the path types, but not the others.
PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
PROTOCOLS = ("TCP", "UDP", "SCTP")
POLICY_TYPES = ("Ingress", "Egress")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_MAX_CONTROLLER = 250


def validate_ingress(obj: Ingress) -> Errors:
    """Source: ValidateIngressCreate.

    Only creation compares the annotation with the field, so stored Ingresses with a mismatch can be updated.
    """
    found = _ingress(obj)
    annotation = obj.metadata.annotations.get(_CLASS_ANNOTATION)
    name = obj.spec.ingress_class_name
    if annotation is not None and name is not None and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        # The path lacks "metadata." upstream as well.
        found.append(invalid(f"annotations.{_CLASS_ANNOTATION}", annotation, detail))
    return found


def validate_ingress_update(new: Ingress, old: Ingress) -> Errors:
    """Source: ValidateIngressUpdate."""
    return validate_object_meta_update(new.metadata, old.metadata) + _ingress(new)


def _ingress(obj: Ingress) -> Errors:
    """Source: validateIngress, ValidateIngressSpec."""
    spec = obj.spec
    found = validate_object_meta(obj.metadata, namespaced=True)
    if not spec.rules and spec.default_backend is None:
        # The value is spec.rules, a nil slice, which Go prints as null.
        found.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if spec.default_backend is not None:
        found += _backend(spec.default_backend, "spec.defaultBackend")
    for i, rule in enumerate(spec.rules):
        place = f"spec.rules[{i}]"
        if rule.host:
            if parse_ip(rule.host) is not None:
                found.append(invalid(f"{place}.host", rule.host, "must be a DNS name, not an IP address"))
            found += each(f"{place}.host", rule.host, _host(rule.host))
        if rule.http is not None:
            if not rule.http.paths:
                found.append(required(f"{place}.http.paths"))
            for j, path in enumerate(rule.http.paths):
                found += _path(path, f"{place}.http.paths[{j}]")
    for i, tls in enumerate(spec.tls):
        for j, host in enumerate(tls.hosts):
            found += each(f"spec.tls[{i}].hosts[{j}]", host, _host(host))
        if tls.secret_name:
            found += each(f"spec.tls[{i}].secretName", tls.secret_name, is_dns1123_subdomain(tls.secret_name))
    if spec.ingress_class_name is not None:
        name = spec.ingress_class_name
        found += each("spec.ingressClassName", name, is_dns1123_subdomain(name))
    return found


def _host(host: str) -> tuple[str, ...]:
    return is_wildcard_dns1123_subdomain(host) if "*" in host else is_dns1123_subdomain(host)


def _path(path: HTTPIngressPath, field: str) -> Errors:
    """Source: validateHTTPIngressPath."""
    if path.path_type is None:  # the backend is then not checked
        return [required(f"{field}.pathType", "pathType must be specified")]
    found: Errors = []
    place = f"{field}.path"
    if path.path_type in ("Exact", "Prefix"):
        if not path.path.startswith("/"):
            found.append(invalid(place, path.path, "must be an absolute path"))
        found += [invalid(place, path.path, f"must not contain '{bad}'") for bad in _BAD_SEQUENCES if bad in path.path]
        found += [invalid(place, path.path, f"cannot end with '{bad}'") for bad in _BAD_ENDS if path.path.endswith(bad)]
    elif path.path_type == "ImplementationSpecific":
        if path.path and not path.path.startswith("/"):
            found.append(invalid(place, path.path, "must be an absolute path"))
    else:
        found.append(not_supported(f"{field}.pathType", path.path_type, PATH_TYPES))
    return found + _backend(path.backend, f"{field}.backend")


def _backend(backend: IngressBackend, field: str) -> Errors:
    """Source: validateIngressBackend."""
    service = backend.service
    if backend.resource is not None and service is not None:
        return [invalid(field, "", "cannot set both resource and service backends")]
    if backend.resource is not None:
        return _reference(backend.resource, f"{field}.resource")
    if service is None:
        return [invalid(field, "", "resource or service backend is required")]
    found: Errors = []
    if not service.name:
        found.append(required(f"{field}.service.name"))
    else:
        found += each(f"{field}.service.name", service.name, is_dns1123_label(service.name))
    name, number = service.port.name, service.port.number
    if name and number:
        found.append(invalid(field, "", "cannot set both port name & port number"))
    elif name:
        found += each(f"{field}.service.port.name", name, is_valid_port_name(name))
    elif number:
        found += each(f"{field}.service.port.number", number, is_valid_port_num(number))
    else:
        found.append(required(field, "port name or number is required"))
    return found


def _reference(reference: TypedLocalObjectReference | IngressClassParametersReference, field: str) -> Errors:
    """Source: validateIngressTypedLocalObjectReference."""
    found: Errors = []
    if reference.api_group is not None:
        found += each(f"{field}.apiGroup", reference.api_group, is_dns1123_subdomain(reference.api_group))
    for name, value in (("kind", reference.kind), ("name", reference.name)):
        if value:
            found += each(f"{field}.{name}", value, is_path_segment_name(value))
        else:
            found.append(required(f"{field}.{name}", f"{name} is required"))
    return found


def validate_ingress_class(obj: IngressClass) -> Errors:
    """Source: ValidateIngressClass, validateIngressClassParametersReference."""
    found = validate_object_meta(obj.metadata, namespaced=False)
    controller, parameters = obj.spec.controller, obj.spec.parameters
    if len(controller.encode()) > _MAX_CONTROLLER:
        found.append(too_long_value("spec.controller", _MAX_CONTROLLER))
    found += validate_domain_prefixed_path(controller, "spec.controller")
    if parameters is None:
        return found
    place = "spec.parameters"
    found += _reference(parameters, place)
    if parameters.scope is None:
        found.append(required(f"{place}.scope"))
    elif parameters.scope not in ("Cluster", "Namespace"):
        found.append(not_supported(f"{place}.scope", parameters.scope, ("Cluster", "Namespace")))
    elif parameters.scope == "Cluster":
        if parameters.namespace is not None:
            found.append(forbidden(f"{place}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif parameters.namespace is None:
        found.append(required(f"{place}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        found += each(f"{place}.namespace", parameters.namespace, is_dns1123_label(parameters.namespace))
    return found


def validate_ingress_class_update(new: IngressClass, old: IngressClass) -> Errors:
    """Source: ValidateIngressClassUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    found += validate_immutable_field(new.spec.controller, old.spec.controller, "spec.controller")
    # This checks the metadata a second time, so some errors are listed twice, as upstream lists them.
    return found + validate_ingress_class(new)


def validate_network_policy(obj: NetworkPolicy) -> Errors:
    """Source: ValidateNetworkPolicy."""
    return validate_object_meta(obj.metadata, namespaced=True) + _network_policy_spec(obj, ())


def _network_policy_spec(obj: NetworkPolicy, existing: Collection[str]) -> Errors:
    """Source: ValidateNetworkPolicySpec.

    Args:
        obj: the policy.
        existing: every CIDR block of the stored policy, also from `except`. They are accepted in any place, even in a
            notation that new objects must not use, so that an old policy can still be updated.
    """
    spec = obj.spec
    found = validate_label_selector(spec.pod_selector, "spec.podSelector")
    for i, incoming in enumerate(spec.ingress):
        found += _rule(incoming.ports, incoming.from_, f"spec.ingress[{i}]", "from", existing)
    for i, outgoing in enumerate(spec.egress):
        found += _rule(outgoing.ports, outgoing.to, f"spec.egress[{i}]", "to", existing)
    if len(spec.policy_types) > len(POLICY_TYPES):
        detail = "may not specify more than two policyTypes"
        return [*found, invalid("spec.policyTypes", spec.policy_types, detail)]
    for i, kind in enumerate(spec.policy_types):
        if kind not in POLICY_TYPES:
            found.append(not_supported(f"spec.policyTypes[{i}]", kind, POLICY_TYPES))
    return found


def validate_network_policy_update(new: NetworkPolicy, old: NetworkPolicy) -> Errors:
    """Source: ValidateNetworkPolicyUpdate."""
    peers = [peer for rule in old.spec.ingress for peer in rule.from_]
    peers += [peer for rule in old.spec.egress for peer in rule.to]
    blocks = [peer.ip_block for peer in peers if peer.ip_block is not None]
    existing = {text for block in blocks for text in (block.cidr, *block.except_)}
    return validate_object_meta_update(new.metadata, old.metadata) + _network_policy_spec(new, existing)


def _rule(
    ports: list[NetworkPolicyPort], peers: list[NetworkPolicyPeer], field: str, name: str, existing: Collection[str]
) -> Errors:
    found: Errors = []
    for i, port in enumerate(ports):
        found += _policy_port(port, f"{field}.ports[{i}]")
    for i, peer in enumerate(peers):
        found += _peer(peer, f"{field}.{name}[{i}]", existing)
    return found


def _policy_port(port: NetworkPolicyPort, field: str) -> Errors:
    """Source: ValidateNetworkPolicyPort."""
    found: Errors = []
    if port.protocol is not None and port.protocol not in PROTOCOLS:
        found.append(not_supported(f"{field}.protocol", port.protocol, PROTOCOLS))
    end, place = port.end_port, f"{field}.endPort"
    if port.port is None:
        if end is not None:
            found.append(invalid(place, end, "may not be specified when `port` is not specified"))
    elif isinstance(port.port, int):
        found += each(f"{field}.port", port.port, is_valid_port_num(port.port))
        if end is not None:
            if end < port.port:
                # The field is endPort, but the value is that of `port`: so upstream reports it.
                found.append(invalid(place, port.port, "must be greater than or equal to `port`"))
            found += each(place, end, is_valid_port_num(end))
    else:
        if end is not None:
            found.append(invalid(place, end, "may not be specified when `port` is non-numeric"))
        found += each(f"{field}.port", port.port, is_valid_port_name(port.port))
    return found


def _peer(peer: NetworkPolicyPeer, field: str, existing: Collection[str]) -> Errors:
    """Source: ValidateNetworkPolicyPeer."""
    found = validate_label_selector(peer.pod_selector, f"{field}.podSelector")
    found += validate_label_selector(peer.namespace_selector, f"{field}.namespaceSelector")
    selected = peer.pod_selector is not None or peer.namespace_selector is not None
    if peer.ip_block is not None:
        found += _ip_block(peer.ip_block, f"{field}.ipBlock", existing)
        if selected:
            found.append(forbidden(field, "may not specify both ipBlock and another peer"))
    elif not selected:
        found.append(required(field, "must specify a peer"))
    return found


def _ip_block(block: IPBlock, field: str, existing: Collection[str]) -> Errors:
    """Source: ValidateIPBlock."""
    if not block.cidr:
        return [required(f"{field}.cidr")]
    found = each(f"{field}.cidr", block.cidr, is_valid_cidr(block.cidr, existing))
    whole = parse_cidr(block.cidr)
    if whole is None:
        return found
    for i, text in enumerate(block.except_):
        place = f"{field}.except[{i}]"
        found += each(place, text, is_valid_cidr(text, existing))
        part = parse_cidr(text)
        if part is None:
            continue
        # `parse_cidr` keeps host bits: `ip` is the address as written, `network` has them cleared.
        inside = part.version == whole.version and part.ip in whole.network
        if not inside or whole.network.prefixlen >= part.network.prefixlen:
            found.append(invalid(place, text, "must be a strict subset of `cidr`"))
    return found


def validate_ip_address(obj: IPAddress) -> Errors:
    """Check that an IPAddress has its address as its name.

    Source: ValidateIPAddress, validateIPAddressParentReference.
    """
    found = validate_object_meta(obj.metadata, namespaced=False, name_rule=is_canonical_ip)
    parent, place = obj.spec.parent_ref, "spec.parentRef"
    if parent is None:
        return [*found, required(place)]
    if parent.group:
        found += each(f"{place}.group", parent.group, is_dns1123_subdomain(parent.group))
    for name in ("resource", "name", "namespace"):
        value = getattr(parent, name)
        if value:
            found += each(f"{place}.{name}", value, is_path_segment_name(value))
        elif name != "namespace":
            found.append(required(f"{place}.{name}"))
    return found


def validate_ip_address_update(new: IPAddress, old: IPAddress) -> Errors:
    """Source: ValidateIPAddressUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    return found + validate_immutable_field(new.spec.parent_ref, old.spec.parent_ref, "spec.parentRef")


def validate_service_cidr(obj: ServiceCIDR) -> Errors:
    """Check that there is one block, or one of each family.

    Source: ValidateServiceCIDR.
    """
    return validate_object_meta(obj.metadata, namespaced=False) + _service_cidrs(obj.spec.cidrs)


def _service_cidrs(blocks: list[str]) -> Errors:
    """Source: validateServiceCIDRSpec. Its message about families says "IP" though it means a CIDR block."""
    place = "spec.cidrs"
    if not blocks:
        return [required(place, "at least one CIDR required")]
    if len(blocks) > 2:  # the value is the whole spec, with Go's field name
        return [invalid(place, GoStruct({"CIDRs": blocks}), "may only hold up to 2 values")]
    found: Errors = []
    for i, text in enumerate(blocks):
        found += each(f"{place}[{i}]", text, is_canonical_cidr(text))
    families = [cidr.version for cidr in map(parse_cidr, blocks) if cidr is not None]
    if families in ([4, 4], [6, 6]):  # an invalid block has no family
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        found.append(invalid(place, blocks, detail))
    return found


def validate_service_cidr_update(new: ServiceCIDR, old: ServiceCIDR) -> Errors:
    """Check that the blocks are unchanged, except for an added one of the other family.

    Source: ValidateServiceCIDRUpdate.
    """
    found, place = validate_object_meta_update(new.metadata, old.metadata), "spec.cidrs"
    blocks, known = new.spec.cidrs, old.spec.cidrs
    is_converted = len(known) == 1 and len(blocks) == 2  # from one family to two
    if len(blocks) != len(known) and not is_converted:
        return found + validate_immutable_field(blocks, known, place)
    for i, text in enumerate(known):
        found += validate_immutable_field(blocks[i], text, f"{place}[{i}]")
    return found + _service_cidrs(blocks) if is_converted else found


KINDS: Rules = {
    Ingress: (validate_ingress, validate_ingress_update),
    IngressClass: (validate_ingress_class, validate_ingress_class_update),
    NetworkPolicy: (validate_network_policy, validate_network_policy_update),
    IPAddress: (validate_ip_address, validate_ip_address_update),
    ServiceCIDR: (validate_service_cidr, validate_service_cidr_update),
}
