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
