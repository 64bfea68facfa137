"""The cgroup tree: desired beside observed, values written by hand, refusals beside the field."""

import pytest

from kitlib.cluster import Cluster
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.widgets import CgroupTreeExplorer

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: x, resources: {requests: {cpu: 500m}, limits: {cpu: "1", memory: 200Mi}}}
"""


@pytest.fixture(params=[1, 2])
def explorer(request):
    with Cluster.simulated(1, cgroup_version=request.param) as cluster:
        cluster.apply(POD)
        yield CgroupTreeExplorer(cluster)


def choose(explorer, ending, file):
    explorer.cgroup.value = next(v for label, v in explorer.cgroup.options if label.endswith(ending))
    explorer.file.value = file


def test_a_node_that_was_left_alone_shows_what_is_desired(explorer):
    assert "the same, file by file" in explorer.sentence
    assert (explorer.frame().desired == explorer.frame().observed).all()
    assert {row["path"] for row in explorer._picture.rows} >= {"/kubepods", "/kubepods/burstable"}


def test_a_value_written_by_hand_differs_and_comes_back_when_the_kubelet_writes(explorer):
    file = "cpu.shares" if explorer._node.cgroupfs.version == 1 else "cpu.weight"
    choose(explorer, "/kubepods/burstable", file)
    explorer.value.control.value = "77"
    explorer.write.click()
    assert "1 value differs" in explorer.sentence and "observed 77" in explorer.sentence
    marked = [row for row in explorer._picture.rows if row["differs"]]
    assert [(row["path"], row["file"]) for row in marked] == [("/kubepods/burstable", file)]
    explorer._passing.on(61)  # the classes are written anew every minute
    explorer.again.click()
    assert "the same, file by file" in explorer.sentence


def test_what_the_kernel_refuses_is_said_beside_the_value(explorer):
    choose(explorer, "web/app", "cpu.shares" if explorer._node.cgroupfs.version == 1 else "cpu.weight")
    explorer.value.control.value = "plenty"
    explorer.write.click()
    assert "EINVAL" in explorer.value.problem
    assert "the same, file by file" in explorer.sentence


def test_files_and_pods_can_be_chosen_and_only_differences_shown(explorer):
    explorer.controller.value = "memory"
    assert {row["file"].partition(".")[0] for row in explorer._picture.rows if row["file"]} == {"memory"}
    explorer.pod.value = "default/web"
    paths = {row["path"] for row in explorer._picture.rows}
    assert not any("besteffort" in path for path in paths)
    explorer.different.value = True
    assert explorer._picture.rows == []


def test_a_new_pod_is_seen_when_the_files_are_read_again(explorer):
    explorer._passing._cluster.apply(POD.replace("web", "second"))
    explorer.again.click()
    assert any("second" in row["comment"] for row in explorer._picture.rows)
    assert "default/second" in [value for _, value in explorer.pod.options]


def test_a_tree_alone_can_be_shown_too_and_has_a_figure_and_a_still_picture():
    tree = desired_tree(NodeConfig(machine=MachineInfo.declare(2, "1Gi")))
    explorer = CgroupTreeExplorer(tree, controller="memory")
    assert "as the kubelet wants them" in explorer.sentence
    assert explorer.figure().data[0].type == "heatmap"
    assert "<details" in explorer._repr_mimebundle_()["text/html"]


def test_something_that_is_neither_cluster_nor_node_is_refused():
    with pytest.raises(Exception, match="must be a cluster or a node of a cluster, got str"):
        CgroupTreeExplorer("node-1")
