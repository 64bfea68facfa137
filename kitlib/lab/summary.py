"""A learner's results in a notebook, shown by its last cell."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """Predictions and exercises of one notebook.

    Attributes:
        predictions: numbers of right and of answered predictions.
        exercises: numbers of solved and of all exercises.
        open: whether the notebook's cluster is open.
        tally: the real part of the notebook, as one line; "" = no line.
    """

    predictions: tuple[float, float]
    exercises: tuple[float, float]
    open: bool
    tally: str = ""

    def __str__(self) -> str:
        (right, of), (solved, tasks) = self.predictions, self.exercises
        text = f"Predictions: {right:g} of {of:g} right. Exercises: {solved:g} of {tasks:g} solved."
        text += " The cluster stays open; lesson.close() ends it." if self.open else ""
        return f"{text}\n{self.tally}".rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = html.escape(str(self)).replace("\n", "<br>")
        return f'<p role="status" class="kitlib-lesson">{shown}</p>'
