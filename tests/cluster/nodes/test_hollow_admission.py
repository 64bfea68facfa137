"""A hollow node rejects pods as a simulated node does, as far as no kernel is needed."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.resource import Quantity
from kitlib.cluster import Cluster

NODES: list[dict[str, Any]] = [
    {"name": "a", "cpus": 2, "memory": "4Gi", "apparmor": False, "kubelet": ["--eviction-hard="]},
    {"name": "b"},
]
"""A hollow node reserves nothing without settings, so the other one must not reserve anything either."""


def pod(name: str, container: dict[str, Any] | None = None, meta: Any = None, **spec: Any) -> dict[str, Any]:
    """Return a pod that names its node, so that no scheduler checks it."""
    containers = [{"name": "c", "image": "app", **(container or {})}]
    metadata = {"name": name, **(meta or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, "nodeName": "a", **spec},
    }


def asks(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}
REJECTED = {
    # reason -> pods, of which the last one is rejected
    "OutOfcpu": [pod("first", asks(cpu="1")), pod("p", asks(cpu="1500m"))],
    "OutOfmemory": [pod("p", asks(memory="5Gi"))],
    "NodeAffinity": [pod("p", nodeSelector={"disk": "ssd"})],
    "NodePorts": [pod("first", PORT), pod("p", PORT)],
    "SysctlForbidden": [pod("p", securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]})],
    "PodOSNotSupported": [pod("p", os={"name": "windows"})],
    "PodOSSelectorNodeLabelDoesNotMatch": [pod("p", meta={"labels": {"kubernetes.io/os": "windows"}})],
    "AppArmor": [pod("p", securityContext={"appArmorProfile": {"type": "RuntimeDefault"}})],
}


def outcome(pods: list[dict[str, Any]], kubelets: bool) -> Any:
    with Cluster.simulated(NODES, kubelets=kubelets) as cluster:
        for one in pods:
            cluster.apply(one)
            cluster.advance(1)
        status = cluster.pod("p").status
        events = [(event.type, event.reason, event.message) for event in cluster.events("p")]
        return status.phase, status.reason, status.message, events


@pytest.mark.parametrize("reason", REJECTED)
def test_it_rejects_with_the_same_words_as_a_simulated_node(reason: str) -> None:
    found = outcome(REJECTED[reason], kubelets=False)
    assert found[:2] == ("Failed", reason)
    assert found == outcome(REJECTED[reason], kubelets=True)


def test_room_is_given_back_by_pods_that_end_or_are_deleted() -> None:
    with Cluster.simulated(NODES, kubelets=False) as cluster:
        for name in ("one", "two", "three"):
            cluster.apply(pod(name, asks(cpu="2")))
            assert cluster.pod(name).status.phase == "Running"
            cluster.delete("pod", name)


def test_a_node_whose_object_is_changed_has_the_room_that_the_object_says() -> None:
    with Cluster.simulated(NODES, kubelets=False) as cluster:
        node = cluster.get("node", "a")
        node.status.allocatable = {**node.status.allocatable, "example.com/fpga": Quantity("1")}
        cluster.api.update_status(node)
        limits = {"resources": {"limits": {"example.com/fpga": "1"}}}
        cluster.apply([pod("first", limits), pod("second", limits)])
        assert cluster.pod("first").status.phase == "Running"
        assert cluster.pod("second").status.reason == "OutOfexample.com/fpga"


def test_a_critical_pod_takes_the_room_of_another() -> None:
    with Cluster.simulated(NODES, kubelets=False) as cluster:
        cluster.apply([pod("small", asks(cpu="500m")), pod("large", asks(cpu="1500m"))])
        critical = pod(
            "critical", asks(cpu="1"), {"namespace": "kube-system"}, priorityClassName="system-node-critical"
        )
        cluster.apply(critical)
        assert cluster.pod("critical", "kube-system").status.phase == "Running"
        assert cluster.pod("small").status.phase == "Running"
        status = cluster.pod("large").status
        assert (status.phase, status.reason) == ("Failed", "Preempting")
        assert [one.reason for one in status.conditions if one.type == "DisruptionTarget"] == ["TerminationByKubelet"]
