"""The preemption stage without a page: who must leave, the promise, the second cycle."""

import pytest

from kitlib.widgets.preemption_stage import PreemptionStage


def kinds(stage):
    tokens = [token for area in stage.board.scene["areas"] for box in area["boxes"] for token in box["tokens"]]
    return {token["id"]: token["state"] or token["kind"] for token in tokens}


def step(stage):
    stage.board.act("step")


def at_the_first_cycle(*arguments, **more):
    stage = PreemptionStage(*arguments, **more)
    step(stage)
    return stage


def test_nothing_is_given_away_before_the_first_step():
    stage = PreemptionStage()
    assert set(kinds(stage).values()) == {"ok", "new"}
    assert stage.board.token("urgent")["box"] == "queue"
    assert stage.frame().empty and "batch-3" not in stage.sentence


def test_two_cycles_and_the_promise_between_them():
    stage = at_the_first_cycle(release="1.24")
    assert kinds(stage)["batch-3"] == "victim" and kinds(stage)["urgent"] == "promised"
    assert "removing default/batch-3 makes room on n3" in stage.sentence
    step(stage)
    assert stage.sentence == "At 5 s: 5 s: may help default/urgent."
    step(stage)
    assert kinds(stage)["urgent"] == "new" and "batch-3" not in kinds(stage)
    stage.board.position -= 1
    assert kinds(stage)["urgent"] == "promised"
    stage.again.click()
    assert kinds(stage)["batch-3"] == "ok"


def test_a_budget_makes_another_node_cheaper():
    stage = PreemptionStage()
    stage.budget.value = "batch"
    step(stage)
    assert stage.frame()["node"].iloc[0] == "n2"
    assert dict(zip(stage.frame()["node"], stage.frame()["pdb_violations"], strict=True))["n3"] == 1
    assert kinds(stage)["web-3"] == "victim"


def test_a_pod_that_is_not_more_important_stays_pending():
    stage = PreemptionStage()
    stage.priority.value = 5
    step(stage)
    assert "Nothing can be preempted" in stage.sentence
    assert "victim" not in kinds(stage).values()
    assert stage.frame().empty
    stage.priority.value = 50
    step(stage)
    assert kinds(stage)["batch-3"] == "victim"


def test_a_pod_that_never_preempts():
    stage = PreemptionStage()
    stage.policy.value = "Never"
    step(stage)
    assert "not eligible due to preemptionPolicy=Never" in stage.sentence


@pytest.mark.parametrize(
    ("cpu", "problem"),
    [("much", "quantities must match the regular expression"), ("-1", "must be greater than or equal to 0")],
)
def test_bad_input_is_said_beside_the_field(cpu, problem):
    stage = PreemptionStage()
    before = stage.sentence
    stage.cpu.control.value = cpu
    assert problem in stage.cpu.problem and problem in stage.problem
    assert stage.sentence == before
    stage.cpu.control.value = "2"
    step(stage)
    assert (stage.cpu.problem, stage.problem) == ("", "")
    assert stage.frame()["victims"].iloc[0].count(",") == 1


@pytest.mark.parametrize("name", ["preemption-never", "preemption-messages", "nomination-lost"])
def test_other_stories_play_to_their_end(name):
    stage = PreemptionStage(name, release="1.24")
    for _ in range(6):
        step(stage)
        assert stage.problem == ""
    assert 'role="log"' in stage._log.value
    assert "text/html" in stage._repr_mimebundle_()


def test_a_more_important_pod_comes_in_between_and_takes_the_promise():
    stage = at_the_first_cycle("nomination-lost")
    assert kinds(stage)["preemptor"] == "promised"
    step(stage)
    assert stage.board.token("emperor")["box"] == "queue" and "emperor arrives" in stage.sentence
    step(stage)
    assert kinds(stage)["emperor"] == "promised" and stage.board.token("preemptor")["box"] == "queue"
    stage.board.position = 1
    assert "emperor" not in kinds(stage) and kinds(stage)["preemptor"] == "promised"
