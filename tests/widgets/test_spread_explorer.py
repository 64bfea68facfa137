"""The spread explorer without a page: controls move the cluster, the picture and the words follow."""

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.charts.spread_columns import HEAD, row_height, rows_shown
from kitlib.widgets.spread_explorer import SpreadExplorer


def test_the_documents_example_turns_with_the_release_switch():
    explorer = SpreadExplorer("affinity-and-skew", release="1.23")
    assert "The constraint allows zone1 (maxSkew 1). In 1.23 it stays pending" in explorer.sentence
    explorer.release.value = "1.24"
    assert explorer.sentence == "The constraint allows zone2 (maxSkew 1). 1.24 puts it on worker4."
    assert list(explorer.frame()["counted"]) == [2, 1]
    assert explorer.board.box("worker4")["kind"] == "best"


def test_steps_place_pods_and_are_undone_and_redone():
    explorer = SpreadExplorer(zones=2, nodes=2)
    assert explorer.undo.disabled and explorer.redo.disabled
    for _ in range(3):
        explorer.step.click()
    assert sum(map(sum, explorer.state.counts())) == 3
    explorer.undo.click()
    assert sum(map(sum, explorer.state.counts())) == 2
    assert not explorer.redo.disabled
    explorer.redo.click()
    assert sum(map(sum, explorer.state.counts())) == 3
    explorer.clear.click()
    assert explorer.state.placed == ()


def test_the_board_adds_removes_moves_and_marks():
    explorer = SpreadExplorer(zones=2, nodes=1)
    explorer.board.act("more", box="zone1-1")
    explorer.board.act("press", box="zone1-1")
    explorer.board.act("move", id="pod-2", to="zone2-1")
    assert explorer.state.counts() == [[1], [1]]
    explorer.board.act("less", box="zone1-1")
    assert explorer.state.counts() == [[0], [1]]
    for letter in "xtf":
        explorer.board.act("key", box="zone1-1", key=letter)
    assert explorer.state.marks("zone1-1") == ["excluded by node affinity", "tainted", "full"]
    assert explorer.board.box("zone1-1")["note"] == "⊘☣▮"
    assert f"{Release.latest()} puts it on zone2-1" in explorer.sentence


def test_min_domains_makes_the_third_pod_wait():
    explorer = SpreadExplorer("min-domains", release="1.24")
    explorer.step.click()
    explorer.step.click()
    assert "stays pending" not in explorer.sentence  # without the alpha gate 1.24 does not look at it
    assert "does not look at minDomains" in explorer.sentence
    explorer.release.value = "1.27"
    assert "The constraint allows no domain" in explorer.sentence
    explorer.zones.value = 3
    assert "1.27 puts it on zone3-1" not in explorer.problem


@pytest.mark.parametrize(
    ("control", "value", "problem"),
    [
        ("max_skew", 0, "maxSkew: Invalid value: 0: must be greater than zero"),
        ("min_domains", "many", "must be a whole number"),
        ("min_domains", "-1", "minDomains: Invalid value: -1: must be greater than zero"),
    ],
)
def test_bad_input_is_said_and_the_last_picture_stays(control, value, problem):
    explorer = SpreadExplorer(zones=2, nodes=1)
    before = explorer.sentence
    getattr(explorer, control).value = value
    assert problem in explorer.problem
    assert explorer.sentence == before
    explorer.undo.click()
    getattr(explorer, control).value = 2 if control == "max_skew" else ""
    assert explorer.problem == ""


def test_min_domains_needs_do_not_schedule():
    explorer = SpreadExplorer(zones=2, nodes=1)
    explorer.min_domains.value = "2"
    explorer.when_unsatisfiable.value = "ScheduleAnyway"
    assert "can only use minDomains if whenUnsatisfiable=DoNotSchedule" in explorer.problem


def test_removing_where_nobody_stands_is_said():
    explorer = SpreadExplorer(zones=1, nodes=1)
    explorer.board.act("less", box="zone1-1")
    assert "no matching pod is on this node" in explorer.problem


def test_undo_brings_the_controls_back_too():
    explorer = SpreadExplorer(zones=3, nodes=2)
    explorer.zones.value = 2
    explorer.min_domains.value = "4"
    explorer.release.value = "1.25"
    for _ in range(3):
        explorer.undo.click()
    assert (explorer.zones.value, explorer.min_domains.value, explorer.release.value) == (3, "", str(Release.latest()))
    assert explorer.problem == ""


def test_it_has_a_frame_a_figure_and_a_still_picture():
    explorer = SpreadExplorer(zones=5, nodes=40)
    explorer.step.click()
    assert list(explorer.frame().columns) == ["domain", "pods", "counted", "skew", "allowed"]
    assert len(explorer.figure().data) >= 2
    bundle = explorer._repr_mimebundle_()
    assert "<svg" in bundle["text/html"] and explorer.sentence in bundle["text/plain"]
    assert [len(area["boxes"]) for area in explorer.board.scene["areas"]] == [40] * 5


def test_what_is_no_scenario_is_refused():
    with pytest.raises(KitError, match="no story 'nothing'"):
        SpreadExplorer("nothing")
    with pytest.raises(KitError, match="topologySpreadConstraints: Required value"):
        SpreadExplorer("preemption")


def test_a_pod_that_moves_stays_the_same_pod():
    explorer = SpreadExplorer(zones=2, nodes=2)
    for node in ("zone1-1", "zone1-2", "zone2-1"):
        explorer.board.act("more", box=node)
    explorer.board.act("move", id="pod-1", to="zone2-2")
    where = {name: explorer.board.token(name)["box"] for name in ("pod-1", "pod-2", "pod-3")}
    assert where == {"pod-1": "zone2-2", "pod-2": "zone1-2", "pod-3": "zone2-1"}
    explorer.board.act("move", id="pod-2", to="nowhere")
    assert "nowhere" in explorer.problem and explorer.board.token("pod-2")["box"] == "zone1-2"


def test_the_line_is_dragged_and_its_scale_stays_meanwhile():
    explorer = SpreadExplorer(zones=2, nodes=1)
    for _ in range(2):
        explorer.board.act("more", box="zone1-1")
    rows = rows_shown(explorer.state.domains(), 1)
    for done in (False, True):
        explorer.columns.act("drag", what="maxSkew", x=0, y=HEAD + (rows - 3) * row_height(rows), done=done)
        assert explorer.max_skew.value == 3
    assert "The constraint allows zone1, zone2 (maxSkew 3)" in explorer.sentence
    for by, value in ((-1, 2), (-5, 1), (5, 6), (5, 10)):
        explorer.columns.act("step", what="maxSkew", by=by)
        assert explorer.max_skew.value == value


def test_the_next_pod_goes_only_below_the_line_and_a_pod_to_another_column():
    explorer = SpreadExplorer(zones=2, nodes=2)
    explorer.board.act("key", box="zone2-1", key="x")
    explorer.columns.act("press", what="zone1")
    explorer.columns.act("drop", what="next", on="zone1")
    assert "zone1: the next pod would make the skew 2, more than maxSkew 1" in explorer.problem
    explorer.columns.act("drop", what="next", on="zone2")
    assert explorer.state.counts() == [[1, 0], [0, 1]], "on the node that the scheduler takes"
    explorer.columns.act("drop", what="pod-1", on="zone2")
    assert sum(explorer.state.counts()[1]) == 2


def test_pods_that_the_constraint_leaves_out_are_those_on_the_nodes_that_it_leaves_out():
    explorer = SpreadExplorer(zones=2, nodes=2)
    for node in ("zone1-1", "zone1-2"):
        explorer.board.act("more", box=node)
    explorer.board.act("key", box="zone1-1", key="x")
    assert "pod-1 in zone1, not counted by the constraint" in explorer.columns.body
    explorer.node_affinity_policy.value = "Ignore"
    assert "not counted" not in explorer.columns.body
