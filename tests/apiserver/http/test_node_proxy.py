"""What a kubelet serves, through `nodes/NAME/proxy`."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.http.conftest import Call, call_of

NODE = "/api/v1/nodes/node-1/proxy"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "annotations": {"kitlib.dev/workload.c": "cpu=0.5 memory=64Mi"}},
    "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "x:1"}]},
}


@pytest.fixture
def busy(cluster: Any, call: Call) -> Call:
    """A pod that uses half a CPU, after ten seconds."""
    cluster.apply(POD)
    cluster.advance(10)
    return call


def scraped(call: Call) -> dict[str, float]:
    code, text = call("GET", f"{NODE}/metrics/resource")
    assert code == 200
    lines = [line.rpartition(" ") for line in text.decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, _, value in lines}


def test_resource_metrics_are_those_of_the_cgroups(cluster: Any, busy: Call) -> None:
    found, node = scraped(busy), cluster.node("node-1")
    own = '{container="c",namespace="default",pod="web"}'
    cgroup = next(one for one in node.desired().values() if one.kind == "container")
    used = dict(line.split() for line in node.read(cgroup.path, "cpu.stat").splitlines())
    assert found[f"container_cpu_usage_seconds_total{own}"] == pytest.approx(int(used["usage_usec"]) / 1e6)
    assert 3 < found[f"container_cpu_usage_seconds_total{own}"] <= 5
    assert found[f"container_memory_working_set_bytes{own}"] == int(node.read(cgroup.path, "memory.current"))
    pod = '{namespace="default",pod="web"}'
    assert found[f"pod_cpu_usage_seconds_total{pod}"] >= found[f"container_cpu_usage_seconds_total{own}"]
    assert found["node_memory_working_set_bytes"] >= found[f"pod_memory_working_set_bytes{pod}"] >= 64 << 20
    assert found["resource_scrape_error"] == 0
    cluster.advance(10)
    assert scraped(busy)["node_cpu_usage_seconds_total"] > found["node_cpu_usage_seconds_total"]


def test_the_summary_has_the_node_its_pods_and_their_containers(cluster: Any, busy: Call) -> None:
    code, summary = busy("GET", f"{NODE}/stats/summary")
    assert code == 200
    (pod,) = summary["pods"]
    (container,) = pod["containers"]
    uid = cluster.pod("web").metadata.uid
    assert pod["podRef"] == {"name": "web", "namespace": "default", "uid": uid}
    assert container["name"] == "c"
    assert container["cpu"]["usageNanoCores"] == pytest.approx(0.5e9, rel=0.05)
    assert 3e9 < container["cpu"]["usageCoreNanoSeconds"] <= 5e9
    assert container["memory"]["workingSetBytes"] >= 64 << 20
    node = summary["node"]
    assert node["nodeName"] == "node-1"
    machine = cluster.node("node-1").config.machine.memory
    assert node["memory"]["availableBytes"] + node["memory"]["workingSetBytes"] == machine


def test_the_kubelets_pods_and_health(busy: Call) -> None:
    assert busy("GET", f"{NODE}/healthz") == (200, b"ok")
    code, pods = busy("GET", f"{NODE}/pods")
    assert (code, [pod["metadata"]["name"] for pod in pods["items"]]) == (200, ["web"])
    assert busy("GET", "/api/v1/nodes/node-2/proxy/pods")[1]["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"{NODE}/exec", 404),
        ("GET", NODE, 404),
        ("GET", "/api/v1/nodes/no/proxy/healthz", 404),
        ("POST", f"{NODE}/pods", 405),
    ],
)
def test_what_is_not_served_is_refused(call: Call, method: str, path: str, code: int) -> None:
    assert call(method, path)[0] == code


def test_a_node_without_a_kernel_says_so() -> None:
    with Cluster.simulated(1, kubelets=False) as cluster:
        code, answer = call_of(Dispatcher(cluster))("GET", f"{NODE}/stats/summary")
        assert (code, answer["message"]) == (501, "stats/summary: a hollow node has no kernel")
