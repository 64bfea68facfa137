"""The sentences behind the values of the desired tree: each names its inputs and ends in the figure that is written.

They are put together only when somebody reads them (`Reason`), so a tree of thousands of pods does not pay for them.
"""

from __future__ import annotations

from typing import Literal

from kitlib.api.core import Container, ResourceList
from kitlib.kubelet.cm.cgroup_config import PodTotals
from kitlib.kubelet.cm.cgroup_files import Why
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.cgroup_tree import Reason
from kitlib.kubelet.cm.container_config import LinuxContainerResources
from kitlib.kubelet.cm.node_allocatable import Reservations
from kitlib.kubelet.cm.qos_container_manager import QosRequests
from kitlib.kubelet.config.machine import PIDS, MachineInfo

_SHARES = "kubelet cm.MilliCPUToShares"
_QUOTA = "kubelet cm.MilliCPUToQuota"
_NODE = "kubelet cm.getNodeAllocatableInternalAbsolute"

SANDBOX: Why = {"cpu": Reason("the pause container does nothing: the minimum", source="containerd")}


_ALL_CPUS = Reason(
    "all processors: the CPU manager's policy none gives none out",
    source="kubelet containerManagerImpl.getCgroupConfig",
)


def kubepods(machine: MachineInfo, reserved: Reservations, limit: ResourceList) -> Why:
    """Of the cgroup that holds all pods."""

    def kept(name: str) -> str:
        if not reserved.enforce_pods:
            return "nothing (enforce-node-allocatable has no pods)"
        parts = [str(r[name]) for r in (reserved.kube_reserved, reserved.system_reserved) if name in r]
        return " − ".join(parts) if parts else "nothing"

    cpu = limit["cpu"].milli_value()
    return {
        "cpu": Reason(
            "{0} CPUs of the machine − {1} reserved = {2}m; × 1024 / 1000",
            machine.cores,
            kept("cpu"),
            cpu,
            source=_SHARES,
        ),
        "memory": Reason(
            "{0} bytes of the machine − {1} reserved; the eviction threshold is not subtracted here",
            machine.memory,
            kept("memory"),
            source=_NODE,
        ),
        "pids": Reason("{0} process ids of the machine − {1} reserved", machine.max_pid, kept(PIDS), source=_NODE),
        "hugepages": Reason(
            "2^62: huge pages are not limited here", source="kubelet qosContainerManagerImpl.setHugePagesUnbounded"
        ),
        "memory.min": Reason("the sum of what Guaranteed and Burstable pods request", source="KEP-2570"),
        "cpuset": _ALL_CPUS,
    }


def reserved(which: str, resources: ResourceList) -> Why:
    """Of a cgroup for reserved resources."""
    source = "kubelet cm.enforceExistingCgroup"
    cpu = resources.get("cpu")
    return {
        "cpu": Reason("--{0}-reserved cpu={1}; × 1024 / 1000", which, cpu, source=_SHARES),
        "memory": Reason("--{0}-reserved memory={1}", which, resources.get("memory"), source=source),
        "pids": Reason("--{0}-reserved pid={1}", which, resources.get(PIDS), source=source),
        "hugepages": Reason("0: the reservation names no huge pages", source="kubelet cgroupCommon.maybeSetHugetlb"),
        "memory.min": Reason("the reserved memory, never reclaimed", source=source),
        "cpuset": _ALL_CPUS,
    }


def qos_class(qos: str, requests: QosRequests, allocatable: int, percent: int | None) -> Why:
    """Of the cgroup of a QoS class."""
    source = "kubelet qosContainerManagerImpl.setCPUCgroupConfig"
    if qos == "BestEffort":
        cpu = Reason("BestEffort pods request nothing: the minimum", source=source)
    else:
        cpu = Reason("the Burstable pods request {0}m together; × 1024 / 1000", requests.burstable_cpu, source=source)
    above = "Guaranteed" if qos == "Burstable" else "Guaranteed and Burstable"
    memory = Reason(
        "{0} bytes for pods − {1}% of what {2} pods request",
        allocatable,
        percent,
        above,
        source="kubelet qosContainerManagerImpl.setMemoryReserve",
    )
    return {
        "cpu": cpu,
        "memory": memory,
        "memory.low": Reason("what Burstable pods request: {0} bytes", requests.burstable_memory, source="KEP-2570"),
        "hugepages": Reason(
            "2^62: huge pages are not limited here", source="kubelet qosContainerManagerImpl.setHugePagesUnbounded"
        ),
    }


def pod(totals: PodTotals, period: int, *, rounded: bool = False) -> Why:
    """Of a pod's own cgroup; `rounded` where systemd keeps another quota than the kubelet's."""
    source = "kubelet cm.ResourceConfigForPod"
    if totals.qos == "BestEffort":
        cpu = Reason("BestEffort: the minimum", source=source)
    else:
        cpu = Reason("the pod requests {0}m; × 1024 / 1000", totals.cpu_request, source=_SHARES)
    quota = "the pod may use {0}m: × {1} µs / 1000"
    if rounded:
        quota += ", and systemd keeps whole percents of a CPU, rounded up"
    return {
        "cpu": cpu,
        "quota": Reason(quota, totals.cpu_limit, period, source=_QUOTA),
        "memory": Reason("the sum of the containers' memory limits (or the pod's own)", source=source),
        "pids": Reason("--pod-max-pids", source="kubelet podContainerManagerImpl.EnsureExists"),
        "hugepages": Reason("the huge pages that the pod requests", source="kubelet cm.HugePageLimits"),
        "memory.min": Reason("a Guaranteed pod's memory request, never reclaimed", source="KEP-2570"),
        "memory.low": Reason("a Burstable pod's memory request, reclaimed last", source="KEP-2570"),
    }


Whose = Literal["container", "pod", "node"]
_CPUS: dict[Whose, tuple[str, str]] = {
    "container": ("CPUs of its own", "staticPolicy.Allocate"),
    "pod": ("the pod's CPUs that none of its containers has for itself", "staticPolicy.AllocatePod"),
    "node": ("the CPUs that no container has for itself", "reconcileState"),
}


def container(
    declared: Container, resources: LinuxContainerResources, runtime: Runtime, *, cpus: Whose = "node"
) -> Why:
    """Of a container's cgroup; `cpus`: for whom those are that it runs on."""
    source = "kubelet kuberuntime calculateLinuxResources"
    request, limit = declared.resources.requests.get("cpu"), declared.resources.limits.get("cpu")
    curve = "1 + (shares − 2) × 9999 / 262142"
    if runtime.weight_formula != "linear":
        curve = "10^((l² + 125·l)/612 − 7/34) with l = log2(shares), rounded up"
    return {
        "cpu": Reason(
            "requests {0} of CPU: {1} shares; as cpu.weight: {2}",
            request if request is not None else limit or "nothing",
            resources.cpu_shares,
            curve,
            source=source,
        ),
        "quota": Reason("limited to {0} of CPU: × {1} µs / 1000", limit, resources.cpu_period, source=_QUOTA),
        "memory": Reason("limits.memory {0}", declared.resources.limits.get("memory") or "of the pod", source=source),
        "hugepages": Reason("limits of huge pages; 0 where none are asked for", source=source),
        "swap": Reason(
            "memory and swap together as much as the memory limit: no swap",
            source="kubelet kuberuntime configureContainerSwapResources",
        ),
        "cpuset": Reason(
            _CPUS[cpus][0],
            source=f"kubelet cpumanager {_CPUS[cpus][1]}",
        ),
        "memory.high": Reason("request + throttling factor × (limit − request), in whole pages", source="KEP-2570"),
        "memory.min": Reason("the container's memory request, never reclaimed", source="KEP-2570"),
        "memory.low": Reason("the container's memory request, reclaimed last", source="KEP-2570"),
        "memory.oom.group": Reason(
            "all processes of the container are killed together (singleProcessOOMKill is off)", source=source
        ),
        "memory.swap.max": Reason("request / machine memory × swap; 0 = no swap", source="KEP-2400"),
    }
