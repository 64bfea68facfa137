"""Single mutations of a good ResourceSlice. Source: pkg/apis/resource/validation validateResourceSliceSpec."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.names import C_IDENTIFIER_TEXT as C_NAME
from kitlib.api.names import LABEL_TEXT as LABEL
from kitlib.api.names import QUALIFIED_TEXT as QUALIFIED
from kitlib.api.names import SUBDOMAIN_TEXT as SUBDOMAIN
from kitlib.api.names import VALUE_TEXT as VALUE
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

PLACE = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
RANGE = {"min": "1Gi", "max": "8Gi", "step": "1Gi"}


def shared(**policy: Any) -> dict[str, Any]:
    """A device with 8Gi of memory that several claims may share."""
    policy = {"default": "1Gi", **policy}
    return {
        "name": "d",
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "8Gi", "requestPolicy": {k: v for k, v in policy.items() if v is not None}}},
    }


SLICE: dict[str, Any] = {
    "driver": "gpu.example.com",
    "nodeName": "n1",
    "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
    "devices": [{"name": "gpu-0", "attributes": {"model": {"string": "A100"}}, "capacity": {"memory": {"value": "1"}}}],
}


def problems(change: dict[str, Any]) -> list[str]:
    spec = {**copy.deepcopy(SLICE), **change}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    made = from_dict({**kind, "metadata": {"name": "x"}, "spec": spec}, strict=True)
    return [str(error) for error in validate(set_defaults(made))]


def device(**change: Any) -> dict[str, Any]:
    return {"devices": [{"name": "d", **change}]}


CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"driver": ""}, ["spec.driver: Required value", f'spec.driver: Invalid value: "": {SUBDOMAIN}']),
    ({"driver": "a" * 64}, ["spec.driver: Too long: may not be more than 63 bytes"]),
    (
        {"pool": {"name": "a/B", "resourceSliceCount": 1}},
        [f'spec.pool.name: Invalid value: "B": {SUBDOMAIN}'],
    ),
    ({"pool": {"resourceSliceCount": 1}}, ["spec.pool.name: Required value"]),
    (
        {"pool": {"name": "a" * 254, "resourceSliceCount": 1}},
        [
            "spec.pool.name: Too long: may not be more than 253 bytes",
            f'spec.pool.name: Invalid value: "{"a" * 254}": must be no more than 253 characters',
        ],
    ),
    (
        {"pool": {"name": "a", "generation": -1, "resourceSliceCount": 0}},
        [
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
            "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
        ],
    ),
    ({"nodeName": "N"}, [f'spec.nodeName: Invalid value: "N": {SUBDOMAIN}']),
    (device(name=""), [f'spec.devices[0].name: Invalid value: "": {LABEL}']),
    (
        {"devices": [{"name": f"d{i}"} for i in range(129)]},
        ["spec.devices: Too many: 129: must have at most 128 items"],
    ),
    (
        {"devices": [{"name": f"d{i}", "taints": [{"key": "k", "effect": "None"}]} for i in range(65)]},
        ["spec.devices: Too many: 65: must have at most 64 items"],
    ),
    (
        device(attributes={f"a{i}": {"int": i} for i in range(32)}, capacity={"m": {"value": "1"}}),
        ["spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
    ),
    (
        device(attributes={"1st": {"int": 1}}),
        [f'spec.devices[0].attributes: Invalid value: "1st": {C_NAME}'],
    ),
    (
        device(attributes={"a/b/c": {"int": 1}}),
        ['spec.devices[0].attributes: Invalid value: "a/b/c": must not contain more than one slash'],
    ),
    (
        device(attributes={"/b": {"int": 1}, "a.com/": {"int": 2}}),
        [
            'spec.devices[0].attributes: Invalid value: "": the domain must not be empty',
            'spec.devices[0].attributes: Invalid value: "": the name must not be empty',
        ],
    ),
    (
        device(attributes={"a" * 33: {"int": 1}}),
        ["spec.devices[0].attributes: Too long: may not be more than 32 bytes"],
    ),
    (
        device(attributes={"a": {}}),
        ['spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified'],
    ),
    (
        device(attributes={"a": {"string": "x" * 65}}),
        ["spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"],
    ),
    (
        device(attributes={"a": {"version": "1.0"}}),
        [
            'spec.devices[0].attributes[a].version: Invalid value: "1.0": must be a string compatible with semver.org '
            "spec 2.0.0"
        ],
    ),
    (device(attributes={"a": {"version": "1.0.0-rc.1+build.5"}}), []),
    (
        device(taints=[{"key": "k", "effect": "NoSchedule"}] * 17),
        ["spec.devices[0].taints: Too many: 17: must have at most 16 items"],
    ),
    (
        device(taints=[{"key": "", "value": "a b"}]),
        [
            'spec.devices[0].taints[0].key: Invalid value: "": name part must be non-empty',
            f'spec.devices[0].taints[0].key: Invalid value: "": name part {QUALIFIED}',
            f'spec.devices[0].taints[0].value: Invalid value: "a b": {VALUE}',
            "spec.devices[0].taints[0].effect: Required value",
        ],
    ),
    (
        device(consumesCounters=[{"counterSet": "s"}]),
        ["spec.devices[0].consumesCounters[0].counters: Required value"],
    ),
    (
        device(consumesCounters=[{"counterSet": f"s{i}", "counters": {"c": {"value": "1"}}} for i in range(3)]),
        ["spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items"],
    ),
    (
        {"devices": [], "sharedCounters": [{"name": "S", "counters": {"C": {"value": "1"}}}]},
        [
            f'spec.sharedCounters[0].name: Invalid value: "S": {LABEL}',
            f'spec.sharedCounters[0].counters: Invalid value: "C": {LABEL}',
        ],
    ),
    (
        {"devices": [], "sharedCounters": [{"name": "s", "counters": {"c": {"value": "1"}}}] * 2},
        ['spec.sharedCounters[1]: Duplicate value: "s"'],
    ),
    (
        {"devices": [], "sharedCounters": [{"name": f"s{i}", "counters": {"c": {"value": "1"}}} for i in range(9)]},
        ["spec.sharedCounters: Too many: 9: must have at most 8 items"],
    ),
    (
        device(nodeName="n"),
        [
            "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
        ],
    ),
    (
        {"nodeName": None, "perDeviceNodeSelection": True, **device()},
        [f"spec.devices[0]: Required value: {PLACE}true in the ResourceSlice spec"],
    ),
    (
        {"nodeName": None, "perDeviceNodeSelection": True, **device(nodeName="n", allNodes=True)},
        [f'spec.devices[0]: Invalid value: "{{`nodeName`, `allNodes`}}": {PLACE}true in the ResourceSlice spec'],
    ),
    (
        device(bindingConditions=["ok"]),
        [
            "spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to "
            "use bindingConditions"
        ],
    ),
    (
        device(bindingConditions=["a", "a"], bindingFailureConditions=["a"]),
        [
            'spec.devices[0].bindingConditions[1]: Duplicate value: "a"',
            'spec.devices[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not '
            "overlap with bindingConditions",
        ],
    ),
    (
        device(bindingConditions=list("abcde"), bindingFailureConditions=["f"]),
        ["spec.devices[0].bindingConditions: Too many: 5: must have at most 4 items"],
    ),
    ({"devices": [shared(validRange=RANGE)]}, []),
    (
        {"devices": [{**shared(validRange=RANGE), "allowMultipleAllocations": False}]},
        ["spec.devices[0].capacity[memory].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
    ),
    (
        {"devices": [shared(default=None, validValues=["1Gi"])]},
        [
            "spec.devices[0].capacity[memory].requestPolicy.default: Required value: required when validValues is "
            "defined"
        ],
    ),
    (
        {"devices": [shared(validValues=["2Gi", "1Gi", "16Gi"])]},
        [
            'spec.devices[0].capacity[memory].requestPolicy.validValues[1]: Invalid value: "1Gi": values must be '
            "sorted in ascending order",
            'spec.devices[0].capacity[memory].requestPolicy.validValues[2]: Invalid value: "16Gi": option is larger '
            "than capacity value: 8Gi",
        ],
    ),
    (
        {"devices": [shared(validValues=["2Gi"])]},
        [
            'spec.devices[0].capacity[memory].requestPolicy.validValues: Invalid value: "1Gi": default value is not '
            "valid according to the requestPolicy"
        ],
    ),
    (
        {"devices": [shared(validRange={**RANGE, "step": "3Gi"})]},
        [
            'spec.devices[0].capacity[memory].requestPolicy.validRange.step: Invalid value: "8Gi": value is not a '
            "multiple of a given step (3Gi) from (1Gi)"
        ],
    ),
    (
        {"devices": [shared(validRange={"max": "8Gi"})]},
        [
            "spec.devices[0].capacity[memory].requestPolicy.validRange.min: Required value: required when validRange "
            "is defined"
        ],
    ),
    (
        {"devices": [shared(validValues=["1Gi"], validRange=RANGE)]},
        [
            "spec.devices[0].capacity[memory].requestPolicy: Forbidden: exactly one policy can be specified, cannot "
            'specify "validValues" and "validRange" at the same time'
        ],
    ),
]


@pytest.mark.parametrize(("change", "found"), CASES)
def test_a_slice_is_refused_with_field_and_rule(change: dict[str, Any], found: list[str]) -> None:
    assert problems(change) == found


PATH = "spec.devices[0].capacity[memory].requestPolicy"
MILLI = "value cannot be represented as a milli value"
FRACTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"default": "200m", "validRange": {"min": "200m", "max": "1", "step": "100m"}}, []),
    (
        {"default": "250m", "validRange": {"min": "200m", "max": "1", "step": "100m"}},
        [f'{PATH}.validRange.step: Invalid value: "250m": value is not a multiple of a given step (100m) from (200m)'],
    ),
    (
        {"default": "20u", "validRange": {"min": "10u"}},
        [
            f'{PATH}.validRange.{key}: Invalid value: "{value}": {MILLI}'
            for key, value in (("default", "20u"), ("min", "10u"))
        ],
    ),
    ({"default": "100m", "validValues": ["100m", "200m", "1"]}, []),
]


@pytest.mark.parametrize(("policy", "found"), FRACTIONS)
def test_ranges_of_fractions_are_checked_since_1_37(policy: dict[str, Any], found: list[str]) -> None:
    """Source: TestValidateDeviceCapacity of 1.37; before, all numbers below 1 count as 1."""
    with Release("1.37").following():
        assert problems({"devices": [shared(**policy)]}) == found
    with Release("1.36").following():
        same = ["200m", "1"] if "validValues" in policy else []
        assert problems({"devices": [shared(**policy)]}) == [
            f'{PATH}.validValues[{i}]: Duplicate value: "1"' for i, _ in enumerate(same, 1)
        ]
