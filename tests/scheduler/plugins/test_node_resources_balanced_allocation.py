"""Tests of NodeResourcesBalancedAllocation: the deviation of the used fractions of two and of three resources."""

from __future__ import annotations

from math import sqrt

import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation

GPU = "example.com/gpu"


def score(requests: dict[str, str], *resources: str, allocatable: dict[str, str]) -> int:
    node = from_dict({"metadata": {"name": "a"}, "status": {"allocatable": {"pods": "110", **allocatable}}}, Node)
    container = {"name": "c", "resources": {"requests": requests}}
    info = PodInfo(from_dict({"metadata": {"name": "p"}, "spec": {"containers": [container]}}, Pod), Release("1.33"))
    context = Context(Snapshot([node], info.release), info.release)
    plugin = NodeResourcesBalancedAllocation({"resources": [{"name": one, "weight": 1} for one in resources]})
    rows = context.snapshot.every_row()
    return int(plugin.score(plugin.pre_score(info, context, rows), info, context, rows)[0])


@pytest.mark.parametrize("used", [(1, 1, 1), (4, 4, 1), (1, 2, 3), (4, 1, 1), (2, 2, 1), (0, 4, 2)])
def test_three_resources_lose_the_standard_deviation_of_their_fractions(used: tuple[int, int, int]) -> None:
    """Source: balancedResourceScorer: std = sqrt(sum((fraction - mean)^2) / n), score = (1 - std) * 100."""
    fractions = [one / 4 for one in used]
    mean = sum(fractions) / 3
    deviation = sqrt(sum((one - mean) ** 2 for one in fractions) / 3)
    requests = {"cpu": str(used[0]), "memory": f"{used[1]}Gi", GPU: str(used[2])}
    found = score(requests, "cpu", "memory", GPU, allocatable={"cpu": "4", "memory": "4Gi", GPU: "4"})
    assert found == int((1 - deviation) * 100)


@pytest.mark.parametrize(("used", "expected"), [((4, 4), 100), ((4, 0), 50), ((4, 2), 75), ((1, 3), 75)])
def test_an_extended_resource_that_the_pod_does_not_request_does_not_count(
    used: tuple[int, int], expected: int
) -> None:
    """Source: resourceAllocationScorer.calculateResourceAllocatableRequest; of two values, half their distance."""
    requests = {"cpu": str(used[0]), "memory": f"{used[1]}Gi"}
    assert score(requests, "cpu", "memory", GPU, allocatable={"cpu": "4", "memory": "4Gi", GPU: "4"}) == expected


def test_a_resource_that_the_node_lacks_does_not_count() -> None:
    allocatable = {"cpu": "4", "memory": "4Gi"}
    assert score({"cpu": "4", "memory": "2Gi"}, "cpu", "memory", GPU, allocatable=allocatable) == 75


@pytest.mark.parametrize(("gpus", "asked", "expected"), [("1", "1", 68), ("2", "1", 88), ("1", "", 87)])
def test_a_single_piece_of_a_resource_counts(gpus: str, asked: str, expected: int) -> None:
    """Source: balancedResourceScorer: resources without any allocatable amount are left out, one piece is an amount."""
    requests = {"cpu": "1", "memory": "2Gi", **({GPU: asked} if asked else {})}
    allocatable = {"cpu": "4", "memory": "4Gi", GPU: gpus}
    assert score(requests, "cpu", "memory", GPU, allocatable=allocatable) == expected
