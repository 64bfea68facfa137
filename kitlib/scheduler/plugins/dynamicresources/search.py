"""The types of the structured allocator: a wanted request, a chosen device, the search on one node.

Source: k8s.io/dynamic-resource-allocation/structured (internal/incubating/allocator_incubating.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.api.claims import Asked
from kitlib.api.devices import ALL, DeviceClass, ExactDeviceRequest
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.scheduler.plugins.dynamicresources.pools import Offer, Pool


class AllocationError(KitError):
    """An error in a claim, a class or a device, because of which the pod cannot be scheduled on any node."""


class FailedOnNode(KitError):
    """A failure of the search on one node; other nodes are tried. Source: ErrFailedAllocationOnNode."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """A request, or one of its alternatives.

    Attributes:
        claim: the index of the claim.
        request: the name of the request.
        sub: the name of the alternative; "" = the request has none.
        asked: the specification of the devices.
        of_class: the class of the devices.
    """

    claim: int
    request: str
    sub: str
    asked: Asked
    of_class: DeviceClass

    @property
    def name(self) -> str:
        """The name in results and constraints: `request` or `request/alternative`."""
        return f"{self.request}/{self.sub}" if self.sub else self.request

    @property
    def admin(self) -> bool:
        """Whether it asks for admin access, also to devices that other claims use."""
        return isinstance(self.asked, ExactDeviceRequest) and bool(self.asked.admin_access)

    @property
    def everything(self) -> bool:
        """Whether it asks for all devices that it selects."""
        return self.asked.allocation_mode == ALL


@dataclass(frozen=True, eq=False)
class Pick:
    """A device chosen for a request, and the capacity that the request consumes if the device is shared."""

    wanted: Wanted
    offer: Offer
    consumes: Mapping[str, Quantity] | None = None


@dataclass
class Search:
    """The search on one node.

    Attributes:
        pools: the pools that the node reaches, with the devices.
        offers: the devices of the pools that are complete and valid.
        everything: request for all devices -> the devices that it selects.
        picks: the choices made so far.
        counters: pool -> (counter set, counter) -> amount that the search has consumed, in billionths.
        steps: the number of devices tried.
    """

    pools: list[tuple[Pool, list[Offer]]]
    offers: list[Offer]
    everything: dict[Wanted, list[Offer]] = field(default_factory=dict)
    picks: list[Pick] = field(default_factory=list)
    counters: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)
    steps: int = 0
