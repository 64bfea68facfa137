"""The scheduler board without a page: cells with reasons, a cycle walked forwards and back."""

import pytest

from kitlib.api.errors import KitError
from kitlib.examples.stories import stories, story
from kitlib.study.scenario import Scenario
from kitlib.widgets.scheduler_board import SchedulerBoard


def test_a_cell_tells_the_reason():
    board = SchedulerBoard("affinity-and-skew", release="1.36")
    board.step.value = board.step.max
    column = board.grid.columns.index("NodeResourcesFit")
    board.grid.act("press", 0, column)
    assert board.reason == "Insufficient cpu"


def test_the_cycle_is_walked_back_and_forward():
    board = SchedulerBoard("rounded-scores")
    board.step.value = board.step.max
    end = board.sentence
    assert (
        end.startswith(f"Step {board.step.max} of {board.step.max}")
        and board.forward.disabled
        and not board.back.disabled
    )
    assert board.figure().data[0].type == "bar"
    while not board.back.disabled:
        board.back.click()
    assert board.step.value == 1
    assert board.sentence.startswith("Step 1 of")
    assert {cell[0] for row in board.grid.cells for cell in row} == {""}
    board.step.value = board.step.max
    assert board.sentence == end


def test_a_story_opens_without_its_outcome_and_a_decision_with_it():
    board = SchedulerBoard("rounded-scores")
    assert "Filter NodeUnschedulable" in board.sentence
    assert {tuple(mark for mark, *_ in row) for row in board.grid.cells} == {("✓", "", "", "")}
    assert not any("(score)" in column for column in board.grid.columns)
    board.release.value = "1.24"
    assert "Filter NodeUnschedulable" in board.sentence, "another release keeps the outcome hidden"
    shown = SchedulerBoard(story("rounded-scores").decide("1.24"))
    assert shown.step.value == shown.step.max


def test_the_scores_have_columns_once_they_are_known_and_the_current_cell_stays_on_the_board():
    board = SchedulerBoard("rounded-scores")
    few = len(board.grid.columns)
    board.step.value = board.step.max
    board.grid.act("press", 1, len(board.grid.columns) - 1)
    assert board.reason == "the sum of all weighted scores" and len(board.grid.columns) > few
    board.step.value = 1
    assert board.grid.selected == [1, few - 1] and board.reason == "has not run yet"


def test_bars_grow_with_every_score_plugin():
    board = SchedulerBoard("rounded-scores", release="1.24")
    seen = []
    board.step.value = board.step.max
    while not board.back.disabled:
        seen.append(len(board.figure().data))
        board.back.click()
    assert max(seen) > 3 and seen[-1] == 1  # the heat map of the filters comes last


def test_preemption_shows_its_candidates():
    board = SchedulerBoard("preemption")
    board.step.value = board.step.max
    assert list(board.frame()["node"]) == ["n3", "n2", "n1"]
    assert "nominates n3; default/batch-3 must go" in board.sentence


@pytest.mark.parametrize("name", stories())
@pytest.mark.parametrize("release", ["1.23", "1.26", "1.36"])
def test_every_story_can_be_walked_from_end_to_end(name, release):
    board = SchedulerBoard(name, release=release)
    for place in range(1, board.step.max + 1):
        board.step.value = place
        assert board.problem == ""
        assert ".." not in board.sentence.replace("for scheduling..", "").replace("pod..", "").replace("Never..", "")
    assert "kit-decision" in board._repr_mimebundle_()["text/html"]


def test_another_story_another_pod_another_release():
    board = SchedulerBoard()
    board.story.value = "11-requests-decide"
    assert list(board.pod.options) == ["may-use-8", "asks-3", "asks-nothing"]
    assert board.pod.value == "asks-3" and "Filter NodeUnschedulable" in board.sentence
    board.step.value = board.step.max
    assert "Insufficient cpu" in board.sentence
    board.pod.value = "may-use-8"
    assert "goes to n1" in board.sentence
    board.story.value = "10-gates"
    assert board.sentence.startswith("Step 1 of"), "another story opens without its outcome"
    board.step.value = board.step.max
    board.release.value = "1.26"
    assert "waiting for scheduling gates" in board.sentence
    board.release.value = "1.25"
    assert "goes to n1" in board.sentence


def test_a_decision_of_ones_own_is_shown_as_it_is():
    decision = story("affinity-and-skew").decide("1.24")
    board = SchedulerBoard(decision)
    assert board.decision is decision
    assert board.story.layout.display == "none"


def test_a_large_cluster_shows_the_nodes_that_matter():
    nodes = [{"name": f"n{i:03}", "cpu": 1 if i else 8} for i in range(300)]
    board = SchedulerBoard(Scenario.of({"nodes": nodes, "pods": [{"name": "p", "cpu": 4}]}))
    assert len(board.grid.rows) <= 60 and board.grid.rows[0] == "n000"
    assert "nodes are shown, the best and some of every reason" in board.grid.help


def test_what_is_no_scenario_is_refused():
    with pytest.raises(KitError, match="must be a cluster, a Scenario or the name of a story"):
        SchedulerBoard(42)
    with pytest.raises(KitError, match="no pod is pending"):
        SchedulerBoard(Scenario.of({"nodes": [{"name": "n"}], "pods": [{"name": "p", "node": "n"}]}))


def test_a_scenario_of_the_users_own_comes_from_a_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: Mine\nnodes:\n- {name: n, cpu: 1}\npods:\n- {name: p, cpu: 2}\n")
    for given in (path, str(path)):
        board = SchedulerBoard(given)
        assert "1 Insufficient cpu" in board.sentence
        assert board.story.layout.display == "none"
    with pytest.raises(KitError, match="there is no such file"):
        SchedulerBoard("other.yaml")
