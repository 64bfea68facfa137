"""Pods whose node is not there are deleted, and nothing is made and deleted without end."""

from __future__ import annotations

from typing import Any

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
