"""A learner's score in a lab: the best and the last check apart, predictions apart from both.

Tasks give points. A wrong prediction costs none. A hint costs `hint_cost` of lab.toml, or KITLIB_HINT_COST for all
labs; the default is 0.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from kitlib.api.errors import KitError
from kitlib.lab.definition import Definition
from kitlib.lab.progress import Progress


@dataclass(frozen=True)
class Score:
    """A learner's result in a lab.

    Attributes:
        best: points of each task's best check, minus the cost of hints.
        last: points of each task's last check.
        of: points of all tasks.
        hints: number of hints taken.
        cost: points that the hints cost.
        predicted: numbers of right and of answered predictions.
    """

    best: float
    last: float
    of: float
    hints: int = 0
    cost: float = 0
    predicted: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        hints = f", hints: {self.hints} ({f'-{self.cost:g}' if self.cost else 'free'})" if self.hints else ""
        right, answered = self.predicted
        predictions = f", predictions: {right} of {answered} right" if answered else ""
        return f"This time {self.last:g} of {self.of:g} points, best {self.best:g}{hints}{predictions}"


def hint_cost(definition: Definition) -> float:
    """Return the points that one hint costs. Raises: KitError, if KITLIB_HINT_COST is not a number."""
    given = os.environ.get("KITLIB_HINT_COST")
    if not given:
        return definition.hint_cost
    try:
        cost = float(given)
    except ValueError:
        cost = -1.0
    if not 0 <= cost < float("inf"):
        raise KitError(f"KITLIB_HINT_COST: must be a non-negative number of points, got {given!r}")
    return cost


def solved_in_one(progress: Progress, lab: str, definition: Definition) -> bool:
    """Return whether checks of one attempt, which is a variant with a journal, solved every task."""
    solved: dict[str, set[str]] = {}
    for entry in progress.entries(lab):
        if entry.kind == "check" and entry.points >= entry.of:
            attempt = json.dumps([entry.details.get(key) for key in ("ground", "journal")], sort_keys=True, default=str)
            solved.setdefault(attempt, set()).add(entry.task)
    return any({task.key for task in definition.tasks} <= tasks for tasks in solved.values())


def score(progress: Progress, lab: str, definition: Definition) -> Score:
    best: dict[str, float] = {}
    last: dict[str, float] = {}
    answered: dict[str, bool] = {}
    hints: set[tuple[str, object]] = set()
    for entry in progress.entries(lab):
        if entry.kind == "check":
            last[entry.task] = entry.points
            best[entry.task] = max(entry.points, best.get(entry.task, 0.0))
        elif entry.kind == "hint":
            hints.add((entry.task, entry.details.get("number")))
        elif entry.details.get("predicted") is not None:
            answered.setdefault(entry.task, entry.points > 0)
    cost = len(hints) * hint_cost(definition)
    return Score(
        best=max(sum(best.values()) - cost, 0.0),
        last=sum(last.values()),
        of=sum(task.points for task in definition.tasks),
        hints=len(hints),
        cost=cost,
        predicted=(sum(answered.values()), len(answered)),
    )
