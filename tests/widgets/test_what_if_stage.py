"""The what-if stage: one step per effect, tokens that move, and the answer's sentence."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from kitlib.widgets.what_if_stage import WhatIfStage, steps


def places(scene: dict[str, Any]) -> dict[str, str]:
    """Return token -> ID of its box."""
    return {token["id"]: box["id"] for area in scene["areas"] for box in area["boxes"] for token in box["tokens"]}


def test_each_effect_is_a_step_from_before_to_after() -> None:
    stage = WhatIfStage()
    assert stage.answer is not None and len(stage.board.frames) == 1 + len(stage.answer.effects) == 4
    assert stage.board.position == 0
    first, last = stage.board.frames[0], stage.board.frames[-1]
    assert [pod for pod, node in places(first).items() if node == "node-1"] == [
        "shop/web-1",
        "shop/web-2",
        "shop/web-3",
    ]
    moved = {one.pod: one.after or "waiting" for one in stage.answer.effects}
    assert {pod: places(last)[pod] for pod in moved} == moved
    assert sorted(moved.values()) == ["node-2", "node-3", "waiting"]


def test_a_step_changes_one_pod_and_says_why() -> None:
    frames = WhatIfStage().board.frames
    for before, after in pairwise(frames):
        (pod,) = [one for one, node in places(after).items() if places(before)[one] != node]
        assert after["caption"].startswith(pod)


def test_the_sentence_and_the_table_are_the_answers() -> None:
    stage = WhatIfStage()
    chart = stage.chart()
    assert chart.sentence == "drain node-1: pods: 2 move, 1 waits for a node."
    assert list(chart.columns["becomes"]).count("pending") == 1
    assert chart.picture is not None and "node-1" in chart.picture()


def test_another_question_is_answered_and_a_wrong_one_is_shown_as_an_error() -> None:
    stage = WhatIfStage()
    stage.questions.value = "add node-1 1 then drain node-1"
    stage.ask.click()
    assert stage.answer is not None and {one.kind for one in stage.answer.effects} == {"moves"}
    stage.questions.value = "melt node-1"
    stage.ask.click()
    assert "unsupported question" in stage.problem


def test_a_question_without_effects_shows_no_steps() -> None:
    stage = WhatIfStage(questions="upgrade 1.37")
    assert stage.answer is not None and len(steps(stage.answer)) == 1
