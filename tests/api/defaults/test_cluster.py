"""Defaults of nodes, namespaces, LimitRanges, PriorityClasses and claims of devices."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict


def spec_of(kind: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """The specification of an object with its defaults."""
    made = set_defaults(from_dict({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}))
    return dict(to_dict(made).get("spec", {}))


def of(kind: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    return dict(
        to_dict(set_defaults(from_dict({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, **fields})))
    )


@pytest.mark.parametrize(("allocatable", "expected"), [({}, {"cpu": "4"}), ({"cpu": "3"}, {"cpu": "3"})])
def test_a_nodes_allocatable_is_its_capacity(allocatable: dict[str, str], expected: dict[str, str]) -> None:
    assert (
        of("Node", status={"capacity": {"cpu": "4"}, "allocatable": allocatable})["status"]["allocatable"] == expected
    )


def test_a_namespace_has_its_name_as_a_label() -> None:
    assert of("Namespace")["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


def test_a_priority_class_preempts() -> None:
    made = of("PriorityClass", "scheduling.k8s.io/v1", value=1)
    assert made["preemptionPolicy"] == "PreemptLowerPriority"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max": {"cpu": "2"}}, {"max": {"cpu": "2"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}}),
        ({"min": {"cpu": "1"}}, {"min": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}),
        (
            {"min": {"cpu": "1"}, "default": {"cpu": "2"}},
            {"min": {"cpu": "1"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}},
        ),
        (
            {"max": {"cpu": "4"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}},
            {"max": {"cpu": "4"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}},
        ),
    ],
)
def test_a_limit_range_of_containers(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: SetDefaults_LimitRangeItem."""
    assert spec_of("LimitRange", {"limits": [{"type": "Container", **given}]})["limits"] == [
        {"type": "Container", **expected}
    ]
    assert spec_of("LimitRange", {"limits": [{"type": "Pod", **given}]})["limits"] == [{"type": "Pod", **given}]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, {"allocationMode": "ExactCount", "count": 1}),
        ({"count": 3}, {"allocationMode": "ExactCount", "count": 3}),
        ({"allocationMode": "All"}, {"allocationMode": "All"}),
    ],
)
def test_a_claim_wants_one_device(request_: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: SetDefaults_ExactDeviceRequest."""
    requests = [{"name": "r", "exactly": {"deviceClassName": "gpu", **request_}}]
    spec = {"devices": {"requests": requests}}
    whole = {"name": "r", "exactly": {"deviceClassName": "gpu", **expected}}
    assert spec_of("ResourceClaim", spec, "resource.k8s.io/v1")["devices"]["requests"] == [whole]
    template = spec_of("ResourceClaimTemplate", {"spec": spec}, "resource.k8s.io/v1")
    assert template["spec"]["devices"]["requests"] == [whole]
