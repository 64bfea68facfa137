"""What preemption's trial removals do to counts and ports that other pods share."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import from_dict
from kitlib.scheduler.scheduler import Scheduler

ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str = "z1") -> Node:
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}
    return from_dict({"metadata": {"name": name, "labels": {ZONE: zone}}, "status": status}, Node)


def pod(name: str, on: str = "", priority: int = 0, port: int = 0, leaving: bool = False, **spec: Any) -> Pod:
    meta: dict[str, Any] = {"name": name, "namespace": "default", "uid": name, "labels": {"app": "a"}}
    if leaving:
        meta["deletionTimestamp"] = "2026-01-05T08:00:00Z"
    container: dict[str, Any] = {"name": "c"}
    if port:
        container["ports"] = [{"containerPort": 80, "hostPort": port}]
    spec = {"containers": [container], "priority": priority, "nodeName": on, **spec}
    return from_dict({"metadata": meta, "spec": spec}, Pod)


SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
]


def test_removing_a_terminating_pod_lowers_a_count_that_it_was_never_in() -> None:
    """The zone of a is full with one counted pod too many; its terminating pod is the whole preemption."""
    standing = [pod("keeps", "a", 10), pod("leaves", "a", 0, leaving=True)]
    blocker = pod("elsewhere", "b", 10, port=80)
    scheduler = Scheduler([node("a", "z1"), node("b", "z2")], [*standing, blocker, pod("more", "a", 10)])
    decision = scheduler.explain(pod("new", priority=5, port=80, topologySpreadConstraints=SPREAD))
    assert decision.feasible == []
    assert [victim.name for victim in decision.victims] == ["leaves"] and decision.nominated == "a"


def test_a_host_port_is_free_once_one_of_two_pods_that_have_it_is_gone() -> None:
    first, second = pod("first", "a", port=80), pod("second", "a", port=80)
    scheduler = Scheduler([node("a")], [first, second])
    assert scheduler.explain(pod("new", port=80)).feasible == []
    scheduler.remove_pod(first)
    assert scheduler.explain(pod("new", port=80)).feasible == ["a"]


def test_a_nominated_pod_leaves_the_ports_as_they_were() -> None:
    promised = pod("promised", priority=9, port=80)
    promised.status.nominated_node_name = "a"
    scheduler = Scheduler([node("a")], [pod("first", "a", port=80)], nominated=[promised])
    assert [scheduler.explain(pod("new", port=80)).feasible for _ in range(2)] == [[], []]
