"""Single mutations of good claims, classes and taint rules. Source: pkg/apis/resource/validation."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.names import LABEL_TEXT as LABEL
from kitlib.api.names import QUALIFIED_TEXT as QUALIFIED
from kitlib.api.names import SUBDOMAIN_TEXT as SUBDOMAIN
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

GROUP = "resource.k8s.io"
REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


REQUEST: dict[str, Any] = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
GOOD: dict[str, dict[str, Any]] = {
    "ResourceClaim": {"devices": {"requests": [REQUEST]}},
    "DeviceClass": {"selectors": [{"cel": {"expression": "true"}}]},
    "DeviceTaintRule": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "k", "effect": "NoExecute"}},
}


def problems(kind: str, change: dict[str, Any]) -> list[str]:
    version = "v1beta2" if kind == "DeviceTaintRule" else "v1"
    spec = {**copy.deepcopy(GOOD[kind]), **change}
    meta = {"name": "x"} | ({"namespace": "default"} if kind == "ResourceClaim" else {})
    made = from_dict({"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": meta, "spec": spec}, strict=True)
    return [str(error) for error in validate(set_defaults(made))]


def requests(**change: Any) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {**REQUEST["exactly"], **change}}]}}


def with_request(**change: Any) -> dict[str, Any]:
    return {"devices": {"requests": [REQUEST], **change}}


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("ResourceClaim", {}, []),
    (
        "ResourceClaim",
        {"devices": {"requests": [{**REQUEST, "name": "GPU"}]}},
        [f'spec.devices.requests[0].name: Invalid value: "GPU": {LABEL}'],
    ),
    (
        "ResourceClaim",
        requests(selectors=[{"cel": {"expression": "true"}}] * 33),
        ["spec.devices.requests[0].exactly.selectors: Too many: 33: must have at most 32 items"],
    ),
    ("ResourceClaim", requests(selectors=[{}]), ["spec.devices.requests[0].exactly.selectors[0].cel: Required value"]),
    (
        "ResourceClaim",
        requests(selectors=[{"cel": {"expression": "true || " * 1300 + "true"}}]),
        ["spec.devices.requests[0].exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"],
    ),
    (
        "ResourceClaim",
        requests(tolerations=[{"key": "a b", "operator": "Is", "effect": "Never"}]),
        [
            f'spec.devices.requests[0].exactly.tolerations[0].key: Invalid value: "a b": name part {QUALIFIED}',
            'spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "Is": supported values: '
            '"Equal", "Exists"',
            'spec.devices.requests[0].exactly.tolerations[0].effect: Unsupported value: "Never": supported values: '
            '"NoExecute", "NoSchedule", "None"',
        ],
    ),
    (
        "ResourceClaim",
        with_request(constraints=[{"requests": ["gpu", "gpu"], "matchAttribute": "a.com/b"}]),
        ['spec.devices.constraints[0].requests[1]: Duplicate value: "gpu"'],
    ),
    (
        "ResourceClaim",
        with_request(constraints=[{"requests": ["a/b/c", "GPU"], "distinctAttribute": "a.com/b"}]),
        [
            f'spec.devices.constraints[0].requests[0]: Invalid value: "a/b/c": {REFERENCE}',
            f'spec.devices.constraints[0].requests[1]: Invalid value: "GPU": {LABEL}',
            f'spec.devices.constraints[0].requests[1]: Invalid value: "GPU": {REFERENCE}',
        ],
    ),
    (
        "ResourceClaim",
        with_request(constraints=[{"matchAttribute": "a.com/b"}] * 33),
        ["spec.devices.constraints: Too many: 33: must have at most 32 items"],
    ),
    ("ResourceClaim", with_request(config=[{}]), ["spec.devices.config[0].opaque: Required value"]),
    (
        "ResourceClaim",
        with_request(config=[{"opaque": {"driver": "d"}}]),
        ["spec.devices.config[0].opaque.parameters: Required value"],
    ),
    (
        "ResourceClaim",
        with_request(config=[{"opaque": {"driver": "d", "parameters": "text"}}]),
        [
            'spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
        ],
    ),
    (
        "ResourceClaim",
        with_request(config=[{"opaque": {"driver": "d", "parameters": {"a": "x" * 10240}}}]),
        ["spec.devices.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"],
    ),
    ("DeviceClass", {}, []),
    (
        "DeviceClass",
        {"extendedResourceName": "cpu"},
        ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name'],
    ),
    (
        "DeviceClass",
        {"config": [{"opaque": {"driver": "d", "parameters": {}}}] * 33},
        ["spec.config: Too many: 33: must have at most 32 items"],
    ),
    ("DeviceTaintRule", {}, []),
    ("DeviceTaintRule", {"deviceSelector": None}, []),
    (
        "DeviceTaintRule",
        {"deviceSelector": {"driver": "D_", "pool": "", "device": "X"}},
        [
            f'spec.deviceSelector.driver: Invalid value: "D_": {SUBDOMAIN}',
            "spec.deviceSelector.pool: Required value",
            f'spec.deviceSelector.device: Invalid value: "X": {LABEL}',
        ],
    ),
    (
        "DeviceTaintRule",
        {"taint": {"key": "k", "effect": "PreferNoSchedule"}},
        [
            'spec.taint.effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule", '
            '"None"'
        ],
    ),
]


@pytest.mark.parametrize(("kind", "change", "found"), CASES, ids=[f"{kind}-{i}" for i, (kind, *_) in enumerate(CASES)])
def test_an_object_of_devices_is_refused_with_field_and_rule(
    kind: str, change: dict[str, Any], found: list[str]
) -> None:
    assert problems(kind, change) == found
