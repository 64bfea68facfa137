"""Extended resources with devices behind them: which device a container gets, and how it learns of it.

Devices are declared in the node's configuration; a real kubelet hears of them from device plugins. Like a plugin's
answer, an environment variable tells the container which ones it has.

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
        devices: id -> the NUMA node it is attached to, or None.
        variable: the environment variable that lists a container's devices; "" = made of the resource's name.
    """

    resource: str
    devices: Mapping[str, int | None]
    variable: str = ""

    @property
    def environment(self) -> str:
        """`example.com/gpu` -> `EXAMPLE_COM_GPU`."""
        return self.variable or re.sub(r"[^A-Za-z0-9]", "_", self.resource).upper()

    @property
    def aligned(self) -> bool:
        """Whether NUMA nodes matter at all. Source: deviceHasTopologyAlignment."""
        return any(node is not None for node in self.devices.values())


@dataclass
class DeviceManager:
    """Gives and takes back devices.

    Args:
        plugins: what there is.
        nodes: the machine's NUMA nodes.
        release: whose feature gates hold.

    Attributes:
        held: (pod UID, container, resource) -> device ids.
    """

    plugins: Mapping[str, DevicePlugin]
    nodes: frozenset[int]
    release: Release
    held: dict[tuple[str, str, str], frozenset[str]] = field(default_factory=dict)
    _reusable: tuple[str, dict[str, frozenset[str]]] = ("", {})

    @classmethod
    def of(cls, plugins: Iterable[DevicePlugin], nodes: Iterable[int], release: Release) -> DeviceManager:
        """The manager of these plugins' devices."""
        return cls({plugin.resource: plugin for plugin in plugins}, frozenset(nodes), release)

    def hints(self, pod: Pod, container: Container) -> Hints:
        """From which nodes the container's devices could come. Source: ManagerImpl.GetTopologyHints."""
        uid = pod.metadata.uid
        found: Hints = {}
        for resource, wanted in self._requests(container).items():
            has = self.held.get((uid, container.name, resource), NONE)
            found[resource] = self._hints(resource, wanted, has, self._reusable_by(uid, resource))
        return found

    def pod_hints(self, pod: Pod) -> Hints:
        """The same for the whole pod. Source: ManagerImpl.GetPodTopologyHints."""
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
        """Sets of nodes with enough devices. Source: generateDeviceTopologyHints."""
        devices = self.plugins[resource].devices
        with_devices = frozenset(node for node in devices.values() if node is not None)
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
        """The devices that nobody has."""
        used = NONE.union(*(ids for key, ids in self.held.items() if key[2] == resource))
        return frozenset(self.plugins[resource].devices) - used

    def allocate(self, pod: Pod, container: Container, hint: TopologyHint) -> None:
        """Give a container its devices.

        Raises:
            KitError: there are too few; nothing has changed.

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
        """The same for all containers of a pod, one after the other."""
        for container in containers_of(pod):
            self.allocate(pod, container, hint)

    def _choose(self, uid: str, resource: str, wanted: int, hint: TopologyHint) -> frozenset[str]:
        """First what init containers left, then devices of the hinted nodes, then others, then those of no node."""
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
        """Take a container's devices back."""
        for key in [key for key in self.held if key[:2] == (uid, container)]:
            del self.held[key]

    def environment(self, uid: str, container: str) -> dict[str, str]:
        """What the container is told: variable -> its devices. Source: GetDeviceRunContainerOptions."""
        return {
            self.plugins[key[2]].environment: ",".join(sorted(ids))
            for key, ids in sorted(self.held.items())
            if key[:2] == (uid, container) and ids
        }
