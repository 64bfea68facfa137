"""A wanted request: its name in results, and what it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.devices import DeviceClass, DeviceSubRequest, ExactDeviceRequest
from kitlib.api.serialize import from_dict
from kitlib.scheduler.plugins.dynamicresources.search import Wanted


def wanted(sub: str = "", kind: type = ExactDeviceRequest, **asked: Any) -> Wanted:
    return Wanted(0, "gpu", sub, from_dict({"deviceClassName": "c", **asked}, kind), DeviceClass())


def test_the_name_includes_the_alternative() -> None:
    assert wanted().name == "gpu"
    assert wanted("small", DeviceSubRequest, name="small").name == "gpu/small"


@pytest.mark.parametrize(("access", "expected"), [(True, True), (False, False), (None, False)])
def test_only_an_exact_request_can_ask_for_admin_access(access: bool | None, expected: bool) -> None:
    asked = {} if access is None else {"adminAccess": access}
    assert wanted(**asked).admin is expected
    assert not wanted("small", DeviceSubRequest, name="small").admin


@pytest.mark.parametrize(("mode", "everything"), [("All", True), ("ExactCount", False)])
def test_a_request_for_all_devices(mode: str, everything: bool) -> None:
    assert wanted(allocationMode=mode).everything is everything


def test_requests_differ_by_identity() -> None:
    assert wanted() != wanted() and len({wanted(), wanted()}) == 2
