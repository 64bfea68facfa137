"""The gate of the answers: output that contains an answer is shown once the questions have their guesses.

While a question of a lesson is open, the tables, trees, charts, manifests and frames of a cell are held back, so "Run
All" shows the questions and not the answers. The last guess, or "I don't know", displays them. Until then nothing of
the object is in the notebook's file: its place is a widget with a sentence. Python values (a text, a number, a list)
are shown at once: a learner's own expressions are not held back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab.prediction import WAITING, Prediction, line, text_widget, unknown_button
from kitlib.lab.tables import Text, short

ANSWERS = ("after", "shown")


def shows_all(answers: str = "") -> bool:
    """Return whether answers are shown at once, for a trainer.

    Args:
        answers: "after" a guess, or "shown"; "" takes KITLIB_ANSWERS, else "after".

    Raises:
        KitError: another value.
    """
    wish = answers or os.environ.get("KITLIB_ANSWERS") or ANSWERS[0]
    if wish not in ANSWERS:
        raise KitError(f"answers {wish!r}: valid values: {', '.join(ANSWERS)}")
    return wish == "shown"


def is_held(kind: type) -> bool:
    """Return whether objects of a type are held back: the kit's plain views and objects, and data frames.

    Widgets, and objects that a lesson makes (questions, reveals, exercises), are not held back.
    """
    module = kind.__module__
    if module.startswith(("kitlib.lab.", "kitlib.widgets.")):
        return module == Text.__module__
    return module.partition(".")[0] in ("kitlib", "pandas")


class GatedOutput:
    """Objects that are displayed once every question has a guess.

    Args:
        predictions: the questions.
        parts: returns the objects; called when they are shown.
        buttons: whether the placeholder offers an "I don't know" for each question.
    """

    def __init__(
        self, predictions: Sequence[Prediction], parts: Callable[[], Sequence[Any]], *, buttons: bool = True
    ) -> None:
        self._predictions, self._parts, self._buttons = list(predictions), parts, buttons
        self._box: Any = None
        for prediction in self._predictions:
            prediction.when_answered(self._fill)

    @property
    def waiting(self) -> bool:
        """Whether a question has neither a guess nor an "I don't know"."""
        return not all(prediction.answered for prediction in self._predictions)

    def _fill(self) -> None:
        if self._box is not None and not self.waiting:
            self._box.remove_class("kitlib-ask")
            self._box.children = tuple(map(as_widget, self._parts()))

    def __str__(self) -> str:
        return WAITING if self.waiting else "\n".join(map(str, self._parts()))

    __repr__ = __str__

    def show(self) -> None:
        """Display the objects, or a placeholder until the last guess."""
        from IPython.display import display

        if not self.waiting:
            for part in self._parts():
                display(_bundle(part), raw=True)  # raw bypasses the gate, which other open questions may keep closed
            return
        import ipywidgets as ipw

        waiting = [prediction for prediction in self._predictions if not prediction.answered]
        buttons = [unknown_button(prediction) for prediction in waiting] if self._buttons else []
        said = WAITING if self._buttons else _sentence(len(waiting))
        self._box = ipw.VBox([line(text_widget(f"<p>{said}</p>"), *buttons)])
        self._box.add_class("kitlib-widget")
        self._box.add_class("kitlib-ask")
        display(dict(self._box._repr_mimebundle_() or {}) | {"text/plain": said}, raw=True)


def _sentence(count: int) -> str:
    return f"This is shown when you have answered the question{'s' if count > 1 else ''} above."


class OutputGate:
    """Holds back the output of cells while questions are open.

    Args:
        predictions: the questions of the lesson by key, as they are asked.
        open_for_all: whether answers are shown at once, for a trainer; exercises show their solutions as well.
    """

    def __init__(self, predictions: dict[str, Prediction], open_for_all: bool = False) -> None:
        self._predictions, self.open_for_all = predictions, open_for_all

    @property
    def waiting(self) -> list[Prediction]:
        """The questions without a guess."""
        return [prediction for prediction in self._predictions.values() if not prediction.answered]

    def close(self, prediction: Prediction) -> None:
        """Hold back output from now on, until no question is open; for a trainer, do nothing."""
        if self.open_for_all:
            prediction.give_up()
        elif (formatter := _display_formatter()) is not None:
            _hold(formatter, self)

    def holds(self, part: Any) -> bool:
        """Return whether an object, or a list with such an object, is held back."""
        kinds = set(map(type, part)) if isinstance(part, list) else {type(part)}
        return any(map(is_held, kinds)) and bool(self.waiting)

    def show(self, part: Any) -> None:
        """Display an object once the questions that are open now have their guesses."""
        GatedOutput(self.waiting, lambda: [part], buttons=False).show()

    def print(self, *values: object, sep: str = " ") -> None:
        """Print like the built-in function, once the questions that are open now have their guesses."""
        if self.waiting and _display_formatter() is not None:
            self.show(Text(sep.join(map(str, values))))
        else:
            print(*values, sep=sep)


def _display_formatter() -> Any:
    """Return IPython's formatter of cell output; None outside of IPython."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return None
    shell: Any = get_ipython()
    return None if shell is None else shell.display_formatter


def _hold(formatter: Any, gate: OutputGate) -> None:
    """Ask this gate about each displayed object; the gate of the notebook's newest lesson applies."""
    from IPython.core.formatters import IPythonDisplayFormatter

    # IPython asks this formatter first and, if it returns True, computes no other representation; so nothing of the
    # object reaches the notebook's file.
    class Gated(IPythonDisplayFormatter):
        """Displays a placeholder for a held-back object, before IPython computes any other representation."""

        kitlib_gate = gate

        def __call__(self, part: Any) -> Any:
            if not self.kitlib_gate.holds(part):
                return super().__call__(part)
            self.kitlib_gate.show(part)
            return True

    before = formatter.ipython_display_formatter
    if hasattr(before, "kitlib_gate"):
        before.kitlib_gate = gate
        return
    made = Gated(parent=formatter)
    # Printers that other packages registered would be lost with the replaced formatter.
    made.type_printers.update(before.type_printers)
    made.deferred_printers.update(before.deferred_printers)
    formatter.ipython_display_formatter = made


def as_widget(part: Any) -> Any:
    """Return an object as a child of a box: a widget unchanged, other objects as HTML, else as text."""
    import ipywidgets as ipw

    if isinstance(part, ipw.Widget):
        return part
    forms = _bundle(part)
    return text_widget(forms.get("text/html") or Text(forms["text/plain"])._repr_html_())


def _bundle(part: Any) -> dict[str, Any]:
    """Return an object's representations by MIME type: text always, HTML if the object has it."""
    forms = {"text/plain": short(str(part))}
    if hasattr(part, "_repr_mimebundle_"):
        made = part._repr_mimebundle_() or {}
        return forms | dict(made[0] if isinstance(made, tuple) else made)
    formatter = _display_formatter()  # has the views of the kit's plain values, see kitlib.views.notebook
    html = formatter.formatters["text/html"](part) if formatter is not None else None
    if html is None and hasattr(part, "_repr_html_"):
        html = part._repr_html_()
    return forms | ({"text/html": html} if html is not None else {})
