"""Spaced repetition: each notebook begins with a few questions of earlier ones, with fresh numbers.

A drill is a question whose numbers are drawn from a seed and whose answer the kit's pure functions compute. Topics
answered wrongly come first, then those that have not been asked for the longest time.
"""

from __future__ import annotations

import random
from typing import Any

from kitlib.lab.drill import Topic
from kitlib.lab.drills import TOPICS
from kitlib.lab.prediction import Prediction, Reveal, question_box
from kitlib.lab.progress import Progress

LAB = "repetition"
"""Name under which the answers are kept."""


def topics_before(notebook: int, progress: Progress, count: int = 3) -> list[Topic]:
    """Return the topics to repeat at the start of a notebook, the most urgent first.

    Args:
        notebook: the notebook's number; topics of earlier ones are repeated.
        progress: the learner's earlier answers.
        count: maximum number of topics.
    """
    last: dict[str, tuple[int, float]] = {}
    for place, entry in enumerate(progress.entries(LAB)):
        last[entry.task.partition("#")[0]] = (place, entry.points)
    known = [topic for topic in TOPICS if topic.notebook < notebook]

    def urgency(topic: Topic) -> tuple[int, int, int]:
        place, points = last.get(topic.key, (-1, 0.0))
        missed = topic.key in last and not points
        return (0 if missed else 1, place, -topic.notebook)

    return sorted(known, key=urgency)[:count]


class WarmUp:
    """A few earlier questions; each answer is shown as soon as there is a guess.

    Args:
        notebook: number of the notebook that begins.
        progress: the file in which answers are kept.
        seed: the seed of the numbers; equal seeds give equal questions.
    """

    def __init__(self, notebook: int, progress: Progress, seed: int | str | None = None) -> None:
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
        return "\n".join(["Do you remember?", *(f"· {question.question}" for question in self.questions)])

    __repr__ = __str__

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        import ipywidgets as ipw

        said = "From earlier notebooks, with other numbers. Skip the questions of notebooks that you have not done."
        head = f"<b>Do you remember?</b> {said}"
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
