"""The core/v1 objects: Pod, Node, Namespace, Service, ConfigMap, Secret, quota, limits, volumes and their claims.

A container and its parts are in `container`, sources of volumes in `volume`; both can be imported from here.
Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from kitlib.api.affinity import Affinity as Affinity
from kitlib.api.affinity import NodeAffinity as NodeAffinity
from kitlib.api.affinity import NodeSelector as NodeSelector
from kitlib.api.affinity import NodeSelectorRequirement as NodeSelectorRequirement
from kitlib.api.affinity import NodeSelectorTerm as NodeSelectorTerm
from kitlib.api.affinity import PodAffinity as PodAffinity
from kitlib.api.affinity import PodAffinityTerm as PodAffinityTerm
from kitlib.api.affinity import PodAntiAffinity as PodAntiAffinity
from kitlib.api.affinity import PreferredSchedulingTerm as PreferredSchedulingTerm
from kitlib.api.affinity import Toleration as Toleration
from kitlib.api.affinity import TopologySpreadConstraint as TopologySpreadConstraint
from kitlib.api.affinity import WeightedPodAffinityTerm as WeightedPodAffinityTerm
from kitlib.api.container import Container as Container
from kitlib.api.container import ContainerPort as ContainerPort
from kitlib.api.container import ContainerResizePolicy as ContainerResizePolicy
from kitlib.api.container import EnvVar as EnvVar
from kitlib.api.container import EphemeralContainer as EphemeralContainer
from kitlib.api.container import PodSecurityContext as PodSecurityContext
from kitlib.api.container import Probe as Probe
from kitlib.api.container import ResourceClaimRef as ResourceClaimRef
from kitlib.api.container import ResourceList as ResourceList
from kitlib.api.container import ResourceRequirements as ResourceRequirements
from kitlib.api.container import SecurityContext as SecurityContext
from kitlib.api.container import VolumeDevice as VolumeDevice
from kitlib.api.container import VolumeMount as VolumeMount
from kitlib.api.container_status import ContainerStatus as ContainerStatus
from kitlib.api.container_status import ContainerUser as ContainerUser
from kitlib.api.container_status import LinuxContainerUser as LinuxContainerUser
from kitlib.api.container_status import VolumeMountStatus as VolumeMountStatus
from kitlib.api.meta import Condition, KubeObject, KubeStruct, ObjectMeta
from kitlib.api.numbers import Int32, Int64
from kitlib.api.numbers import IntOrString as IntOrString
from kitlib.api.persistent_volume import ModifyVolumeStatus as ModifyVolumeStatus
from kitlib.api.persistent_volume import PersistentVolume as PersistentVolume
from kitlib.api.persistent_volume import PersistentVolumeClaim as PersistentVolumeClaim
from kitlib.api.persistent_volume import PersistentVolumeClaimStatus as PersistentVolumeClaimStatus
from kitlib.api.persistent_volume import PersistentVolumeSpec as PersistentVolumeSpec
from kitlib.api.persistent_volume import PersistentVolumeStatus as PersistentVolumeStatus
from kitlib.api.persistent_volume import VolumeNodeAffinity as VolumeNodeAffinity
from kitlib.api.quota import LimitRange as LimitRange
from kitlib.api.quota import LimitRangeItem as LimitRangeItem
from kitlib.api.quota import LimitRangeSpec as LimitRangeSpec
from kitlib.api.quota import ResourceQuota as ResourceQuota
from kitlib.api.quota import ResourceQuotaSpec as ResourceQuotaSpec
from kitlib.api.quota import ResourceQuotaStatus as ResourceQuotaStatus
from kitlib.api.quota import ScopedResourceSelectorRequirement as ScopedResourceSelectorRequirement
from kitlib.api.quota import ScopeSelector as ScopeSelector
from kitlib.api.volume import LocalObjectReference as LocalObjectReference
from kitlib.api.volume import ObjectReference as ObjectReference
from kitlib.api.volume import PersistentVolumeClaimSpec as PersistentVolumeClaimSpec
from kitlib.api.volume import PersistentVolumeClaimTemplate as PersistentVolumeClaimTemplate
from kitlib.api.volume import PersistentVolumeClaimVolumeSource as PersistentVolumeClaimVolumeSource
from kitlib.api.volume import PersistentVolumeSource as PersistentVolumeSource
from kitlib.api.volume import TypedLocalObjectReference as TypedLocalObjectReference
from kitlib.api.volume import Volume as Volume


class PodSchedulingGate(KubeStruct):
    name: str = ""


class PodResourceClaim(KubeStruct):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(KubeStruct):
    name: str = ""


class PodReadinessGate(KubeStruct):
    condition_type: str = ""


class HostAlias(KubeStruct):
    ip: str = ""
    hostnames: list[str] = []


class PodDNSConfigOption(KubeStruct):
    name: str = ""
    value: str | None = None


class PodDNSConfig(KubeStruct):
    nameservers: list[str] = []
    searches: list[str] = []
    options: list[PodDNSConfigOption] = []


class PodSchedulingGroup(KubeStruct):
    pod_group_name: str | None = None


class PodSpec(KubeStruct):
    volumes: list[Volume] = []
    init_containers: list[Container] = []
    containers: list[Container] = []
    ephemeral_containers: list[EphemeralContainer] = []
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    dns_policy: str = ""
    node_selector: dict[str, str] = {}
    service_account_name: str = ""
    service_account: str = ""
    automount_service_account_token: bool | None = None
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = msgspec.field(name="hostPID", default=False)
    host_ipc: bool = msgspec.field(name="hostIPC", default=False)
    share_process_namespace: bool | None = None
    security_context: PodSecurityContext | None = None
    image_pull_secrets: list[LocalObjectReference] = []
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: list[Toleration] = []
    host_aliases: list[HostAlias] = []
    priority_class_name: str = ""
    priority: Int32 | None = None
    dns_config: PodDNSConfig | None = None
    readiness_gates: list[PodReadinessGate] = []
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: ResourceList = {}
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    set_hostname_as_fqdn: bool | None = msgspec.field(name="setHostnameAsFQDN", default=None)
    os: PodOS | None = None
    host_users: bool | None = None
    scheduling_gates: list[PodSchedulingGate] = []
    resource_claims: list[PodResourceClaim] = []
    resources: ResourceRequirements | None = None
    hostname_override: str | None = None
    scheduling_group: PodSchedulingGroup | None = None


class ContainerExtendedResourceRequest(KubeStruct):
    """The request of the pod's claim for extended resources that serves a container's resource."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(KubeStruct):
    request_mappings: list[ContainerExtendedResourceRequest] = []
    resource_claim_name: str = ""


TERMINAL_PHASES = ("Succeeded", "Failed")
"""The phases of a pod that has ended and will not run again."""


class PodStatus(KubeStruct):
    phase: str = ""
    conditions: list[Condition] = []
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = msgspec.field(name="hostIP", default="")
    pod_ip: str = msgspec.field(name="podIP", default="")
    start_time: datetime | None = None
    qos_class: str = ""
    host_ips: list[dict[str, str]] = msgspec.field(name="hostIPs", default_factory=list)
    pod_ips: list[dict[str, str]] = msgspec.field(name="podIPs", default_factory=list)
    observed_generation: Int64 | None = None
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []
    ephemeral_container_statuses: list[ContainerStatus] = []
    resize: str = ""
    resource_claim_statuses: list[PodResourceClaim] = []  # entries without their templates
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class Pod(KubeObject):
    api_version: str = "v1"
    kind: str = "Pod"
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class PodTemplateSpec(KubeStruct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class PodTemplate(KubeObject):
    api_version: str = "v1"
    kind: str = "PodTemplate"
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)


class Taint(KubeStruct):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class ContainerImage(KubeStruct):
    names: list[str] = []
    size_bytes: Int64 = 0


class ConfigMapNodeConfigSource(KubeStruct):
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    kubelet_config_key: str = ""


class NodeConfigSource(KubeStruct):
    config_map: ConfigMapNodeConfigSource | None = None


class NodePodPreemptionPolicy(KubeStruct):
    disable_resize_preemption: list[str] = []


class NodeSpec(KubeStruct):
    pod_cidr: str = msgspec.field(name="podCIDR", default="")
    pod_cidrs: list[str] = msgspec.field(name="podCIDRs", default_factory=list)
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: list[Taint] = []
    config_source: NodeConfigSource | None = None
    external_id: str = msgspec.field(name="externalID", default="")
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class NodeStatus(KubeStruct):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    phase: str = ""
    conditions: list[Condition] = []
    addresses: list[dict[str, Any]] = []
    node_info: dict[str, Any] | None = None
    images: list[ContainerImage] = []
    volumes_in_use: list[str] = []
    volumes_attached: list[dict[str, Any]] = []
    config: dict[str, Any] | None = None
    daemon_endpoints: dict[str, Any] | None = None
    runtime_handlers: list[dict[str, Any]] = []
    features: dict[str, Any] | None = None
    declared_features: list[str] = []


class Node(KubeObject):
    api_version: str = "v1"
    kind: str = "Node"
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class NamespaceSpec(KubeStruct):
    finalizers: list[str] = []


class Namespace(KubeObject):
    api_version: str = "v1"
    kind: str = "Namespace"
    spec: NamespaceSpec = msgspec.field(default_factory=NamespaceSpec)
    status: dict[str, Any] = {}


class ServicePort(KubeStruct):
    name: str = ""
    protocol: str = ""
    app_protocol: str | None = None
    port: Int32 = 0
    target_port: IntOrString | None = None
    node_port: Int32 = 0


class ClientIPConfig(KubeStruct):
    timeout_seconds: Int32 | None = None


class SessionAffinityConfig(KubeStruct):
    client_ip: ClientIPConfig | None = msgspec.field(name="clientIP", default=None)


class ServiceSpec(KubeStruct):
    ports: list[ServicePort] = []
    selector: dict[str, str] = {}
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    cluster_ips: list[str] = msgspec.field(name="clusterIPs", default_factory=list)
    type: str = ""
    external_ips: list[str] = msgspec.field(name="externalIPs", default_factory=list)
    session_affinity: str = ""
    load_balancer_ip: str = msgspec.field(name="loadBalancerIP", default="")
    load_balancer_source_ranges: list[str] = []
    external_name: str = ""
    external_traffic_policy: str = ""
    health_check_node_port: Int32 = 0
    publish_not_ready_addresses: bool = False
    session_affinity_config: SessionAffinityConfig | None = None
    ip_families: list[str] = []
    ip_family_policy: str | None = None
    allocate_load_balancer_node_ports: bool | None = None
    load_balancer_class: str | None = None
    internal_traffic_policy: str | None = None
    traffic_distribution: str | None = None


class Service(KubeObject):
    api_version: str = "v1"
    kind: str = "Service"
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    status: dict[str, Any] = {}


class ConfigMap(KubeObject):
    api_version: str = "v1"
    kind: str = "ConfigMap"
    immutable: bool | None = None
    data: dict[str, str] = {}
    binary_data: dict[str, bytes] = {}


class Secret(KubeObject):
    api_version: str = "v1"
    kind: str = "Secret"
    immutable: bool | None = None
    data: dict[str, bytes] = {}
    string_data: dict[str, str] = {}
    type: str = ""


class ServiceAccount(KubeObject):
    api_version: str = "v1"
    kind: str = "ServiceAccount"
    secrets: list[ObjectReference] = []
    image_pull_secrets: list[LocalObjectReference] = []
    automount_service_account_token: bool | None = None


class EndpointAddress(KubeStruct):
    ip: str = ""
    hostname: str = ""
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(KubeStruct):
    name: str = ""
    port: Int32 = 0
    protocol: str = ""
    app_protocol: str | None = None


class EndpointSubset(KubeStruct):
    addresses: list[EndpointAddress] = []
    not_ready_addresses: list[EndpointAddress] = []
    ports: list[EndpointPort] = []


class Endpoints(KubeObject):
    api_version: str = "v1"
    kind: str = "Endpoints"
    subsets: list[EndpointSubset] = []


class EventSeries(KubeStruct):
    count: Int32 = 0
    last_observed_time: datetime | None = None


class Event(KubeObject):
    """A core/v1 Event: what happened to which object, why, how often."""

    api_version: str = "v1"
    kind: str = "Event"
    involved_object: ObjectReference = msgspec.field(default_factory=ObjectReference)
    reason: str = ""
    message: str = ""
    type: str = ""
    count: Int32 = 0
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    source: dict[str, Any] = {}
    event_time: datetime | None = None
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reporting_component: str = ""
    reporting_instance: str = ""


class ReplicationControllerSpec(KubeStruct):
    replicas: Int32 | None = None
    min_ready_seconds: Int32 = 0
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationControllerStatus(KubeStruct):
    replicas: Int32 = 0
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    observed_generation: Int64 = 0
    conditions: list[Condition] = []


class ReplicationController(KubeObject):
    api_version: str = "v1"
    kind: str = "ReplicationController"
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
    status: ReplicationControllerStatus = msgspec.field(default_factory=ReplicationControllerStatus)
