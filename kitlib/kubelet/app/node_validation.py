"""Validation of the kubelet's settings against its machine: valid settings that this machine cannot satisfy.

`settings_validation.py` checks the settings alone. This module checks settings and machine together: reservations
larger than the capacity, reserved CPUs that are not online, memory reservations by NUMA node whose sum differs from the
node's reservation, swap, cgroup v1.

Sources: kubelet cm.validateNodeAllocatable, NewContainerManager, setupNode; cmd/kubelet/app getReservedCPUs; cpumanager
NewManager; memorymanager validateReservedMemory; validateKubeletOSConfiguration.
"""

from __future__ import annotations

from collections.abc import Iterator

from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.cm.node_allocatable import (
    NodeAllocatableError,
    node_allocatable_reservation,
    validate_node_allocatable,
)
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.options import is_on
from kitlib.kubelet.config.settings import SettingsError
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus


def node_problems(node: NodeConfig, version: Version = 2) -> list[str]:
    """Return the kubelet's messages about this configuration on this machine; [] = the kubelet starts.

    Args:
        node: the machine, and settings that are valid by themselves.
        version: cgroup version of the machine, 1 or 2.
    """
    missing = list(_reserved_cpus(node))
    if missing:
        return missing  # the kubelet stops here; the other checks count these CPUs
    return [*_system(node, version), *_allocatable(node), *_cpu_manager(node), *_memory_manager(node)]


def check_node(node: NodeConfig, version: Version = 2) -> None:
    """Raise an error if `node_problems` finds any problem.

    Raises:
        SettingsError: the kubelet's messages.
    """
    problems = node_problems(node, version)
    if problems:
        raise SettingsError(problems)


def _system(node: NodeConfig, version: Version) -> Iterator[str]:
    settings = node.settings
    if settings.system_cgroups == "/":
        yield 'system container cannot be root ("/")'
    if version == 1:
        if settings.fail_cgroup_v1:
            yield (
                "kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is in maintenance mode"
            )
        if settings.single_process_oom_kill is False:
            yield (
                "invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1"
            )
    if settings.fail_swap_on and node.machine.swap:
        yield ("running with swap on is not supported, please disable swap or set --fail-swap-on flag to false")


def _reserved_cpus(node: NodeConfig) -> Iterator[str]:
    wanted = node.settings.reserved_system_cpus
    online = {cpu.id for cpu in node.machine.cpus}
    if not parse_cpus(wanted) <= online:
        yield f"reserved-cpus: {wanted} is not a subset of online-cpus: {format_cpus(online)}"


def _allocatable(node: NodeConfig) -> Iterator[str]:
    try:
        validate_node_allocatable(node.machine.container_manager_capacity(), node.reservations)
    except NodeAllocatableError as error:
        yield str(error)


def _cpu_manager(node: NodeConfig) -> Iterator[str]:
    settings = node.settings
    if settings.cpu_manager_policy != "static":
        return
    kept = node_allocatable_reservation(node.machine.container_manager_capacity(), node.reservations)
    if "cpu" not in kept:
        yield "[cpumanager] unable to determine reserved CPU resources for static policy"
    cpus = node.machine.cpus
    sockets, nodes = {cpu.socket for cpu in cpus}, {cpu.numa for cpu in cpus}
    if is_on(settings.cpu_manager_policy_options, "align-by-socket") and len(sockets) > len(nodes):
        yield (
            "new static policy error: Align by socket is not compatible with hardware where number of sockets are more "
            "than number of NUMA"
        )


def _memory_manager(node: NodeConfig) -> Iterator[str]:
    """Yield the problems of `--reserved-memory` under the policy Static.

    For each type of memory, the reservations of all NUMA nodes must add up to exactly the node's reservation, which
    includes the hard eviction threshold. Source: memorymanager.validateReservedMemory.
    """
    settings = node.settings
    if settings.memory_manager_policy != "Static":
        return
    nodes = set(node.machine.numa_memory) or {cpu.numa for cpu in node.machine.cpus}
    by_type: dict[str, Quantity] = {}
    for reserved_memory in settings.reserved_memory:
        if reserved_memory.numa_node not in nodes:
            yield (
                f"the reserved memory configuration references a NUMA node {reserved_memory.numa_node} that does not "
                "exist on this machine"
            )
            return
        for name, amount in reserved_memory.limits.items():
            by_type[name] = by_type[name] + amount if name in by_type else amount
    kept = node_allocatable_reservation(node.machine.container_manager_capacity(), node.reservations)
    nothing = Quantity.from_int(0, "DecimalSI")
    for name in sorted({*by_type, *(n for n in kept if n == "memory" or n.startswith("hugepages-"))}):
        reserved, expected = by_type.get(name, nothing), kept.get(name, nothing)
        if reserved != expected:
            yield (
                f'the total amount "{reserved}" of type "{name}" is not equal to the value "{expected}" determined by '
                "Node Allocatable feature"
            )
