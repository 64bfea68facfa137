"""A scheduler that is walked forwards and back: the same actions always lead to the same state."""

import pytest

from kitlib.api.errors import NotFound
from kitlib.examples.stories import stories, story
from kitlib.study.replay import Replay
from kitlib.study.scenario import Scenario, node_of, pod_of


def look(frame):
    placed = {node: [pod.name for pod in pods] for node, pods in frame.placed.items()}
    return frame.row(), placed, dict(frame.promised), [str(entry) for entry in frame.log]


@pytest.mark.parametrize("name", stories())
def test_walking_back_and_on_again_leads_to_the_same_state(name):
    play = Replay(story(name), "1.26")
    for _ in range(5):
        play.step()
    seen = [look(frame) for frame in play.frames]
    while len(play.frames) > 1:
        play.back()
    assert look(play.now) == seen[0]
    for expected in seen[1:]:
        assert play.can_go_on
        assert look(play.forward()) == expected


def test_preemption_step_by_step():
    play = Replay(story("preemption"), "1.24", exit_after_s=5)
    assert play.step().promised == {"n3": ["urgent"]}
    assert [pod.name for pod in play.now.decision.victims] == ["batch-3"]
    assert play.step().seconds == 5
    assert [pod.name for pod in play.now.placed["n3"]] == ["batch-2"]
    assert [pod.name for pod in play.step().placed["n3"]] == ["batch-2", "urgent"]
    assert play.last_decision is play.now.decision


def test_acting_in_the_past_forgets_what_came_after():
    play = Replay(story("preemption"), "1.24")
    play.step()
    play.step()
    play.back()
    play.add_pod(pod_of({"name": "boss", "cpu": 1, "priority": 5000}))
    assert not play.can_go_on
    assert [frame.what for frame in play.frames][-1] == "default/boss is created"
    assert "boss" in [pod.name for pod in play.pods]
    play.back()
    assert "boss" not in [pod.name for pod in play.pods]


def test_where_nothing_is_left_to_happen_steps_add_nothing():
    play = Replay(Scenario.of({"nodes": [{"name": "n"}]}))
    for _ in range(3):
        play.step()
    assert [frame.what for frame in play.frames] == ["the start", "nothing is left to happen"]


def test_pods_and_nodes_come_and_go():
    play = Replay(Scenario.of({"nodes": [{"name": "n", "cpu": 1}]}), "1.30")
    play.add_pod(pod_of({"name": "big", "cpu": 4}))
    play.add_pod(pod_of({"name": "held", "spec": {"schedulingGates": [{"name": "a.io/x"}]}}))
    play.wait(1)
    assert (play.now.queues["unschedulable"], play.now.queues["gated"]) == (["big"], ["held"])
    play.add_node(node_of({"name": "large", "cpu": 8}))
    play.remove_gates("held")
    play.wait(10)
    assert sorted(pod.name for pods in play.now.placed.values() for pod in pods) == ["big", "held"]
    play.delete_pod("big")
    assert [pod.name for pod in play.pods] == ["held"]
    assert play.nodes == ["n", "large"]


def test_an_action_that_is_refused_changes_nothing():
    play = Replay(Scenario.of({"nodes": [{"name": "n"}]}))
    with pytest.raises(NotFound):
        play.delete_pod("nobody")
    assert len(play.frames) == 1
