"""The course's exercises refuse nonsense with a hint, and its questions can be answered."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from kitlib.lab import lessons
from kitlib.lab.exercise import judged
from kitlib.lab.lessons import content
from tests.notebooks.course import NAMES

NUMBERS = sorted(one.name.removeprefix("n") for one in pkgutil.iter_modules(lessons.__path__))
EXERCISES = [(number, one) for number in NUMBERS for one in content(number).exercises.values()]
QUESTIONS = [(number, one) for number in NUMBERS for one in content(number).questions.values()]


def test_every_notebook_has_its_content_and_other_names_have_none():
    assert [name.partition("-")[0] for name in NAMES] == NUMBERS
    assert not content("99-nothing").exercises and not content("browser").questions
    assert all(importlib.import_module(f"kitlib.lab.lessons.n{number}").__doc__ for number in NUMBERS)


@pytest.mark.parametrize(("number", "exercise"), EXERCISES, ids=lambda one: getattr(one, "key", one))
def test_nonsense_is_refused_with_a_hint_and_no_answer_is_no_failure(number, exercise):
    for nonsense in ("?", -1, object(), [], {"no": "pod"}):
        made = judged(exercise, nonsense, None)
        assert made.right is False and made.text.strip(), nonsense
    assert judged(exercise, ..., None).right is None
    assert exercise.hint and "answer" in exercise.solution


@pytest.mark.parametrize(("number", "question"), QUESTIONS, ids=lambda one: getattr(one, "key", one))
def test_a_question_has_its_reason_and_answers_to_pick_from(number, question):
    assert question.text and question.why
    assert not question.choices or len(set(question.choices)) >= 2
    assert question.choices or question.unit
