"""Packing of a Service's endpoints into slices: existing endpoints keep their slice, new ones fill free space.

Source: staging k8s.io/endpointslice/reconciler.go (reconcileByPortMapping, getSliceToFill, finalize).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kitlib.api.networking import Endpoint, EndpointSlice
from kitlib.api.serialize import deepcopy

MAX_ENDPOINTS_PER_SLICE = 100
"""Source: --max-endpoints-per-slice."""


@dataclass
class Changes:
    """The slices to write.

    Attributes:
        create: the new slices.
        update: the new versions of existing slices.
        delete: the existing slices to delete.
    """

    create: list[EndpointSlice] = field(default_factory=list)
    update: list[EndpointSlice] = field(default_factory=list)
    delete: list[EndpointSlice] = field(default_factory=list)

    def add(
        self, standing: Sequence[EndpointSlice], endpoints: Iterable[Endpoint], empty: Callable[[], EndpointSlice]
    ) -> None:
        """Add the changes with which slices of the same ports hold these endpoints.

        Args:
            standing: the existing slices with these ports.
            endpoints: the desired endpoints.
            empty: returns a new slice without endpoints, with the desired labels.

        Source: reconcileByPortMapping.
        """
        # As upstream: keep endpoints in their slices, fill slices that change anyway, then write to as few others as
        # possible. Each written slice is sent to every node, so the number of writes matters more than full slices.
        wanted = {_identity(endpoint): endpoint for endpoint in endpoints}
        labels = empty().metadata.labels
        changed: list[EndpointSlice] = []
        unchanged: list[EndpointSlice] = []
        for endpoint_slice in standing:
            kept = [wanted.pop(name) for name in map(_identity, endpoint_slice.endpoints) if name in wanted]
            if kept == endpoint_slice.endpoints and endpoint_slice.metadata.labels == labels:
                unchanged.append(endpoint_slice)
            elif endpoint_slice.endpoints and not kept:
                self.delete.append(endpoint_slice)
            else:
                changed.append(_filled(endpoint_slice, kept, labels))
        left = list(wanted.values())
        # These slices are written anyway; the fullest first, so that fewer remain partly filled.
        for endpoint_slice in sorted(changed, key=lambda one: -len(one.endpoints)):
            _fill(endpoint_slice, left)
        while left:
            fitting = [one for one in unchanged if len(one.endpoints) + len(left) <= MAX_ENDPOINTS_PER_SLICE]
            if fitting and len(left) < MAX_ENDPOINTS_PER_SLICE:
                fullest = max(fitting, key=lambda one: len(one.endpoints))
                target = _filled(fullest, fullest.endpoints, labels)
                changed.append(target)
            else:
                target = empty()
                self.create.append(target)
            _fill(target, left)
        self.update += changed

    def keep_one(self, placeholder: EndpointSlice) -> None:
        """Keep one slice without endpoints and ports for the Service if no other slice would be left."""
        if len(self.delete) == 1:
            (endpoint_slice,) = self.delete
            if (endpoint_slice.endpoints, endpoint_slice.ports, endpoint_slice.metadata.labels) == (
                [],
                [],
                placeholder.metadata.labels,
            ):
                self.delete = []
                return
        self.create.append(placeholder)

    def recycle(self) -> None:
        """Replace pairs of a deletion and a creation by an update of the old slice. Source: finalize."""
        for old in list(self.delete):
            if self.create and old.address_type == self.create[-1].address_type:
                new = self.create.pop()
                # The address type is immutable, hence the condition.
                used = _filled(old, new.endpoints, new.metadata.labels)
                used.ports = new.ports
                self.update.append(used)
                self.delete.remove(old)


def _filled(standing: EndpointSlice, endpoints: Iterable[Endpoint], labels: dict[str, str]) -> EndpointSlice:
    changed = deepcopy(standing)
    changed.endpoints, changed.metadata.labels = list(endpoints), dict(labels)
    return changed


def _fill(endpoint_slice: EndpointSlice, left: list[Endpoint]) -> None:
    """Move endpoints from `left` into a slice until it is full, both in place."""
    room = MAX_ENDPOINTS_PER_SLICE - len(endpoint_slice.endpoints)
    endpoint_slice.endpoints = [*endpoint_slice.endpoints, *left[:room]]
    del left[:room]


def _identity(endpoint: Endpoint) -> tuple[object, ...]:
    """Return the identity of an endpoint: addresses, hostname and target. Source: util endpointset.go endpointHash."""
    target = endpoint.target_ref
    name = (target.namespace, target.name) if target is not None else ()
    return (*sorted(endpoint.addresses), endpoint.hostname or "", name)
