"""Frames of pods, nodes and events, from the objects or from a cluster."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.views import (
    cgroup_frame,
    cgroup_rows,
    events_frame,
    events_rows,
    nodes_frame,
    objects_frame,
    pods_frame,
    pods_rows,
    processes_frame,
    processes_rows,
)

POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeName: node-1
  containers:
  - {name: c, image: nginx, resources: {requests: {cpu: 500m, memory: 128Mi}, limits: {memory: 256Mi}}}
"""


@pytest.fixture
def cluster() -> Cluster:
    pytest.importorskip("pandas")
    made = Cluster.simulated(2, kubelets=False)
    made.apply(POD)
    return made


def test_a_pod_is_a_row_with_its_requests_and_limits(cluster: Cluster) -> None:
    row = pods_frame(cluster).iloc[0]
    assert (row["pod"], row["node"], row["qos"], row["cpu request (m)"]) == ("a", "node-1", "Burstable", 500)
    assert row["memory limit"] == 256 * 2**20
    assert pods_frame(cluster)["cpu limit (m)"].isna().all()
    assert list(pods_frame(cluster.pods())["pod"]) == ["a"]


def test_nodes_and_events_are_rows_too(cluster: Cluster) -> None:
    cluster.cordon("node-2")
    frame = nodes_frame(cluster).set_index("node")
    assert frame.loc["node-1", "ready"] == "True" and "unschedulable:NoSchedule" in frame.loc["node-2", "taints"]
    cluster.record_event(cluster.pod("a"), "Testing", "a word", warning=True)
    assert list(events_frame(cluster, "Testing")["message"]) == ["a word"]
    assert "a" in set(objects_frame(cluster.pods())["name"])


def test_a_process_is_a_row_with_its_node_and_pod_and_a_node_without_a_kernel_has_none(cluster: Cluster) -> None:
    live = Cluster.simulated(2)
    assert processes_frame(live).empty
    live.apply(POD)
    rows = processes_frame(live).to_dict("records")
    assert [(row["node"], row["pod"], row["container"], row["command"]) for row in rows] == [
        ("node-1", "a", "c", live.node("node-1").process("a").name)
    ]
    assert rows[0]["pid"] == live.node("node-1").process("a").pid
    with pytest.raises(KitError, match="hollow"):
        processes_frame(cluster)


def test_frames_of_nothing_have_their_columns() -> None:
    pytest.importorskip("pandas")
    for make in (pods_frame, nodes_frame, events_frame, objects_frame):
        frame = make([])
        assert frame.empty and len(frame.columns) > 2


def test_rows_without_pandas_are_those_of_the_frames() -> None:
    pytest.importorskip("pandas")
    live = Cluster.simulated(1)
    live.apply(POD)
    live.advance(2)
    node = live.node("node-1")
    pairs = [
        (pods_rows(live), pods_frame(live)),
        (events_rows(live), events_frame(live)),
        (processes_rows(live), processes_frame(live)),
        (cgroup_rows(node.desired(), node.tree()), cgroup_frame(node.desired(), node.tree())),
    ]
    for rows, frame in pairs:
        whole = frame.astype(object).where(frame.notna(), None)
        assert rows and list(rows[0]) == list(frame.columns)
        assert [{**row} for row in rows] == whole.to_dict("records")
