"""describe and top, from a running cluster."""

from __future__ import annotations

from kitlib.cluster import Cluster
from kitlib.views.kubectl import describe, metrics, top_node, top_pod

POD = """
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {kitlib.dev/workload.c: "cpu=2 memory=64Mi"}}
spec:
  containers:
  - {name: c, image: x, resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}}
"""


def test_top_shows_what_the_quota_leaves_and_describe_what_is_allocated() -> None:
    cluster = Cluster.simulated([{"name": "n", "cpus": 4, "memory": "8Gi"}])
    cluster.apply(POD)
    cluster.advance(5)
    assert top_pod(cluster).splitlines()[1].split() == ["a", "500m", "64Mi"]
    assert top_node(cluster).splitlines()[1].split()[:3] == ["n", "500m", "12%"]
    assert metrics(cluster)["items"][0]["containers"][0]["usage"]["memory"] == "64Mi"
    text = describe(cluster, "n")
    assert "default" in text and "250m (6%)" in text and "500m (12%)" in text


def test_proc_files_tell_where_a_process_stands() -> None:
    cluster = Cluster.simulated([{"name": "n", "cpus": 4, "cgroup_version": 1}])
    cluster.apply(POD)
    proc = cluster.node("n").proc("a")
    assert "cpu,cpuacct:/kubepods/burstable/pod" in proc["cgroup"] and proc["Cpus_allowed_list"] == "0-3"
    # 1000 − floor(1000 × 64 MiB / 8 GiB); the kernel shows (1000 + 993 + its 7.8 thousandths of the memory) × 2 / 3
    assert (proc["oom_score_adj"], proc["oom_score"]) == ("993", "1333")


def test_describe_knows_the_lease_and_metrics_the_labels_of_pods() -> None:
    cluster = Cluster.simulated([{"name": "n", "cpus": 4}])
    web = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {
        "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}],
        "initContainers": [{"name": "first", "image": "x", "command": ["true"]}]}}  # fmt: skip
    cluster.apply(web)
    cluster.advance(27)
    text = describe(cluster, "n")
    assert (
        "  HolderIdentity:  n\n  AcquireTime:     <unset>\n  RenewTime:       Mon, 05 Jan 2026 08:00:20 +0000" in text
    )
    assert "Addresses:\n  InternalIP:  172.18.0.2\n  Hostname:    n\n" in text
    assert "Kernel Version:             simulated, cgroup v2" in text
    assert metrics(cluster)["items"][0]["metadata"]["labels"] == {"app": "web"}
    parts = [(e.message, e.involved_object.field_path) for e in cluster.events("web") if e.reason == "Started"]
    assert parts == [
        ("Container started", "spec.initContainers{first}"),
        ("Container started", "spec.containers{a}"),
        ("Container started", "spec.containers{b}"),
    ]
