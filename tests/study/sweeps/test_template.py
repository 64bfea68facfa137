"""A scenario as data with parameters: what a run makes of it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.metrics import METRICS, pending, placed
from kitlib.study.sweeps.template import run

NODES = [{"count": "${zones}", "name": "n${i}", "zone": "z${i}", "cpu": 2}]
SPREAD = {
    "maxSkew": "${maxSkew}",
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
CONTAINER = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1"}}}
WEB = {
    "count": "${pods}",
    "name": "web-${i}",
    "labels": {"app": "web"},
    "spec": {"containers": [CONTAINER], "topologySpreadConstraints": [SPREAD]},
}
FULL = {"name": "old", "node": "n0", "cpu": 2}


def test_entries_are_counted_and_parameters_filled_in() -> None:
    driver = run({"nodes": NODES, "pods": [WEB]}, {"zones": 3, "pods": 6, "maxSkew": 1})
    assert [node.name for node in driver.scheduler.snapshot.nodes] == ["n0", "n1", "n2"]
    assert placed(driver) == 6 and pending(driver) == 0


def test_a_smaller_skew_costs_pending_pods_where_a_zone_is_full() -> None:
    def waits(skew: int) -> int:
        return pending(run({"nodes": NODES, "pods": [FULL, WEB]}, {"zones": 3, "pods": 4, "maxSkew": skew}))

    assert (waits(1), waits(2)) == (2, 0)


def test_the_seed_draws_among_equal_nodes_and_shuffles_the_pods() -> None:
    data = {
        "nodes": [{"count": 5, "name": "n${i}", "cpu": 4}],
        "pods": [{"count": 3, "name": "p${i}", "cpu": "${i + 1}"}],
        "order": "shuffled",
    }

    def nodes(point: dict[str, Any]) -> list[str]:
        return [pod.spec.node_name for _, pod in sorted(run(data, point).pods.items())]

    assert nodes({"seed": 3}) == nodes({"seed": 3})
    assert len({tuple(nodes({"seed": seed})) for seed in range(8)}) > 1


def test_profile_and_release_decide() -> None:
    strategy = {"type": "${strategy}", "resources": [{"name": "cpu", "weight": 1}]}
    arguments = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    off = [{"name": "NodeResourcesBalancedAllocation"}, {"name": "PodTopologySpread"}]
    data = {
        "nodes": [{"count": 3, "name": "n${i}", "cpu": 4}],
        "pods": [{"count": 4, "name": "p${i}", "cpu": 1}],
        "profile": {"pluginConfig": arguments, "plugins": {"score": {"disabled": off}}},
    }
    used = {s: METRICS["nodes_used"](run(data, {"strategy": s})) for s in ("LeastAllocated", "MostAllocated")}
    assert used == {"LeastAllocated": 3, "MostAllocated": 1}
    assert run(data, {"strategy": "LeastAllocated", "release": "1.24"}).release.name == "1.24"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"nodez": []}, "unknown field 'nodez'"),
        ({"nodes": [{"name": "${x}"}]}, r"scenario.nodes\[0\].name: \${x}: no parameter 'x'"),
        ({"nodes": [{"count": "many", "name": "a"}]}, r"scenario.nodes\[0\].count: must be an integer from 0"),
        ({"nodes": [{"count": 10_001, "name": "a"}]}, "must be an integer from 0 to 10000, got 10001"),
        ({"nodes": [], "seconds": -1}, "scenario.seconds: must be a non-negative number of seconds, got -1"),
        ({"nodes": [], "order": "sorted"}, "scenario.order: must be one of given, shuffled, got 'sorted'"),
        ({"nodes": [], "release": "9.99"}, "9.99"),
        ({"nodes": [], "release": 1.3}, "scenario.release: must be a string"),
        ({"nodes": [], "profile": 5}, "profiles"),
        ({"nodes": [{"name": "a", "cpu": "lots"}]}, r"status.allocatable\[cpu\]: .* quantities must match"),
    ],
)
def test_data_that_does_not_fit_is_refused_where_it_stands(data: dict[str, Any], says: str) -> None:
    with pytest.raises(KitError, match=says):
        run(data, {})


def test_depth_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(KitError, match="nested more than 50 levels"):
        run({"nodes": [deep]}, {})
