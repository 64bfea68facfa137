"""A pod's total requests and limits: the scheduler places the pod by them, and the kubelet limits it to them.

Init containers run one after another before the others, so only the largest counts. A restartable init container
(sidecar) keeps running and is added to everything that starts after it. Pod-level resources, where the pod has them,
replace the sum for the resources that they name. The overhead of the runtime class is added to both.

Source: k8s.io/component-helpers/resource/helpers.go (PodRequests, PodLimits).
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Container, EphemeralContainer, Pod, ResourceList
from kitlib.api.release import Release

POD_LEVEL_RESOURCES = ("cpu", "memory")
"""The resources that `spec.resources` may set, besides huge pages."""


def containers_of(pod: Pod) -> list[Container]:
    """Return a pod's init containers, then its containers, in the kubelet's order; without ephemeral containers."""
    return [*pod.spec.init_containers, *pod.spec.containers]


def field_path(pod: Pod, container: Container) -> str:
    """Return a container's field path as events have it: `spec.containers{web}`. Source: GenerateContainerRef."""
    inits = any(one.name == container.name for one in pod.spec.init_containers)
    kind = "ephemeralContainers" if isinstance(container, EphemeralContainer) else "containers"
    return f"spec.{'initContainers' if inits else kind}{{{container.name}}}"


def supports_pod_level(resource: str) -> bool:
    """Return whether `spec.resources` may set the resource. Source: component-helpers IsSupportedPodLevelResource."""
    return resource in POD_LEVEL_RESOURCES or resource.startswith("hugepages-")


def is_pod_level_resources_set(pod: Pod) -> bool:
    """Return whether `spec.resources` names a resource that counts; `{}` equals a missing field.

    Source: component-helpers IsPodLevelResourcesSet.
    """
    level = pod.spec.resources
    return level is not None and any(map(supports_pod_level, (*level.requests, *level.limits)))


def is_resize_deferred(pod: Pod) -> bool:
    """Return whether the kubelet has deferred a resize of the pod. Source: component-helpers IsPodResizeDeferred."""
    pending = next((condition for condition in pod.status.conditions if condition.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Deferred"


def pod_requests(
    pod: Pod,
    *,
    use_status: bool = False,
    exclude_overhead: bool = False,
    skip_pod_level: bool = False,
    non_missing: ResourceList | None = None,
    release: Release | None = None,
) -> ResourceList:
    """Return the pod's effective requests.

    Args:
        pod: the pod, with defaults set.
        use_status: whether allocated and actual resources in the status count too, for a pod that is being resized.
        exclude_overhead: whether to leave `spec.overhead` out.
        skip_pod_level: whether to count the containers only.
        non_missing: the requests of a container that does not set the resource (default requests for scoring).
        release: the release with the feature gates; None = the followed one.

    Returns:
        Resource name -> quantity; a new mapping.

    Source: component-helpers PodRequests.
    """
    spec, rules = pod.spec, release or Release.followed()
    resized = use_status and bool(pod.status.container_statuses) and rules.enabled("InPlacePodVerticalScaling")
    # During a resize the node must have room for the old and the new size, so the maximum counts.
    effective = _effective_requests(pod, rules) if resized else None

    def wanted(container: Container) -> ResourceList:
        requests = effective(container) if effective is not None else container.resources.requests
        return {**non_missing, **requests} if non_missing else requests

    total = _aggregate(pod, wanted, release)
    if not skip_pod_level and spec.resources is not None and rules.enabled("PodLevelResources"):
        level = spec.resources.requests
        if use_status and rules.enabled("InPlacePodLevelResourcesVerticalScaling"):
            level = _effective_pod_level(pod)
        for name, quantity in level.items():
            if name in POD_LEVEL_RESOURCES or (supports_pod_level(name) and rules.enabled("KitPodLevelHugePages")):
                total[name] = quantity
    # The overhead is outside of pod-level resources, too: it belongs to the sandbox, not to the containers.
    if spec.overhead and not exclude_overhead:
        add_to(total, spec.overhead)
    return total


def is_pod_resize_infeasible(pod: Pod, release: Release) -> bool:
    """Return whether the kubelet has rejected the resize for good; then the specification does not count.

    Source: component-helpers IsPodResizeInfeasible; before 1.33 the field `status.resize`.
    """
    if not release.enabled("KitResizeHasConditions"):
        return pod.status.resize == "Infeasible"
    return next((c.reason == "Infeasible" for c in pod.status.conditions if c.type == "PodResizePending"), False)


def _effective_requests(pod: Pod, release: Release) -> Callable[[Container], ResourceList]:
    """Return a function from a container to the maximum of its specified, allocated and actual requests.

    Source: component-helpers determineEffectiveRequests (1.36), determineContainerReqs (1.32), PodRequests (1.27).
    """
    infeasible = is_pod_resize_infeasible(pod, release)
    statuses = {one.name: one for one in (*pod.status.container_statuses, *pod.status.init_container_statuses)}
    actuated = release.enabled("KitResizeCountsActuated")
    allocated = not actuated or release.enabled("KitResizeCountsAllocated")
    inits = {id(one) for one in pod.spec.init_containers}

    def effective(container: Container) -> ResourceList:
        requests, status = container.resources.requests, statuses.get(container.name)
        if status is None or (actuated and status.resources is None):
            return requests
        if id(container) in inits and (container.restart_policy != "Always" or not actuated):
            return requests
        # An infeasible resize will never happen, so the specification does not reserve anything.
        found = {} if infeasible else dict(requests)
        if actuated and status.resources is not None:
            raise_to(found, status.resources.requests)
        if allocated:
            raise_to(found, status.allocated_resources)
        return found

    return effective


def _effective_pod_level(pod: Pod) -> ResourceList:
    """Return the maximum of specified, allocated and actual pod-level requests. Source: KEP-5419."""
    assert pod.spec.resources is not None
    level, status = pod.spec.resources.requests, pod.status
    if status.resources is None and not status.allocated_resources:
        return level
    found = {} if is_pod_resize_infeasible(pod, Release.followed()) else dict(level)
    for more in (status.resources.requests if status.resources is not None else {}, status.allocated_resources):
        raise_to(found, {name: quantity for name, quantity in more.items() if name in level})
    return found


def pod_limits(
    pod: Pod, *, exclude_overhead: bool = False, skip_pod_level: bool = False, release: Release | None = None
) -> ResourceList:
    """Return the pod's effective limits; overhead is added only to limits that exist.

    The arguments and the result are those of `pod_requests`.

    Source: component-helpers PodLimits.
    """
    spec = pod.spec
    total = _aggregate(pod, lambda container: container.resources.limits, release)
    if (
        not skip_pod_level
        and spec.resources is not None
        and (release or Release.followed()).enabled("PodLevelResources")
    ):
        for name, quantity in spec.resources.limits.items():
            if supports_pod_level(name):
                total[name] = quantity
    if spec.overhead and not exclude_overhead:
        for name, quantity in spec.overhead.items():
            if name in total and not total[name].is_zero():
                total[name] = total[name] + quantity
    return total


def aggregate_container_requests(pod: Pod) -> ResourceList:
    """Return the requests of all containers of a pod, without pod-level resources and overhead.

    Source: component-helpers AggregateContainerRequests.
    """
    return _aggregate(pod, lambda container: container.resources.requests)


def _aggregate(pod: Pod, of: Callable[[Container], ResourceList], release: Release | None = None) -> ResourceList:
    """Return the larger one, per resource, of the containers' sum with sidecars and the peak of initialization."""
    # Each init container runs alone beside the sidecars that started before it; then the containers run beside all
    # sidecars. So the order of init containers matters: a sidecar does not count for those before it.
    stays = release is None or release.enabled("KitRequestsCountSidecars")
    total: ResourceList = {}
    for container in pod.spec.containers:
        add_to(total, of(container))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in pod.spec.init_containers:
        own = of(container)
        if stays and container.restart_policy == "Always":
            add_to(total, own)
            add_to(sidecars, own)
            raise_to(peak, sidecars)
        else:
            moment = dict(own)
            add_to(moment, sidecars)
            raise_to(peak, moment)
    raise_to(total, peak)
    return total


def add_to(total: ResourceList, more: ResourceList) -> None:
    """Add `more` to `total` in place, resource by resource."""
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def raise_to(total: ResourceList, least: ResourceList) -> None:
    """Raise `total` in place to at least `least`, resource by resource."""
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
