"""The QoS cgroups on simulated nodes: made in the kubelet's order, limited by --qos-reserved, retried where refused."""

from __future__ import annotations

from typing import Any

from kitlib.cluster import Cluster

RESERVED = ["--qos-reserved=memory=100%", "--feature-gates=QOSReserved=true", "--eviction-hard="]
MI = 2**20


def pod(name: str, **resources: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "app", "command": ["sleep", "infinity"], "resources": resources}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_at_its_start_the_kubelet_makes_the_qos_cgroups_before_it_limits_reserved_cgroups() -> None:
    flags = [
        "--enforce-node-allocatable=pods,kube-reserved",
        "--kube-reserved=memory=100Mi",
        "--kube-reserved-cgroup=/kube",
    ]
    with Cluster.simulated([{"kubelet": flags, "cgroups": ["/kube"]}]) as cluster:
        done = [(e.action, e.about) for e in cluster.node().kubelet.timeline if e.action in ("making", "writing")]
    made = [("making", path) for path in ("/kubepods", "/kubepods/burstable", "/kubepods/besteffort")]
    assert done == [*made, ("writing", "/kube")]


def test_a_class_that_uses_more_than_its_new_limit_is_kept_at_what_it_uses_and_tried_again() -> None:
    hog = pod("hog")
    hog["metadata"]["annotations"] = {"kitlib.dev/workload.main": "70s memory=700Mi; memory=100Mi"}
    with Cluster.simulated([{"memory": "1Gi", "kubelet": RESERVED}], cgroup_version=1) as cluster:
        node = cluster.node()
        cluster.apply(hog)
        cluster.advance(2)
        sure = {"cpu": "100m", "memory": "400Mi"}
        cluster.apply(pod("sure", requests=sure, limits=sure))
        assert cluster.pod("sure").status.phase == "Running"
        in_use = node.usage("/kubepods/besteffort")
        assert int(node.read("/kubepods/besteffort", "memory.limit_in_bytes")) == in_use // 4096 * 4096 > 600 * MI
        different = [(d.path, d.file) for d in node.differences()]
        assert different == [("/kubepods/besteffort", "memory.limit_in_bytes")]
        assert any(entry.source == "retrySetMemoryReserve" for entry in node.kubelet.timeline)
        cluster.advance(130)
        assert int(node.read("/kubepods/besteffort", "memory.limit_in_bytes")) == 624 * MI
        assert not node.differences()
