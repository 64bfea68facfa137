"""A Decision is a value."""

from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod


def test_a_decision_stays_as_it_was_when_the_cluster_goes_on():
    scheduler = Scheduler([node("a"), node("b")])
    first = scheduler.schedule(pod("p0", "1"))
    before = first.score_frame().copy(), first.filter_frame().copy()
    for i in range(1, 8):
        scheduler.schedule(pod(f"p{i}", "1"))
    assert first.score_frame().equals(before[0]) and first.filter_frame().equals(before[1])


def test_the_reasons_by_node_are_those_of_each_node():
    decision = Scheduler([node("n1", cpu="1"), node("n2"), node("n3", cpu="1")]).explain(pod("p", cpu="2"))
    assert decision.reasons_by_node() == {name: decision.reasons_of(name) for name in decision.nodes}
    assert decision.reasons_by_node() == {"n1": ["Insufficient cpu"], "n2": [], "n3": ["Insufficient cpu"]}
