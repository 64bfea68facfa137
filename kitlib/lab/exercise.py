"""Exercises of a notebook: the learner's answer is judged, and a hint explains the mistake.

An exercise's `judge` gets the learner's answer and the open cluster. It returns "" for a right answer, else the hint
for the mistake. Expected values are computed by the same pure functions that kubelet and scheduler use.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kitlib.kubelet.util.cpuset import parse_cpus

if TYPE_CHECKING:
    from kitlib.lab.progress import ProgressEntry

Judge = Callable[[Any, Any], str]
Drawn = Callable[..., Any]
"""Returns a chart; the argument `guess` is the learner's answer."""
TRIES = 2
"""Number of wrong answers after which a solution is shown."""


@dataclass(frozen=True)
class Findings:
    """What a notebook knows when it shows an answer; a picture is drawn from it.

    Attributes:
        observed: the observation, before the question maps it to a choice.
        cluster: the notebook's newest cluster; None = it has none.
        facts: the facts given to `reveal`; an experiment's result is `value`.
    """

    observed: Any
    cluster: Any = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]


Picture = Callable[[Findings], Drawn]


@dataclass(frozen=True)
class Question:
    """A question to be answered before the notebook observes the answer.

    Attributes:
        key: the question's name within the notebook.
        text: the sentence the learner reads.
        choices: the answers to pick from; empty asks for a number.
        unit: unit of the number.
        tolerance: allowed relative error of a number, a fraction of the observed value.
        why: the reason in one or two sentences; `{observed}` and the facts given to `reveal` are filled in.
        formula: the full formula, shown on demand.
        answer_of: maps the observation to one of the choices; None = the observed value is the answer.
        measured: whether its answer is a CPU measurement, which a busy machine disturbs.
        picture: returns the picture of the answer, made by `kitlib.lab.pictures`; None = no picture.
    """

    key: str
    text: str
    choices: Sequence[str] = ()
    unit: str = ""
    tolerance: float = 0.0
    why: str = ""
    formula: str = ""
    answer_of: Callable[[Any], Any] | None = None
    measured: bool = False
    picture: Picture | None = None


@dataclass(frozen=True)
class Exercise:
    """A task with its judge.

    Attributes:
        key: the exercise's name within the notebook.
        hint: the first step; folded before the first attempt.
        judge: (answer, cluster) -> "" or the hint for the mistake.
        solution: code that leads to a right `answer`, in place of the learner's line; shown after two tries.
        why: the explanation after a right answer.
    """

    key: str
    hint: str
    judge: Judge
    solution: str
    why: str = ""


@dataclass(frozen=True)
class Judgement:
    """The response to an answer.

    Attributes:
        exercise: the exercise.
        right: whether the answer is right; None = no answer yet.
        text: the hint, or the reason of a right answer.
        read: whether the answer has the form that the exercise asks for.
        solved: whether a solution is shown; until then it is not in the notebook's file.
    """

    exercise: Exercise
    right: bool | None
    text: str
    read: bool = True
    solved: bool = False

    def __str__(self) -> str:
        head = {True: "Right.", False: "Not yet.", None: "Your turn."}[self.right]
        return f"{head} {self.text}".strip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        mark = {True: "✓", False: "✗", None: "✎"}[self.right]
        folded = _folded("Hint", html.escape(self.exercise.hint)) if not self.right and self.exercise.hint else ""
        if self.solved or self.right:
            folded += _folded("A solution", f"<pre><code>{html.escape(self.exercise.solution.strip())}</code></pre>")
        elif self.right is not None:
            folded += f"<p>A solution is shown after {TRIES} different answers.</p>"
        return f'<div role="status" class="kitlib-verdict"><p><b>{mark}</b> {html.escape(str(self))}</p>{folded}</div>'


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{title}</summary>{inside}</details>"


def judged(exercise: Exercise, answer: Any, cluster: Any) -> Judgement:
    """Judge an answer; an answer that raises an error is wrong, with the error as its hint."""
    if answer is ... or answer is None:
        return Judgement(exercise, None, "Replace the three dots by your answer and run the cell again.")
    try:
        hint = exercise.judge(answer, cluster)
    except Exception as error:  # a learner's object may fail in any way
        hint = (
            f"The answer cannot be read ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})."
        )
        return Judgement(exercise, False, f"{hint} {exercise.hint}", read=False)
    return Judgement(exercise, not hint, hint or exercise.why)


def tries(entries: Iterable[ProgressEntry], key: str) -> int:
    """Return the number of distinct, readable wrong answers to an exercise.

    If the answer is a state of the cluster, the same words may describe another state, so the hint counts as well.
    """
    return len(
        {
            (str(entry.details.get("found")), str(entry.details.get("hint", "")))
            for entry in entries
            if entry.kind == "check" and entry.task == key and not entry.points and entry.details.get("read", True)
        }
    )


def number(
    expected: Callable[[], float] | float,
    wrong: Mapping[float, str] | None = None,
    *,
    otherwise: str,
    tolerance: float = 0.0,
) -> Judge:
    """Return a judge of numbers: hints for well-known wrong answers, and one for all others."""

    def judge(answer: Any, _: Any) -> str:
        if isinstance(answer, bool):
            return otherwise
        value = float(answer)
        right = expected() if callable(expected) else expected
        if math.isclose(value, right, rel_tol=tolerance, abs_tol=1e-9):
            return ""
        return next((hint for known, hint in (wrong or {}).items() if math.isclose(value, known)), otherwise)

    return judge


def choice(expected: Callable[[], str] | str, wrong: Mapping[str, str] | None = None, *, otherwise: str) -> Judge:
    """Return a judge of words that ignores case, spaces, and quotes or a full stop around the answer."""

    def plain(text: Any) -> str:
        return " ".join(str(text).lower().strip(" \t\n.`'\"").split())

    def judge(answer: Any, _: Any) -> str:
        if plain(answer) == plain(expected() if callable(expected) else expected):
            return ""
        return next((hint for known, hint in (wrong or {}).items() if plain(known) == plain(answer)), otherwise)

    return judge


def cpu_list(expected: str, otherwise: str) -> Judge:
    """Return a judge of lists of CPUs in the kernel's format, such as `0-3,8`."""

    def judge(answer: Any, _: Any) -> str:
        return otherwise if parse_cpus(str(answer).replace(" ", "")) != parse_cpus(expected) else ""

    return judge


def first_problem(*problems: tuple[bool, str]) -> str:
    """Return the hint of the first condition that holds; "" if none does."""
    return next((hint for holds, hint in problems if holds), "")
