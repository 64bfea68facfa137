"""What keeps the kubelet from starting on this machine: settings that are right by themselves, but not here.

Settings alone are checked by `settings_validation.py`. This looks at settings and machine together: reservations
larger than the machine, CPUs that are not there, memory reserved by NUMA node that does not add up, swap, cgroup v1.

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
    """The kubelet's messages about this configuration on this machine; [] = it starts.

    Args:
        node: machine and settings (which are right by themselves).
        version: cgroup version of the machine.
    """
    missing = list(_reserved_cpus(node))
    if missing:
        return missing  # the kubelet stops here, and the other figures rest on these CPUs
    return [*_system(node, version), *_allocatable(node), *_cpu_manager(node), *_memory_manager(node)]


def check_node(node: NodeConfig, version: Version = 2) -> None:
    """Refuse to start where `node_problems` finds something.

    Raises:
        SettingsError: with the kubelet's messages.
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
    """Static wants the reservations by NUMA node to be as large as those of the whole node, eviction included.

    Source: memorymanager.validateReservedMemory.
    """
    settings = node.settings
    if settings.memory_manager_policy != "Static":
        return
    nodes = set(node.machine.numa_memory) or {cpu.numa for cpu in node.machine.cpus}
    by_type: dict[str, Quantity] = {}
    for one in settings.reserved_memory:
        if one.numa_node not in nodes:
            yield (
                f"the reserved memory configuration references a NUMA node {one.numa_node} that does not exist on this "
                "machine"
            )
            return
        for name, amount in one.limits.items():
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
