"""How much a container may swap: proportional with LimitedSwap for Burstable pods, else nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.container_context import ContainerContext
from kitlib.kubelet.cm.swap import container_swap, limited_swap, swap_behavior

GI = 2**30


def pod(memory: dict[str, str], **spec: Any) -> Pod:
    """Return a pod with these amounts of memory ("requests", "limits")."""
    resources = {which: {"memory": amount} for which, amount in memory.items()}
    return from_dict({"spec": {"containers": [{"name": "c", "resources": resources}], **spec}}, Pod)


BURSTABLE = pod({"requests": "1Gi", "limits": "2Gi"})


@pytest.mark.parametrize(
    ("made", "configured", "expected"),
    [
        (BURSTABLE, "LimitedSwap", "LimitedSwap"),
        (pod({"requests": "1Gi"}), "LimitedSwap", "LimitedSwap"),
        (BURSTABLE, "NoSwap", "NoSwap"),
        (pod({}), "LimitedSwap", "NoSwap"),
        (pod({"requests": "1Gi", "limits": "1Gi"}), "LimitedSwap", "NoSwap"),
        (pod({"requests": "0", "limits": "1Gi"}), "LimitedSwap", "LimitedSwap"),
        (pod({"requests": "1Gi", "limits": "2Gi"}, priority=2_000_000_000), "LimitedSwap", "NoSwap"),
    ],
    ids=["Burstable", "without a limit", "by the setting", "BestEffort", "request is the limit",
         "a limit without a request", "critical"],
)  # fmt: skip
def test_who_may_swap(made: Pod, configured: str, expected: str) -> None:
    """Source: kuberuntime GetContainerSwapBehavior."""
    assert swap_behavior(made, made.spec.containers[0], configured, Release("1.36")) == expected


def test_a_container_of_a_burstable_pod_without_memory_of_its_own_may_not() -> None:
    made = from_dict({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}, Pod)
    assert swap_behavior(made, made.spec.containers[0], "LimitedSwap", Release("1.36")) == "NoSwap"


@pytest.mark.parametrize(
    ("request_", "machine", "swap", "expected"),
    [(1, 4, 2, GI // 2), (4, 4, 2, 2 * GI), (5, 4, 2, 0), (0, 4, 2, 0), (0, 0, 2, 0)],
)
def test_the_part_of_the_machines_swap(request_: int, machine: int, swap: int, expected: int) -> None:
    """Request / memory × swap. Source: kuberuntime calcSwapForBurstablePods."""
    assert limited_swap(request_ * GI, machine * GI, swap * GI) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (0, {"memory.swap.max": str(GI // 2)})),
        ({"swap_behavior": "NoSwap"}, (0, {"memory.swap.max": "0"})),
        ({"swap_controller": False}, (0, {})),
        ({"release": Release("1.36", {"NodeSwap": False})}, (0, {})),
        ({"cgroup_version": 1}, (2 * GI, {})),
    ],
    ids=["LimitedSwap", "NoSwap", "no controller", "no gate", "v1 counts memory and swap together"],
)
def test_what_is_written(changes: dict[str, Any], expected: tuple[int, dict[str, str]]) -> None:
    """Source: kuberuntime configureContainerSwapResources."""
    given: dict[str, Any] = {"swap_behavior": "LimitedSwap", "swap_controller": True, "release": Release("1.34")}
    context = ContainerContext(4 * GI, swap_capacity=2 * GI, **{**given, **changes})
    assert container_swap(BURSTABLE, BURSTABLE.spec.containers[0], 2 * GI, context) == expected


@pytest.mark.parametrize(
    ("request_", "memory", "swap", "expected"),
    [
        (1, 4, 8, 2),
        (4, 4, 8, 8),
        (5, 4, 8, 0),
        (0, 4, 8, 0),
        (1, 1, 8, 8),
        (1, 0, 8, 0),
        (0, 0, 8, 0),
        (1, 3, 10, 3),
        (1, 4, 0, 0),
    ],
)
def test_the_part_of_swap_is_the_part_of_memory(request_: int, memory: int, swap: int, expected: int) -> None:
    """Source: calcSwapForBurstablePods."""
    assert limited_swap(request_, memory, swap) == expected
