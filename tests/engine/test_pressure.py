"""Process ids that run short on a real node: the limit of a pod, and eviction."""

from __future__ import annotations

from collections.abc import Callable

from kitlib.cluster.docker import DockerCluster
from tests.engine.helpers import pod


def test_process_ids_of_a_pod_end_at_its_limit(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, kubelet=["--pod-max-pids=30"])
    cluster.apply(pod(name="many", workload="pids=100"))
    node = cluster.node()

    def current(_: DockerCluster) -> bool:
        found = [c.path for c in node.desired().of_kind("pod")]
        return bool(found) and int(node.read(found[0], "pids.current")) == 30

    cluster.wait(current, 20)
    assert cluster.pod("many").status.phase == "Running"


def test_a_node_short_of_process_ids_evicts_who_has_most(start: Callable[..., DockerCluster]) -> None:
    cluster = start([{"max_pid": 300, "kubelet": ["--eviction-hard=pid.available<150"]}])
    cluster.apply([pod(name="few", workload="pids=5"), pod(name="many", workload="pids=200")])
    cluster.wait(lambda c: c.pod("many").status.reason == "Evicted", 60)
    assert cluster.pod("many").status.message.startswith(
        "The node was low on resource: pids. Threshold quantity: 150, "
    )
    assert cluster.pod("few").status.phase == "Running"
    assert next(c.status for c in cluster.nodes[0].status.conditions if c.type == "PIDPressure") == "True"
