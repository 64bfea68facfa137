"""networking.k8s.io/v1 and discovery.k8s.io/v1: Ingress, IngressClass, NetworkPolicy, EndpointSlice and others.

Source: k8s.io/api/networking/v1/types.go, k8s.io/api/discovery/v1/types.go.
"""

from __future__ import annotations

import msgspec

from kitlib.api.core import ObjectReference, TypedLocalObjectReference
from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector
from kitlib.api.numbers import Int32, IntOrString


class ServiceBackendPort(KubeStruct):
    name: str = ""
    number: Int32 = 0


class IngressServiceBackend(KubeStruct):
    name: str = ""
    port: ServiceBackendPort = msgspec.field(default_factory=ServiceBackendPort)


class IngressBackend(KubeStruct):
    service: IngressServiceBackend | None = None
    resource: TypedLocalObjectReference | None = None


class IngressTLS(KubeStruct):
    hosts: list[str] = []
    secret_name: str = ""


class HTTPIngressPath(KubeStruct):
    path: str = ""
    path_type: str | None = None
    backend: IngressBackend = msgspec.field(default_factory=IngressBackend)


class HTTPIngressRuleValue(KubeStruct):
    paths: list[HTTPIngressPath] = []


class IngressRule(KubeStruct):
    host: str = ""
    http: HTTPIngressRuleValue | None = None


class IngressSpec(KubeStruct):
    ingress_class_name: str | None = None
    default_backend: IngressBackend | None = None
    tls: list[IngressTLS] = []
    rules: list[IngressRule] = []


class IngressPortStatus(KubeStruct):
    port: Int32 = 0
    protocol: str = ""
    error: str | None = None


class IngressLoadBalancerIngress(KubeStruct):
    ip: str = ""
    hostname: str = ""
    ports: list[IngressPortStatus] = []


class IngressLoadBalancerStatus(KubeStruct):
    ingress: list[IngressLoadBalancerIngress] = []


class IngressStatus(KubeStruct):
    load_balancer: IngressLoadBalancerStatus = msgspec.field(default_factory=IngressLoadBalancerStatus)


class Ingress(KubeObject):
    api_version: str = "networking.k8s.io/v1"
    kind: str = "Ingress"
    spec: IngressSpec = msgspec.field(default_factory=IngressSpec)
    status: IngressStatus = msgspec.field(default_factory=IngressStatus)


class IngressClassParametersReference(KubeStruct):
    api_group: str | None = None
    kind: str = ""
    name: str = ""
    scope: str | None = None
    namespace: str | None = None


class IngressClassSpec(KubeStruct):
    controller: str = ""
    parameters: IngressClassParametersReference | None = None


class IngressClass(KubeObject):
    api_version: str = "networking.k8s.io/v1"
    kind: str = "IngressClass"
    spec: IngressClassSpec = msgspec.field(default_factory=IngressClassSpec)


class NetworkPolicyPort(KubeStruct):
    protocol: str | None = None
    port: IntOrString | None = None
    end_port: Int32 | None = None


class IPBlock(KubeStruct):
    cidr: str = ""
    except_: list[str] = msgspec.field(name="except", default_factory=list)


class NetworkPolicyPeer(KubeStruct):
    pod_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    ip_block: IPBlock | None = None


class NetworkPolicyIngressRule(KubeStruct):
    ports: list[NetworkPolicyPort] = []
    from_: list[NetworkPolicyPeer] = msgspec.field(name="from", default_factory=list)


class NetworkPolicyEgressRule(KubeStruct):
    ports: list[NetworkPolicyPort] = []
    to: list[NetworkPolicyPeer] = []


class NetworkPolicySpec(KubeStruct):
    pod_selector: LabelSelector = msgspec.field(default_factory=LabelSelector)
    ingress: list[NetworkPolicyIngressRule] = []
    egress: list[NetworkPolicyEgressRule] = []
    policy_types: list[str] = []


class NetworkPolicy(KubeObject):
    api_version: str = "networking.k8s.io/v1"
    kind: str = "NetworkPolicy"
    spec: NetworkPolicySpec = msgspec.field(default_factory=NetworkPolicySpec)


class ParentReference(KubeStruct):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class IPAddressSpec(KubeStruct):
    parent_ref: ParentReference | None = None


class IPAddress(KubeObject):
    api_version: str = "networking.k8s.io/v1"
    kind: str = "IPAddress"
    spec: IPAddressSpec = msgspec.field(default_factory=IPAddressSpec)


class ServiceCIDRSpec(KubeStruct):
    cidrs: list[str] = []


class ServiceCIDRStatus(KubeStruct):
    conditions: list[Condition] = []


class ServiceCIDR(KubeObject):
    api_version: str = "networking.k8s.io/v1"
    kind: str = "ServiceCIDR"
    spec: ServiceCIDRSpec = msgspec.field(default_factory=ServiceCIDRSpec)
    status: ServiceCIDRStatus = msgspec.field(default_factory=ServiceCIDRStatus)


class EndpointConditions(KubeStruct):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(KubeStruct):
    name: str = ""


class ForNode(KubeStruct):
    name: str = ""


class EndpointHints(KubeStruct):
    for_zones: list[ForZone] = []
    for_nodes: list[ForNode] = []


class Endpoint(KubeStruct):
    addresses: list[str] = []
    conditions: EndpointConditions = msgspec.field(default_factory=EndpointConditions)
    hostname: str | None = None
    target_ref: ObjectReference | None = None
    deprecated_topology: dict[str, str] = {}
    node_name: str | None = None
    zone: str | None = None
    hints: EndpointHints | None = None


class EndpointSlicePort(KubeStruct):
    """One port of a slice; upstream: discovery EndpointPort."""

    name: str | None = None
    protocol: str | None = None
    port: Int32 | None = None
    app_protocol: str | None = None


class EndpointSlice(KubeObject):
    api_version: str = "discovery.k8s.io/v1"
    kind: str = "EndpointSlice"
    address_type: str = ""
    endpoints: list[Endpoint] = []
    ports: list[EndpointSlicePort] = []
