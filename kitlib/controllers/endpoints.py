"""Endpoints: the addresses of the pods that a Service selects.

Pods without an address are no endpoints, like the pods of real nodes whose engine refuses them a network.

Source: pkg/controller/endpoint/endpoints_controller.go (syncService, truncateEndpoints), pkg/api/v1/endpoints/util.go
(RepackSubsets, SortSubsets), staging k8s.io/endpointslice/util/trigger_time_tracker.go.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

from kitlib.api.core import (
    TERMINAL_PHASES,
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    ObjectReference,
    Pod,
    Service,
)
from kitlib.api.meta import ObjectMeta
from kitlib.api.service_ports import find_port
from kitlib.controllers.controller import Controller, Handler, Key, Manager, key_of
from kitlib.controllers.informers import Delta
from kitlib.controllers.pod_util import condition_of, is_ready
from kitlib.controllers.workload_status import rfc3339

ENDPOINTS_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
"""The annotation with the time of the event that caused the last change of the addresses."""
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
MAX_ENDPOINTS = 1000


class Port(NamedTuple):
    """A port of a Service, with its number in a pod."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None


class TriggerTimes:
    """The last observed changes of Services and their pods."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[datetime | None, dict[str, datetime]]] = {}

    def compute(self, service: Service, pods: Iterable[Pod]) -> datetime | None:
        """Return the time of the earliest change since the last call; None without one.

        Source: ComputeEndpointLastChangeTriggerTime.
        """
        of_service, of_pods = self._known.get(key_of(service), (None, {}))
        found: dict[str, datetime] = {}
        new: list[datetime] = []
        for pod in pods:
            ready = condition_of(pod, "Ready")
            if ready is not None and ready.last_transition_time is not None:
                at = found[pod.name] = ready.last_transition_time
                if pod.name not in of_pods or at > of_pods[pod.name]:
                    new.append(at)
        made = service.metadata.creation_timestamp
        if made is not None and (of_service is None or made > of_service):
            new.append(made)
        self._known[key_of(service)] = made, found
        return min(new, default=None)

    def forget(self, key: Key) -> None:
        """Forget a deleted Service."""
        self._known.pop(key, None)


class ServiceController(Controller):
    """The base of the controllers of Services' endpoints; keys are Services."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.trigger_times = TriggerTimes()

    def handlers(self) -> Mapping[str, Handler]:
        return {"Service": self._on_service, "Pod": self._on_pod}

    def _on_service(self, change: Delta) -> None:
        self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        """Source: GetPodServiceMemberships."""
        pod = change.new
        if not self.informers.has_any("Service", pod.namespace):
            return
        # The old labels too: a Service that no longer selects the pod must remove it.
        labels = [item.metadata.labels for item in (change.old, pod) if item is not None]
        for service in self.informers.of_namespace("Service", pod.namespace):
            if isinstance(service, Service) and any(_selects(service, label) for label in labels):
                self.enqueue(service)

    def selected(self, service: Service) -> list[Pod]:
        """Return the pods that a Service selects."""
        pods = (pod for pod in self.informers.of_namespace("Pod", service.namespace) if isinstance(pod, Pod))
        return [pod for pod in pods if _selects(service, pod.metadata.labels)]


class EndpointsController(ServiceController):
    """The controller of Services' Endpoints."""

    name: ClassVar[str] = "endpoint-controller"

    def sync(self, key: Key) -> None:
        """Source: syncService."""
        service: Service | None = self.find(Service, key)
        standing: Endpoints | None = self.api.store.find(Endpoints, key[1], key[0])
        if service is None:
            self.trigger_times.forget(key)
            if standing is not None:
                self.api.delete(Endpoints, key[1], key[0])
            return
        if not service.spec.selector or service.spec.type == "ExternalName":
            return
        pods = self.selected(service)
        triggered = self.trigger_times.compute(service, pods)
        subsets, truncated = truncate(_subsets(service, pods))
        labels = {**without_headless(service), ENDPOINTS_MANAGED_BY: self.name}
        annotations = {} if standing is None else dict(standing.metadata.annotations)
        if truncated:
            annotations[OVER_CAPACITY] = "truncated"
        else:
            annotations.pop(OVER_CAPACITY, None)
        if standing is not None and (standing.subsets, standing.metadata.labels, standing.metadata.annotations) == (
            subsets,
            labels,
            annotations,
        ):
            return
        # Only with another change: the annotation measures its latency and must not cause a write of its own.
        put_trigger_time(annotations, triggered)
        if standing is None:
            meta = ObjectMeta(name=service.name, namespace=service.namespace, labels=labels, annotations=annotations)
            self.api.create(Endpoints(metadata=meta, subsets=subsets))
        else:
            standing.subsets, standing.metadata.labels, standing.metadata.annotations = subsets, labels, annotations
            self.api.store.update(standing)


def put_trigger_time(annotations: dict[str, str], triggered: datetime | None) -> None:
    """Set or remove the annotation with the time of the last change, in place."""
    if triggered is None:
        annotations.pop(TRIGGER_TIME, None)
    else:
        annotations[TRIGGER_TIME] = rfc3339(triggered)


def without_headless(service: Service) -> dict[str, str]:
    """Return the labels of a Service, with the label for headless Services only if it has no cluster IP."""
    labels = {key: value for key, value in service.metadata.labels.items() if key != HEADLESS}
    return {**labels, HEADLESS: ""} if service.spec.cluster_ip in ("", "None") else labels


def is_endpoint(pod: Pod, include_terminating: bool) -> bool:
    """Return whether a selected pod has an address and has not finished. Source: ShouldPodBeInEndpoints."""
    if pod.status.phase in TERMINAL_PHASES or not pod.status.pod_ip:
        return False
    return include_terminating or pod.metadata.deletion_timestamp is None


def _subsets(service: Service, pods: Iterable[Pod]) -> list[EndpointSubset]:
    """Source: syncService."""
    made = []
    for pod in pods:
        ports = ports_of(service, pod)
        if not is_endpoint(pod, service.spec.publish_not_ready_addresses) or (service.spec.ports and not ports):
            continue
        address = EndpointAddress(
            ip=pod.status.pod_ip,
            hostname=hostname_of(service, pod),
            node_name=pod.spec.node_name or None,
            target_ref=reference_to(pod),
        )
        subset = EndpointSubset(ports=[EndpointPort(**given(port)) for port in ports])
        if is_ready(pod) or service.spec.publish_not_ready_addresses:
            subset.addresses = [address]
        else:
            subset.not_ready_addresses = [address]
        made.append(subset)
    return repacked(made)


_Id = tuple[str, str]


def repacked(subsets: Iterable[EndpointSubset]) -> list[EndpointSubset]:
    """Return the same addresses and ports in the fewest subsets: ports with the same addresses share a subset.

    Source: RepackSubsets, SortSubsets, LessEndpointPort.
    """
    addresses: dict[_Id, EndpointAddress] = {}
    offered: dict[tuple[object, ...], tuple[EndpointPort | None, dict[_Id, bool]]] = {}
    for subset in subsets:
        for port in subset.ports or (None,):
            key = (port.name, port.port, port.protocol, port.app_protocol) if port is not None else ()
            by_port = offered.setdefault(key, (port, {}))[1]
            for ready, found in ((True, subset.addresses), (False, subset.not_ready_addresses)):
                for address in found:
                    name = address.ip, address.target_ref.uid if address.target_ref is not None else ""
                    addresses[name] = address
                    # An address that is not ready in one subset is not ready for the port.
                    by_port[name] = by_port.get(name, True) and ready
    groups: dict[frozenset[tuple[_Id, bool]], list[EndpointPort]] = {}
    for endpoint_port, by_port in offered.values():
        groups.setdefault(frozenset(by_port.items()), []).extend([endpoint_port] if endpoint_port is not None else [])
    made = []
    for members, ports in groups.items():
        ready_ones = sorted(name for name, ready in members if ready)
        others = sorted(name for name, ready in members if not ready)
        made.append(
            EndpointSubset(
                addresses=[addresses[name] for name in ready_ones],
                not_ready_addresses=[addresses[name] for name in others],
                ports=sorted(ports, key=_digest),
            )
        )
    return sorted(made, key=lambda subset: [_digest(port) for port in subset.ports])


def _digest(port: EndpointPort) -> bytes:
    """Return the sort key of a port: the hash of Go's printed form. Source: portsByHash, DeepHashObject."""
    protocol = "*string)<nil>" if port.app_protocol is None else f"*string){port.app_protocol}"
    fields = f"Name:(string){port.name} Port:(int32){port.port} Protocol:(v1.Protocol){port.protocol}"
    text = f"(v1.EndpointPort){{{fields} AppProtocol:({protocol}}}"
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()


def truncate(subsets: list[EndpointSubset]) -> tuple[list[EndpointSubset], bool]:
    """Return at most a thousand addresses, ready ones first, and whether any were cut. Source: truncateEndpoints."""
    ready = sum(len(subset.addresses) for subset in subsets)
    others = sum(len(subset.not_ready_addresses) for subset in subsets)
    if ready + others <= MAX_ENDPOINTS:
        return subsets, False
    too_many = ready > MAX_ENDPOINTS
    room = MAX_ENDPOINTS if too_many else MAX_ENDPOINTS - ready
    left, total, made = room, ready if too_many else others, []
    for subset in subsets:
        found = subset.addresses if too_many else subset.not_ready_addresses
        kept = found[: min(left, math.ceil(len(found) / total * room))]
        left -= len(kept)
        made.append(
            EndpointSubset(
                addresses=kept if too_many else subset.addresses,
                not_ready_addresses=[] if too_many else kept,
                ports=subset.ports,
            )
        )
    return made, True


def given(port: Port) -> dict[str, Any]:
    """Return the fields of a port that are not None."""
    return {key: value for key, value in port._asdict().items() if value is not None}


def _selects(service: Service, labels: Mapping[str, str]) -> bool:
    """Return whether a Service has a selector that matches these labels."""
    return bool(service.spec.selector) and service.spec.selector.items() <= labels.items()


def ports_of(service: Service, pod: Pod) -> tuple[Port, ...]:
    """Return the Service's ports with their numbers in a pod. Source: FindPort, getEndpointPorts."""
    found = []
    for port in service.spec.ports:
        number = find_port(pod, port)
        if number is not None:
            found.append(Port(port.name, number, port.protocol or "TCP", port.app_protocol))
    return tuple(found)


def hostname_of(service: Service, pod: Pod) -> str:
    """Source: ShouldSetHostname."""
    return pod.spec.hostname if pod.spec.hostname and pod.spec.subdomain == service.name else ""


def reference_to(pod: Pod) -> ObjectReference:
    """Return an address's reference to its pod."""
    return ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.metadata.uid)
