"""The capacity of devices that several claims share."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.devices import DeviceCapacity
from kitlib.apiserver.validation.device_capacity import validate_shared_capacity, validate_single_capacity
from tests.apiserver.validation.told import part, told


def capacity(value: str = "10", **policy: Any) -> DeviceCapacity:
    return part(DeviceCapacity, value=value, requestPolicy=policy)


def shared(made: DeviceCapacity) -> list[str]:
    return [text.removeprefix("c.requestPolicy.") for text in told(validate_shared_capacity(made, "c"))]


def test_a_device_of_one_claim_has_no_policy() -> None:
    plain = part(DeviceCapacity, value="1")
    assert told(validate_single_capacity(plain, "c")) == told(validate_shared_capacity(plain, "c")) == []
    assert told(validate_single_capacity(capacity(default="1"), "c")) == [
        "c.requestPolicy Forbidden allowMultipleAllocations must be true"
    ]


def values(*listed: str, default: str = "1") -> DeviceCapacity:
    return capacity(default=default, validValues=list(listed))


NOT_VALID = "validValues Invalid default value is not valid according to the requestPolicy"


@pytest.mark.parametrize(
    ("made", "errors"),
    [
        (capacity(), []),
        (capacity(default="1"), []),
        (values("1", "10"), []),
        (values("1", "11"), ["validValues[1] Invalid option is larger than capacity value: 10"]),
        (values("1", "3", "2"), ["validValues[2] Invalid values must be sorted in ascending order"]),
        (values("1", "1"), ["validValues[1] Duplicate"]),
        (values("2", "3"), [NOT_VALID]),
        (values(*map(str, range(1, 11))), []),
        (values("1", *["2"] * 10), ["validValues TooMany must have at most 10 items", NOT_VALID]),
        (capacity(validValues=["1"]), ["default Required required when validValues is defined"]),
        (capacity(validRange={"min": "1"}), ["default Required required when validRange is defined"]),
    ],
)
def test_single_values(made: DeviceCapacity, errors: list[str]) -> None:
    """Source: validateRequestPolicyValidValues."""
    assert shared(made) == errors


def test_values_and_a_range_exclude_each_other() -> None:
    both = capacity(default="1", validValues=["1"], validRange={"min": "1"})
    (error,) = validate_shared_capacity(both, "c")
    assert (error.field, error.type) == ("c.requestPolicy", "FieldValueForbidden")
    assert error.detail.startswith("exactly one policy can be specified")


def ranged(default: str = "4", **given: str) -> list[str]:
    found = shared(capacity(default=default, validRange=given))
    return [text.removeprefix("validRange.") for text in found]


@pytest.mark.parametrize(
    ("default", "given", "errors"),
    [
        ("4", {"min": "2", "max": "8", "step": "2"}, []),
        ("4", {"max": "8"}, ["min Required required when validRange is defined"]),
        ("2", {"min": "2"}, []),
        ("1", {"min": "2"}, ["default Invalid default is less than min: 2"]),
        ("11", {"min": "11"}, ["min Invalid min is larger than capacity value: 10"]),
        ("8", {"min": "2", "max": "8"}, []),
        ("9", {"min": "2", "max": "8"}, ["default Invalid default is more than max: 8"]),
        ("4", {"min": "2", "max": "11"}, ["max Invalid max is larger than capacity value: 10"]),
        (
            "5",
            {"min": "5", "max": "4"},
            ["max Invalid min is larger than max: 4", "default Invalid default is more than max: 4"],
        ),
        ("4", {"min": "2", "step": "0"}, ["step Invalid must be greater than zero"]),
        ("2", {"min": "2", "step": "8"}, []),
        ("2", {"min": "2", "step": "9"}, ["step Invalid one step 11 is larger than capacity value: 10"]),
        ("5", {"min": "2", "step": "2"}, ["step Invalid value is not a multiple of a given step (2) from (2)"]),
        (
            "4",
            {"min": "2", "max": "7", "step": "2"},
            ["step Invalid value is not a multiple of a given step (2) from (2)"],
        ),
    ],
)
def test_ranges(default: str, given: dict[str, str], errors: list[str]) -> None:
    """Source: validateRequestPolicyRange."""
    assert ranged(default, **given) == errors
