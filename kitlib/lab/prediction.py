"""Predict, then look: a question is answered before the kernel answers it, and the answer is kept and scored.

The first answer counts. A number is right within a tolerance; a choice is right if it was observed. An answer given
after the observed value was shown does not count. `reveal` waits for an answer or for "I don't know"; `observe` shows
the observed value at once.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.lab.exercise import Drawn
from kitlib.lab.progress import Progress
from kitlib.views.tokens import css

WAITING = "Answer the question above first. Not sure? Choose “I don’t know”."
_UNKNOWN = "I don’t know"
Answer = str | int | float | None


@dataclass(frozen=True)
class Verdict:
    """A prediction beside the observation.

    Attributes:
        question: the question's text.
        predicted: the learner's answer; None without an answer.
        observed: the measured or computed value.
        right: whether the answer agrees with the observation.
        why: the rule behind the observed value, one or two sentences.
        formula: the full formula, shown folded.
        picture: the picture of the answer as HTML, with the learner's guess; "" = none.
        name: the question's key, shown where several verdicts stand together; "" = not shown.
    """

    question: str
    predicted: Answer
    observed: Answer
    right: bool
    why: str = ""
    formula: str = ""
    picture: str = ""
    name: str = ""

    def __str__(self) -> str:
        if self.predicted is None:
            head = f"You made no prediction. Observed: {_shown(self.observed)}."
        else:
            head = f"You predicted {_shown(self.predicted)}; observed: {_shown(self.observed)}. " + (
                "Right." if self.right else "Not this time."
            )
        return f"{head} {self.why}".strip()

    def _repr_html_(self) -> str:
        mark = "✓" if self.right else "·" if self.predicted is None else "✗"
        more = f"<details><summary>Formula</summary>{html.escape(self.formula)}</details>" if self.formula else ""
        said = f'<div role="status"><p><b>{mark}</b> {html.escape(str(self))}</p></div>'
        # A notebook that is opened again has no other output with the colours of dark pages.
        drawn = f"<style>{css()}</style>{self.picture}" if self.picture else ""
        head = f"<p><b>{html.escape(self.name)}</b></p>" if self.name else ""
        return f'{head}<div class="kitlib-verdict">{drawn}{said}{more}</div>'


def _shown(answer: Answer) -> Answer:
    """Return a whole number without a decimal point, other answers unchanged."""
    return int(answer) if isinstance(answer, float) and answer.is_integer() else answer


class Prediction:
    """A question, its answer, and after `observe` its verdict.

    Args:
        lab: the notebook's or lab's name.
        key: the question's name within it.
        question: the sentence the learner reads.
        choices: the answers to pick from; None asks for a number.
        unit: unit of the number, shown behind the field.
        tolerance: allowed relative error of a number, a fraction of the observed value (0.05 = 5%).
        progress: the file in which the answer is kept.
        written: whether the notebook contains the sentence and the choices too, so that they are not shown twice.
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
        written: bool = False,
    ) -> None:
        self.lab, self.key, self.question = lab, key, question
        self.written = written
        self.choices = list(choices) if choices is not None else None
        self.unit, self.tolerance = unit, tolerance
        self.progress = progress or Progress()
        self.given: Answer = None
        self.gave_up = False
        self.verdict: Verdict | None = None
        self._when_answered: list[Callable[[], None]] = []

    @property
    def answered(self) -> bool:
        """Whether there is an answer, or the learner has said "I don't know"."""
        return self.given is not None or self.gave_up

    def when_answered(self, call: Callable[[], None]) -> None:
        """Call a function whenever an answer is given."""
        self._when_answered.append(call)

    def give_up(self) -> None:
        """Note that the learner does not know the answer: the observed value may be shown."""
        self.gave_up = self.given is None
        self._tell()

    def _tell(self) -> None:
        for call in self._when_answered:
            call()

    def answer(self, value: Answer) -> None:
        """Set the answer, or change it before the observation.

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
        self._tell()

    def reveal(self, observed: Answer, why: str = "", formula: str = "", picture: Drawn | None = None) -> Reveal:
        """Return the observation, shown as soon as there is an answer or an "I don't know"."""
        return Reveal(self, observed, why, formula, picture)

    def observe(self, observed: Answer, why: str = "", formula: str = "", picture: Drawn | None = None) -> Verdict:
        """Compare the answer with the observation, record the score the first time, and return the verdict."""
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
        drawn = "" if picture is None else picture(guess=self.given).page_svg()
        self.verdict = Verdict(self.question, self.given, observed, right, why, formula, drawn)
        return self.verdict

    def _agrees(self, observed: Answer) -> bool:
        if self.choices is not None:
            return self.given == observed
        return math.isclose(float(self.given or 0), float(observed or 0), rel_tol=self.tolerance, abs_tol=1e-9)

    def widget(self) -> Any:
        """Return the question with radio buttons or a number field, and an "I don't know" button."""
        return question_box(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        choices = "" if self.choices is None else "".join(f"<li>{html.escape(choice)}</li>" for choice in self.choices)
        bundle = {
            "text/plain": f"Predict: {self.question}",
            "text/html": f"<p><b>Predict:</b> {html.escape(self.question)}</p><ul>{choices}</ul>",
        }
        return bundle | dict(self.widget()._repr_mimebundle_(**options) or {})


class Reveal:
    """The observed answer to a question.

    It is shown as soon as the question has been answered or the learner gives up. Until then nothing of the answer is
    in the notebook.

    Attributes:
        prediction: the question with its guess.
    """

    def __init__(
        self, prediction: Prediction, observed: Answer, why: str = "", formula: str = "", picture: Drawn | None = None
    ) -> None:
        self.prediction, self._observed = prediction, observed
        self._why, self._formula, self._picture = why, formula, picture
        self._verdict: Verdict | None = None
        self._shown: Any = None
        if prediction.answered:
            self._show()
        else:
            prediction.when_answered(self._show)

    @property
    def verdict(self) -> Verdict | None:
        """The prediction beside the observation; None while there is no answer."""
        return self._verdict

    def _show(self) -> None:
        if self._verdict is None:
            self._verdict = self.prediction.observe(self._observed, self._why, self._formula, self._picture)
        if self._shown is not None:
            self._shown.children = (text_widget(self._verdict._repr_html_()),)

    def __str__(self) -> str:
        return str(self._verdict) if self._verdict is not None else WAITING

    __repr__ = __str__

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        if self._verdict is not None:
            return {"text/plain": str(self), "text/html": self._verdict._repr_html_()}
        import ipywidgets as ipw

        box = ipw.VBox([line(text_widget(f"<p>{WAITING}</p>"), unknown_button(self.prediction))])
        box.add_class("kitlib-widget")
        box.add_class("kitlib-ask")
        self._shown = box
        return dict(box._repr_mimebundle_(**options) or {}) | {"text/plain": WAITING}


def text_widget(inside: str) -> Any:
    """Return HTML as a widget."""
    import ipywidgets as ipw

    return ipw.HTML(inside)


def line(*parts: Any) -> Any:
    """Return widgets side by side; they wrap where the page is narrow."""
    import ipywidgets as ipw

    made = ipw.HBox(parts)
    made.add_class("kitlib-row")
    return made


def unknown_button(prediction: Prediction) -> Any:
    """Return the button with which a learner asks for the answer without a guess."""
    import ipywidgets as ipw

    button = ipw.Button(description=_UNKNOWN, tooltip="show the answer; the question counts as not answered")
    button.layout.width = "max-content"
    button.on_click(lambda _: prediction.give_up())
    return button


def question_box(prediction: Prediction, told: Reveal | None = None) -> Any:
    """Return the question with radio buttons or a number field, as a group that screen readers announce by it.

    Args:
        prediction: the question.
        told: the question's answer, displayed below it as soon as there is a guess; None = it is shown elsewhere.
    """
    import ipywidgets as ipw

    from kitlib.widgets._parts.accessibility import Access
    from kitlib.widgets._parts.field import Field

    field = None
    if prediction.choices is not None:
        control: Any = ipw.RadioButtons(options=prediction.choices, value=None, layout={"width": "auto"})
    else:
        control = ipw.Text(placeholder="your number", continuous_update=False)
        field = Field(control, prediction.unit or "number", prediction.question)
    said = ipw.HTML()

    def keep(change: dict[str, Any]) -> None:
        if prediction.verdict is not None:
            said.value = '<p role="status">The answer is shown; another guess does not count.</p>'
            return
        problem = ""
        try:
            prediction.answer(change["new"])
        except ValueError as error:
            problem = str(error)
        said.value = "" if problem else '<p role="status">Kept. The answer follows below.</p>'
        if told is not None and told.verdict is not None:
            said.value = told.verdict._repr_html_()
        if field is not None:
            field.say(problem)

    def show() -> None:
        if told is not None and told.verdict is not None:
            said.value = told.verdict._repr_html_()

    prediction.when_answered(show)
    control.observe(keep, "value")
    again = told is not None or not prediction.written
    asked = f"<b>Predict:</b> {html.escape(prediction.question)}" if again else "<b>Your guess:</b>"
    question = ipw.HTML(f"<p>{asked}</p>")
    answers = [field or control, unknown_button(prediction)]
    lines = [question, line(*answers)] if again else [line(question, *answers)]
    box = ipw.VBox([Access(title=prediction.question), *lines, said])
    box.add_class("kitlib-widget")
    box.add_class("kitlib-ask")
    box.add_class("kitlib-asks")
    return box
