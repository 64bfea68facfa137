"""Pods of simulated nodes have addresses, which Services, statuses and containers show."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
}


def pod(name: str, readiness: str = "", **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "web:1"}
    meta: dict[str, Any] = {"name": name, "labels": {"app": "web"}}
    if readiness:
        container["readinessProbe"] = {"httpGet": {"port": 8080}, "periodSeconds": 1}
        meta["annotations"] = {"kitlib.dev/readiness.c": readiness}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [container], **spec},
    }


@pytest.mark.parametrize("kubelets", [True, False])
def test_a_pod_has_an_address_of_its_nodes_range_and_a_host_networked_one_the_nodes(kubelets: bool) -> None:
    cluster = Cluster.simulated(2, kubelets=kubelets)
    cluster.apply([pod("a"), pod("b"), pod("host", hostNetwork=True)])
    for one in cluster.nodes:
        assert one.spec.pod_cidr == one.spec.pod_cidrs[0]
    addresses = {n.name: n.status.addresses[0]["address"] for n in cluster.nodes}
    ranges = {n.name: n.spec.pod_cidr.removesuffix("0/24") for n in cluster.nodes}
    assert len(set(ranges.values())) == 2
    for name in ("a", "b", "host"):
        made = cluster.pod(name)
        assert made.status.host_ip == addresses[made.spec.node_name] and made.status.host_ips == [
            {"ip": made.status.host_ip}
        ]
        assert made.status.pod_ips == [{"ip": made.status.pod_ip}]
        if name == "host":
            assert made.status.pod_ip == made.status.host_ip
        else:
            assert made.status.pod_ip.startswith(ranges[made.spec.node_name])


def test_a_hollow_node_has_an_address_for_each_pod_that_it_admits() -> None:
    cluster = Cluster.simulated(1, kubelets=False, scheduler=False, kubelet=["--max-pods=300"])
    cluster.apply([pod(f"p{number}", nodeName="node-1") for number in range(301)])
    *running, last = cluster.pods()
    assert {one.status.phase for one in running} == {"Running"}
    assert len({one.status.pod_ip for one in running}) == 300
    assert (last.status.phase, last.status.reason, last.status.pod_ip) == ("Failed", "OutOfpods", "")


def test_an_unready_pod_is_no_endpoint_and_one_that_is_deleted_gives_its_address_back() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply([SERVICE, pod("good"), pod("bad", readiness="failure")])
    cluster.advance(5)
    good, bad = cluster.pod("good").status.pod_ip, cluster.pod("bad").status.pod_ip
    (subset,) = cluster.get("endpoints", "web").subsets
    assert [one.ip for one in subset.addresses] == [good] and [one.ip for one in subset.not_ready_addresses] == [bad]
    cluster.delete("Pod", "good", grace=0)
    cluster.advance(5)
    (subset,) = cluster.get("endpoints", "web").subsets
    assert subset.addresses == [] and [one.ip for one in subset.not_ready_addresses] == [bad]
    cluster.apply(pod("next"))
    assert cluster.pod("next").status.pod_ip not in (good, bad)


def test_a_container_is_told_the_addresses() -> None:
    cluster = Cluster.simulated(1)
    manifest = pod("a")
    manifest["spec"]["containers"][0]["env"] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in (("POD_IP", "status.podIP"), ("HOST_IP", "status.hostIP"))
    ]
    cluster.apply(manifest)
    status, node = cluster.pod("a").status, cluster.node()
    (state,) = (state for worker in node.kubelet.workers for state in worker.mains)
    environment = node.runtime.environment(state.id)
    assert (environment["POD_IP"], environment["HOST_IP"]) == (status.pod_ip, status.host_ip)


def test_a_pod_that_has_ended_keeps_its_address_in_its_status() -> None:
    cluster = Cluster.simulated(1)
    manifest = pod("a", restartPolicy="Never")
    manifest["spec"]["containers"][0]["command"] = ["sleep", "2"]
    cluster.apply(manifest)
    address = cluster.pod("a").status.pod_ip
    cluster.advance(10)
    assert (cluster.pod("a").status.phase, cluster.pod("a").status.pod_ip) == ("Succeeded", address)
