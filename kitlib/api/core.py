"""The core/v1 objects that the kubelet and the scheduler read: Pod, Node, Namespace, Service, quota and limits.
Only fields that something in the kit reads, or that a learner writes, are declared; all others are kept as they came.
Source: k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector, ObjectMeta
from kitlib.api.resource import Quantity

ResourceList = dict[str, Quantity]
IntOrString = int | str


class ResourceClaimRef(KubeStruct):
    name: str = ""
    request: str = ""


class ResourceRequirements(KubeStruct):
    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: list[ResourceClaimRef] = []


class ContainerPort(KubeStruct):
    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = ""


class EnvVar(KubeStruct):
    name: str = ""
    value: str = ""
    value_from: dict[str, Any] | None = None


class VolumeMount(KubeStruct):
    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    read_only: bool = False


class ContainerResizePolicy(KubeStruct):
    resource_name: str = ""
    restart_policy: str = ""


class Container(KubeStruct):
    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    working_dir: str = ""
    env: list[EnvVar] = []
    ports: list[ContainerPort] = []
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    resize_policy: list[ContainerResizePolicy] = []
    restart_policy: str | None = None
    volume_mounts: list[VolumeMount] = []
    image_pull_policy: str = ""
    termination_message_path: str = ""
    termination_message_policy: str = ""
    security_context: dict[str, Any] | None = None


class NodeSelectorRequirement(KubeStruct):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(KubeStruct):
    match_expressions: list[NodeSelectorRequirement] = []
    match_fields: list[NodeSelectorRequirement] = []


class NodeSelector(KubeStruct):
    node_selector_terms: list[NodeSelectorTerm] = []


class PreferredSchedulingTerm(KubeStruct):
    weight: int = 0
    preference: NodeSelectorTerm = msgspec.field(default_factory=NodeSelectorTerm)


class NodeAffinity(KubeStruct):
    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[PreferredSchedulingTerm] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default_factory=list
    )


class PodAffinityTerm(KubeStruct):
    label_selector: LabelSelector | None = None
    namespaces: list[str] = []
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []


class WeightedPodAffinityTerm(KubeStruct):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(KubeStruct):
    """Terms of `podAffinity`, and of `podAntiAffinity` too (both have this shape)."""

    required: list[PodAffinityTerm] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default_factory=list
    )
    preferred: list[WeightedPodAffinityTerm] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default_factory=list
    )


class Affinity(KubeStruct):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(KubeStruct):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(KubeStruct):
    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] = []


class PodSchedulingGate(KubeStruct):
    name: str = ""


class PersistentVolumeClaimVolumeSource(KubeStruct):
    claim_name: str = ""
    read_only: bool = False


class Volume(KubeStruct):
    """A pod's volume; sources other than those the scheduler looks into are kept as plain data."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: dict[str, Any] | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    csi: dict[str, Any] | None = None
    empty_dir: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    config_map: dict[str, Any] | None = None
    secret: dict[str, Any] | None = None
    projected: dict[str, Any] | None = None
    downward_api: dict[str, Any] | None = msgspec.field(name="downwardAPI", default=None)


class PodResourceClaim(KubeStruct):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(KubeStruct):
    name: str = ""


class PodSpec(KubeStruct):
    containers: list[Container] = []
    init_containers: list[Container] = []
    ephemeral_containers: list[dict[str, Any]] = []
    volumes: list[Volume] = []
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    dns_policy: str = ""
    node_selector: dict[str, str] = {}
    service_account_name: str = ""
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = msgspec.field(name="hostPID", default=False)
    security_context: dict[str, Any] | None = None
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: list[Toleration] = []
    priority_class_name: str = ""
    priority: int | None = None
    preemption_policy: str | None = None
    overhead: ResourceList = {}
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    os: PodOS | None = None
    scheduling_gates: list[PodSchedulingGate] = []
    resource_claims: list[PodResourceClaim] = []
    resources: ResourceRequirements | None = None


class ContainerStatus(KubeStruct):
    name: str = ""
    state: dict[str, Any] = {}
    last_state: dict[str, Any] = {}
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    container_id: str = msgspec.field(name="containerID", default="")
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


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
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []
    resize: str = ""
    resource_claim_statuses: list[PodResourceClaim] = []  # without the template
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


class Taint(KubeStruct):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class ContainerImage(KubeStruct):
    names: list[str] = []
    size_bytes: int = 0


class NodeSpec(KubeStruct):
    pod_cidr: str = msgspec.field(name="podCIDR", default="")
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: list[Taint] = []


class NodeStatus(KubeStruct):
    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    phase: str = ""
    conditions: list[Condition] = []
    addresses: list[dict[str, Any]] = []
    node_info: dict[str, Any] | None = None
    images: list[ContainerImage] = []
    volumes_in_use: list[str] = []
    declared_features: list[str] = []


class Node(KubeObject):
    api_version: str = "v1"
    kind: str = "Node"
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class Namespace(KubeObject):
    api_version: str = "v1"
    kind: str = "Namespace"
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class ServiceSpec(KubeStruct):
    selector: dict[str, str] = {}
    type: str = ""
    ports: list[dict[str, Any]] = []


class Service(KubeObject):
    api_version: str = "v1"
    kind: str = "Service"
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    status: dict[str, Any] = {}


class ObjectReference(KubeStruct):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    field_path: str = ""


class Event(KubeObject):
    """A core/v1 Event: what happened to which object, why, how often."""

    api_version: str = "v1"
    kind: str = "Event"
    involved_object: ObjectReference = msgspec.field(default_factory=ObjectReference)
    reason: str = ""
    message: str = ""
    type: str = "Normal"
    count: int = 1
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    source: dict[str, Any] = {}


class ReplicationControllerSpec(KubeStruct):
    replicas: int | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(KubeObject):
    api_version: str = "v1"
    kind: str = "ReplicationController"
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
    status: dict[str, Any] = {}


class ScopedResourceSelectorRequirement(KubeStruct):
    scope_name: str = ""
    operator: str = ""
    values: list[str] = []


class ScopeSelector(KubeStruct):
    match_expressions: list[ScopedResourceSelectorRequirement] = []


class ResourceQuotaSpec(KubeStruct):
    hard: ResourceList = {}
    scopes: list[str] = []
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(KubeStruct):
    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(KubeObject):
    api_version: str = "v1"
    kind: str = "ResourceQuota"
    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)


class LimitRangeItem(KubeStruct):
    type: str = ""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(KubeStruct):
    limits: list[LimitRangeItem] = []


class LimitRange(KubeObject):
    api_version: str = "v1"
    kind: str = "LimitRange"
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)


class PersistentVolumeClaimSpec(KubeStruct):
    access_modes: list[str] = []
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    volume_name: str = ""
    storage_class_name: str | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None


class PersistentVolumeClaimStatus(KubeStruct):
    phase: str = ""
    access_modes: list[str] = []
    capacity: ResourceList = {}


class PersistentVolumeClaim(KubeObject):
    api_version: str = "v1"
    kind: str = "PersistentVolumeClaim"
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)


class VolumeNodeAffinity(KubeStruct):
    required: NodeSelector | None = None


class PersistentVolumeSpec(KubeStruct):
    capacity: ResourceList = {}
    access_modes: list[str] = []
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: dict[str, Any] | None = None


class PersistentVolume(KubeObject):
    api_version: str = "v1"
    kind: str = "PersistentVolume"
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: dict[str, Any] = {}
