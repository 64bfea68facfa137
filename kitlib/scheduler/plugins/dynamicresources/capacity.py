"""The capacity that one request consumes of a device that several claims may share.

Source: structured/internal (consumable_capacity.go: cmpRequestOverCapacity, calculateConsumedQuantity, violatesPolicy;
of 1.37 roundUpRange, useMilli); KEP-5075.
"""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.devices import CapacityRequestPolicyRange, CapacityRequirements, DeviceCapacity
from kitlib.api.resource import Quantity
from kitlib.scheduler.plugins.dynamicresources.pools import Offer


def consumed_by(wanted: CapacityRequirements | None, offer: Offer, *, fractions: bool) -> dict[str, Quantity] | None:
    """Return the amount that a request consumes of each capacity, by the slice's names; None = the device has less.

    Without a requested amount the policy's default counts, or else the whole capacity; a requested amount is rounded
    up to one that the policy allows.

    Args:
        wanted: the request's capacities.
        offer: the device.
        fractions: whether a range may have steps of thousandths (DRAFractionalCapacityRange); otherwise of whole units.
    """
    capacity = offer.capacity
    asked: dict[str, Quantity] = {}
    for name, amount in (wanted.requests if wanted is not None else {}).items():
        spelled = offer.capacity_name(name)
        if not spelled:
            return None
        asked[spelled] = amount
    taken = {name: _rounded(asked.get(name), has, fractions) for name, has in capacity.items()}
    if any(not _allowed(taken[name], has, fractions) or taken[name] > has.value for name, has in capacity.items()):
        return None
    return taken


def _rounded(asked: Quantity | None, has: DeviceCapacity, fractions: bool) -> Quantity:
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
        if _in_thousandths(limits, fractions):
            if not asked.is_milli:
                return asked  # not allowed: see _allowed
            least, step = limits.min.milli_value(), limits.step.milli_value()
            return Quantity.from_milli(least + -(-(asked.milli_value() - least) // step) * step, limits.step.format)
        # -(-a // b) rounds up
        least, step = limits.min.value(), limits.step.value()
        return Quantity.from_int(least + -(-(asked.value() - least) // step) * step, asked.format)
    return min((quantity for quantity in policy.valid_values if quantity >= asked), default=asked)


def _in_thousandths(limits: CapacityRequestPolicyRange, fractions: bool) -> bool:
    """Return whether a range is counted in thousandths. Source: useMilli."""
    given = [quantity for quantity in (limits.min, limits.max, limits.step) if quantity is not None]
    return fractions and all(quantity.is_milli for quantity in given)


def _allowed(amount: Quantity, has: DeviceCapacity, fractions: bool) -> bool:
    policy = has.request_policy
    if policy is None or amount == policy.default:
        return True
    limits = policy.valid_range
    if limits is not None and limits.step is not None and not amount.is_milli and _in_thousandths(limits, fractions):
        return False
    if limits is not None:
        return limits.max is None or amount <= limits.max
    return not policy.valid_values or amount in policy.valid_values


def fits_beside(taken: Mapping[str, Quantity], used: Mapping[str, int], offer: Offer) -> bool:
    """Return whether a device has these amounts left besides the used ones, which are in billionths."""
    return all(taken[name].nano + used.get(name, 0) <= has.value.nano for name, has in offer.capacity.items())
