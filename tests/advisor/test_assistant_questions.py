"""The generated questions for assistants: the tools' data has each computed answer; the grader accepts no other."""

from __future__ import annotations

import os
from typing import Any

import pytest

from kitlib.advisor.assistant import Assistant
from kitlib.advisor.dump import Dump
from tests.advisor.assistant_questions import (
    DUMPS,
    KINDS,
    PER_DUMP,
    grade,
    is_right,
    scene_with_questions,
)

NIGHTLY = bool(os.environ.get("KITLIB_NIGHTLY"))
NUMBERS = range(1, DUMPS + 1) if NIGHTLY else (1, 2, 4, 9)
"""Twenty questions in the gate, all hundred at night."""


class Reader:
    """Reads each kind's answer from the tools' data, as an assistant that understands the question does."""

    def __init__(self, helper: Assistant) -> None:
        self.helper = helper

    def _free(self, *, cordoned: bool = True) -> dict[str, int]:
        found = {}
        for one in self.helper.dump.nodes:
            if cordoned or not one.spec.unschedulable:
                answer = self.helper.node(one.name)
                found[one.name] = answer["allocatable"]["cpu"] - answer["requested"]["cpu"]
        return found

    def _what_if(self, question: str, *kinds: str, force: bool = False) -> list[dict[str, Any]]:
        answer = self.helper.what_if([question], force=force)
        return [one for one in answer["effects"] if one["kind"] in kinds]

    def requested(self, node: str) -> Any:
        return self.helper.node(node)["requested"]["cpu"]

    def freest(self) -> Any:
        free = self._free()
        return max(free, key=lambda name: free[name])

    def fit(self, pod: str) -> Any:
        return self.helper.how_many(pod)["fit"]

    def stage(self, pod: str) -> Any:
        return self.helper.explain(pod)["stage"]

    def largest(self) -> Any:
        return max(self._free(cordoned=False).values())

    def drained(self, node: str) -> Any:
        return len(self._what_if(f"drain {node}", "pending"))

    def scaled(self, target: str) -> Any:
        return len(self._what_if(f"scale {target}", "pending"))

    def blocking_budget(self, node: str) -> Any:
        (refused,) = self.helper.what_if([f"drain {node}"], force=True)["refused"]
        return refused.split("budget ")[1].split()[0]

    def qos(self, node: str, pod: str) -> Any:
        return next(one["qos"] for one in self.helper.node(node)["pods"] if one["name"] == pod)

    def evicted_first(self, node: str) -> Any:
        return self.helper.node(node)["evictedFirst"][0]

    def waiting(self) -> Any:
        return len(self.helper.overview()["waiting"])

    def resized(self, question: str) -> Any:
        answer = self.helper.what_if([f"resize {question}"])
        return "refused" if answer["refused"] else answer["effects"][0]["kind"]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_tools_give_the_computed_answers(number: int) -> None:
    scene, questions = scene_with_questions(number)
    reader = Reader(Assistant(lambda: Dump.of_items(scene.items)))
    read = {one.id: getattr(reader, one.kind)(*one.about) for one in questions}
    assert read == {one.id: one.answer for one in questions}


def test_the_questions_are_the_same_for_the_same_seed() -> None:
    assert scene_with_questions(3)[1] == scene_with_questions(3)[1] != scene_with_questions(3, seed=7)[1]


def test_each_kind_is_asked_several_times() -> None:
    kinds = [one.kind for number in range(1, DUMPS + 1) for one in scene_with_questions(number)[1]]
    assert len(kinds) == DUMPS * PER_DUMP and all(kinds.count(kind.__name__) >= 5 for kind in KINDS)


def test_the_grader_names_what_is_wrong_or_missing() -> None:
    questions = [one for number in range(1, DUMPS + 1) for one in scene_with_questions(number)[1]]
    answers: dict[str, Any] = {one.id: one.answer for one in questions}
    assert grade(answers) == []
    answers[questions[0].id] = "something else"
    del answers[questions[5].id]
    assert grade(answers) == [questions[0], questions[5]]


@pytest.mark.parametrize(
    ("given", "answer", "right"),
    [
        (3, 3, True),
        ("3", 3, True),
        ("300m", 300, True),
        (True, 1, False),
        (4, 3, False),
        (None, 3, False),
        (" Ash ", "ash", True),
        ("oak", "ash", False),
        (3, "ash", False),
    ],
)
def test_answers_are_compared_by_value(given: Any, answer: Any, right: bool) -> None:
    assert is_right(given, answer) is right
