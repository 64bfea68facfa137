"""What the structured allocator works on: a wanted request, a picked device, the search on one node.

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
    """Something is wrong with a claim, a class or a device: the pod cannot be scheduled at all."""


class FailedOnNode(KitError):
    """Nothing can be said about this node; others may do. Source: ErrFailedAllocationOnNode."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """A request, or one of its alternatives.

    Attributes:
        claim: number of the claim.
        request: its name.
        sub: the alternative's name; "" = there are none.
        asked: what it asks for.
        of_class: the class of its devices.
    """

    claim: int
    request: str
    sub: str
    asked: Asked
    of_class: DeviceClass

    @property
    def name(self) -> str:
        """As results and constraints name it."""
        return f"{self.request}/{self.sub}" if self.sub else self.request

    @property
    def admin(self) -> bool:
        """Whether it wants devices that others use, too."""
        return isinstance(self.asked, ExactDeviceRequest) and bool(self.asked.admin_access)

    @property
    def everything(self) -> bool:
        """Whether it wants all devices that it means."""
        return self.asked.allocation_mode == ALL


@dataclass(frozen=True, eq=False)
class Pick:
    """A device for a request, and what of a shared device it consumes."""

    wanted: Wanted
    offer: Offer
    consumes: Mapping[str, Quantity] | None = None


@dataclass
class Search:
    """The search on one node.

    Attributes:
        pools: that the node reaches.
        offers: the devices of those that are usable.
        everything: request -> its devices.
        picks: chosen so far.
        counters: pool -> (counter set, counter) -> billionths that the search has consumed.
        steps: devices tried.
    """

    pools: list[tuple[Pool, list[Offer]]]
    offers: list[Offer]
    everything: dict[Wanted, list[Offer]] = field(default_factory=dict)
    picks: list[Pick] = field(default_factory=list)
    counters: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)
    steps: int = 0
