"""Questions and exercises of the course's notebooks, one module per notebook; a saved notebook must not show them.

Imported by `Lesson`, and by the trainer's page for its votes. Face: `content`.

A notebook refers to a question or an exercise by its key. Reasons, expected answers, hints and solutions are here, so
that neither the saved file nor its rendering on GitHub reveals an answer.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kitlib.lab.exercise import Exercise, Question
from kitlib.lab.moved import moved_from


@dataclass(frozen=True)
class Content:
    """Questions and exercises of one notebook, by key.

    Attributes:
        questions: the questions that the notebook asks.
        exercises: the exercises at its end.
        written: keys of the questions whose text is in the notebook's file too.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    exercises: dict[str, Exercise] = field(default_factory=dict)
    written: frozenset[str] = frozenset()


def content(notebook: str) -> Content:
    """Return the content of a notebook by the number at the start of its name; empty if there is none."""
    name = f"kitlib.lab.lessons.n{notebook.partition('-')[0]}"
    if importlib.util.find_spec(name) is None:
        return Content()
    module = importlib.import_module(name)
    questions: Sequence[Question] = module.QUESTIONS
    exercises: Sequence[Exercise] = module.EXERCISES
    return Content(
        {question.key: question for question in questions},
        {exercise.key: exercise for exercise in exercises},
        _written(notebook),
    )


def content_of_any_copy(notebook: str) -> Content:
    """Return a notebook's content, with the questions and exercises to which only older copies of its file refer."""
    found = content(notebook)
    for key, home in moved_from(notebook).items():
        there = content(home)
        found.questions.update({key: there.questions[key]} if key in there.questions else {})
        found.exercises.update({key: there.exercises[key]} if key in there.exercises else {})
    return found


def _written(notebook: str) -> frozenset[str]:
    """Read the keys from the notebook's file in the kernel's working directory; a learner's older copy has none."""
    try:
        cells = json.loads(Path(f"{notebook}.ipynb").read_text("utf-8"))["cells"]
        return frozenset(key for cell in cells if (key := cell["metadata"].get("kitlib", {}).get("question")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return frozenset()
