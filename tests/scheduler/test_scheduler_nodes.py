"""Nodes come, change and go, and nominations follow them."""

import pytest

from kitlib.api.errors import KitError
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
