"""The configuration of a node: the machine, the kubelet's settings, the container runtime, the release.

Source: kubelet cm.NodeConfig, app.run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.devicemanager.manager import DevicePlugin
from kitlib.kubelet.cm.memory_qos import NO_RESERVATION
from kitlib.kubelet.cm.node_allocatable import Reservations, node_allocatable_absolute
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.util.cpuset import parse_cpus


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """The configuration of a node.

    Attributes:
        machine: its processors and memory.
        settings: the kubelet's settings.
        runtime: the container runtime, which determines the names and weights of container cgroups.
        release: the release that determines the rules; the settings' feature gates override its gates.
        name: the node's name.
        resources: extended resources without devices -> their number, `{"example.com/gpu": 2}`.
        devices: extended resources with devices.
        swap_controller: whether the kubelet finds the file that limits swap; None = derived: the kubelet is in the root
            cgroup with the cgroupfs driver, in a service of systemd with the systemd driver.
        processors: the list of the node's real processors, which for a node in a container are the host's; "" = those
            of the machine; None = the node has no cpuset controller.
    """

    machine: MachineInfo
    settings: KubeletSettings = field(default_factory=KubeletSettings)
    runtime: Runtime = field(default_factory=Runtime)
    release: Release = field(default_factory=Release.followed)
    name: str = "node"
    resources: Mapping[str, int] = field(default_factory=dict)
    devices: tuple[DevicePlugin, ...] = ()
    swap_controller: bool | None = None
    processors: str | None = ""

    @property
    def offered(self) -> dict[str, int]:
        """Extended resource -> its number."""
        return {**self.resources, **{plugin.resource: len(plugin.devices) for plugin in self.devices}}

    @property
    def gates(self) -> Release:
        """The release with the settings' feature gates."""
        return self.settings.gates(self.release)

    @property
    def reservations(self) -> Reservations:
        """The reservations; `reserved_system_cpus` replaces the CPU part of both.

        Source: kubelet app.run (ReservedSystemCPUs).
        """
        s = self.settings
        system, kube = dict(s.system_reserved), dict(s.kube_reserved)
        if s.reserved_system_cpus:
            kube.pop("cpu", None)
            system["cpu"] = Quantity.from_int(len(parse_cpus(s.reserved_system_cpus)), "DecimalSI")
        return Reservations(kube, system, s.eviction_hard, "pods" in s.enforce_node_allocatable)

    def can_limit_swap(self, version: Version) -> bool:
        """Return whether the kubelet assumes that the kernel can limit swap; the machine may have none.

        Source: kubelet kuberuntime checkSwapControllerAvailability.
        """
        if self.swap_controller is not None:
            return self.swap_controller
        # On v2 the kubelet looks for memory.swap.max in its own cgroup. The root cgroup has no such file, so a kubelet
        # in the root cgroup never limits swap.
        return version == 1 or self.settings.cgroup_driver == "systemd" or bool(self.settings.kubelet_cgroups)

    def container_context(self, version: Version) -> ContainerContext:
        """Return the inputs of a container's resources that belong to the node."""
        gates = self.gates
        s = self.settings.with_defaults(gates)
        configured = s.memory_throttling_factor is not None or s.memory_reservation_policy != NO_RESERVATION
        memory_qos = gates.enabled("MemoryQoS") and (configured or not gates.enabled("KitMemoryQoSNeedsSettings"))
        absolute = node_allocatable_absolute(self.machine.capacity(), self.reservations)
        single = s.single_process_oom_kill
        if single is None:
            single = version == 1 or bool(gates.default("singleProcessOOMKill"))
        return ContainerContext(
            memory_capacity=self.machine.memory,
            swap_capacity=self.machine.swap,
            cgroup_version=version,
            cpu_cfs_quota=s.cpu_cfs_quota,
            cpu_cfs_quota_period=s.cpu_cfs_quota_period,
            memory_qos=memory_qos and version == 2,
            memory_reservation_policy=s.memory_reservation_policy,
            memory_throttling_factor=s.memory_throttling_factor,
            node_allocatable_memory=absolute["memory"].value(),
            swap_behavior=s.memory_swap_behavior or "NoSwap",
            swap_controller=self.can_limit_swap(version),
            oom_group=not single,
            huge_page_sizes=self.machine.huge_page_sizes,
            page_size=self.machine.page_size,
            release=gates,
        )
