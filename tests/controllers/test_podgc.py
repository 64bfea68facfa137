"""Pods whose node is not there are deleted, and nothing is made and deleted without end."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"nodeName": "nowhere", "containers": [{"name": "c", "image": "app"}]},
        },
    },
}


def test_pods_of_a_node_that_was_never_there_are_replaced_after_its_quarantine() -> None:
    with Cluster.simulated(1, kubelets=False) as cluster:
        cluster.apply(WEB)
        first = {pod.name for pod in cluster.pods()}
        assert len(first) == 2
        cluster.advance(39)
        assert {pod.name for pod in cluster.pods()} == first
        cluster.advance(2)
        second = {pod.name for pod in cluster.pods()}
        assert len(second) == 2
        assert not first & second


def test_pods_of_a_node_that_comes_in_time_are_kept() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "nowhere"},
        "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"}},
    }
    with Cluster.simulated(1, kubelets=False) as cluster:
        cluster.apply(WEB)
        first = {pod.name for pod in cluster.pods()}
        cluster.advance(20)
        cluster.apply(node)
        cluster.advance(60)
        assert {pod.name for pod in cluster.pods()} == first


def test_an_orphaned_pod_is_failed_before_it_is_deleted() -> None:
    with Cluster.simulated(1, kubelets=False) as cluster:
        cluster.apply(WEB)
        held = cluster.pods()[0]
        held.metadata.finalizers = ["example.com/hold"]
        cluster.api.store.update(held)
        cluster.advance(41)
        failed = cluster.get("Pod", held.name)
        assert failed.status.phase == "Failed"
        target = next(one for one in failed.status.conditions if one.type == "DisruptionTarget")
        assert (target.reason, target.message) == ("DeletionByPodGC", "PodGC: node no longer exists")


@pytest.mark.parametrize(("ready", "phase"), [("False", "Failed"), ("Unknown", "Failed"), ("True", "Pending")])
def test_terminating_pods_of_a_node_out_of_service_fail_unless_it_is_ready(ready: str, phase: str) -> None:
    taints = [{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoSchedule"}]
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "down"},
        "spec": {"taints": taints},
        "status": {
            "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "finalizers": ["example.com/hold"]},
        "spec": {"nodeName": "down", "containers": [{"name": "c", "image": "app"}]},
    }
    with Cluster.simulated(1, kubelets=False) as cluster:
        cluster.apply([node, pod])
        cluster.settle()
        assert cluster.get("Pod", "a").status.phase != "Failed"
        cluster.api.delete("Pod", "a", "default", grace=30)
        cluster.settle()
        assert cluster.get("Pod", "a").status.phase == phase
