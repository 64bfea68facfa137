"""How much of a device that several claims may share one request consumes.

Source: structured/internal (consumable_capacity.go: cmpRequestOverCapacity, calculateConsumedQuantity, violatesPolicy);
KEP-5075.
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.devices import CapacityRequirements, DeviceCapacity
from kitlib.api.resource import Quantity
from kitlib.scheduler.plugins.dynamicresources.pools import Offer


def consumed_by(wanted: CapacityRequirements | None, offer: Offer) -> dict[str, Quantity] | None:
    """What a request takes of each capacity of a device, by the slice's names; None = it asks for more than it has.

    Nothing asked for means the policy's default, or else all of it; an amount is rounded up to one that the policy
    allows.
    """
    capacity = offer.capacity
    asked: dict[str, Quantity] = {}
    for name, amount in (wanted.requests if wanted is not None else {}).items():
        spelled = offer.capacity_name(name)
        if not spelled:
            return None
        asked[spelled] = amount
    taken = {name: _rounded(asked.get(name), has) for name, has in capacity.items()}
    if any(not _allowed(taken[name], has) or taken[name] > has.value for name, has in capacity.items()):
        return None
    return taken


def _rounded(asked: Quantity | None, has: DeviceCapacity) -> Quantity:
    policy = has.request_policy
    if asked is None:
        return policy.default if policy is not None and policy.default is not None else has.value
    if policy is None:
        return asked
    limits = policy.valid_range
    if limits is not None and limits.min is not None:
        if asked <= limits.min:
            return limits.min
        if limits.step is None or limits.step.sign() <= 0:
            return asked
        steps = -(-(asked.nano - limits.min.nano) // limits.step.nano)
        return Quantity.from_nano(limits.min.nano + steps * limits.step.nano, asked.format)
    return min((one for one in policy.valid_values if one >= asked), default=asked)


def _allowed(amount: Quantity, has: DeviceCapacity) -> bool:
    policy = has.request_policy
    if policy is None or amount == policy.default:
        return True
    limits = policy.valid_range
    if limits is not None:
        return limits.max is None or amount <= limits.max
    return not policy.valid_values or amount in policy.valid_values


def fits_beside(taken: Mapping[str, Quantity], used: Mapping[str, int], offer: Offer) -> bool:
    """Whether a device has so much left beside what is used of it (billionths)."""
    return all(taken[name].nano + used.get(name, 0) <= has.value.nano for name, has in offer.capacity.items())
