"""The queue theatre without a page: queues, clock, pods and nodes that come and go, back and forth."""

import html

import pytest

from kitlib.widgets.queue_theatre import QueueTheatre


def queues(theatre):
    return {
        box["id"]: [token["id"] for token in box["tokens"]]
        for area in theatre.board.scene["areas"]
        if area["id"] != "moves"
        for box in area["boxes"]
    }


def step(theatre):
    theatre.board.act("step")


def back(theatre):
    theatre.board.position -= 1


def test_the_play_from_the_start():
    theatre = QueueTheatre(release="1.36")
    assert queues(theatre) == {
        "activeQ": ["urgent", "small", "large"],
        "backoffQ": [],
        "unschedulable": [],
        "gated": ["not-ready"],
        "node-1": [],
        "node-2": [],
    }
    for _ in range(3):
        step(theatre)
    assert queues(theatre)["unschedulable"] == ["large"]
    assert "Insufficient cpu" in theatre.board.token("large")["words"]
    theatre.node.click()
    assert queues(theatre)["unschedulable"] == [] and "node node-3 joins" in theatre.sentence
    theatre.minute.click()
    assert queues(theatre)["node-3"] == ["large"]
    assert "At 60 s" in theatre.sentence


def arrows(theatre):
    (area,) = [area for area in theatre.board.scene["areas"] if area["id"] == "moves"]
    return [(token["label"], token["note"]) for token in area["boxes"][0]["tokens"]]


def test_each_step_draws_an_arrow_with_the_event_that_moves_the_pod():
    theatre = QueueTheatre(release="1.30")
    assert arrows(theatre) == []
    step(theatre)
    assert arrows(theatre) == [("urgent: activeQ → node-1", "Scheduled")]
    step(theatre)
    step(theatre)
    assert arrows(theatre) == [("large: activeQ → unschedulable", "FailedScheduling")]
    theatre.node.click()
    assert arrows(theatre) == [("large: unschedulable → backoffQ", "NodeAdd")]
    step(theatre)
    assert arrows(theatre)[0][0] == "large: backoffQ → activeQ"
    theatre.pod.value = "default/not-ready"
    theatre.ungate.click()
    assert arrows(theatre)[0][0].startswith("not-ready: gated → ")
    theatre.delete.click()
    assert arrows(theatre)[0][0].endswith(" → gone")
    back(theatre)
    assert arrows(theatre)[0][0].startswith("not-ready: gated → ")


def test_without_early_pops_a_pod_backs_off_by_the_clock():
    theatre = QueueTheatre(release="1.30")
    for _ in range(3):
        step(theatre)
    theatre.node.click()
    assert queues(theatre)["backoffQ"] == ["large"]
    step(theatre)
    assert queues(theatre)["activeQ"] == ["large"]


def test_gates_go_and_the_pod_enters():
    theatre = QueueTheatre("gates", release="1.26")
    assert queues(theatre)["gated"] == ["test-pod"]
    theatre.minute.click()
    assert queues(theatre)["gated"] == ["test-pod"] and theatre.frame()["gated"].iloc[-1] == "test-pod"
    theatre.ungate.click()
    assert queues(theatre)["activeQ"] == ["test-pod"]
    step(theatre)
    assert queues(theatre)["n1"] == ["test-pod"]
    theatre.release.value = "1.25"
    assert queues(theatre)["activeQ"] == ["test-pod"]


def test_one_walks_back_and_plays_on_differently():
    theatre = QueueTheatre()
    step(theatre)
    step(theatre)
    back(theatre)
    theatre.delete.click()
    assert len(theatre.frame()) == 3
    while theatre.board.position:
        back(theatre)
    assert queues(theatre)["activeQ"] == ["urgent", "small", "large"]
    step(theatre)
    theatre.again.click()
    assert len(theatre.frame()) == 1


def test_new_pods_with_priority_and_gates():
    theatre = QueueTheatre()
    theatre.priority.value = 1000
    theatre.add.click()
    assert queues(theatre)["activeQ"][0] == "pod-1"
    theatre.gated.value = True
    theatre.add.click()
    assert queues(theatre)["gated"][-1].startswith("pod-")


@pytest.mark.parametrize(
    ("name", "cpu", "problem"),
    [
        ("Not A Name", "1", "metadata.name: Invalid value"),
        ("", "1", "name: Required value"),
        ("fine", "much", "quantities must match the regular expression"),
        ("fine", "-2", "must be greater than or equal to 0"),
        ("small", "1", 'pods "small" already exists'),
    ],
)
def test_bad_input_is_said_and_nothing_happens(name, cpu, problem):
    theatre = QueueTheatre()
    before = queues(theatre)
    theatre.name.control.value, theatre.cpu.control.value = name, cpu
    theatre.add.click()
    assert problem in html.unescape(theatre.problem)
    assert queues(theatre) == before
    theatre.name.control.value, theatre.cpu.control.value = "good", "1"
    theatre.add.click()
    assert theatre.problem == "" and "good" in queues(theatre)["activeQ"]


def test_with_no_pod_there_is_nothing_to_delete():
    theatre = QueueTheatre()
    for _ in range(4):
        theatre.delete.click()
    theatre.delete.click()
    assert "there is no pod to choose" in theatre.problem


def test_it_has_a_still_picture():
    bundle = QueueTheatre()._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and "activeQ" in bundle["text/plain"]


def test_what_was_played_is_seen_again_without_the_kernel_and_goes_on_from_where_one_stands():
    theatre = QueueTheatre()
    step(theatre)
    step(theatre)
    assert len(theatre.board.frames) == 3 and theatre.board.position == 2
    back(theatre)
    assert len(theatre.board.frames) == 3  # the page plays on by itself
    assert theatre.sentence.startswith("Last: default/urgent: goes to node-1")
    theatre.node.click()
    assert (len(theatre.board.frames), theatre.board.position) == (3, 2)
    assert "node-3 joins" in theatre.board.scene["caption"]


def test_where_nothing_is_left_to_happen_the_player_ends():
    theatre = QueueTheatre("gates", release="1.26")
    for _ in range(5):
        step(theatre)
    assert not theatre.board.more
    theatre.ungate.click()
    assert theatre.board.more
