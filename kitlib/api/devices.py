"""resource.k8s.io/v1: claims of devices, their templates and classes, and the slices in which drivers publish devices.

Releases before 1.34 have the same objects under `v1beta2` (1.33); those are read too.

Source: k8s.io/api/resource/v1/types.go; KEP-4381, KEP-4815, KEP-4816, KEP-5055, KEP-5075.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from kitlib.api.core import NodeSelector
from kitlib.api.meta import Condition, KubeObject, KubeStruct, ObjectMeta
from kitlib.api.resource import Quantity

MAX_RESULTS = 32
"""The maximum number of devices of one claim. Source: AllocationResultsMaxSize."""
MAX_REQUESTS = 32
MAX_SUBREQUESTS = 8
MAX_USERS = 256
"""The maximum number of pods that share one claim. Source: ResourceClaimReservedForMaxSize."""
FINALIZER = "resource.kubernetes.io/delete-protection"
"""The finalizer that prevents the deletion of an allocated claim. Source: resourceapi.Finalizer."""
EXACT_COUNT, ALL = "ExactCount", "All"


class CELDeviceSelector(KubeStruct):
    expression: str = ""


class DeviceSelector(KubeStruct):
    cel: CELDeviceSelector | None = None


class DeviceToleration(KubeStruct):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(KubeStruct):
    requests: dict[str, Quantity] = {}


class ExactDeviceRequest(KubeStruct):
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(KubeStruct):
    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: int = 0
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequirements | None = None


class DeviceRequest(KubeStruct):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] = []


class DeviceConstraint(KubeStruct):
    requests: list[str] = []
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueDeviceConfiguration(KubeStruct):
    driver: str = ""
    parameters: Any = None


class DeviceClassConfiguration(KubeStruct):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaimConfiguration(KubeStruct):
    requests: list[str] = []
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(KubeStruct):
    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[DeviceClaimConfiguration] = []


class ResourceClaimSpec(KubeStruct):
    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class DeviceRequestAllocationResult(KubeStruct):
    """One allocated device, with the request (`name` or `name/subrequest`) that it serves."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    share_id: str | None = msgspec.field(name="shareID", default=None)
    consumed_capacity: dict[str, Quantity] = {}
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []


class DeviceAllocationConfiguration(KubeStruct):
    source: str = ""
    requests: list[str] = []
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(KubeStruct):
    results: list[DeviceRequestAllocationResult] = []
    config: list[DeviceAllocationConfiguration] = []


class AllocationResult(KubeStruct):
    devices: DeviceAllocationResult = msgspec.field(default_factory=DeviceAllocationResult)
    node_selector: NodeSelector | None = None
    allocation_timestamp: datetime | None = None


class ResourceClaimConsumerReference(KubeStruct):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(KubeStruct):
    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: list[Condition] = []
    data: dict[str, Any] | None = None
    network_data: dict[str, Any] | None = None
    share_id: str | None = msgspec.field(name="shareID", default=None)


class ResourceClaimStatus(KubeStruct):
    allocation: AllocationResult | None = None
    reserved_for: list[ResourceClaimConsumerReference] = []
    devices: list[AllocatedDeviceStatus] = []


class ResourceClaim(KubeObject):
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceClaim"
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)


class ResourceClaimTemplateSpec(KubeStruct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(KubeObject):
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceClaimTemplate"
    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=ResourceClaimTemplateSpec)


class DeviceClassSpec(KubeStruct):
    selectors: list[DeviceSelector] = []
    config: list[DeviceClassConfiguration] = []
    extended_resource_name: str | None = None


class DeviceClass(KubeObject):
    api_version: str = "resource.k8s.io/v1"
    kind: str = "DeviceClass"
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class DeviceAttribute(KubeStruct):
    """The value of an attribute; exactly one of the fields is set."""

    int_value: int | None = msgspec.field(name="int", default=None)
    bool_value: bool | None = msgspec.field(name="bool", default=None)
    string_value: str | None = msgspec.field(name="string", default=None)
    version_value: str | None = msgspec.field(name="version", default=None)


class CapacityRequestPolicyRange(KubeStruct):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None

    @property
    def has_fraction(self) -> bool:
        """Whether a bound or the step is not a whole number."""
        return any(quantity is not None and quantity.nano % 10**9 for quantity in (self.min, self.max, self.step))


class CapacityRequestPolicy(KubeStruct):
    """The amounts of a capacity that can be requested: a list of values or a range, and the default."""

    default: Quantity | None = None
    valid_values: list[Quantity] = []
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(KubeStruct):
    value: Quantity = msgspec.field(default_factory=lambda: Quantity("0"))
    request_policy: CapacityRequestPolicy | None = None


class Counter(KubeStruct):
    value: Quantity = msgspec.field(default_factory=lambda: Quantity("0"))


class CounterSet(KubeStruct):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(KubeStruct):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(KubeStruct):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class DeviceTaintSelector(KubeStruct):
    """The devices of a rule: those that match all fields that are set; without any field, every device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(KubeStruct):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = msgspec.field(default_factory=DeviceTaint)


class DeviceTaintRuleStatus(KubeStruct):
    conditions: list[Condition] = []


class DeviceTaintRule(KubeObject):
    """An administrator's taint on devices: as v1alpha3 up to 1.35, v1beta2 in 1.36, v1 since 1.37. Source: KEP-5055."""

    api_version: str = "resource.k8s.io/v1beta2"
    kind: str = "DeviceTaintRule"
    spec: DeviceTaintRuleSpec = msgspec.field(default_factory=DeviceTaintRuleSpec)
    status: DeviceTaintRuleStatus = msgspec.field(default_factory=DeviceTaintRuleStatus)


class Device(KubeStruct):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: list[DeviceCounterConsumption] = []
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    binds_to_node: bool | None = None
    allow_multiple_allocations: bool | None = None


class ResourcePool(KubeStruct):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(KubeStruct):
    driver: str = ""
    pool: ResourcePool = msgspec.field(default_factory=ResourcePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[Device] = []
    shared_counters: list[CounterSet] = []


class ResourceSlice(KubeObject):
    api_version: str = "resource.k8s.io/v1"
    kind: str = "ResourceSlice"
    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)
