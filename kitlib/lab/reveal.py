"""A question's box in a notebook, and the box of its answer, which waits until the learner has answered."""

from __future__ import annotations

import html
from typing import Any

from kitlib.lab.prediction import Answer, Prediction, Verdict

WAITING = "Answer the question above first. Not sure? Choose “I don’t know”."
_UNKNOWN = "I don’t know"


class Reveal:
    """What was observed of a question.

    Shown at once where the question has been answered, else as soon as it is, or when the learner gives up. Until then
    nothing of the answer is in the notebook.
    """

    def __init__(self, prediction: Prediction, observed: Answer, why: str = "", formula: str = "") -> None:
        self._prediction, self._observed = prediction, observed
        self._why, self._formula = why, formula
        self._verdict: Verdict | None = None
        self._shown: Any = None
        if prediction.answered:
            self._show()
        else:
            prediction.when_answered(self._show)

    @property
    def verdict(self) -> Verdict | None:
        """The prediction next to what was observed; None while there is no answer."""
        return self._verdict

    def _show(self) -> None:
        if self._verdict is None:
            self._verdict = self._prediction.observe(self._observed, self._why, self._formula)
        if self._shown is not None:
            self._shown.children = (_text(self._verdict._repr_html_()),)

    def __str__(self) -> str:
        return str(self._verdict) if self._verdict is not None else WAITING

    __repr__ = __str__

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        if self._verdict is not None:
            return {"text/plain": str(self), "text/html": self._verdict._repr_html_()}
        import ipywidgets as ipw

        box = ipw.VBox([_text(f"<p>{WAITING}</p>"), _unknown_button(self._prediction)])
        box.add_class("kitlib-widget")
        self._shown = box
        return {"text/plain": WAITING} | dict(box._repr_mimebundle_(**options) or {})


def _text(inside: str) -> Any:
    import ipywidgets as ipw

    return ipw.HTML(inside)


def _unknown_button(prediction: Prediction) -> Any:
    import ipywidgets as ipw

    button = ipw.Button(description=_UNKNOWN, tooltip="show the answer; the question counts as not answered")
    button.layout.width = "max-content"
    button.on_click(lambda _: prediction.give_up())
    return button


def question_box(prediction: Prediction, told: Reveal | None = None) -> Any:
    """The question with radio buttons or a number field; a group that screen readers call by the question.

    Args:
        prediction: the question.
        told: its answer, where it shall appear below the question as soon as there is a guess.
    """
    import ipywidgets as ipw

    from kitlib.widgets._parts.accessibility import Access
    from kitlib.widgets._parts.field import Field

    field = None
    if prediction.choices is not None:
        control: Any = ipw.RadioButtons(options=prediction.choices, value=None, layout={"width": "max-content"})
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
        said.value = "" if problem else '<p role="status">Kept. Run the next cell to see.</p>'
        if told is not None and told.verdict is not None:
            said.value = told.verdict._repr_html_()
        if field is not None:
            field.say(problem)

    def show() -> None:
        if told is not None and told.verdict is not None:
            said.value = told.verdict._repr_html_()

    prediction.when_answered(show)
    control.observe(keep, "value")
    question = ipw.HTML(f"<p><b>Predict:</b> {html.escape(prediction.question)}</p>")
    box = ipw.VBox([Access(title=prediction.question), question, field or control, _unknown_button(prediction), said])
    box.add_class("kitlib-widget")
    return box
