"""Spaced repetition: each notebook begins with a few questions that the learner has met, with fresh numbers.

A drill is a question whose numbers are drawn from a seed and whose answer the kit's pure functions compute. Topics
answered wrongly come first, then those that have not been asked for the longest time.
"""

from __future__ import annotations

import random
from typing import Any

from kitlib.lab.course_map import FIRST_PATH, asked_at_stop, of_number
from kitlib.lab.drill import Topic
from kitlib.lab.drills import TOPICS
from kitlib.lab.prediction import Prediction, Reveal, question_box
from kitlib.lab.progress import Progress

LAB = "repetition"
"""Name under which the answers are kept."""
NONE = "Answers of earlier notebooks are repeated here. You have none yet."
COUNT = 3
COUNT_AT_STOP = 1
"""Number of questions at the start of a stop of the ninety-minute path, whose minutes contain them."""


def topics_before(notebook: str, progress: Progress) -> list[Topic]:
    """Return the topics to repeat at the start of a notebook, the most urgent first.

    They are those of earlier notebooks whose question this learner has answered. If there is none, they are those of
    the previous stop of the ninety-minute path.

    Args:
        notebook: the notebook's number, such as "03b".
        progress: the learner's earlier answers.
    """
    last: dict[str, tuple[int, float]] = {}
    for place, entry in enumerate(progress.entries(LAB)):
        last[entry.task.partition("#")[0]] = (place, entry.points)
    earlier = [topic for topic in TOPICS if topic.notebook < notebook[:2]]  # 04b repeats what 04 does
    answered = {(entry.lab, entry.task) for entry in progress.entries() if entry.kind == "prediction"}
    known = [topic for topic in earlier if topic.key in last or (of_number(topic.notebook), topic.question) in answered]

    def urgency(topic: Topic) -> tuple[int, int, int]:
        place, points = last.get(topic.key, (-1, 0.0))
        missed = topic.key in last and not points
        return (0 if missed else 1, place, -int(topic.notebook[:2]))

    count = COUNT_AT_STOP if notebook in FIRST_PATH else COUNT
    return sorted(known or _of_previous_stop(notebook, earlier), key=urgency)[:count]


def _of_previous_stop(notebook: str, earlier: list[Topic]) -> list[Topic]:
    """Return the topics about which the stop before this one asks; none off the path."""
    place = FIRST_PATH.index(notebook) if notebook in FIRST_PATH else 0
    if not place:
        return []
    stop = FIRST_PATH[place - 1]
    asked = asked_at_stop(stop)
    return [topic for topic in earlier if topic.notebook == stop and topic.question in asked]


class WarmUp:
    """A few earlier questions; each answer is shown as soon as there is a guess.

    Args:
        notebook: number of the notebook that begins, such as "03b".
        progress: the file in which answers are kept.
        seed: the seed of the numbers; equal seeds give equal questions.
    """

    def __init__(self, notebook: str, progress: Progress, seed: int | str | None = None) -> None:
        asked = sum(1 for _ in progress.entries(LAB))
        draw = random.Random(f"{notebook}/{asked}" if seed is None else str(seed))
        self.questions: list[Prediction] = []
        self.reveals: list[Reveal] = []
        for topic in topics_before(notebook, progress):
            drill = topic.make(draw)
            made = Prediction(
                LAB,
                f"{topic.key}#{asked}",
                drill.text,
                choices=drill.choices or None,
                unit=drill.unit,
                tolerance=drill.tolerance,
                progress=progress,
            )
            self.questions.append(made)
            self.reveals.append(made.reveal(drill.answer, drill.why))

    def __str__(self) -> str:
        if not self.questions:
            return NONE
        return "\n".join(["Do you remember?", *(f"· {question.question}" for question in self.questions)])

    __repr__ = __str__

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        import ipywidgets as ipw

        head = "<b>Do you remember?</b> From earlier notebooks, with other numbers." if self.questions else NONE
        boxes = [
            question_box(question, told=reveal) for question, reveal in zip(self.questions, self.reveals, strict=True)
        ]
        for box, before in zip(boxes[1:], self.questions, strict=False):
            _show_after(box, before)
        whole = ipw.VBox([ipw.HTML(f'<p style="margin:0;line-height:24px">{head}</p>'), *boxes])
        return {"text/plain": str(self)} | dict(whole._repr_mimebundle_(**options) or {})


def _show_after(box: Any, before: Prediction) -> None:
    """Hide a question until the one before it has a guess or an "I don't know"."""

    def show() -> None:
        box.layout.display = None if before.answered else "none"

    show()
    before.when_answered(show)
