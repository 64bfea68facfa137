"""A pod's quality of service class, and the criteria of critical pods.

The user does not set the class; it follows from CPU and memory requests and limits. It determines the parent of the
pod's cgroup and the oom_score_adj of its processes. The order of eviction follows from the requests, not from the
class.

Sources: component-helpers qos.GetPodQOS (ComputePodQOS), kubelet types.IsCriticalPod, types.IsNodeCriticalPod.
"""

from __future__ import annotations

from typing import Literal

from kitlib.api.core import Container, Pod, ResourceList
from kitlib.api.release import Release
from kitlib.api.resource import Quantity

QosClass = Literal["Guaranteed", "Burstable", "BestEffort"]
QOS_CLASSES: tuple[QosClass, ...] = ("Guaranteed", "Burstable", "BestEffort")

QOS_RESOURCES = ("cpu", "memory")
"""The only resources that determine the class: a pod that requests only a GPU is BestEffort."""

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
SYSTEM_NODE_CRITICAL = "system-node-critical"
_SOURCE_ANNOTATION = "kubernetes.io/config.source"
_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


def get_pod_qos(pod: Pod, release: Release | None = None) -> QosClass:
    """Return the class in the pod's status; if it is not set yet, the class that follows from its resources.

    Source: component-helpers qos.GetPodQOS.
    """
    status = pod.status.qos_class
    return status if status in QOS_CLASSES else compute_pod_qos(pod, release)


def compute_pod_qos(pod: Pod, release: Release | None = None) -> QosClass:
    """Return the QoS class that follows from the requests and limits of CPU and memory.

    * Guaranteed: every container has a CPU and a memory limit, and the sums of the requests equal those of the limits.
    * BestEffort: no container has a request or a limit of CPU or memory.
    * Burstable: all others.

    Pod-level resources (`spec.resources`) replace the containers'. Values of zero count as absent. The API's defaults
    must be applied: a container with a limit and without a request has the limit as its request.

    Args:
        pod: the pod, with API defaults.
        release: the release that determines whether pod-level resources are used; None = the latest.

    Source: component-helpers qos.ComputePodQOS.
    """
    if pod_level_resources(pod, release):
        assert pod.spec.resources is not None
        requirements = [pod.spec.resources]
        every_limit_set = not pod.spec.resources.limits or _has_all(pod.spec.resources.limits)
    else:
        requirements = [c.resources for c in (*pod.spec.containers, *pod.spec.init_containers)]
        every_limit_set = all(_has_all(r.limits) for r in requirements)

    if not every_limit_set:  # the other two classes do not depend on the sums
        asked = any(_positive(r.requests) or _positive(r.limits) for r in requirements)
        return "Burstable" if asked else "BestEffort"
    if requirements and all(_same(r.requests, r.limits) for r in requirements):
        return "Guaranteed"
    requests = _sum_of_positive([r.requests for r in requirements])
    limits = _sum_of_positive([r.limits for r in requirements])
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if requests == limits else "Burstable"


def pod_level_resources(pod: Pod, release: Release | None = None) -> bool:
    """Return whether the pod has `spec.resources` and the release uses them; since 1.37 only if they contain an amount.

    Source: kubernetes/kubernetes #137150 (read in its description: pods with `resources: {}` no longer are BestEffort).
    """
    own, rules = pod.spec.resources, release or Release.followed()
    if own is None or not rules.enabled("PodLevelResources"):
        return False
    return bool(own.requests or own.limits) or not rules.enabled("KitEmptyPodLevelIgnored")


def pod_level_managed(pod: Pod, release: Release | None = None) -> bool:
    """Return whether the CPU, memory and topology managers use the pod's `spec.resources`. Source: KEP-5526."""
    return pod_level_resources(pod, release) and (release or Release.followed()).enabled("PodLevelResourceManagers")


def resembles_guaranteed(container: Container) -> bool:
    """Return whether a container requests CPU and memory with limits equal to its requests.

    Source: kubelet cm/qos IsContainerEquivalentQOSGuaranteed.
    """
    requests, limits = container.resources.requests, container.resources.limits
    return all(
        name in requests and requests[name].sign() > 0 and name in limits and requests[name] == limits[name]
        for name in QOS_RESOURCES
    )


def is_critical_pod(pod: Pod) -> bool:
    """Return whether a pod is critical: a static or mirror pod, or one with a priority of 2000000000 or more.

    Source: kubelet types.IsCriticalPod.
    """
    if is_static_pod(pod) or _MIRROR_ANNOTATION in pod.metadata.annotations:
        return True
    return pod.spec.priority is not None and pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY


def is_static_pod(pod: Pod) -> bool:
    """Return whether a pod does not come from the API server. Source: kubelet types.IsStaticPod."""
    return pod.metadata.annotations.get(_SOURCE_ANNOTATION, "api") != "api"


def is_node_critical_pod(pod: Pod) -> bool:
    """Return whether a critical pod has the class system-node-critical. Source: kubelet types.IsNodeCriticalPod."""
    return is_critical_pod(pod) and pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL


def is_restartable_init(container: Container) -> bool:
    """Return whether an init container is a sidecar, which runs beside the regular containers."""
    return container.restart_policy == "Always"


def is_regular_init(pod: Pod, container: Container) -> bool:
    """Return whether a container is a regular init container, whose resources the next containers can reuse."""
    return any(c.name == container.name and not is_restartable_init(c) for c in pod.spec.init_containers)


def _has_all(limits: ResourceList) -> bool:
    cpu, memory = limits.get("cpu"), limits.get("memory")
    return cpu is not None and memory is not None and cpu.sign() > 0 and memory.sign() > 0


def _positive(resources: ResourceList) -> bool:
    """Return whether CPU or memory is above 0."""
    cpu, memory = resources.get("cpu"), resources.get("memory")
    return (cpu is not None and cpu.sign() > 0) or (memory is not None and memory.sign() > 0)


def _same(requests: ResourceList, limits: ResourceList) -> bool:
    """Return whether CPU and memory are above 0 and equal in both."""
    return _has_all(limits) and requests.get("cpu") == limits["cpu"] and requests.get("memory") == limits["memory"]


def _sum_of_positive(lists: list[ResourceList]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for resources in lists:
        for name in QOS_RESOURCES:
            quantity = resources.get(name)
            if quantity is not None and quantity.sign() > 0:
                total[name] = total[name] + quantity if name in total else quantity
    return total
