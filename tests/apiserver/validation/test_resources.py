"""Requests and limits: names, amounts, huge pages, claims, and those of a whole pod."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import ContainerResizePolicy, PodSpec, ResourceClaimRef, ResourceRequirements
from kitlib.api.names import LABEL_TEXT, QUALIFIED_TEXT
from kitlib.api.resource import Quantity
from kitlib.apiserver.validation import resources
from tests.apiserver.validation.told import part, told

STANDARD = "Invalid must be a standard resource type or fully qualified"
CONTAINERS = "Invalid must be a standard resource for containers"
NEGATIVE = "Invalid must be greater than or equal to 0"
INTEGER = "Invalid must be an integer"
LIMIT = "Required Limit must be set for non overcommitable resources"


@pytest.mark.parametrize(
    ("name", "any_resource", "of_container"),
    [
        ("cpu", [], []),
        ("ephemeral-storage", [], []),
        ("hugepages-2Mi", [], []),
        ("example.com/gpu", [], []),
        ("kubernetes.io/batch", [], []),
        ("pods", [], [CONTAINERS]),
        ("services.loadbalancers", [], [CONTAINERS]),
        ("storage", [], [CONTAINERS]),
        ("requests.cpu", [], [CONTAINERS]),
        ("limits.memory", [], [CONTAINERS]),
        ("requests.storage", [], [CONTAINERS]),
        ("requests.hugepages-2Mi", [], [CONTAINERS]),
        ("limits.storage", [STANDARD], [STANDARD, CONTAINERS]),
        ("gpu", [STANDARD], [STANDARD, CONTAINERS]),
        ("_", [f"Invalid name part {QUALIFIED_TEXT}"], [f"Invalid name part {QUALIFIED_TEXT}", CONTAINERS]),
        ("requests.example.com/gpu", [], ["Invalid doesn't follow extended resource name standard"]),
    ],
)
def test_names(name: str, any_resource: list[str], of_container: list[str]) -> None:
    """Source: validateResourceName, validateContainerResourceName."""
    assert told(resources.validate_resource_name(name, "f")) == [f"f {text}" for text in any_resource]
    assert told(resources.validate_container_resource_name(name, "f")) == [f"f {text}" for text in of_container]


def test_names_for_a_whole_pod() -> None:
    """Source: validatePodResourceName, SupportedPodLevelResources."""
    for name in ("cpu", "memory", "hugepages-1Gi"):
        assert resources.validate_pod_resource_name(name, "f") == []
    supported = 'f NotSupported supported values: "cpu", "hugepages-", "memory"'
    for name in ("ephemeral-storage", "example.com/gpu", "pods"):
        assert told(resources.validate_pod_resource_name(name, "f")) == [supported]
    assert told(resources.validate_pod_resource_name("gpu", "f")) == [f"f {STANDARD}"]


@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("cpu", "0", []),
        ("cpu", "1m", []),
        ("memory", "1500m", []),
        ("cpu", "-1m", [NEGATIVE]),
        ("pods", "1", []),
        ("pods", "500m", [INTEGER]),
        ("services.nodeports", "1500m", [INTEGER]),
        ("example.com/gpu", "2", []),
        ("example.com/gpu", "2500m", [INTEGER]),
        ("example.com/gpu", "-500m", [NEGATIVE, INTEGER]),
        ("kubernetes.io/batch", "500m", []),
        ("storage", "500m", []),
    ],
)
def test_amounts(name: str, amount: str, expected: list[str]) -> None:
    """Source: ValidateResourceQuantityValue."""
    found = told(resources.validate_resource_quantity_value(name, Quantity(amount), "f"))
    assert found == [f"f {text}" for text in expected]


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("cpu", True),
        ("memory", True),
        ("kubernetes.io/batch", True),
        ("hugepages-2Mi", False),
        ("example.com/gpu", False),
    ],
)
def test_which_limits_may_exceed_requests(name: str, allowed: bool) -> None:
    """Source: helper.IsOvercommitAllowed."""
    assert resources.may_be_overcommitted(name) is allowed


PAGES = "hugepages-2Mi"


@pytest.mark.parametrize(
    ("limits", "requests", "expected"),
    [
        ({}, {}, []),
        ({"cpu": "1"}, {"cpu": "1", "memory": "1"}, []),
        ({"cpu": "2"}, {"cpu": "1999m"}, []),
        ({"cpu": "1"}, {"cpu": "1001m"}, [".requests Invalid must be less than or equal to cpu limit of 1"]),
        ({"example.com/gpu": "1"}, {"example.com/gpu": "1"}, []),
        ({"example.com/gpu": "1"}, {}, []),
        ({}, {"example.com/gpu": "1"}, [f".limits {LIMIT}"]),
        (
            {"example.com/gpu": "2"},
            {"example.com/gpu": "1"},
            [".requests Invalid must be equal to example.com/gpu limit of 2"],
        ),
        (
            {"example.com/gpu": "1"},
            {"example.com/gpu": "2"},
            [".requests Invalid must be equal to example.com/gpu limit of 1"],
        ),
        ({PAGES: "4Mi", "cpu": "1"}, {PAGES: "4Mi"}, []),
        ({PAGES: "4Mi"}, {PAGES: "4Mi", "memory": "1"}, []),
        ({PAGES: "4Mi"}, {"ephemeral-storage": "1"}, [" Forbidden HugePages require cpu or memory"]),
        ({"memory": "1"}, {PAGES: "2Mi"}, [f".limits {LIMIT}"]),
        (
            {PAGES: "3Mi", "cpu": "1"},
            {PAGES: "3Mi"},
            [
                f".limits[{PAGES}] Invalid 3Mi is not positive integer multiple of {PAGES}",
                f".requests[{PAGES}] Invalid 3Mi is not positive integer multiple of {PAGES}",
            ],
        ),
        ({PAGES: "0", "cpu": "1"}, {}, []),
        (
            {"hugepages-x": "2Mi", "cpu": "1"},
            {},
            [".limits[hugepages-x] Invalid 2Mi is not positive integer multiple of hugepages-x"],
        ),
        (
            {"hugepages-0": "2Mi", "cpu": "1"},
            {},
            [".limits[hugepages-0] Invalid 2Mi is not positive integer multiple of hugepages-0"],
        ),
        (
            {"gpu": "-1"},
            {"gpu": "1"},
            [
                *(f".limits[gpu] {text}" for text in (STANDARD, CONTAINERS, NEGATIVE)),
                *(f".requests[gpu] {text}" for text in (STANDARD, CONTAINERS)),
                ".requests Invalid must be less than or equal to gpu limit of -1",
            ],
        ),
    ],
)
def test_requests_and_limits(limits: dict[str, str], requests: dict[str, str], expected: list[str]) -> None:
    """Source: validateResourceRequirements, validateResourceQuantityHugePageValue."""
    made = part(ResourceRequirements, limits=limits, requests=requests)
    assert told(resources.validate_resource_requirements(made, "r")) == [f"r{text}" for text in expected]


def test_overhead_is_a_limit_of_a_container() -> None:
    """Source: validateOverhead."""
    assert resources.validate_overhead({"cpu": Quantity("1"), "memory": Quantity("1Mi")}, "o") == []
    found = told(resources.validate_overhead({"pods": Quantity("1"), "cpu": Quantity("-1")}, "o"))
    assert found == [f"o.limits[pods] {CONTAINERS}", f"o.limits[cpu] {NEGATIVE}"]


KNOWN = "NotFound must be one of the names in pod.spec.resourceClaims"


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([], []),
        (["a", "b"], []),
        (["a/x", "a/y", "b/x"], []),
        (["a", "a"], ["[1] Duplicate"]),
        (["a/x", "a/x"], ["[1] Duplicate"]),
        (["a", "a/x"], ["[1] Duplicate"]),
        (["a/x", "a/y", "a"], ["[2] Duplicate", "[2] Duplicate"]),
        (["ab/x", "a"], [f"[0] {KNOWN}: a, b"]),
        (["", ""], ["[0] Required", "[1] Required"]),
        (["a/X"], [f"[0].request Invalid {LABEL_TEXT}"]),
        (["c", "c"], [f"[0] {KNOWN}: a, b", "[1] Duplicate", f"[1] {KNOWN}: a, b"]),
    ],
)
def test_claims(claims: list[str], expected: list[str]) -> None:
    """A reference to a whole claim overlaps those to its requests. Source: validateResourceClaimNames."""
    listed = [
        part(ResourceClaimRef, name=name, **({"request": request} if slash else {}))
        for name, slash, request in (claim.partition("/") for claim in claims)
    ]
    found = told(resources.validate_resource_claim_names(listed, ("b", "a"), "c"))
    assert found == [f"c{text}" for text in expected]


def test_claims_of_a_pod_without_any() -> None:
    made = part(ResourceRequirements, claims=[{"name": "a"}])
    found = told(resources.validate_resource_requirements(made, "r"))
    assert found == [f"r.claims[0] {KNOWN} which is empty"]
    assert resources.validate_resource_requirements(made, "r", ["a"]) == []


RESIZES = 'r NotSupported supported values: "NotRequired", "RestartContainer"'
RESIZED = 'r NotSupported supported values: "cpu", "memory"'


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([], []),
        ([("cpu", "NotRequired"), ("memory", "RestartContainer")], []),
        ([("cpu", "NotRequired"), ("cpu", "RestartContainer")], ["r[1] Duplicate"]),
        ([("", "")], ["r Required", "r Required"]),
        ([("pods", "x")], [RESIZED, RESIZES]),
        (
            [("memory", "NotRequired"), ("pods", ""), ("pods", "NotRequired")],
            [RESIZED, "r Required", "r[2] Duplicate", RESIZED],
        ),
    ],
)
def test_resize_policies(policies: list[tuple[str, str]], expected: list[str]) -> None:
    """The path of an error has an index only for a repeated resource. Source: validateResizePolicy."""
    listed = [part(ContainerResizePolicy, resourceName=name, restartPolicy=policy) for name, policy in policies]
    for restart in ("Always", "OnFailure"):
        assert told(resources.validate_resize_policy(listed, restart, "r")) == expected


def test_a_container_that_never_restarts_is_resized_without_a_restart() -> None:
    for policy, count in (("NotRequired", 0), ("RestartContainer", 1)):
        listed = [part(ContainerResizePolicy, resourceName="cpu", restartPolicy=policy)]
        found = resources.validate_resize_policy(listed, "Never", "r")
        assert [(error.type, error.field, error.value) for error in found] == [
            ("FieldValueInvalid", "r", "RestartContainer")
        ] * count


def pod(level: dict[str, Any] | None, *containers: dict[str, Any], inits: Any = ()) -> list[str]:
    def listed(kind: str, made: Any) -> list[dict[str, Any]]:
        return [{"name": f"{kind}{i}", "resources": one} for i, one in enumerate(made)]

    fields = {"initContainers": listed("i", inits), "containers": listed("c", containers), "overhead": {"cpu": "9"}}
    spec = part(PodSpec, resources=level, **fields)
    return told(resources.validate_pod_resources(spec, ("a",), "r"))


def cpu(**amounts: str) -> dict[str, Any]:
    return {name: {"cpu": amount} for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("level", "containers", "expected"),
    [
        (None, [cpu(requests="5", limits="5")], []),
        ({}, [cpu(requests="5", limits="5")], []),
        (cpu(requests="3"), [cpu(requests="1"), cpu(requests="2")], []),
        (
            cpu(requests="2999m"),
            [cpu(requests="1"), cpu(requests="2")],
            [".requests[cpu] Invalid must be greater than or equal to aggregate container requests of 3"],
        ),
        ({"requests": {"memory": "1"}}, [cpu(requests="1")], []),
        (cpu(limits="2"), [cpu(limits="2"), cpu(limits="2")], []),
        (
            cpu(limits="2"),
            [cpu(limits="2"), cpu(limits="2001m")],
            [".containers[1][cpu].limits Invalid must be less than or equal to pod limits of 2"],
        ),
        (
            {"claims": [{"name": "b"}], **cpu(requests="-1")},
            [],
            [
                ".claims Forbidden claims may not be set for Resources at pod-level",
                f".requests[cpu] {NEGATIVE}",
                f".claims[0] {KNOWN}: a",
            ],
        ),
        (
            {"limits": {"ephemeral-storage": "1"}},
            [],
            ['.limits[ephemeral-storage] NotSupported supported values: "cpu", "hugepages-", "memory"'],
        ),
        (
            {"limits": {PAGES: "2Mi", "cpu": "1"}},
            [{"limits": {PAGES: "2Mi"}}, {"limits": {PAGES: "2Mi"}}],
            [f".limits[{PAGES}] Invalid must be greater than or equal to aggregate container limits of 4Mi"],
        ),
        ({"limits": {PAGES: "4Mi", "cpu": "1"}}, [{"limits": {PAGES: "2Mi"}}, {"limits": {PAGES: "2Mi"}}], []),
    ],
)
def test_resources_of_a_whole_pod(level: Any, containers: list[Any], expected: list[str]) -> None:
    """The overhead does not count. Source: validatePodResources, validatePodResourceConsistency."""
    assert pod(level, *containers) == [f"r{text}" for text in expected]


def test_init_containers_count_in_the_requests_of_a_pod() -> None:
    text = "r.requests[cpu] Invalid must be greater than or equal to aggregate container requests of 4"
    assert pod(cpu(requests="3"), cpu(requests="1"), inits=[cpu(requests="4")]) == [text]
    assert pod(cpu(requests="4", limits="4"), cpu(requests="1"), inits=[cpu(requests="4", limits="5")]) == []
