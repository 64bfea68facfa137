"""percentageOfNodesToScore: how many nodes are enough."""

from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod


def test_a_percentage_of_nodes_is_enough_and_the_next_pod_begins_after_them():
    some = Profile.from_configuration({"percentageOfNodesToScore": 50})
    nodes = [node(f"n{i:03d}") for i in range(300)]
    scheduler = Scheduler(nodes, profile=some)
    first = scheduler.schedule(pod("p0"))
    assert first.feasible == [f"n{i:03d}" for i in range(150)]
    assert scheduler.schedule(pod("p1")).feasible == [f"n{i:03d}" for i in range(150, 300)]


def test_below_a_hundred_nodes_the_percentage_has_no_effect():
    some = Profile.from_configuration({"percentageOfNodesToScore": 5})
    assert len(Scheduler([node(f"n{i}") for i in range(99)], profile=some).explain(pod("p")).feasible) == 99
