"""Validation of devices' capacities: the amounts that claims can request of a shared device.

Source: pkg/apis/resource/validation validateMultiAllocatableDeviceCapacity, validateRequestPolicy.
"""

from __future__ import annotations

from itertools import pairwise

from kitlib.api.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from kitlib.api.field_errors import NOT_NEGATIVE, NOT_POSITIVE, Errors, forbidden, invalid, required
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.apiserver.validation.device_names import validate_set

MAX_OPTIONS = 10
"""The maximum number of valid values. Source: CapacityRequestPolicyDiscreteMaxOptions."""
_MAX_INT64 = 2**63 - 1
_BOTH = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def validate_shared_capacity(capacity: DeviceCapacity, path: str) -> Errors:
    """Check the capacity of a device that several claims can share. Source: validateMultiAllocatableDeviceCapacity."""
    policy, place = capacity.request_policy, f"{path}.requestPolicy"
    if policy is None:
        return []
    if policy.valid_values and policy.valid_range is not None:
        return [forbidden(place, _BOTH)]
    for name, given in (("validValues", bool(policy.valid_values)), ("validRange", policy.valid_range is not None)):
        if given and policy.default is None:
            return [required(f"{place}.default", f"required when {name} is defined")]
    if policy.valid_values:
        return _values(policy, capacity.value, f"{place}.validValues")
    if policy.valid_range is not None and policy.default is not None:
        return _range(policy.default, capacity.value, policy.valid_range, f"{place}.validRange")
    return []


def validate_single_capacity(capacity: DeviceCapacity, path: str) -> Errors:
    """Check the capacity of a device for one claim. Source: validateSingleAllocatableDeviceCapacity."""
    if capacity.request_policy is None:
        return []
    return [forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")]


def _values(policy: CapacityRequestPolicy, most: Quantity, path: str) -> Errors:
    """Source: validateRequestPolicyValidValues."""
    values, default = policy.valid_values, policy.default
    found: Errors = []
    for i, (quantity, following) in enumerate(pairwise(values), 1):
        if quantity > following:
            found.append(invalid(f"{path}[{i}]", str(following), "values must be sorted in ascending order"))

    def option(value: Quantity, place: str) -> Errors:
        detail = f"option is larger than capacity value: {most}"
        return [invalid(place, str(value), detail)] if value > most else []

    found += validate_set(values, MAX_OPTIONS, option, _text, path)
    if len(values) > MAX_OPTIONS or default not in values:
        found.append(invalid(path, str(default), "default value is not valid according to the requestPolicy"))
    return found


def _text(value: Quantity) -> str:
    """Return an option as a string for comparison: its integer value, or the exact one if fractions are enabled."""
    fraction = value.nano % 10**9
    if not fraction or not Release.followed().enabled("DRAFractionalCapacityRange"):
        return str(value.value())
    return f"{value.nano // 10**9}.{fraction // 10**6:03}" if value.is_milli else str(value)


def _range(default: Quantity, most: Quantity, given: CapacityRequestPolicyRange, path: str) -> Errors:
    """Source: validateRequestPolicyRange."""
    low, high, step = given.min, given.max, given.step
    if low is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    found: Errors = []
    if low > most:
        found.append(invalid(f"{path}.min", str(low), f"min is larger than capacity value: {most}"))
    if default < low:
        found.append(invalid(f"{path}.default", str(default), f"default is less than min: {low}"))
    if high is not None:
        if low > high:
            found.append(invalid(f"{path}.max", str(low), f"min is larger than max: {high}"))
        if high > most:
            found.append(invalid(f"{path}.max", str(high), f"max is larger than capacity value: {most}"))
        if default > high:
            found.append(invalid(f"{path}.default", str(default), f"default is more than max: {high}"))
    thousandths = given.has_fraction and Release.followed().enabled("DRAFractionalCapacityRange")
    if thousandths:
        amounts = {"default": default, "min": low, "max": high, "step": step}
        unsafe = [
            invalid(f"{path}.{name}", str(amount), "value cannot be represented as a milli value")
            for name, amount in amounts.items()
            if amount is not None and not amount.is_milli
        ]
        if unsafe:
            return found + unsafe
    if step is None:
        return found
    if step.sign() <= 0:
        return [*found, invalid(f"{path}.step", str(step), NOT_POSITIVE)]
    if low + step > most:
        detail = f"one step {low + step} is larger than capacity value: {most}"
        found.append(invalid(f"{path}.step", str(step), detail))
    unsafe = _unsafe({"default": default, "min": low, "max": high, "step": step}, path)
    if unsafe:
        return found + unsafe
    count = Quantity.milli_value if thousandths else Quantity.value
    for value in (default, high):
        if value is not None and (count(value) - count(low)) % count(step):
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            found.append(invalid(f"{path}.step", str(value), detail))
    return found


def _unsafe(amounts: dict[str, Quantity | None], path: str) -> Errors:
    """Source: validateInt64Range."""
    found: Errors = []
    for name, amount in amounts.items():
        if amount is not None and amount.sign() < 0:
            found.append(invalid(f"{path}.{name}", str(amount), NOT_NEGATIVE))
        elif amount is not None and amount > Quantity.from_int(_MAX_INT64):
            found.append(invalid(f"{path}.{name}", str(amount), f"must not be larger than {_MAX_INT64}"))
    return found
