"""What a kubelet tells of its node when it starts, in `describe node` and in its timeline."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.kubelets import KUBELET
from kitlib.views.kubectl import describe


def told(cluster: Any, node: str = "n") -> list[tuple[str, str]]:
    return [(event.reason, event.message) for event in cluster.events(node)]


USUAL = [
    ("Starting", "Starting kubelet."),
    ("NodeHasSufficientMemory", "Node n status is now: NodeHasSufficientMemory"),
    ("NodeHasNoDiskPressure", "Node n status is now: NodeHasNoDiskPressure"),
    ("NodeHasSufficientPID", "Node n status is now: NodeHasSufficientPID"),
    ("NodeAllocatableEnforced", "Updated Node Allocatable limit across pods"),
    ("NodeReady", "Node n status is now: NodeReady"),
]
REGISTERED = ("RegisteredNode", "Node n event: Registered Node n in Controller")


def test_a_kubelet_that_starts_tells_of_its_node_in_this_order() -> None:
    cluster = Cluster.simulated([{"name": "n"}])
    assert told(cluster) == [*USUAL, REGISTERED]
    cluster.advance(60)
    assert told(cluster) == [*USUAL, REGISTERED]
    lines = describe(cluster, "n").partition("Events:")[2].splitlines()[3:]
    assert [line.split()[:2] for line in lines] == [["Normal", reason] for reason, _ in [*USUAL, REGISTERED]]
    noted = [entry for entry in cluster.node().timeline() if entry.action == "telling"]
    assert [(entry.about, entry.detail) for entry in noted] == USUAL
    assert [noted[0].source, noted[-2].source] == ["BirthCry", "enforceNodeAllocatableCgroups"]


@pytest.mark.parametrize(
    ("flags", "limits"),
    [
        (
            [
                *("--enforce-node-allocatable=pods,system-reserved,kube-reserved", "--system-reserved-cgroup=/sys"),
                *("--kube-reserved-cgroup=/kube", "--system-reserved=cpu=1", "--kube-reserved=cpu=1"),
            ],
            [
                *("Node Allocatable limit across pods", "limits on system reserved cgroup /sys"),
                "limits on kube reserved cgroup /kube",
            ],
        ),
        (["--enforce-node-allocatable=none"], ["Node Allocatable limit across pods"]),
        (["--cgroups-per-qos=false", "--enforce-node-allocatable="], []),
    ],
)
def test_it_names_every_cgroup_that_it_has_limited(flags: list[str], limits: list[str]) -> None:
    cluster = Cluster.simulated([{"name": "n", "kubelet": flags, "cgroups": ["/sys", "/kube"]}])
    found = [message for reason, message in told(cluster) if reason == "NodeAllocatableEnforced"]
    assert found == [f"Updated {limit}" for limit in limits]


def test_a_node_that_comes_later_tells_too_and_one_without_a_kubelet_does_not() -> None:
    cluster = Cluster.simulated([{"name": "n"}])
    cluster.add_nodes([{"name": "later"}])
    status = {"capacity": {"cpu": "2", "memory": "4Gi"}}
    meta = {"name": "applied", "annotations": {KUBELET: "true"}}
    cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status})
    for name in ("later", "applied"):
        assert [reason for reason, _ in told(cluster, name)] == [*(reason for reason, _ in USUAL), "RegisteredNode"]
    assert told(Cluster.simulated([{"name": "n"}], kubelets=False)) == [REGISTERED]
