"""What the API server fills in before it validates an object: `set_defaults`.

Source: pkg/apis/core/v1/defaults.go, pkg/apis/apps/v1/defaults.go, pkg/apis/scheduling/v1/defaults.go,
pkg/apis/resource/v1/defaults.go.
"""

from __future__ import annotations

from typing import TypeVar

from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.claims import asked_for
from kitlib.api.core import Container, LimitRange, Node, Pod, PodSpec, ReplicationController, ResourceList
from kitlib.api.devices import EXACT_COUNT, ResourceClaim, ResourceClaimTemplate
from kitlib.api.meta import KubeObject
from kitlib.api.podresources import pod_limits, pod_requests, supports_pod_level
from kitlib.api.policy import PriorityClass
from kitlib.api.resource import Quantity

T = TypeVar("T", bound=KubeObject)

DEFAULT_SCHEDULER = "default-scheduler"


def set_defaults(obj: T) -> T:
    """Fill in what the API server would; in place.

    Returns:
        The same object.

    Source: SetObjectDefaults_Pod and its siblings in zz_generated.defaults.go.
    """
    if isinstance(obj, Pod):
        _pod_spec(obj.spec)
        _pod(obj)
    elif isinstance(obj, Deployment | ReplicaSet | StatefulSet):
        _pod_spec(obj.spec.template.spec)
        if obj.spec.replicas is None:
            obj.spec.replicas = 1
    elif isinstance(obj, DaemonSet):
        _pod_spec(obj.spec.template.spec)
    elif isinstance(obj, ReplicationController):
        if obj.spec.replicas is None:
            obj.spec.replicas = 1
    elif isinstance(obj, Node):
        if not obj.status.allocatable:
            obj.status.allocatable = dict(obj.status.capacity)
    elif isinstance(obj, LimitRange):
        _limit_range(obj)
    elif isinstance(obj, ResourceClaim):
        _claim(obj)
    elif isinstance(obj, ResourceClaimTemplate):
        _claim(ResourceClaim(spec=obj.spec.spec))
    elif isinstance(obj, PriorityClass) and obj.preemption_policy is None:
        obj.preemption_policy = "PreemptLowerPriority"
    return obj


def _pod_spec(spec: PodSpec) -> None:
    """Source: SetDefaults_PodSpec, SetDefaults_Container, SetDefaults_Probe."""
    spec.dns_policy = spec.dns_policy or "ClusterFirst"
    spec.restart_policy = spec.restart_policy or "Always"
    spec.scheduler_name = spec.scheduler_name or DEFAULT_SCHEDULER
    if spec.security_context is None:
        spec.security_context = {}
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = 30
    for container in (*spec.containers, *spec.init_containers):
        _container(container, spec)


def _container(container: Container, spec: PodSpec) -> None:
    tag = container.image.rpartition("/")[2].partition(":")[2]
    if not container.image_pull_policy:
        container.image_pull_policy = (
            "Always" if tag in ("", "latest") and "@" not in container.image else "IfNotPresent"
        )
    container.termination_message_path = container.termination_message_path or "/dev/termination-log"
    container.termination_message_policy = container.termination_message_policy or "File"
    for port in container.ports:
        port.protocol = port.protocol or "TCP"
        if spec.host_network and port.host_port == 0:
            port.host_port = port.container_port
    resources = container.resources
    for listed in (resources.requests, resources.limits):
        _round_up_to_milli(listed)


def _round_up_to_milli(resources: ResourceList) -> None:
    """Amounts below one thousandth do not exist in the API. Source: SetDefaults_ResourceList."""
    for name, quantity in resources.items():
        if quantity.nano % 10**6:
            resources[name] = Quantity.from_milli(quantity.milli_value(), quantity.format)


def _pod(pod: Pod) -> None:
    """A container's missing request is its limit; then the pod-level resources. Source: SetDefaults_Pod."""
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        resources = container.resources
        for name, limit in resources.limits.items():
            resources.requests.setdefault(name, limit)
    if pod.spec.enable_service_links is None:
        pod.spec.enable_service_links = True
    if pod.spec.resources is not None:
        _pod_level(pod)


def _pod_level(pod: Pod) -> None:
    """Huge page limits come from the containers; then, where the pod has limits at all, missing requests.

    A missing request is the sum of the containers' requests, or else the pod's limit.

    Source: defaultHugePagePodLimits, defaultPodRequests.
    """
    assert pod.spec.resources is not None
    level = pod.spec.resources
    if not level.requests and not level.limits:
        return
    for name, quantity in pod_limits(pod, skip_pod_level=True, exclude_overhead=True).items():
        if name.startswith("hugepages-"):
            level.limits.setdefault(name, quantity)
    if not level.limits:
        return
    for name, quantity in pod_requests(pod, skip_pod_level=True, exclude_overhead=True).items():
        if supports_pod_level(name) and not name.startswith("hugepages-"):
            level.requests.setdefault(name, quantity)
    for name, quantity in level.limits.items():
        if supports_pod_level(name):
            level.requests.setdefault(name, quantity)


def _limit_range(limits: LimitRange) -> None:
    """For containers: default from max, defaultRequest from default and min. Source: SetDefaults_LimitRangeItem."""
    for item in limits.spec.limits:
        if item.type != "Container":
            continue
        for name, quantity in item.max.items():
            item.default.setdefault(name, quantity)
        for source in (item.default, item.min):
            for name, quantity in source.items():
                item.default_request.setdefault(name, quantity)


def _claim(claim: ResourceClaim) -> None:
    """One device where nothing is said. Source: SetDefaults_ExactDeviceRequest, SetDefaults_DeviceSubRequest."""
    for _, request in asked_for(claim):
        request.allocation_mode = request.allocation_mode or EXACT_COUNT
        if request.allocation_mode == EXACT_COUNT and request.count == 0:
            request.count = 1
        for toleration in request.tolerations:
            toleration.operator = toleration.operator or "Equal"
