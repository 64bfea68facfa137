"""A decision as a board of cells, as a release sees a node, and what preemption would cost."""

from kitlib.examples.stories import story
from kitlib.scheduler.driver import Happening
from kitlib.study.stepper import Stepper
from kitlib.views.board import candidate_rows, decision_board, outcome_of
from kitlib.views.log import log_html


def column(board, name):
    place = list(board.columns).index(name)
    return {node: row[place] for node, row in zip(board.rows, board.cells, strict=True)}


def test_every_filter_has_a_mark_and_words():
    board = decision_board(story("affinity-and-skew").decide("1.24"))
    fit = column(board, "NodeResourcesFit")
    assert fit["worker"] == ("✗", "Insufficient cpu", "no")
    assert fit["worker4"] == ("✓", "passes", "ok")
    affinity = column(board, "NodeAffinity")["worker3"]
    assert (affinity[0], affinity[2]) == ("✗✗", "hard")
    assert affinity[1].endswith("preemption would not help")


def test_a_plugin_that_is_not_run_says_so():
    board = decision_board(story("affinity-and-skew").decide("1.36"))
    assert column(board, "PodTopologySpread")["worker"] == (
        "–",
        "not run: an earlier filter refused the node",
        "none",
    )


def test_scores_add_up_to_the_total():
    decision = story("rounded-scores").decide("1.36")
    board = decision_board(decision)
    totals = column(board, "total")
    for row, node in zip(board.cells, board.rows, strict=True):
        parts = [int(text) for text, _, kind in row if kind == "score" and "sum of all" not in _]
        assert sum(parts) == int(totals[node][0].split()[0])
    assert totals["c"][0].endswith("★") and totals["c"][2] == "best"


def test_only_what_is_known_at_a_step_is_shown():
    decision = story("rounded-scores").decide("1.36")
    steps = Stepper(decision).steps
    nothing = decision_board(decision, steps[:1])
    assert {text for row in nothing.cells for text, _, _ in row} == {""}
    assert decision_board(decision, steps).cells == decision_board(decision).cells


def test_a_gated_pod_has_an_empty_board():
    board = decision_board(story("gates").decide("1.26"))
    assert (list(board.rows), list(board.columns)) == (["n1"], [])


def test_outcomes_of_nodes():
    preempting = story("preemption").decide("1.24")
    assert outcome_of(preempting, "n3")[0] == "victims"
    assert outcome_of(preempting, "n3")[1].startswith("default/batch-3 must leave")
    assert outcome_of(preempting, "n1") == ("rejected", "NodeResourcesFit: Insufficient cpu")
    spreading = story("rounded-scores").decide("1.24")
    assert [outcome_of(spreading, node)[0] for node in "abc"] == ["passes", "passes", "best"]


def test_candidates_stand_in_the_order_of_their_cost():
    rows = candidate_rows(story("preemption").decide("1.24"))
    assert [(row["node"], row["victims"], row["highest_priority"]) for row in rows] == [
        ("n3", ["batch-3"], 10),
        ("n2", ["batch-1"], 10),
        ("n1", ["web-2"], 100),
    ]
    assert candidate_rows(story("gates").decide("1.36")) == []


def test_the_log_is_escaped_and_cut():
    log = [Happening(i * 500, "Normal", "Scheduled", f"default/p{i}", "<b>") for i in range(40)]
    shown = log_html(log, most=5)
    assert "the last 5 of 40" in shown and "&lt;b&gt;" in shown and "<b>" not in shown
    assert shown.count("<tr>") == 6
