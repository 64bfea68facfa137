"""Defaults of Services, Secrets, autoscalers, network policies and further small objects.

Source: the defaults.go of pkg/apis/core/v1, autoscaling/v2, networking/v1, discovery/v1, rbac/v1, apiextensions/v1.
"""

from __future__ import annotations

from kitlib.api.apiextensions import CustomResourceConversion, CustomResourceDefinition
from kitlib.api.autoscaling import (
    HorizontalPodAutoscaler,
    HPAScalingPolicy,
    HPAScalingRules,
    MetricSpec,
    MetricTarget,
    ResourceMetricSource,
)
from kitlib.api.core import ClientIPConfig, Endpoints, Secret, Service, SessionAffinityConfig
from kitlib.api.networking import EndpointSlice, IngressClass, NetworkPolicy
from kitlib.api.rbac import ClusterRoleBinding, RoleBinding

RBAC_GROUP = "rbac.authorization.k8s.io"
CPU_UTILIZATION = 80
AFFINITY_SECONDS = 10800


def service(obj: Service) -> None:
    """Source: SetDefaults_Service."""
    spec = obj.spec
    spec.session_affinity = spec.session_affinity or "None"
    if spec.session_affinity == "None":
        spec.session_affinity_config = None
    elif spec.session_affinity == "ClientIP":
        config = spec.session_affinity_config
        if config is None or config.client_ip is None or config.client_ip.timeout_seconds is None:
            client = ClientIPConfig(timeout_seconds=AFFINITY_SECONDS)
            spec.session_affinity_config = SessionAffinityConfig(client_ip=client)
    spec.type = spec.type or "ClusterIP"
    for port in spec.ports:
        port.protocol = port.protocol or "TCP"
        if port.target_port in (None, 0, ""):
            port.target_port = port.port
    external = spec.type in ("NodePort", "LoadBalancer") or (spec.type == "ClusterIP" and bool(spec.external_ips))
    if external and not spec.external_traffic_policy:
        spec.external_traffic_policy = "Cluster"
    if spec.internal_traffic_policy is None and spec.type in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.internal_traffic_policy = "Cluster"
    if spec.type == "LoadBalancer" and spec.allocate_load_balancer_node_ports is None:
        spec.allocate_load_balancer_node_ports = True


def secret(obj: Secret) -> None:
    """Set the type, and move `stringData` into `data`. Source: SetDefaults_Secret, Convert_v1_Secret_To_core_Secret."""
    obj.type = obj.type or "Opaque"
    for key, text in obj.string_data.items():
        obj.data[key] = text.encode()
    obj.string_data = {}


def endpoints(obj: Endpoints) -> None:
    """Source: SetDefaults_Endpoints."""
    for subset in obj.subsets:
        for port in subset.ports:
            port.protocol = port.protocol or "TCP"


def endpoint_slice(obj: EndpointSlice) -> None:
    """Source: discovery/v1 SetDefaults_EndpointPort."""
    for port in obj.ports:
        port.name = "" if port.name is None else port.name
        port.protocol = "TCP" if port.protocol is None else port.protocol


def network_policy(obj: NetworkPolicy) -> None:
    """Source: networking/v1 SetDefaults_NetworkPolicy, SetDefaults_NetworkPolicyPort."""
    ports = [port for incoming in obj.spec.ingress for port in incoming.ports]
    for port in [*ports, *(port for outgoing in obj.spec.egress for port in outgoing.ports)]:
        port.protocol = "TCP" if port.protocol is None else port.protocol
    if not obj.spec.policy_types:
        obj.spec.policy_types = ["Ingress", "Egress"] if obj.spec.egress else ["Ingress"]


def ingress_class(obj: IngressClass) -> None:
    """Source: networking/v1 SetDefaults_IngressClass."""
    if obj.spec.parameters is not None and obj.spec.parameters.scope is None:
        obj.spec.parameters.scope = "Cluster"


def binding(obj: RoleBinding | ClusterRoleBinding) -> None:
    """Source: rbac/v1 SetDefaults_RoleBinding, SetDefaults_Subject."""
    obj.role_ref.api_group = obj.role_ref.api_group or RBAC_GROUP
    for subject in obj.subjects:
        if not subject.api_group and subject.kind in ("User", "Group"):
            subject.api_group = RBAC_GROUP


def horizontal_pod_autoscaler(obj: HorizontalPodAutoscaler) -> None:
    """Source: autoscaling/v2 SetDefaults_HorizontalPodAutoscaler, GenerateHPAScaleUpRules."""
    spec = obj.spec
    spec.min_replicas = 1 if spec.min_replicas is None else spec.min_replicas
    if not spec.metrics:
        target = MetricTarget(type="Utilization", average_utilization=CPU_UTILIZATION)
        spec.metrics = [MetricSpec(type="Resource", resource=ResourceMetricSource(name="cpu", target=target))]
    if spec.behavior is not None:
        spec.behavior.scale_up = _rules(spec.behavior.scale_up, 0, (("Pods", 4), ("Percent", 100)))
        spec.behavior.scale_down = _rules(spec.behavior.scale_down, None, (("Percent", 100),))


def _rules(rules: HPAScalingRules | None, window: int | None, policies: tuple[tuple[str, int], ...]) -> HPAScalingRules:
    made = rules or HPAScalingRules()
    if made.stabilization_window_seconds is None:
        made.stabilization_window_seconds = window
    made.select_policy = made.select_policy if made.select_policy is not None else "Max"
    if made.policies is None:
        made.policies = [HPAScalingPolicy(type=kind, value=value, period_seconds=15) for kind, value in policies]
    return made


def custom_resource_definition(obj: CustomResourceDefinition) -> None:
    """Source: apiextensions/v1 SetDefaults_CustomResourceDefinitionSpec."""
    names = obj.spec.names
    names.singular = names.singular or names.kind.lower()
    names.list_kind = names.list_kind or (f"{names.kind}List" if names.kind else "")
    if obj.spec.conversion is None:
        obj.spec.conversion = CustomResourceConversion(strategy="None")
