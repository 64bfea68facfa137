"""EndpointSlices of the pods that a Service selects, and copies of hand-written Endpoints of other Services.

Source: staging k8s.io/endpointslice/reconciler.go (reconcileByAddressType, finalize), utils.go (podToEndpoint,
setEndpointSliceLabels), trafficdist; pkg/controller/endpointslice, pkg/controller/endpointslicemirroring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from typing import ClassVar

from kitlib.api.core import EndpointAddress, Endpoints, Node, Pod, Service
from kitlib.api.meta import ObjectMeta
from kitlib.api.networking import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointSlice,
    EndpointSlicePort,
    ForNode,
    ForZone,
)
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.endpoints import (
    TRIGGER_TIME,
    Port,
    ServiceController,
    given,
    hostname_of,
    is_endpoint,
    ports_of,
    put_trigger_time,
    reference_to,
    repacked,
    without_headless,
)
from kitlib.controllers.endpointslice_packing import Changes
from kitlib.controllers.informers import Delta
from kitlib.controllers.pod_control import owner_reference
from kitlib.controllers.pod_util import is_ready

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ZONE = "topology.kubernetes.io/zone"
MAX_ENDPOINTS_PER_SUBSET = 1000
"""The maximum number of mirrored addresses per subset. Source: --mirroring-max-endpoints-per-subset."""
SAME_ZONE = ("PreferClose", "PreferSameZone")
SAME_NODE = "PreferSameNode"


class EndpointSliceController(ServiceController):
    """The controller of Services' EndpointSlices."""

    name: ClassVar[str] = "endpointslice-controller.k8s.io"
    account: ClassVar[str] = "endpointslice-controller"

    def sync(self, key: Key) -> None:
        """Source: syncService, reconcile, reconcileByAddressType."""
        service: Service | None = self.find(Service, key)
        if service is None:
            self.trigger_times.forget(key)
            return
        if not service.spec.selector or service.spec.type == "ExternalName":
            return
        pods = self.selected(service)
        triggered = self.trigger_times.compute(service, pods)
        standing = [one for one in self.informers.owned(service, "EndpointSlice") if isinstance(one, EndpointSlice)]
        changes = Changes()
        left = list(standing)
        for ports, endpoints in self._endpoints(service, pods).items():
            kind = _kind_of(_slice(service, ports))
            alike = [endpoint_slice for endpoint_slice in left if _kind_of(endpoint_slice) == kind]
            left = [endpoint_slice for endpoint_slice in left if _kind_of(endpoint_slice) != kind]
            changes.add(alike, endpoints, partial(_slice, service, ports))
        changes.delete += left
        if len(changes.delete) == len(standing) and not changes.create:
            changes.keep_one(_slice(service, ()))
        changes.recycle()
        self._write(service, changes, triggered)

    def _write(self, service: Service, changes: Changes, triggered: datetime | None) -> None:
        """Source: finalize."""
        for endpoint_slice in (*changes.create, *changes.update):
            put_trigger_time(endpoint_slice.metadata.annotations, triggered)
        # Otherwise the garbage collector would delete slices while this controller replaces them. Source: finalize.
        if service.metadata.deletion_timestamp is None:
            for endpoint_slice in changes.create:
                self.api.create(endpoint_slice)
        for endpoint_slice in changes.update:
            self.api.store.update(endpoint_slice)
        for endpoint_slice in changes.delete:
            self.api.delete(EndpointSlice, endpoint_slice.name, endpoint_slice.namespace)

    def _endpoints(self, service: Service, pods: Iterable[Pod]) -> dict[tuple[Port, ...], list[Endpoint]]:
        """Return the endpoints by their ports, without pods whose node does not exist."""
        groups: dict[tuple[Port, ...], list[Endpoint]] = {}
        for pod in pods:
            if not is_endpoint(pod, include_terminating=True):
                continue
            group = groups.setdefault(ports_of(service, pod), [])
            node = self.api.store.find(Node, pod.spec.node_name, copy=False) if pod.spec.node_name else None
            if node is not None or service.spec.publish_not_ready_addresses:
                group.append(_endpoint(service, pod, node))
        return groups


def _endpoint(service: Service, pod: Pod, node: Node | None) -> Endpoint:
    """Source: podToEndpoint."""
    serving, terminating = is_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    endpoint = Endpoint(
        addresses=[pod.status.pod_ip],
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=hostname_of(service, pod) or None,
        target_ref=reference_to(pod),
        node_name=pod.spec.node_name or None,
        zone=node.metadata.labels.get(ZONE) if node is not None else None,
    )
    endpoint.hints = hints_of(endpoint, service.spec.traffic_distribution)
    return endpoint


def hints_of(endpoint: Endpoint, distribution: str | None) -> EndpointHints | None:
    """Return the zones and nodes that should use a ready endpoint. Source: trafficdist.ReconcileHints."""
    if not endpoint.conditions.ready or (distribution not in SAME_ZONE and distribution != SAME_NODE):
        return None
    zones = [ForZone(name=endpoint.zone)] if endpoint.zone else []
    nodes = [ForNode(name=endpoint.node_name)] if endpoint.node_name and distribution == SAME_NODE else []
    return EndpointHints(for_zones=zones, for_nodes=nodes) if zones or nodes else None


def _reconcile(controller: Controller, standing: Sequence[EndpointSlice], wanted: Iterable[EndpointSlice]) -> None:
    """Update existing slices to the desired ones; a slice to be deleted is reused for one to be created.

    Source: reconcileByPortMapping, finalize, recycleSlices.
    """
    left, new = list(standing), []
    for endpoint_slice in wanted:
        old = next((other for other in left if _kind_of(other) == _kind_of(endpoint_slice)), None)
        if old is None:
            new.append(endpoint_slice)
        else:
            left.remove(old)
            _update(controller, old, endpoint_slice)
    for endpoint_slice in new:
        old = next((other for other in left if other.address_type == endpoint_slice.address_type), None)
        if old is None:
            controller.api.create(endpoint_slice)
        else:
            left.remove(old)
            _update(controller, old, endpoint_slice)
    for old in left:
        controller.api.delete(EndpointSlice, old.name, old.namespace)


def _kind_of(endpoint_slice: EndpointSlice) -> tuple[object, ...]:
    """Return the properties that all endpoints of a slice share."""
    return endpoint_slice.address_type, endpoint_slice.ports


def _update(controller: Controller, old: EndpointSlice, new: EndpointSlice) -> None:
    """Replace a slice, unless only the time of the last change differs."""
    kept = [
        {k: v for k, v in endpoint_slice.metadata.annotations.items() if k != TRIGGER_TIME}
        for endpoint_slice in (old, new)
    ]
    same = (old.endpoints, old.ports, old.metadata.labels) == (new.endpoints, new.ports, new.metadata.labels)
    if not same or kept[0] != kept[1]:
        changed = deepcopy(old)
        changed.endpoints, changed.ports, changed.metadata.labels = new.endpoints, new.ports, new.metadata.labels
        changed.metadata.annotations = new.metadata.annotations
        controller.api.store.update(changed)


def _slice(service: Service, ports: Sequence[Port]) -> EndpointSlice:
    labels = {**without_headless(service), SERVICE_NAME: service.name, MANAGED_BY: EndpointSliceController.name}
    meta = ObjectMeta(
        generate_name=f"{service.name}-",
        namespace=service.namespace,
        labels=labels,
        owner_references=[owner_reference(service)],
    )
    numbers = [EndpointSlicePort(**given(port)) for port in ports]
    return EndpointSlice(metadata=meta, address_type="IPv4", endpoints=[], ports=numbers)


class EndpointSliceMirroringController(Controller):
    """The controller that copies Endpoints of Services without a selector into slices, for clients that read slices."""

    name: ClassVar[str] = "endpointslicemirroring-controller.k8s.io"
    account: ClassVar[str] = "endpointslicemirroring-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Endpoints": self._on_object, "Service": self._on_object, "EndpointSlice": self._on_slice}

    def _on_object(self, change: Delta) -> None:
        self.enqueue(change.new)

    def _on_slice(self, change: Delta) -> None:
        """Queue the Endpoints of a mirrored slice that another client has changed or deleted."""
        labels = change.new.metadata.labels
        if labels.get(MANAGED_BY) == self.name and SERVICE_NAME in labels:
            self.queue.add((change.new.namespace, labels[SERVICE_NAME]))

    def sync(self, key: Key) -> None:
        """Source: syncEndpoints, shouldMirror."""
        endpoints: Endpoints | None = self.api.store.find(Endpoints, key[1], key[0], copy=False)
        service: Service | None = self.find(Service, key)
        standing = [
            one
            for one in self.informers.of_namespace("EndpointSlice", key[0])
            if isinstance(one, EndpointSlice)
            and (one.metadata.labels.get(MANAGED_BY), one.metadata.labels.get(SERVICE_NAME)) == (self.name, key[1])
        ]
        wanted: list[EndpointSlice] = []
        if endpoints is not None and service is not None and not service.spec.selector and _is_mirrored(endpoints):
            wanted = self._mirrored(endpoints)
        if standing or wanted:
            _reconcile(self, standing, wanted)

    def _mirrored(self, endpoints: Endpoints) -> list[EndpointSlice]:
        """Source: reconcile, newEndpointSlice, addressToEndpoint."""
        made: dict[tuple[object, ...], EndpointSlice] = {}
        skipped = 0
        for subset in repacked(endpoints.subsets):
            both = [*((a, True) for a in subset.addresses), *((a, False) for a in subset.not_ready_addresses)]
            skipped += max(0, len(both) - MAX_ENDPOINTS_PER_SUBSET)
            ports = [
                EndpointSlicePort(name=p.name, port=p.port, protocol=p.protocol, app_protocol=p.app_protocol)
                for p in subset.ports
            ]
            for address, ready in both[:MAX_ENDPOINTS_PER_SUBSET]:
                family = f"IPv{ip_address(address.ip).version}"
                key = (family, *((p.name, p.port, p.protocol) for p in ports))
                endpoint_slice = made.setdefault(key, _empty_mirror(endpoints, family, ports))
                endpoint_slice.endpoints.append(_mirrored_address(address, ready))
        if skipped:
            message = (
                f"A max of {MAX_ENDPOINTS_PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints "
                f"subset. {skipped} addresses were skipped"
            )
            self.event(endpoints, "Warning", "TooManyAddressesToMirror", message)
        return list(made.values())


def _is_mirrored(endpoints: Endpoints) -> bool:
    """Source: skipMirror, hasLeaderElection."""
    return endpoints.metadata.labels.get(SKIP_MIRROR) != "true" and LEADER not in endpoints.metadata.annotations


def _empty_mirror(endpoints: Endpoints, family: str, ports: list[EndpointSlicePort]) -> EndpointSlice:
    annotations = endpoints.metadata.annotations.items()
    meta = ObjectMeta(
        generate_name=f"{endpoints.name}-",
        namespace=endpoints.namespace,
        labels={
            **endpoints.metadata.labels,
            SERVICE_NAME: endpoints.name,
            MANAGED_BY: EndpointSliceMirroringController.name,
        },
        annotations={key: value for key, value in annotations if key not in (TRIGGER_TIME, LAST_APPLIED)},
        owner_references=[owner_reference(endpoints)],
    )
    return EndpointSlice(metadata=meta, address_type=family, endpoints=[], ports=ports)


def _mirrored_address(address: EndpointAddress, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=[str(ip_address(address.ip))],
        conditions=EndpointConditions(ready=ready),
        target_ref=address.target_ref,
        node_name=address.node_name,
        hostname=address.hostname or None,
    )
