"""Desired equals observed: manifests applied to a cluster end up in the simulated kernel's cgroup files."""

from __future__ import annotations

import pytest

from kitlib import examples
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.plan import NodePlan

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeName: node-1
  containers:
  - {name: c, image: nginx, resources: {requests: {cpu: 500m, memory: 128Mi}, limits: {cpu: "1", memory: 256Mi}}}
"""


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("driver", ["systemd", "cgroupfs"])
def test_a_pods_cgroups_come_and_go_with_the_pod(version: int, driver: str) -> None:
    cluster = Cluster.simulated(cgroup_version=version, kubelet=[f"--cgroup-driver={driver}"])
    node = cluster.node()
    empty = node.tree()
    cluster.apply(POD.replace("NAME", "a"))
    pod = cluster.pod("a")
    own = next(c for c in node.tree().of_pod(pod.metadata.uid) if c.kind == "pod")
    limit = "memory.limit_in_bytes" if version == 1 else "memory.max"
    assert own[limit].shown == str(256 * 2**20) and node.differences() == []
    cluster.delete("pod", "a")
    cluster.advance(60)  # the QoS cgroups follow with the next minute
    assert node.tree() == empty and node.differences() == []


def test_the_worked_example_goes_through_a_cluster() -> None:
    worked = examples.worked_node()
    plan = NodePlan("master", worked.machine, kubelet=worked.settings)
    cluster = Cluster.simulated([plan], cgroup_version=1)
    cluster.apply(examples.path("worked_example"))
    cluster.apply(examples.path("worked_example_system"))
    tree = cluster.node("master").tree()
    assert tree["/kubepods.slice"]["cpu.shares"].shown == "7168"
    assert tree["/kubepods.slice"]["memory.limit_in_bytes"].shown == "2946347008"
    assert tree["/kubepods.slice/kubepods-burstable.slice"]["cpu.shares"].shown == "1546"
    assert cluster.node("master").differences() == []
    node = cluster.nodes[0]
    assert (str(node.status.capacity["cpu"]), str(node.status.allocatable["cpu"])) == ("8", "7")


def test_a_value_written_by_hand_shows_as_a_difference_and_is_replayed() -> None:
    cluster = Cluster.simulated()
    cluster.apply(POD.replace("NAME", "a"))
    node = cluster.node()
    (kubepods,) = node.tree().of_kind("kubepods")
    node.write(kubepods.path, "cpu.weight", "1")
    assert [(d.path, d.file, d.right) for d in node.differences()] == [(kubepods.path, "cpu.weight", "1")]
    again = Cluster.simulated()
    again.replay(cluster.journal)
    assert again.node().tree() == node.tree()


def test_what_the_kernel_refuses_is_refused_and_not_recorded() -> None:
    cluster = Cluster.simulated()
    with pytest.raises(KitError):
        cluster.node().write("/kubepods", "cpu.weight", "0")
    assert cluster.journal == []


def test_a_node_that_reserves_more_than_it_has_is_refused() -> None:
    with pytest.raises(KitError, match="Expected capacity >= reservation"):
        Cluster.simulated([{"cpus": 2, "kubelet": ["--kube-reserved=cpu=3"]}])


def test_what_a_node_does_not_have_is_said_in_words_and_is_no_attribute() -> None:
    hollow = Cluster.simulated(1, kubelets=False).node()
    with pytest.raises(KitError, match=r"node 'node-1' is hollow .* so no tree"):
        hollow.tree()
    live = Cluster.simulated(1).node()
    assert hasattr(live, "timeline") and not hasattr(live, "timelines")
    with pytest.raises(AttributeError, match="'SimulatedNode' object has no attribute 'timelines'"):
        live.timelines()
