"""The assignment of devices of extended resources to containers.

Devices are declared in the node's configuration; a real kubelet gets them from device plugins. An environment
variable lists a container's devices, as in the response of many plugins.

Source: kubelet devicemanager ManagerImpl (devicesToAllocate, filterByAffinity, generateDeviceTopologyHints).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import containers_of, pod_limits
from kitlib.api.release import Release
from kitlib.kubelet.cm.topologymanager.hints import Hints, TopologyHint, node_sets
from kitlib.kubelet.qos.qos_class import is_regular_init

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DevicePlugin:
    """The devices of one extended resource.

    Args:
        resource: `example.com/gpu`.
        devices: id -> the NUMA node of the device; None = no node.
        variable: the environment variable that lists a container's devices; "" = derived from the resource's name.
    """

    resource: str
    devices: Mapping[str, int | None]
    variable: str = ""

    @property
    def environment(self) -> str:
        """The environment variable; `EXAMPLE_COM_GPU` for `example.com/gpu`."""
        return self.variable or re.sub(r"[^A-Za-z0-9]", "_", self.resource).upper()

    @property
    def aligned(self) -> bool:
        """Whether any device has a NUMA node. Source: deviceHasTopologyAlignment."""
        return any(node is not None for node in self.devices.values())


@dataclass
class DeviceManager:
    """Assigns devices to containers and releases them.

    Args:
        plugins: resource -> its devices.
        nodes: the machine's NUMA nodes.
        release: the release that determines the feature gates.

    Attributes:
        held: (pod UID, container, resource) -> ids of the assigned devices.
    """

    plugins: Mapping[str, DevicePlugin]
    nodes: frozenset[int]
    release: Release
    held: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict)
    _reusable: tuple[str, dict[str, frozenset[str]]] = ("", {})

    @classmethod
    def of(cls, plugins: Iterable[DevicePlugin], nodes: Iterable[int], release: Release) -> DeviceManager:
        """Make the manager of these plugins' devices."""
        return cls({plugin.resource: plugin for plugin in plugins}, frozenset(nodes), release)

    def hints(self, pod: Pod, container: Container) -> Hints:
        """Return the sets of NUMA nodes that can serve a container, by resource.

        Source: ManagerImpl.GetTopologyHints.
        """
        uid = pod.metadata.uid
        found: Hints = {}
        for resource, wanted in self._requests(container).items():
            has = self.held.get((uid, container.name, resource), NONE)
            found[resource] = self._hints(resource, wanted, has, self._reusable_by(uid, resource))
        return found

    def pod_hints(self, pod: Pod) -> Hints:
        """Return the sets of NUMA nodes that can serve the whole pod, by resource.

        Source: ManagerImpl.GetPodTopologyHints.
        """
        found: Hints = {}
        for resource, amount in pod_limits(pod, release=self.release).items():
            if resource in self.plugins:
                has = NONE.union(
                    *(ids for key, ids in self.held.items() if (key[0], key[2]) == (pod.metadata.uid, resource))
                )
                found[resource] = self._hints(resource, amount.value(), has, NONE)
        return found

    def _hints(
        self, resource: str, wanted: int, has: frozenset[str], reusable: frozenset[str]
    ) -> list[TopologyHint] | None:
        if not self.plugins[resource].aligned:
            return None
        if has:
            return self._possible(resource, has, NONE, wanted) if len(has) == wanted else []
        available = self.available(resource)
        if len(available | reusable) < wanted:
            return []
        return self._possible(resource, available, reusable, wanted)

    def _possible(
        self, resource: str, available: frozenset[str], reusable: frozenset[str], wanted: int
    ) -> list[TopologyHint]:
        """Return the sets of nodes with enough devices. Source: generateDeviceTopologyHints."""
        devices = self.plugins[resource].devices
        with_devices = frozenset(node for node in devices.values() if node is not None)
        # Upstream tries only nodes that have devices, because the number of sets doubles with every node. Other nodes
        # would change neither the minimum size nor the preference.
        nodes = with_devices if with_devices and len(with_devices) < len(self.nodes) else self.nodes
        least, found = len(nodes), []
        for some in node_sets(nodes):
            if sum(node in some for node in devices.values()) >= wanted:
                least = min(least, len(some))
            again = [devices[one] for one in reusable if devices[one] is not None]
            if all(node in some for node in again):
                count = len(again) + sum(devices[one] in some for one in available)
                if count >= wanted:
                    found.append(some)
        return [TopologyHint(some, len(some) == least) for some in found]

    def available(self, resource: str) -> frozenset[str]:
        """Return the devices that are not assigned."""
        used = NONE.union(*(ids for key, ids in self.held.items() if key[2] == resource))
        return frozenset(self.plugins[resource].devices) - used

    def allocate(self, pod: Pod, container: Container, hint: TopologyHint) -> None:
        """Assign devices to a container.

        Raises:
            KitError: fewer devices are available than requested; nothing is assigned.

        Source: ManagerImpl.allocateContainerResources, devicesToAllocate.
        """
        uid = pod.metadata.uid
        given: dict[str, frozenset[str]] = {}
        for resource, wanted in self._requests(container).items():
            has = self.held.get((uid, container.name, resource))
            given[resource] = has if has is not None else self._choose(uid, resource, wanted, hint)
        once = is_regular_init(pod, container)
        kept = dict(self._reusable[1]) if self._reusable[0] == uid else {}
        for resource, ids in given.items():
            self.held[uid, container.name, resource] = ids
            before = kept.get(resource, NONE)
            kept[resource] = before | ids if once else before - ids
        self._reusable = (uid, kept)

    def allocate_pod(self, pod: Pod, hint: TopologyHint) -> None:
        """Assign devices to all containers of a pod, one after the other."""
        for container in containers_of(pod):
            self.allocate(pod, container, hint)

    def _choose(self, uid: str, resource: str, wanted: int, hint: TopologyHint) -> frozenset[str]:
        """Choose devices: reusable ones of init containers, then of the hinted nodes, of other nodes, of no node."""
        devices = self.plugins[resource].devices
        chosen = set(sorted(self._reusable_by(uid, resource))[:wanted])
        available, needed = self.available(resource) - chosen, wanted - len(chosen)
        if len(available) < needed:
            raise KitError(
                f"requested number of devices unavailable for {resource}. "
                f"Requested: {needed}, Available: {len(available)}"
            )

        def order(device: str) -> tuple[int, str]:
            node = devices[device]
            return (2 if node is None else int(hint.nodes is not None and node not in hint.nodes)), device

        return frozenset(chosen | set(sorted(available, key=order)[:needed]))

    def _reusable_by(self, uid: str, resource: str) -> frozenset[str]:
        owner, kept = self._reusable
        return kept.get(resource, NONE) if owner == uid else NONE

    def _requests(self, container: Container) -> dict[str, int]:
        return {name: a.value() for name, a in sorted(container.resources.limits.items()) if name in self.plugins}

    def release_container(self, uid: str, container: str) -> None:
        """Release a container's devices."""
        for key in [key for key in self.held if key[:2] == (uid, container)]:
            del self.held[key]

    def environment(self, uid: str, container: str) -> dict[str, str]:
        """Return the container's variables, each with a list of devices. Source: GetDeviceRunContainerOptions."""
        return {
            self.plugins[key[2]].environment: ",".join(sorted(ids))
            for key, ids in sorted(self.held.items())
            if key[:2] == (uid, container) and ids
        }
