"""Extended resources that claims serve: a class names the resource, and the scheduler creates a claim for it.

A pod requests `example.com/gpu: 1` as before. If a node's device plugin offers the resource, NodeResourcesFit counts
it. If the node offers none and a DeviceClass names the resource, the scheduler creates a claim with a request for each
container; the pod owns the claim, and `status.extendedResourceClaimStatus` names it.

Source: plugins/dynamicresources (extendeddynamicresources.go), extended/cache.go; component-helpers
IsDRAExtendedResourceName; KEP-5004.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kitlib.api.core import Container, ContainerExtendedResourceRequest, Pod
from kitlib.api.devices import EXACT_COUNT, DeviceClass, DeviceRequest, ExactDeviceRequest, ResourceClaim
from kitlib.api.meta import ObjectMeta, OwnerReference
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.scheduler.framework.dra_manager import backed_resources, device_class_of

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that the scheduler created. Source: resourceapi.ExtendedResourceClaimAnnotation."""
IN_MEMORY = "<extended-resources>"
"""The name of a claim that is not in the API yet. Source: specialClaimInMemName."""

Mappings = list[ContainerExtendedResourceRequest]


def wanted_resources(pod: Pod, classes: Mapping[str, DeviceClass], release: Release) -> list[str]:
    """Return the resources of a pod that claims may serve."""
    if not classes:
        return []
    asked = pod_requests(pod, release=release)
    return backed_resources((name for name, amount in asked.items() if not amount.is_zero()), classes, release)


def standing_claim(pod: Pod, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """Return the claim that an earlier cycle created for the pod, or None. Source: findExtendedResourceClaim."""
    for claim in claims:
        if claim.metadata.annotations.get(ANNOTATION) == "true":
            for ref in claim.metadata.owner_references:
                if ref.controller and ref.name == pod.name and ref.uid == pod.metadata.uid:
                    return claim
    return None


def new_claim(pod: Pod) -> ResourceClaim:
    """Return a claim for all extended resources of a pod, without requests. Source: preFilterExtendedResources."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.metadata.uid, controller=True)
    meta = ObjectMeta(
        name=IN_MEMORY,
        generate_name=f"{pod.name}-extended-resources-",
        namespace=pod.namespace or "default",
        uid=f"extended-resources-of-{pod.metadata.uid}",
        annotations={ANNOTATION: "true"},
        owner_references=[owner],
    )
    return ResourceClaim(metadata=meta)


def requests_of(
    pod: Pod, resources: Collection[str], classes: Mapping[str, DeviceClass]
) -> tuple[list[DeviceRequest], Mappings]:
    """Return the claim's requests, and the requests that each container uses.

    Init containers that end use the devices of later containers; of the additional requests only the largest is made.

    Source: createRequestsAndMappings.
    """
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    inits = len(pod.spec.init_containers)
    passing = [i for i, one in enumerate(containers) if i < inits and one.restart_policy != "Always"]
    requests: list[DeviceRequest] = []
    mappings: Mappings = []
    for resource in sorted(resources):
        behind = device_class_of(resource, classes)
        if behind is None:
            continue
        lasting: list[DeviceRequest | None] = [None] * len(containers)
        for i, container in enumerate(containers):
            if i not in passing:
                lasting[i], taken = _request(i, container, resource, behind.name, ())
                mappings += taken
        most, names, reused = _of_passing(containers, passing, resource, behind.name, lasting)
        # init containers that end run one after the other, so the largest of their requests serves all of them
        for request in reused:
            if most is not None and request.request_name in names:
                request.request_name = most.name
        mappings += reused
        requests += [device_request for device_request in (most, *lasting) if device_request is not None]
    return sorted(requests, key=lambda device_request: device_request.name), mappings


def _of_passing(
    containers: Sequence[Container],
    passing: Sequence[int],
    resource: str,
    behind: str,
    lasting: Sequence[DeviceRequest | None],
) -> tuple[DeviceRequest | None, set[str], Mappings]:
    """Return the largest request of init containers that end, the names of all their requests, and the mappings."""
    most: DeviceRequest | None = None
    names: set[str] = set()
    mappings: Mappings = []
    for i in passing:
        later = [device_request for device_request in lasting[i:] if device_request is not None]
        request, taken = _request(i, containers[i], resource, behind, later)
        mappings += taken
        if request is not None:
            names.add(request.name)
            if most is None or _count(most) < _count(request):
                most = request
    return most, names, mappings


def _request(
    index: int, container: Container, resource: str, behind: str, reusable: Sequence[DeviceRequest]
) -> tuple[DeviceRequest | None, Mappings]:
    """Return one container's request, None if the reusable ones suffice, and the container's mappings.

    Source: createResourceRequestAndMappings.
    """
    amount = container.resources.requests.get(resource)
    wanted = amount.value() if amount is not None else 0
    if not wanted:
        return None, []
    taken: Mappings = []
    there = 0
    for device_request in reusable:
        there += _count(device_request)
        taken.append(_mapping(container, resource, device_request.name))
        if there >= wanted:
            return None, taken
    name = f"container-{index}-request-{sorted(container.resources.requests).index(resource)}"
    asked = ExactDeviceRequest(device_class_name=behind, allocation_mode=EXACT_COUNT, count=wanted - there)
    return DeviceRequest(name=name, exactly=asked), [*taken, _mapping(container, resource, name)]


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _mapping(container: Container, resource: str, request: str) -> ContainerExtendedResourceRequest:
    return ContainerExtendedResourceRequest(container_name=container.name, resource_name=resource, request_name=request)
