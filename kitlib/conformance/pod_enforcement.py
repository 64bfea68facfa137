"""Cases of one pod: defaults, effective resources, QoS class, the pod's cgroup, and each container's resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kitlib.api.core import Pod, ResourceList
from kitlib.api.defaults import set_defaults
from kitlib.api.podresources import containers_of, pod_limits, pod_requests
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cgroup_config import ResourceConfig, resource_config_for_pod
from kitlib.kubelet.cm.container_config import LinuxContainerResources, linux_container_resources, sandbox_resources
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.memory_qos import NO_RESERVATION, TIERED_RESERVATION
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_critical_pod, is_node_critical_pod

FILE = "pod_enforcement"
RELEASE = "1.36"
INPUTS = frozenset({"pod"})
GI = 2**30
_CONTEXT = ContainerContext(memory_capacity=16 * GI, huge_page_sizes=(2 * 2**20, GI), release=Release(RELEASE))
_MEMORY_QOS = replace(_CONTEXT, memory_qos=True, memory_throttling_factor=0.9, node_allocatable_memory=12 * GI)
_SWAP = replace(_CONTEXT, swap_behavior="LimitedSwap", swap_controller=True, swap_capacity=4 * GI)


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Return all results that the kubelet computes from a pod."""
    pod = set_defaults(from_dict(case["pod"], Pod))
    everything = containers_of(pod)
    defaulted: dict[str, Any] = {
        key: [{"name": c.name, **_resources(c.resources)} for c in containers]
        for key, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers))
        if containers
    }
    if pod.spec.resources is not None:
        defaulted["resources"] = _resources(pod.spec.resources)
    found: dict[str, Any] = {
        "defaulted": defaulted,
        "requests": _texts(pod_requests(pod)),
        "limits": _texts(pod_limits(pod)),
        "qosClass": get_pod_qos(pod),
        "nodeCritical": is_node_critical_pod(pod),
        "critical": is_critical_pod(pod),
        "podCgroup": {
            "quota_100ms": resource_config(resource_config_for_pod(pod)),
            "quota_10ms": resource_config(resource_config_for_pod(pod, cpu_period=10_000)),
            "noquota_100ms": resource_config(resource_config_for_pod(pod, enforce_cpu_limits=False)),
        },
        "sandbox": linux_resources(sandbox_resources(pod, _CONTEXT)),
        "containers": [_container(pod, i) for i in range(len(everything))],
    }
    protected = dict(resource_config_for_pod(pod, memory_reservation=True).unified)
    if protected:
        found["podMemoryQoSTiered"] = protected
    return found


def _container(pod: Pod, index: int) -> dict[str, Any]:
    init = len(pod.spec.init_containers)
    container = containers_of(pod)[index]
    plain = linux_container_resources(pod, container, _CONTEXT)
    short = linux_container_resources(pod, container, replace(_CONTEXT, cpu_cfs_quota_period=10_000))
    none = linux_container_resources(pod, container, replace(_MEMORY_QOS, memory_reservation_policy=NO_RESERVATION))
    tiered = linux_container_resources(
        pod, container, replace(_MEMORY_QOS, memory_reservation_policy=TIERED_RESERVATION)
    )
    swap = linux_container_resources(pod, container, _SWAP)
    return {
        "name": container.name,
        "init": index < init,
        "linux": linux_resources(plain),
        "cpuQuota_10ms": short.cpu_quota,
        "oomScoreAdj": {f"{size}Gi": get_container_oom_score_adjust(pod, container, size * GI) for size in (4, 16, 64)},
        "memoryQoSNone": dict(none.unified),
        "memoryQoSTiered": dict(tiered.unified),
        "swapLimited": {**swap.unified, "memorySwapLimitInBytes": swap.memory_swap_limit},
    }


def resource_config(config: ResourceConfig) -> dict[str, Any]:
    """Return a `ResourceConfig` under the case's field names, without fields that are not written."""
    found: dict[str, Any] = {
        "cpuShares": config.cpu_shares,
        "cpuWeight": config.cpu_weight,
        "cpuQuota": config.cpu_quota,
        "cpuPeriod": config.cpu_period,
        "memory": config.memory,
        "pidsLimit": config.pids_limit,
        "hugePageLimit": {str(size): limit for size, limit in config.huge_page_limit.items()} or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def linux_resources(resources: LinuxContainerResources) -> dict[str, Any]:
    """Return a `LinuxContainerResources` under the case's field names."""
    found: dict[str, Any] = {
        "cpuShares": resources.cpu_shares,
        "cpuQuota": resources.cpu_quota,
        "cpuPeriod": resources.cpu_period,
        "memoryLimit": resources.memory_limit,
        "cpuWeightRuntime": resources.cpu_weight(),
    }
    huge = {unit: limit for unit, limit in resources.huge_page_limits.items() if limit}
    return found | ({"hugepages": huge} if huge else {})


def _resources(resources: Any) -> dict[str, dict[str, str]]:
    return {"requests": _texts(resources.requests), "limits": _texts(resources.limits)}


def _texts(resources: ResourceList) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in resources.items()}
