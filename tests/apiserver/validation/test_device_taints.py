"""Device taints, tolerations of requests, and rules."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.devices import DeviceTaint, DeviceTaintRule, DeviceToleration
from kitlib.api.names import VALUE_TEXT
from kitlib.apiserver.validation.device_taints import (
    validate_device_taint,
    validate_device_taint_rule,
    validate_device_taint_rule_update,
    validate_device_toleration,
)
from tests.apiserver.validation.told import named, part, told

EFFECTS = 'supported values: "NoExecute", "NoSchedule", "None"'
OPERATORS = 'supported values: "Equal", "Exists"'


@pytest.mark.parametrize(
    ("taint", "errors"),
    [
        ({"key": "a.b/k", "effect": "NoExecute"}, []),
        ({"key": "k", "value": "v", "effect": "None"}, []),
        ({"key": "k", "value": "v v", "effect": "NoSchedule"}, [f"t.value Invalid {VALUE_TEXT}"]),
        ({"key": "k"}, ["t.effect Required"]),
        ({"key": "k", "effect": "Prefer"}, [f"t.effect NotSupported {EFFECTS}"]),
    ],
)
def test_a_taint(taint: dict[str, str], errors: list[str]) -> None:
    """Source: validateDeviceTaint; a stored effect stays valid."""
    made = part(DeviceTaint, **taint)
    assert told(validate_device_taint(made, None, "t")) == errors
    kept = [error for error in errors if "effect" not in error]
    assert told(validate_device_taint(made, part(DeviceTaint, effect=taint.get("effect", "")), "t")) == kept
    assert told(validate_device_taint(made, part(DeviceTaint, effect="x"), "t")) == errors
    assert len(validate_device_taint(part(DeviceTaint, effect="None"), None, "t")) == 2


@pytest.mark.parametrize(
    ("toleration", "errors"),
    [
        ({"operator": "Exists"}, []),
        ({"operator": "Exists", "value": "v"}, ["t.value Invalid must be empty for operator `Exists`"]),
        ({"operator": "Equal", "key": "k"}, []),
        ({"operator": "Equal", "value": "v v"}, [f"t.value Invalid {VALUE_TEXT}"]),
        ({}, ["t.operator Required"]),
        ({"operator": "In"}, [f"t.operator NotSupported {OPERATORS}"]),
        ({"operator": "Exists", "effect": "NoSchedule"}, []),
        ({"operator": "Exists", "effect": "x"}, [f"t.effect NotSupported {EFFECTS}"]),
    ],
)
def test_a_toleration(toleration: dict[str, str], errors: list[str]) -> None:
    """Source: validateDeviceToleration."""
    assert told(validate_device_toleration(part(DeviceToleration, **toleration), "t")) == errors
    bad = validate_device_toleration(part(DeviceToleration, key="-", operator="Exists"), "t")
    assert [error.field for error in bad] == ["t.key"]


TAINT = {"key": "k", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("selector", "fields"),
    [
        (None, []),
        ({}, []),
        ({"driver": "d.e", "pool": "a/b", "device": "x-0"}, []),
        ({"driver": "D_"}, ["driver"]),
        ({"driver": ""}, ["driver", "driver"]),
        ({"pool": ""}, ["pool"]),
        ({"device": "a.b"}, ["device"]),
        ({"driver": "_", "pool": "_", "device": "_"}, ["driver", "pool", "device"]),
    ],
)
def test_a_rule(selector: Any, fields: list[str]) -> None:
    rule = named(DeviceTaintRule, spec={"deviceSelector": selector, "taint": TAINT})
    expected = [f"spec.deviceSelector.{name}" for name in fields]
    assert [error.field for error in validate_device_taint_rule(rule)] == expected
    assert [error.field for error in validate_device_taint_rule_update(rule, rule)] == expected


def test_an_update_keeps_an_effect_of_another_release() -> None:
    old = named(DeviceTaintRule, spec={"taint": {"key": "k", "effect": "New"}})
    assert told(validate_device_taint_rule_update(old, old)) == []
    assert told(validate_device_taint_rule(old)) == [f"spec.taint.effect NotSupported {EFFECTS}"]
