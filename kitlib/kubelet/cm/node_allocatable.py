"""The part of a machine's resources that is allocatable to pods, and the limit of all pods that enforces it.

    allocatable in the node's status = capacity − kube-reserved − system-reserved − hard eviction threshold
                                       (memory: also − huge pages)
    limit of the cgroup "kubepods"   = capacity − kube-reserved − system-reserved

The cgroup's limit does not subtract the eviction threshold: pods may use this margin for the time that the kubelet
needs to notice the pressure and to evict. Without "pods" in enforce-node-allocatable the limit is the capacity.

Sources: kubelet cm.GetNodeAllocatableAbsolute, GetNodeAllocatableReservation, getNodeAllocatableInternalAbsolute,
hardEvictionReservation, validateNodeAllocatable; nodestatus.MachineInfo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from kitlib.api.core import ResourceList
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_config import ResourceConfig, resource_config_for_list
from kitlib.kubelet.cm.conversions import percent_as_float32
from kitlib.kubelet.cm.formula import Formula, Step
from kitlib.kubelet.config.machine import MachineInfo

SIGNAL_RESOURCES = {"memory.available": "memory", "nodefs.available": "ephemeral-storage"}
"""Hard eviction thresholds that lower allocatable. Source: kubelet cm.hardEvictionReservation."""

_LEFT = Step("left", "max(ceil(whole - kube - system), 0)")
_PERCENT = re.compile(r"([0-9.]+)%")


class NodeAllocatableError(KitError, ValueError):
    """A reservation that exceeds the machine's capacity; with the kubelet's message."""


@dataclass(frozen=True, slots=True)
class Reservations:
    """The resources that are reserved and not allocatable to pods.

    Attributes:
        kube_reserved: `--kube-reserved`.
        system_reserved: `--system-reserved`. Both may name cpu, memory, ephemeral-storage and pid.
        eviction_hard: `--eviction-hard`, signal -> quantity or percentage.
        enforce_pods: whether "pods" is in `--enforce-node-allocatable`.
    """

    kube_reserved: ResourceList = field(default_factory=dict)
    system_reserved: ResourceList = field(default_factory=dict)
    eviction_hard: Mapping[str, str] = field(default_factory=dict)
    enforce_pods: bool = True


def eviction_reservation(eviction_hard: Mapping[str, str], capacity: ResourceList) -> ResourceList:
    """Return the resources that hard eviction thresholds reserve; a percentage refers to the capacity.

    Source: kubelet cm.hardEvictionReservation.
    """
    kept: ResourceList = {}
    for signal, resource in SIGNAL_RESOURCES.items():
        if signal in eviction_hard and resource in capacity:
            kept[resource] = threshold_quantity(eviction_hard[signal], capacity[resource])
    return kept


def threshold_quantity(threshold: str, capacity: Quantity) -> Quantity:
    """Return the amount of a threshold, such as `100Mi`, or `10%` of the capacity.

    Source: kubelet evictionapi.GetThresholdQuantity, eviction.parsePercentage.
    """
    # The kubelet stores the percentage as a 32-bit float, so 33% of a capacity is a few bytes more than exact
    # arithmetic gives.
    found = _PERCENT.fullmatch(threshold)
    if found is None:
        return Quantity(threshold)
    return Quantity.from_int(int(float(capacity.value()) * percent_as_float32(float(found[1]))), "BinarySI")


def node_allocatable_absolute(capacity: ResourceList, reserved: Reservations) -> ResourceList:
    """Return the capacity minus both reservations, at least 0; eviction thresholds are not subtracted.

    Source: kubelet cm.GetNodeAllocatableAbsolute.
    """
    left: ResourceList = {}
    for name, quantity in capacity.items():
        value = quantity
        for taken in (reserved.system_reserved, reserved.kube_reserved):
            if name in taken:
                value = value - taken[name]
        left[name] = Quantity.from_int(0, value.format) if value.sign() < 0 else value
    return left


def node_allocatable_reservation(capacity: ResourceList, reserved: Reservations) -> ResourceList:
    """Return the sum of all reservations by resource, without zeros.

    Source: kubelet cm.GetNodeAllocatableReservation.
    """
    kept: ResourceList = {}
    thresholds = eviction_reservation(reserved.eviction_hard, capacity)
    for name in capacity:
        value = Quantity.from_int(0, "DecimalSI")
        for taken in (reserved.system_reserved, reserved.kube_reserved, thresholds):
            if name in taken:
                value = value + taken[name]
        if not value.is_zero():
            kept[name] = value
    return kept


def validate_node_allocatable(capacity: ResourceList, reserved: Reservations) -> None:
    """Check that the reservations do not exceed the capacity.

    Raises:
        NodeAllocatableError: they do; the message is the kubelet's.

    Source: kubelet cm.validateNodeAllocatable.
    """
    kept = node_allocatable_reservation(capacity, reserved)
    errors = [
        f'Resource "{name}" has a reservation of {value.go_syntax()} but capacity of {capacity[name].go_syntax()}. '
        "Expected capacity >= reservation."
        for name, value in kept.items()
        if (capacity[name] - value).sign() < 0
    ]
    if errors:
        raise NodeAllocatableError(f"invalid Node Allocatable configuration. {' '.join(errors)}")


def pods_limit(machine: MachineInfo, reserved: Reservations) -> ResourceList:
    """Return the limits of all pods together, which the cgroup "kubepods" contains.

    Source: kubelet cm.getNodeAllocatableInternalAbsolute, createNodeAllocatableCgroups.
    """
    capacity = machine.internal_capacity()
    return node_allocatable_absolute(capacity, reserved) if reserved.enforce_pods else capacity


def left_formula(resource: str, machine: MachineInfo, reserved: Reservations) -> Formula:
    """Return the arithmetic of one resource of `pods_limit`, in exact amounts, rounded up to a whole number."""
    kept = [reserved.kube_reserved, reserved.system_reserved] if reserved.enforce_pods else [{}, {}]
    amounts = [Fraction(one[resource].nano, 10**9) if resource in one else Fraction(0) for one in kept]
    whole = Fraction(machine.internal_capacity()[resource].nano, 10**9)
    return Formula({"whole": whole, "kube": amounts[0], "system": amounts[1]}, (_LEFT,), "{left}")


def pods_cgroup(machine: MachineInfo, reserved: Reservations) -> ResourceConfig:
    """Return the configuration of the cgroup of all pods."""
    return resource_config_for_list(pods_limit(machine, reserved))


@dataclass(frozen=True, slots=True)
class NodeResources:
    """The fields `status.capacity` and `status.allocatable` of a Node object."""

    capacity: ResourceList
    allocatable: ResourceList


def node_status(
    machine: MachineInfo,
    reserved: Reservations,
    max_pods: int,
    pods_per_core: int = 0,
    *,
    container_manager_capacity: ResourceList | None = None,
) -> NodeResources:
    """Return capacity and allocatable as the kubelet writes them to the node's status.

    Args:
        machine: the node's machine.
        container_manager_capacity: a capacity measured elsewhere; None = that of the machine.
        reserved: the reservations.
        max_pods: `--max-pods`.
        pods_per_core: `--pods-per-core`; 0 = no such limit.

    Source: kubelet nodestatus.MachineInfo.
    """
    measured = container_manager_capacity or machine.container_manager_capacity()
    capacity = dict(measured)
    pods = min(machine.cores * pods_per_core, max_pods) if pods_per_core > 0 else max_pods
    capacity["pods"] = Quantity.from_int(pods, "DecimalSI")
    kept = node_allocatable_reservation(measured, reserved)
    allocatable: ResourceList = {}
    for name, quantity in capacity.items():
        value = quantity - kept[name] if name in kept else quantity
        allocatable[name] = Quantity.from_int(0, value.format) if value.sign() < 0 else value
    for name, quantity in capacity.items():
        if name.startswith("hugepages-"):
            # Huge pages are part of the memory and a resource of their own: they must not be allocatable twice.
            memory = allocatable["memory"] - quantity
            allocatable["memory"] = Quantity.from_int(0, memory.format) if memory.sign() < 0 else memory
    return NodeResources(capacity, allocatable)
