"""The devices that drivers publish, by pool, and the ones that a node can reach.

Only the newest generation of a pool counts. The pool is incomplete while slices of that generation are missing, and
invalid if they contradict each other. No device of such a pool is allocated.

Source: structured/internal (pools_incubating.go: GatherPools, NodeMatches, checkSlicesInPool, poolIsInvalid).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kitlib.api.core import Node, NodeSelector
from kitlib.api.devices import Device, DeviceCapacity, ResourceSlice
from kitlib.api.resource import Quantity
from kitlib.api.selectors import matches_node_selector


class DeviceID(NamedTuple):
    """The identity of a device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass
class Allocated:
    """The devices and shares that are allocated.

    Attributes:
        whole: the devices that one claim has for itself.
        shares: device -> capacity -> amount that claims consume, in billionths.
    """

    whole: set[DeviceID] = field(default_factory=set)
    shares: dict[DeviceID, dict[str, int]] = field(default_factory=dict)

    def consume(self, device: DeviceID, capacity: Mapping[str, Quantity]) -> None:
        """Add one claim's share of a device."""
        used = self.shares.setdefault(device, {})
        for name, amount in capacity.items():
            used[name] = used.get(name, 0) + amount.nano

    def has(self, device: DeviceID) -> bool:
        """Return whether any claim has the device or a share of it."""
        return device in self.whole or device in self.shares


@dataclass(frozen=True, eq=False)
class Offer:
    """A device of a slice."""

    id: DeviceID
    device: Device
    slice: ResourceSlice

    @cached_property
    def capacity(self) -> dict[str, DeviceCapacity]:
        """The capacities by the slice's names; of two spellings of one name, the one with the domain counts."""
        prefix = f"{self.id.driver}/"
        listed = self.device.capacity
        return {name: amount for name, amount in listed.items() if f"{prefix}{name}" not in listed}

    def capacity_name(self, name: str) -> str:
        """Return the slice's spelling of a capacity's name; "" = the device has no such capacity."""
        prefix = f"{self.id.driver}/"
        spelled = (name, name.removeprefix(prefix) if name.startswith(prefix) else f"{prefix}{name}")
        return next((one for one in spelled if one in self.capacity), "")

    def attribute(self, name: str) -> tuple[str, int | bool | str] | None:
        """Return type and value of an attribute by its full name; None = it is missing. Source: lookupAttribute."""
        found = self.device.attributes.get(name)
        domain, _, short = name.partition("/")
        if found is None and domain == self.id.driver:
            found = self.device.attributes.get(short)
        if found is None:
            return None
        for kind in ("string", "int", "bool", "version"):
            value = getattr(found, f"{kind}_value")
            if value is not None:
                return kind, value
        return None

    def on(self, node: Node) -> bool:
        """Return whether the node reaches the device, if its slice selects nodes for each device; else True."""
        device = self.device
        return not self.slice.spec.per_device_node_selection or reaches(
            node, device.node_name, device.all_nodes, device.node_selector
        )


def reaches(node: Node, name: str | None, everywhere: bool | None, selector: NodeSelector | None) -> bool:
    """Return whether one of the three ways to select nodes selects a node. Source: NodeMatches."""
    if name:
        return node.name == name
    if everywhere:
        return True
    return selector is not None and matches_node_selector(selector, node)


@dataclass(eq=False)
class Pool:
    """The newest generation of a pool.

    Attributes:
        driver: the driver's name.
        name: the pool's name.
        slices: the slices of the newest generation, sorted by name.
        count: the number of slices that the pool should have.
    """

    driver: str
    name: str
    slices: list[ResourceSlice]
    count: int

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def incomplete(self) -> bool:
        """Whether the driver has not published all slices yet."""
        return len(self.slices) != self.count

    @cached_property
    def invalid(self) -> str:
        """The contradiction in the pool; "" = none. Source: poolIsInvalid, validateDeviceCounterConsumption."""
        names: set[str] = set()
        for slice_ in self.slices:
            for device in slice_.spec.devices:
                if device.name in names:
                    return f"duplicate device name {device.name}"
                names.add(device.name)
        for slice_ in self.slices:
            for device in slice_.spec.devices:
                for consumed in device.consumes_counters:
                    known = self.counters.get(consumed.counter_set)
                    if known is None or not set(consumed.counters) <= set(known):
                        return (
                            f"device {device.name} consumes counters of {consumed.counter_set!r}, which has none such"
                        )
        return ""

    @cached_property
    def counters(self) -> dict[str, dict[str, int]]:
        """Counter set -> counter -> amount that its devices share, in billionths."""
        return {
            shared.name: {name: counter.value.nano for name, counter in shared.counters.items()}
            for slice_ in self.slices
            for shared in slice_.spec.shared_counters
        }

    @cached_property
    def offers(self) -> list[tuple[ResourceSlice, list[Offer]]]:
        """The devices, slice by slice."""
        return [
            (slice_, [Offer(DeviceID(self.driver, self.name, d.name), d, slice_) for d in slice_.spec.devices])
            for slice_ in self.slices
        ]


class Inventory:
    """All pools of a cluster, sorted by driver and name.

    Args:
        slices: the resource slices, in any order.
    """

    def __init__(self, slices: Iterable[ResourceSlice]) -> None:
        by_pool: dict[tuple[str, str], list[ResourceSlice]] = defaultdict(list)
        for slice_ in sorted(slices, key=lambda s: s.name):
            by_pool[slice_.spec.driver, slice_.spec.pool.name].append(slice_)
        self.pools: list[Pool] = []
        self._local: dict[str, list[tuple[Pool, ResourceSlice, list[Offer]]]] = defaultdict(list)
        self._others: list[tuple[Pool, ResourceSlice, list[Offer]]] = []
        for (driver, name), listed in sorted(by_pool.items()):
            newest = max(resource_slice.spec.pool.generation for resource_slice in listed)
            current = [resource_slice for resource_slice in listed if resource_slice.spec.pool.generation == newest]
            pool = Pool(driver, name, current, current[0].spec.pool.resource_slice_count)
            self.pools.append(pool)
            for slice_, offers in pool.offers:
                place = self._local[slice_.spec.node_name] if slice_.spec.node_name else self._others
                place.append((pool, slice_, offers))

    def near(self, node: Node, per_device: bool = True) -> list[tuple[Pool, list[Offer]]]:
        """Return the pools with devices that the node can reach, and those devices.

        Args:
            node: the node.
            per_device: whether slices count that select nodes for each device (DRAPartitionableDevices).
        """
        found: dict[Pool, list[Offer]] = {}
        for pool, resource_slice, offers in self._near(node):
            spec = resource_slice.spec
            if spec.per_device_node_selection:
                reachable = [offer for offer in offers if offer.on(node)] if per_device else []
                if reachable:
                    found.setdefault(pool, []).extend(reachable)
            elif reaches(node, spec.node_name, spec.all_nodes, spec.node_selector):
                found.setdefault(pool, []).extend(offers)
        return sorted(found.items(), key=lambda item: (item[0].driver, item[0].name))

    def _near(self, node: Node) -> Iterator[tuple[Pool, ResourceSlice, list[Offer]]]:
        yield from self._local.get(node.name, ())
        yield from self._others
