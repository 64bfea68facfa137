"""Defaults of pods and of the pods in templates.

Source: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from kitlib.api.container import HTTPGetAction
from kitlib.api.core import Container, Pod, PodSecurityContext, PodSpec, Probe, ResourceList
from kitlib.api.image_reference import default_pull_policy
from kitlib.api.podresources import pod_limits, pod_requests, supports_pod_level
from kitlib.api.resource import Quantity

DEFAULT_SCHEDULER = "default-scheduler"


def pod_spec(spec: PodSpec, *, template: bool) -> None:
    """Set the defaults that pods and pod templates share, in place.

    Args:
        spec: the specification to change.
        template: whether it belongs to a template. Host ports, which follow from `hostNetwork`, are set in pods only.

    Source: SetDefaults_PodSpec, SetDefaults_Container.
    """
    spec.dns_policy = spec.dns_policy or "ClusterFirst"
    spec.restart_policy = spec.restart_policy or "Always"
    spec.scheduler_name = spec.scheduler_name or DEFAULT_SCHEDULER
    if spec.security_context is None:
        spec.security_context = PodSecurityContext()
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = 30
    if spec.volumes:
        from kitlib.api.defaults import volumes

        for volume in spec.volumes:
            volumes.volume(volume)
    host_ports = spec.host_network and not template
    for container in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers):
        _container(container, host_ports=host_ports)
    if spec.service_account and not spec.service_account_name:  # the deprecated name of the same field
        spec.service_account_name = spec.service_account
    # The internal form has only the current name. Source: Convert_v1_PodSpec_To_core_PodSpec.
    spec.service_account = ""


def _container(container: Container, *, host_ports: bool) -> None:
    if not container.image_pull_policy:
        container.image_pull_policy = default_pull_policy(container.image)
    container.termination_message_path = container.termination_message_path or "/dev/termination-log"
    container.termination_message_policy = container.termination_message_policy or "File"
    for port in container.ports:
        port.protocol = port.protocol or "TCP"
        if host_ports and port.host_port == 0:
            port.host_port = port.container_port
    for variable in container.env:
        if variable.value_from is not None and variable.value_from.field_ref is not None:
            variable.value_from.field_ref.api_version = variable.value_from.field_ref.api_version or "v1"
    for probe in (container.liveness_probe, container.readiness_probe, container.startup_probe):
        if probe is not None:
            _probe(probe)
    if container.lifecycle is not None:
        for handler in (container.lifecycle.post_start, container.lifecycle.pre_stop):
            if handler is not None and handler.http_get is not None:
                _http_get(handler.http_get)
    resources = container.resources
    for listed in (resources.requests, resources.limits):
        _round_up_to_milli(listed)


def _probe(probe: Probe) -> None:
    """Source: SetDefaults_Probe."""
    probe.timeout_seconds = probe.timeout_seconds or 1
    probe.period_seconds = probe.period_seconds or 10
    probe.success_threshold = probe.success_threshold or 1
    probe.failure_threshold = probe.failure_threshold or 3
    if probe.http_get is not None:
        _http_get(probe.http_get)
    if probe.grpc is not None and probe.grpc.service is None:
        probe.grpc.service = ""


def _http_get(action: HTTPGetAction) -> None:
    """Source: SetDefaults_HTTPGetAction."""
    action.path = action.path or "/"
    action.scheme = action.scheme or "HTTP"


def _round_up_to_milli(resources: ResourceList) -> None:
    """Round quantities up to thousandths, the API's smallest unit. Source: SetDefaults_ResourceList."""
    for name, quantity in resources.items():
        if quantity.nano % 10**6:
            resources[name] = Quantity.from_milli(quantity.milli_value(), quantity.format)


def pod(obj: Pod) -> None:
    """Set missing requests of containers to their limits, then default pod-level resources. Source: SetDefaults_Pod."""
    pod_spec(obj.spec, template=False)
    for container in (*obj.spec.containers, *obj.spec.init_containers):
        resources = container.resources
        for name, limit in resources.limits.items():
            resources.requests.setdefault(name, limit)
    if obj.spec.enable_service_links is None:
        obj.spec.enable_service_links = True
    if obj.spec.resources is not None:
        _pod_level(obj)


def _pod_level(pod: Pod) -> None:
    """Set pod-level huge page limits from the containers; then set missing requests, where the pod has limits.

    A missing request is the sum of the containers' requests, or the pod's limit where they request nothing.

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
