"""Tests of the defaults of claims of devices."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.devices import ResourceClaim, ResourceClaimTemplate
from kitlib.api.serialize import from_dict

TOLERATION = {"key": "broken"}


@pytest.mark.parametrize(
    ("request_", "mode", "count"),
    [
        ({}, "ExactCount", 1),
        ({"count": 3}, "ExactCount", 3),
        ({"allocationMode": "All"}, "All", 0),
    ],
)
def test_a_request_is_for_one_device_unless_it_says_otherwise(request_: dict[str, Any], mode: str, count: int) -> None:
    devices = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", **request_}}]}
    claim = set_defaults(from_dict({"spec": {"devices": devices}}, ResourceClaim))
    template = set_defaults(from_dict({"spec": {"spec": {"devices": devices}}}, ResourceClaimTemplate))
    for spec in (claim.spec, template.spec.spec):
        asked = spec.devices.requests[0].exactly
        assert asked is not None
        assert (asked.allocation_mode, asked.count) == (mode, count)


def test_alternatives_have_the_same_defaults_and_tolerations_compare_values() -> None:
    one = {"name": "a", "deviceClassName": "gpu", "tolerations": [TOLERATION]}
    devices = {"requests": [{"name": "r", "firstAvailable": [one]}]}
    claim = set_defaults(from_dict({"spec": {"devices": devices}}, ResourceClaim))
    (asked,) = claim.spec.devices.requests[0].first_available
    assert (asked.allocation_mode, asked.count) == ("ExactCount", 1)
    assert asked.tolerations[0].operator == "Equal"
