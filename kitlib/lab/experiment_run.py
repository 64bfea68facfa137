"""A run of which the result is shown after the guess: later cells have its values, the learner waits for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from kitlib.lab.prediction import WAITING, Reveal, Verdict, text_widget, unknown_button

T = TypeVar("T")


class ExperimentRun(Generic[T]):
    """The result of a run, with what shows it.

    While a question waits for its answer, neither the shown objects nor the verdicts are part of the notebook's file.
    The last guess, or "I don't know", fills the place.

    Args:
        reveals: the answers of the questions.
        value: the result of the run.
        shown: tables, charts, widgets or texts that contain the answer.

    Attributes:
        value: the result of the run, guess or not.
    """

    def __init__(self, reveals: Sequence[Reveal], value: T, shown: Sequence[Any]) -> None:
        self.value = value
        self._reveals, self._shown = list(reveals), list(shown)
        self._box: Any = None
        for reveal in self._reveals:
            reveal.prediction.when_answered(self._fill)

    @property
    def waiting(self) -> bool:
        """Whether a question has neither a guess nor an "I don't know"."""
        return any(reveal.verdict is None for reveal in self._reveals)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts in the order of the questions; none while one of them waits."""
        return () if self.waiting else tuple(one.verdict for one in self._reveals if one.verdict is not None)

    def _parts(self) -> list[Any]:
        return [*self._shown, *self.verdicts]

    def _fill(self) -> None:
        if self._box is not None and not self.waiting:
            import ipywidgets as ipw

            self._box.children = (ipw.Output(outputs=tuple(map(_output, self._parts()))),)

    def __str__(self) -> str:
        return WAITING if self.waiting else "\n".join(map(str, self._parts()))

    __repr__ = __str__

    def _ipython_display_(self) -> None:
        """Show everything, or the place that the last guess fills; called by IPython."""
        from IPython.display import display

        if not self.waiting:
            for part in self._parts():
                display(part)
            return
        import ipywidgets as ipw

        buttons = [unknown_button(one.prediction) for one in self._reveals if one.verdict is None]
        self._box = ipw.VBox([text_widget(f"<p>{WAITING}</p>"), *buttons])
        self._box.add_class("kitlib-widget")
        display({"text/plain": WAITING} | dict(self._box._repr_mimebundle_() or {}), raw=True)


def _output(part: Any) -> dict[str, Any]:
    """Return an object as the output of a cell, in each form that it has."""
    data = {"text/plain": str(part)}
    if hasattr(part, "_repr_mimebundle_"):
        found = part._repr_mimebundle_()
        data |= dict((found[0] if isinstance(found, tuple) else found) or {})
    elif hasattr(part, "_repr_html_"):
        data["text/html"] = part._repr_html_()
    return {"output_type": "display_data", "data": data, "metadata": {}}
