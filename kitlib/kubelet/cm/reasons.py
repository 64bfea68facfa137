"""The reasons of the values in the desired tree: each names its inputs and ends in the written value.

They are formatted only when they are read (`Reason`), so a tree of thousands of pods does not spend time on them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from kitlib.api.core import Container, ResourceList
from kitlib.api.resource import Quantity
from kitlib.kubelet.cm.cgroup_config import PodTotals
from kitlib.kubelet.cm.cgroup_files import Why
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.cgroup_tree import Reason, Version
from kitlib.kubelet.cm.container_config import LinuxContainerResources
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.conversions import quota_formula, shares_formula
from kitlib.kubelet.cm.formula import Formula, given
from kitlib.kubelet.cm.memory_qos import memory_high_formula
from kitlib.kubelet.cm.node_allocatable import Reservations, left_formula
from kitlib.kubelet.cm.qos_container_manager import QosRequests, qos_memory_formula
from kitlib.kubelet.cm.swap import limited_swap_formula
from kitlib.kubelet.config.machine import PIDS, MachineInfo
from kitlib.kubelet.qos.qos_class import QosClass

_SHARES = "kubelet cm.MilliCPUToShares"
_QUOTA = "kubelet cm.MilliCPUToQuota"
_NODE = "kubelet cm.getNodeAllocatableInternalAbsolute"


def sandbox(version: Version) -> Why:
    """Return the reasons of a pause container's cgroup."""
    text = "the pause container does nothing: the minimum"
    return {"cpu": Reason(text, source="containerd", formula=partial(shares_formula, 0, version, curve=True))}


_ALL_CPUS = Reason(
    "all processors: the CPU manager's policy none gives none out",
    source="kubelet containerManagerImpl.getCgroupConfig",
)


def kubepods(machine: MachineInfo, reserved: Reservations, limit: ResourceList, version: Version) -> Why:
    """Return the reasons of the cgroup of all pods."""

    def kept(name: str) -> str:
        if not reserved.enforce_pods:
            return "nothing (enforce-node-allocatable has no pods)"
        parts = [str(r[name]) for r in (reserved.kube_reserved, reserved.system_reserved) if name in r]
        return " − ".join(parts) if parts else "nothing"

    cpu = limit["cpu"].milli_value()
    return {
        "cpu": Reason(
            "{0} CPUs of the machine − {1} reserved = {2}m",
            machine.cores,
            kept("cpu"),
            cpu,
            source=_SHARES,
            formula=partial(shares_formula, cpu, version),
        ),
        "memory": Reason(
            "the machine's memory − {0} reserved; the eviction threshold is not subtracted here",
            kept("memory"),
            source=_NODE,
            formula=partial(left_formula, "memory", machine, reserved),
        ),
        "pids": Reason(
            "the machine's process ids − {0} reserved",
            kept(PIDS),
            source=_NODE,
            formula=partial(left_formula, PIDS, machine, reserved),
        ),
        "hugepages": Reason(
            "2^62: huge pages are not limited here", source="kubelet qosContainerManagerImpl.setHugePagesUnbounded"
        ),
        "memory.min": Reason("the sum of what Guaranteed and Burstable pods request", source="KEP-2570"),
        "cpuset": _ALL_CPUS,
    }


def _amount(resources: ResourceList, name: str) -> Callable[[], Formula]:
    return partial(given, name, resources[name].value() if name in resources else 0)


def reserved(which: str, resources: ResourceList, version: Version) -> Why:
    """Return the reasons of a cgroup for reserved resources."""
    source = "kubelet cm.enforceExistingCgroup"
    cpu = resources.get("cpu")
    return {
        "cpu": Reason(
            "--{0}-reserved cpu={1}",
            which,
            cpu,
            source=_SHARES,
            formula=partial(shares_formula, cpu.milli_value() if cpu is not None else 0, version),
        ),
        "memory": Reason(
            "--{0}-reserved memory={1}",
            which,
            resources.get("memory"),
            source=source,
            formula=_amount(resources, "memory"),
        ),
        "pids": Reason(
            "--{0}-reserved pid={1}", which, resources.get(PIDS), source=source, formula=_amount(resources, PIDS)
        ),
        "hugepages": Reason("0: the reservation names no huge pages", source="kubelet cgroupCommon.maybeSetHugetlb"),
        "memory.min": Reason(
            "the reserved memory, never reclaimed", source=source, formula=_amount(resources, "memory")
        ),
        "cpuset": _ALL_CPUS,
    }


def qos_class(qos: QosClass, requests: QosRequests, allocatable: int, percent: int | None, version: Version) -> Why:
    """Return the reasons of the cgroup of a QoS class."""
    source = "kubelet qosContainerManagerImpl.setCPUCgroupConfig"
    if qos == "BestEffort":
        cpu = Reason(
            "BestEffort pods request nothing: the minimum", source=source, formula=partial(shares_formula, 0, version)
        )
    else:
        cpu = Reason(
            "the Burstable pods request {0}m together",
            requests.burstable_cpu,
            source=source,
            formula=partial(shares_formula, requests.burstable_cpu, version),
        )
    above = "Guaranteed" if qos == "Burstable" else "Guaranteed and Burstable"
    memory = Reason(
        "the memory for pods − {0}% of what {1} pods request",
        percent,
        above,
        source="kubelet qosContainerManagerImpl.setMemoryReserve",
        formula=partial(qos_memory_formula, qos, requests, allocatable, percent or 0),
    )
    return {
        "cpu": cpu,
        "memory": memory,
        "memory.low": Reason("what Burstable pods request: {0} bytes", requests.burstable_memory, source="KEP-2570"),
        "hugepages": Reason(
            "2^62: huge pages are not limited here", source="kubelet qosContainerManagerImpl.setHugePagesUnbounded"
        ),
    }


def pod(totals: PodTotals, period: int, pids: int, version: Version, *, rounded: bool = False) -> Why:
    """Return the reasons of a pod's own cgroup.

    Args:
        totals: the pod's sums.
        period: microseconds of the CFS period.
        pids: `--pod-max-pids`.
        version: cgroup version, 1 or 2.
        rounded: whether systemd stores another quota than the kubelet's.
    """
    source = "kubelet cm.ResourceConfigForPod"
    if totals.qos == "BestEffort":
        cpu = Reason("BestEffort: the minimum", source=source, formula=partial(shares_formula, 0, version))
    else:
        cpu = Reason(
            "the pod requests {0}m",
            totals.cpu_request,
            source=_SHARES,
            formula=partial(shares_formula, totals.cpu_request, version),
        )
    quota = "the pod may use {0}m"
    if rounded:
        quota += ", and systemd keeps whole percents of a CPU, rounded up"
    return {
        "cpu": cpu,
        "quota": Reason(
            quota,
            totals.cpu_limit,
            source=_QUOTA,
            formula=partial(quota_formula, totals.cpu_limit, period, version, percent=rounded),
        ),
        "memory": Reason(
            "the sum of the containers' memory limits (or the pod's own)",
            source=source,
            formula=partial(given, "memory", totals.memory_limit),
        ),
        "pids": Reason(
            "--pod-max-pids",
            source="kubelet podContainerManagerImpl.EnsureExists",
            formula=partial(given, "pids", pids),
        ),
        "hugepages": Reason("the huge pages that the pod requests", source="kubelet cm.HugePageLimits"),
        "memory.min": Reason(
            "a Guaranteed pod's memory request, never reclaimed",
            source="KEP-2570",
            formula=partial(given, "request", totals.memory_request),
        ),
        "memory.low": Reason(
            "a Burstable pod's memory request, reclaimed last",
            source="KEP-2570",
            formula=partial(given, "request", totals.memory_request),
        ),
    }


Whose = Literal["container", "pod", "node"]
_CPUS: dict[Whose, tuple[str, str]] = {
    "container": ("CPUs of its own", "staticPolicy.Allocate"),
    "pod": ("the pod's CPUs that none of its containers has for itself", "staticPolicy.AllocatePod"),
    "node": ("the CPUs that no container has for itself", "reconcileState"),
}


def container(
    declared: Container,
    resources: LinuxContainerResources,
    context: ContainerContext,
    runtime: Runtime,
    limit: Quantity | None,
    *,
    cpus: Whose = "node",
) -> Why:
    """Return the reasons of a container's cgroup.

    Args:
        declared: the container in the manifest.
        resources: the CRI message of the container.
        context: the inputs that belong to the node.
        runtime: the container runtime, which determines the formula of the weight.
        limit: the container's CPU limit, or else the pod's; None = no limit.
        cpus: the owner of the container's CPUs.
    """
    source = "kubelet kuberuntime calculateLinuxResources"
    version: Version = 1 if context.cgroup_version == 1 else 2
    request = declared.resources.requests.get("cpu", limit)
    milli = request.milli_value() if request is not None else 0
    memory = declared.resources.requests.get("memory")
    asked = memory.value() if memory is not None else 0
    if resources.cpu_quota > 0 and limit is not None:
        arithmetic = partial(quota_formula, limit.milli_value(), resources.cpu_period, version)
        quota = Reason("limited to {0}m of CPU", limit.milli_value(), source=_QUOTA, formula=arithmetic)
    else:
        quota = Reason("no limit of CPU: the period is written all the same", source=source)
    made = {
        "cpu": Reason(
            "requests {0} of CPU",
            f"{milli}m" if request is not None else "nothing",
            source=f"{source}; {runtime.low_level.label}" if version == 2 else source,
            formula=partial(shares_formula, milli, version, curve=runtime.low_level.weight_formula != "linear"),
        ),
        "quota": quota,
        "memory": Reason(
            "limits.memory {0}",
            declared.resources.limits.get("memory") or "of the pod",
            source=source,
            formula=partial(given, "memory", resources.memory_limit),
        ),
        "hugepages": Reason("limits of huge pages; 0 where none are asked for", source=source),
        "swap": Reason(
            "memory and swap together as much as the memory limit: no swap",
            source="kubelet kuberuntime configureContainerSwapResources",
            formula=partial(given, "memory_and_swap", resources.memory_limit),
        ),
        "cpuset": Reason(_CPUS[cpus][0], source=f"kubelet cpumanager {_CPUS[cpus][1]}"),
    }
    return {**made, **_of_unified(declared, resources, context, asked)} if resources.unified else made


def _of_unified(declared: Container, resources: LinuxContainerResources, context: ContainerContext, asked: int) -> Why:
    """Return the reasons of the files of cgroup v2 for MemoryQoS, swap and memory.oom.group."""
    source = "kubelet kuberuntime calculateLinuxResources"
    protected_min, protected_low = (_protected(resources, file, asked) for file in ("memory.min", "memory.low"))
    return {
        "memory.high": Reason(
            "request + throttling factor × (limit − request), in whole pages",
            source="KEP-2570",
            formula=partial(
                memory_high_formula,
                asked,
                _own_memory_limit(declared),
                context.memory_throttling_factor or 0.0,
                context.node_allocatable_memory,
                context.page_size,
            ),
        ),
        "memory.min": Reason(
            "the container's memory request, never reclaimed",
            source="KEP-2570",
            formula=protected_min,
        ),
        "memory.low": Reason(
            "the container's memory request, reclaimed last",
            source="KEP-2570",
            formula=protected_low,
        ),
        "memory.oom.group": Reason(
            "all processes of the container are killed together (singleProcessOOMKill is off)", source=source
        ),
        "memory.swap.max": _swap(resources, context, asked),
    }


def _own_memory_limit(declared: Container) -> int:
    limit = declared.resources.limits.get("memory")
    return limit.value() if limit is not None else 0


def _protected(resources: LinuxContainerResources, file: str, request: int) -> Callable[[], Formula]:
    """Return the formula of the request if the file protects it, else of 0, which resets an earlier policy's value."""
    return partial(given, "protected", request if resources.unified.get(file, "0") != "0" else 0)


def _swap(resources: LinuxContainerResources, context: ContainerContext, request: int) -> Reason:
    if resources.unified.get("memory.swap.max", "0") == "0":
        return Reason("no swap", source="KEP-2400", formula=partial(given, "swap", 0))
    arithmetic = partial(limited_swap_formula, request, context.memory_capacity, context.swap_capacity)
    return Reason("a part of the swap as large as its part of memory", source="KEP-2400", formula=arithmetic)
