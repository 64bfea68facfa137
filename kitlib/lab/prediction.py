"""Predict, then look: a question is answered before the kernel answers it, and the answer is kept and scored.

The first answer counts. A number is right within a tolerance; a choice is right when it is the one observed. Nothing is
revealed before `observe` brings the observed value, and running a notebook without answering is not an error: the
prediction is then worth nothing.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.lab.progress import Progress

Answer = str | int | float | None


@dataclass(frozen=True)
class Verdict:
    """A prediction next to what was observed.

    Attributes:
        question: what was asked.
        predicted: the learner's answer; None where none was given.
        observed: what was measured or computed.
        right: whether they agree.
        why: one or two sentences: the rule behind the observed value.
    """

    question: str
    predicted: Answer
    observed: Answer
    right: bool
    why: str = ""

    def __str__(self) -> str:
        if self.predicted is None:
            head = f"You made no prediction. Observed: {self.observed}."
        else:
            head = f"You predicted {_shown(self.predicted)}; observed: {self.observed}. " + (
                "Right." if self.right else "Not this time."
            )
        return f"{head} {self.why}".strip()

    def _repr_html_(self) -> str:
        mark = "✓" if self.right else "·" if self.predicted is None else "✗"
        return f'<p role="status" class="kitlib-verdict"><b>{mark}</b> {html.escape(str(self))}</p>'


def _shown(answer: Answer) -> Answer:
    """A whole number without a decimal point."""
    return int(answer) if isinstance(answer, float) and answer.is_integer() else answer


class Prediction:
    """One question, its answer, and after `observe` its verdict.

    Args:
        lab: the notebook's or lab's name.
        key: the question's name within it.
        question: the sentence the learner reads.
        choices: the answers to pick from; None asks for a number.
        unit: unit of the number, shown behind the field.
        tolerance: how far off a number may be, as a part of the observed value (0.05 = 5%).
        progress: where the answer is kept.
    """

    def __init__(
        self,
        lab: str,
        key: str,
        question: str,
        *,
        choices: Sequence[str] | None = None,
        unit: str = "",
        tolerance: float = 0.0,
        progress: Progress | None = None,
    ) -> None:
        self.lab, self.key, self.question = lab, key, question
        self.choices = list(choices) if choices is not None else None
        self.unit, self.tolerance = unit, tolerance
        self.progress = progress or Progress()
        self.given: Answer = None

    def answer(self, value: Answer) -> None:
        """Give (or, before the observation, change) the answer.

        Raises:
            ValueError: the answer is not one of the choices, or not a number.
        """
        if self.choices is not None and value not in self.choices:
            raise ValueError(f"{self.key}: {value!r} is none of the answers: {', '.join(self.choices)}")
        if self.choices is None:
            try:
                value = float(str(value))
            except ValueError:
                raise ValueError(f"{self.key}: {value!r} is not a number") from None
        self.given = value

    def observe(self, observed: Answer, why: str = "") -> Verdict:
        """Compare with what was observed, record the score (first time only counts) and return the verdict."""
        right = self.given is not None and self._agrees(observed)
        self.progress.record(
            "prediction",
            self.lab,
            self.key,
            1.0 if right else 0.0,
            1.0,
            question=self.question,
            predicted=self.given,
            observed=observed,
        )
        return Verdict(self.question, self.given, observed, right, why)

    def _agrees(self, observed: Answer) -> bool:
        if self.choices is not None:
            return self.given == observed
        return math.isclose(float(self.given or 0), float(observed or 0), rel_tol=self.tolerance, abs_tol=1e-9)

    # ---- in a notebook

    def widget(self) -> Any:
        """The question with radio buttons or a number field; a group that screen readers call by the question."""
        import ipywidgets as ipw

        from kitlib.widgets._parts.accessibility import Access
        from kitlib.widgets._parts.field import Field

        field = None
        if self.choices is not None:
            control: Any = ipw.RadioButtons(options=self.choices, value=None, layout={"width": "max-content"})
        else:
            control = ipw.Text(placeholder="your number", continuous_update=False)
            field = Field(control, self.unit or "number", self.question)
        said = ipw.HTML()

        def keep(change: dict[str, Any]) -> None:
            problem = ""
            try:
                self.answer(change["new"])
            except ValueError as error:
                problem = str(error)
            said.value = "" if problem else '<p role="status">Kept. Run the next cell to see.</p>'
            if field is not None:
                field.say(problem)

        control.observe(keep, "value")
        question = ipw.HTML(f"<p><b>Predict:</b> {html.escape(self.question)}</p>")
        box = ipw.VBox([Access(title=self.question), question, field or control, said])
        box.add_class("kitlib-widget")
        return box

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        choices = "" if self.choices is None else "".join(f"<li>{html.escape(choice)}</li>" for choice in self.choices)
        bundle = {
            "text/plain": f"Predict: {self.question}",
            "text/html": f"<p><b>Predict:</b> {html.escape(self.question)}</p><ul>{choices}</ul>",
        }
        return bundle | dict(self.widget()._repr_mimebundle_(**options) or {})
