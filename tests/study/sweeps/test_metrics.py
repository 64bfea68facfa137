"""What is measured of a scheduler's run."""

from __future__ import annotations

from typing import Any

from kitlib.study.sweeps.metrics import METRICS
from kitlib.study.sweeps.template import run


def measured(data: dict[str, Any]) -> dict[str, Any]:
    driver = run(data, {})
    return {name: metric(driver) for name, metric in METRICS.items()}


def test_a_cluster_with_one_full_node_and_one_pod_that_fits_nowhere() -> None:
    nodes = [{"name": "a", "zone": "x", "cpu": 4, "memory": "8Gi"}, {"name": "b", "zone": "y", "cpu": 2}]
    pods = [
        {"name": "old", "node": "a", "cpu": 3, "memory": "2Gi"},
        {"name": "new", "cpu": "500m", "memory": "2Gi", "spec": {"nodeSelector": {"kubernetes.io/hostname": "a"}}},
    ]
    pods[1]["spec"]["containers"] = [  # type: ignore[index]
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}}}
    ]
    found = measured({"nodes": nodes, "pods": [*pods, {"name": "huge", "cpu": 9}]})
    assert found == {
        "pending": 1,
        "placed": 2,
        "nodes_used": 1,
        "nodes_free": 1,
        "zone_skew": 2,
        "zone_most": 2,
        "node_skew": 2,
        "cpu_percent": 87.5,
        "memory_percent": 50.0,
        "largest_free_cpu": 2000,
        "victims": 0,
        "failed_cycles": 1,
        "message": found["message"],
    }
    assert found["message"].startswith("0/2 nodes are available: 2 Insufficient cpu")


def test_who_had_to_leave_is_counted() -> None:
    pods = [{"name": "low", "node": "a", "cpu": 4}, {"name": "high", "cpu": 4, "priority": 1000}]
    found = measured({"nodes": [{"name": "a", "cpu": 4}], "pods": pods, "seconds": 60})
    assert (found["victims"], found["placed"], found["pending"]) == (1, 1, 0)


def test_an_empty_cluster_has_values_too() -> None:
    found = measured({"nodes": []})
    assert (found["pending"], found["zone_skew"], found["cpu_percent"], found["largest_free_cpu"]) == (0, 0, 0.0, 0)
