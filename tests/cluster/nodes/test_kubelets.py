"""Tests of the owner of a node's kubelet."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import AlreadyExists, KitError, NotFound
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.kubelets import KUBELET


def node(name: str, **annotations: str) -> dict[str, Any]:
    amounts = {"cpu": "4", "memory": "4Gi", "pods": "10"}
    meta = {"name": name, "annotations": annotations}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, where: str) -> dict[str, Any]:
    spec = {"nodeName": where, "containers": [{"name": "c", "image": "x"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("kubelets", [True, False], ids=["simulated", "hollow"])
def test_a_node_object_of_others_is_left_to_them(kubelets: bool) -> None:
    cluster = Cluster.simulated(1, kubelets=kubelets)
    cluster.apply([node("theirs"), pod("a", "theirs"), pod("b", "node-1")])
    cluster.advance(5)
    assert [cluster.runs_kubelet(name) for name in ("theirs", "node-1", "nowhere")] == [False, True, False]
    assert {one.name: one.status.phase for one in cluster.pods()} == {"a": "Pending", "b": "Running"}
    assert cluster.get("Node", "theirs").status.conditions == []
    with pytest.raises(KitError, match=r'nodes "theirs": kitlib does not run the kubelet.*kitlib\.dev/kubelet'):
        cluster.node("theirs")


def test_a_node_object_with_the_annotation_is_a_machine_of_the_kit() -> None:
    cluster = Cluster.simulated(0)
    cluster.apply([node("ours", **{KUBELET: "true"}), pod("a", "ours")])
    cluster.advance(5)
    assert cluster.runs_kubelet("ours") and cluster.pod("a").status.phase == "Running"
    assert {c.type: c.status for c in cluster.nodes[0].status.conditions}["Ready"] == "True"


def test_a_name_that_comes_again_is_another_node() -> None:
    cluster = Cluster.simulated(1)
    cluster.delete("Node", "node-1")
    cluster.apply(node("node-1"))
    assert not cluster.runs_kubelet("node-1")
    with pytest.raises(AlreadyExists, match='nodes "node-1" already exists'):
        cluster.add_nodes({"name": "node-1"})
    assert [one.name for one in cluster.add_nodes(2)] == ["node-2", "node-3"], "without a name: the next that are free"


def test_a_node_is_asked_for_by_name_where_there_are_several() -> None:
    with pytest.raises(
        KitError, match=r"node\(name\): the name is required, because this cluster has 2 nodes: node-1, node-2"
    ):
        Cluster.simulated(2).node()
    with pytest.raises(NotFound, match='nodes "node-3" not found'):
        Cluster.simulated(2).node("node-3")
    with pytest.raises(KitError, match="this cluster has 0 nodes: none"):
        Cluster.simulated(0).node()
