"""Nodes come, change and go, and nominations follow them."""

import random

import numpy as np
import pytest

from kitlib.api.container import ContainerPort
from kitlib.api.core import Affinity, PodAffinityTerm, PodAntiAffinity
from kitlib.api.errors import KitError
from kitlib.api.meta import LabelSelector
from kitlib.api.resource import Quantity
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod


def test_nodes_come_change_and_go():
    scheduler = Scheduler([node("a", "1")], [pod("x", "1", on="a")])
    assert not scheduler.explain(pod("p", "1")).suggested_host
    scheduler.update_node(node("a", "2"))
    assert scheduler.explain(pod("p", "1")).suggested_host == "a"
    scheduler.add_node(node("b"))
    scheduler.remove_node("a")
    assert scheduler.explain(pod("p", "1")).feasible == ["b"]
    with pytest.raises(KitError, match="more than once"):
        scheduler.add_node(node("b"))


def test_a_promise_follows_its_node_and_ends_when_the_pod_is_placed():
    scheduler = Scheduler([node("a"), node("b", "1")])
    promised = pod("promised", "1", priority=5)
    scheduler.nominate(promised, "b")
    assert scheduler.explain(pod("p", "1")).feasible == ["a"]
    scheduler.remove_node("a")
    assert scheduler.explain(pod("p", "1")).feasible == []
    assert scheduler.schedule(promised).suggested_host == "b"
    scheduler.remove_pod(promised)
    assert scheduler.explain(pod("p", "1")).feasible == ["b"]


def columns(scheduler):
    """What the next cycle sees."""
    seen = scheduler.snapshot
    amounts = {
        **{("requested", name): column for name, column in seen.requested.items() if column.any()},
        **{("offered", name): column for name, column in seen.allocatable.items() if column.any()},
        "cpu": seen.non_zero_cpu,
        "memory": seen.non_zero_memory,
        "pods": seen.pod_count,
        "cordoned": seen.unschedulable,
    }
    terms = {
        (one.term.key, one.term.topology_key): (dict(sorted(one.rows.items())), sorted(one.sums))
        for one in seen.standing_terms("required_anti_affinity")
        if one.rows
    }
    standing = [[(info.uid, info.row) for info in row.values()] for row in seen.pods]
    return {name: list(column) for name, column in amounts.items()}, seen.names, standing, seen.ports, terms


def any_pod(draw, number):
    made = pod(f"p{number}", f"{draw.randrange(1, 900)}m", on=f"n{draw.randrange(8)}")
    container = made.spec.containers[0]
    if draw.random() < 0.3:
        container.resources.requests["example.com/card"] = Quantity(draw.randrange(3))
    if draw.random() < 0.3:
        container.ports = [ContainerPort(container_port=80, host_port=8000 + number)]
    if draw.random() < 0.3:
        term = PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(match_labels={"app": "a"}))
        made.spec.affinity = Affinity(pod_anti_affinity=PodAntiAffinity(required=[term]))
    return made


def test_however_nodes_and_pods_came_and_went_the_columns_are_those_of_a_new_scheduler():
    draw = random.Random(18)
    compared = 0
    for _ in range(40):
        scheduler = Scheduler([node(f"n{i}", zone=f"z{i % 3}") for i in range(4)])
        for number in range(60):
            name = f"n{draw.randrange(8)}"
            step = draw.randrange(7)
            if step == 0:
                scheduler.remove_node(name)
            elif step == 1:
                scheduler.update_node(node(name, str(draw.randrange(1, 9)), zone=f"z{draw.randrange(3)}"))
            elif step == 2 and scheduler.pods:
                scheduler.remove_pod(draw.choice(list(scheduler.pods.values())).pod)
            elif step == 3:
                known = [scheduler.node(f"n{i}") for i in range(8) if scheduler.node(f"n{i}")]
                scheduler.set_nodes(draw.sample(known, len(known)))
            else:
                scheduler.add_pod(any_pod(draw, number))
            if draw.random() < 0.2:
                fresh = Scheduler(scheduler.snapshot.nodes, [info.pod for info in scheduler.pods.values()])
                assert columns(scheduler) == columns(fresh)
                compared += bool(np.any(fresh.snapshot.pod_count))
    assert compared > 200
