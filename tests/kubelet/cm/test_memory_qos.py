"""MemoryQoS: when a container is throttled, and which memory is protected."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.memory_qos import container_memory_qos, memory_high, memory_high_formula, protection

MI = 2**20


@pytest.mark.parametrize(
    ("request_", "limit", "factor", "allocatable", "expected"),
    [
        (100 * MI, 200 * MI, 0.5, 0, 150 * MI),
        (100 * MI, 200 * MI, 1.0, 0, 200 * MI),
        (0, 200 * MI, 0.5, 400 * MI, 100 * MI),
        (100 * MI, 0, 0.5, 400 * MI, 250 * MI),
        (100 * MI, 100 * MI, 0.5, 400 * MI, 0),
        (100 * MI, 0, 0.5, 0, 0),
        (0, 0, 0.5, 400 * MI, 0),
        (0, 4096, 0.5, 0, 0),
        (4096, 8192, 0.5, 0, 0),
        (4096, 12288, 0.5, 0, 8192),
        (4096, 12287, 0.5, 0, 0),
        (300 * MI, 0, 0.5, 200 * MI, 0),
    ],
    ids=["between request and limit", "factor 1", "no request", "no limit: the node's", "guaranteed",
         "nothing is known", "neither request nor limit", "less than a page", "not a page above the request",
         "a page above", "a byte less", "the node has less than the request"],
)  # fmt: skip
def test_memory_high(request_: int, limit: int, factor: float, allocatable: int, expected: int) -> None:
    """Source: generateLinuxContainerResources."""
    assert memory_high(request_, limit, factor, allocatable, 4096) == expected
    if expected:
        assert memory_high_formula(request_, limit, factor, allocatable, 4096).result() == str(expected)


@pytest.mark.parametrize(
    ("qos", "request_", "policy", "expected"),
    [
        ("Guaranteed", 1, "TieredReservation", {"memory.min": "1"}),
        ("Burstable", 1, "TieredReservation", {"memory.low": "1"}),
        ("BestEffort", 0, "TieredReservation", {"memory.min": "0", "memory.low": "0"}),
        ("Guaranteed", 5, "None", {"memory.min": "0", "memory.low": "0"}),
    ],
)
def test_protected_memory(qos: Any, request_: int, policy: str, expected: dict[str, str]) -> None:
    assert protection(qos, request_, policy) == expected


def container_files(resources: dict[str, Any], **context: Any) -> dict[str, str]:
    pod = from_dict({"spec": {"containers": [{"name": "c", "resources": resources}]}}, Pod)
    given = {"memory_capacity": 1000 * MI, "memory_qos": True, "memory_throttling_factor": 0.5, **context}
    return container_memory_qos(pod, pod.spec.containers[0], ContainerContext(**given))


def test_it_is_for_cgroup_v2_with_the_feature_on() -> None:
    burstable = {"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}}
    unprotected = {"memory.min": "0", "memory.low": "0"}
    assert container_files(burstable) == {**unprotected, "memory.high": str(150 * MI)}
    assert container_files(burstable, cgroup_version=1) == {}
    assert container_files(burstable, memory_qos=False) == {}


def test_without_a_factor_memory_is_protected_only() -> None:
    burstable = {"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}}
    tiered = {"memory_throttling_factor": None, "memory_reservation_policy": "TieredReservation"}
    assert container_files(burstable, **tiered) == {"memory.low": str(100 * MI)}
    same = {"cpu": "1", "memory": "100Mi"}
    assert container_files({"requests": same, "limits": same}, **tiered) == {"memory.min": str(100 * MI)}


@pytest.mark.parametrize(
    ("resources", "high"),
    [
        ({}, None),
        ({"requests": {"cpu": "1"}}, None),
        ({"limits": {"memory": "100Mi"}}, str(50 * MI)),
        ({"requests": {"memory": "100Mi"}}, str(250 * MI)),
    ],
)
def test_a_missing_amount_is_zero(resources: dict[str, Any], high: str | None) -> None:
    assert container_files(resources, node_allocatable_memory=400 * MI).get("memory.high") == high
