"""Endpoints and EndpointSlices: the addresses of the pods that a Service selects.

Pods of simulated nodes have no IP address; then a Service has no endpoints, as with pods that have not got one yet.

Source: pkg/controller/endpoint/endpoints_controller.go (syncService), pkg/controller/endpointslice,
endpointslice/reconciler.go, utils.go (podToEndpoint).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from kitlib.api.core import (
    TERMINAL_PHASES,
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Node,
    ObjectReference,
    Pod,
    Service,
    ServicePort,
)
from kitlib.api.meta import ObjectMeta
from kitlib.api.networking import Endpoint, EndpointConditions, EndpointSlice, EndpointSlicePort
from kitlib.api.serialize import deepcopy
from kitlib.cluster.controllers.controller import Controller, Handler, Key
from kitlib.cluster.controllers.controller_utils import is_ready, owner_reference
from kitlib.cluster.controllers.informers import Change

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
ENDPOINTS_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
ZONE = "topology.kubernetes.io/zone"
MAX_ENDPOINTS = 1000
MAX_ENDPOINTS_PER_SLICE = 100


class _Port(NamedTuple):
    name: str
    port: int
    protocol: str
    app_protocol: str | None


class _ServiceController(Controller):
    """What both have in common: keys are Services."""

    def handlers(self) -> Mapping[str, Handler]:
        return {"Service": self._on_service, "Pod": self._on_pod}

    def _on_service(self, change: Change) -> None:
        self.enqueue(change.new)

    def _on_pod(self, change: Change) -> None:
        """Source: GetPodServiceMemberships."""
        pod = change.new
        if not self.informers.has_any("Service", pod.namespace):
            return
        labels = [one.metadata.labels for one in (change.old, pod) if one is not None]
        for service in self.informers.of_namespace("Service", pod.namespace):
            if isinstance(service, Service) and any(_selects(service, one) for one in labels):
                self.enqueue(service)

    def _pods(self, service: Service) -> list[Pod]:
        """The selected pods with an address, that have not finished. Source: ShouldPodBeInEndpoints."""
        pods = (pod for pod in self.informers.of_namespace("Pod", service.namespace) if isinstance(pod, Pod))
        return [
            pod
            for pod in pods
            if pod.status.pod_ip and pod.status.phase not in TERMINAL_PHASES and _selects(service, pod.metadata.labels)
        ]


class EndpointsController(_ServiceController):
    """For the Endpoints of Services."""

    name: ClassVar[str] = "endpoint-controller"

    def sync(self, key: Key) -> None:
        """Source: syncService."""
        service: Service | None = self.find(Service, key)
        standing: Endpoints | None = self.api.store.find(Endpoints, key[1], key[0])
        if service is None:
            if standing is not None:
                self.api.delete(Endpoints, key[1], key[0])
            return
        if not service.spec.selector or service.spec.type == "ExternalName":
            return
        subsets = self._subsets(service)
        labels = {**service.metadata.labels, ENDPOINTS_MANAGED_BY: self.name}
        if service.spec.cluster_ip == "None":
            labels["service.kubernetes.io/headless"] = ""
        if standing is None:
            meta = ObjectMeta(name=service.name, namespace=service.namespace, labels=labels)
            self.api.create(Endpoints(metadata=meta, subsets=subsets))
        elif standing.subsets != subsets or standing.metadata.labels != labels:
            standing.subsets, standing.metadata.labels = subsets, labels
            self.api.store.update(standing)

    def _subsets(self, service: Service) -> list[EndpointSubset]:
        """One subset for the pods with the same numbers for the Service's ports. Source: RepackSubsets."""
        groups: dict[tuple[_Port, ...], EndpointSubset] = {}
        for pod in self._pods(service)[:MAX_ENDPOINTS]:
            if pod.metadata.deletion_timestamp is not None and not service.spec.publish_not_ready_addresses:
                continue
            ports = _ports_of(service, pod)
            if service.spec.ports and not ports:
                continue
            subset = groups.setdefault(ports, EndpointSubset(ports=[EndpointPort(**_given(p)) for p in ports]))
            address = EndpointAddress(
                ip=pod.status.pod_ip,
                hostname=_hostname(service, pod),
                node_name=pod.spec.node_name or None,
                target_ref=_reference(pod),
            )
            if is_ready(pod) or service.spec.publish_not_ready_addresses:
                subset.addresses = sorted([*subset.addresses, address], key=lambda one: one.ip)
            else:
                subset.not_ready_addresses = sorted([*subset.not_ready_addresses, address], key=lambda one: one.ip)
        return list(groups.values())


class EndpointSliceController(_ServiceController):
    """For the EndpointSlices of Services."""

    name: ClassVar[str] = "endpointslice-controller.k8s.io"
    account: ClassVar[str] = "endpointslice-controller"

    def sync(self, key: Key) -> None:
        """Source: syncService, reconcile."""
        service: Service | None = self.find(Service, key)
        if service is None or not service.spec.selector or service.spec.type == "ExternalName":
            return
        standing = [one for one in self.informers.owned(service, "EndpointSlice") if isinstance(one, EndpointSlice)]
        wanted = self._slices(service)
        for one in wanted:
            old = next((other for other in standing if other.ports == one.ports), None)
            if old is None:
                self.api.create(one)
                continue
            standing.remove(old)
            if old.endpoints != one.endpoints or old.metadata.labels != one.metadata.labels:
                changed = deepcopy(old)
                changed.endpoints, changed.metadata.labels = one.endpoints, one.metadata.labels
                self.api.store.update(changed)
        for left in standing:
            self.api.delete(EndpointSlice, left.name, left.namespace)

    def _slices(self, service: Service) -> list[EndpointSlice]:
        """Slices of at most a hundred endpoints; one without endpoints where there are none."""
        groups: dict[tuple[_Port, ...], list[Endpoint]] = {}
        for pod in self._pods(service):
            ports = _ports_of(service, pod)
            groups.setdefault(ports, []).append(self._endpoint(service, pod))
        groups = groups or {(): []}
        made = []
        for ports, endpoints in groups.items():
            for start in range(0, max(1, len(endpoints)), MAX_ENDPOINTS_PER_SLICE):
                made.append(_slice(service, ports, endpoints[start : start + MAX_ENDPOINTS_PER_SLICE]))
        return made

    def _endpoint(self, service: Service, pod: Pod) -> Endpoint:
        """Source: podToEndpoint."""
        serving, terminating = is_ready(pod), pod.metadata.deletion_timestamp is not None
        ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
        node = self.api.store.find(Node, pod.spec.node_name, copy=False) if pod.spec.node_name else None
        return Endpoint(
            addresses=[pod.status.pod_ip],
            conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
            hostname=_hostname(service, pod) or None,
            target_ref=_reference(pod),
            node_name=pod.spec.node_name or None,
            zone=node.metadata.labels.get(ZONE) if node is not None else None,
        )


def _slice(service: Service, ports: Sequence[_Port], endpoints: list[Endpoint]) -> EndpointSlice:
    labels = {**service.metadata.labels, SERVICE_NAME: service.name, MANAGED_BY: EndpointSliceController.name}
    if service.spec.cluster_ip == "None":
        labels["service.kubernetes.io/headless"] = ""
    meta = ObjectMeta(
        generate_name=f"{service.name}-",
        namespace=service.namespace,
        labels=labels,
        owner_references=[owner_reference(service)],
    )
    numbers = [EndpointSlicePort(**_given(port)) for port in ports]
    return EndpointSlice(metadata=meta, address_type="IPv4", endpoints=endpoints, ports=numbers)


def _given(port: _Port) -> dict[str, Any]:
    return {key: value for key, value in port._asdict().items() if value is not None}


def _selects(service: Service, labels: Mapping[str, str]) -> bool:
    """Whether a Service with a selector selects these labels."""
    return bool(service.spec.selector) and service.spec.selector.items() <= labels.items()


def _ports_of(service: Service, pod: Pod) -> tuple[_Port, ...]:
    """The numbers that the Service's ports have in a pod. Source: FindPort, getEndpointPorts."""
    found = []
    for port in service.spec.ports:
        number = _number(port, pod)
        if number is not None:
            found.append(_Port(port.name, number, port.protocol or "TCP", port.app_protocol))
    return tuple(found)


def _number(port: ServicePort, pod: Pod) -> int | None:
    target = port.target_port
    if target is None or target == 0:
        return port.port
    if isinstance(target, int):
        return target
    for container in pod.spec.containers:
        for one in container.ports:
            if one.name == target and (one.protocol or "TCP") == (port.protocol or "TCP"):
                return one.container_port
    return None


def _hostname(service: Service, pod: Pod) -> str:
    """Source: ShouldSetHostname."""
    return pod.spec.hostname if pod.spec.hostname and pod.spec.subdomain == service.name else ""


def _reference(pod: Pod) -> ObjectReference:
    return ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.metadata.uid)
