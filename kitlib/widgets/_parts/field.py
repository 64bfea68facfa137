"""A control with its visible name and a message about its value."""

from __future__ import annotations

import html
import re
from typing import Any

import ipywidgets as ipw

from kitlib.api.resource import FORMAT_WRONG
from kitlib.views.suggest import quantity_suggestion

_ABOVE_LIMIT = re.compile(r"must be less than or equal to (?:\w+) limit of (\S+)$")
"""A request above its limit. Source: k8s.io/kubernetes validateContainerResourceRequirements."""


def labelled(widget: ipw.Widget, name: str, help_text: str = "") -> ipw.Widget:
    """Give a control its visible name, and a tooltip for readers who hover or use a screen reader."""
    widget.description = name
    if hasattr(widget, "tooltip"):
        widget.tooltip = help_text or name
    if hasattr(widget, "style") and hasattr(widget.style, "description_width"):
        widget.style.description_width = "initial"
    return widget


class Field(ipw.HBox):
    """A control and its message.

    Args:
        control: the input, whose behaviour does not change.
        name: label before the input.
        help_text: text shown on hovering.
        more: further controls of the same value, such as a slider.
    """

    def __init__(self, control: ipw.Widget, name: str, help_text: str = "", more: tuple[ipw.Widget, ...] = ()) -> None:
        self.control = labelled(control, name, help_text)
        self._note = ipw.HTML()
        self._note.add_class("kitlib-note")
        super().__init__([self.control, *more, self._note])
        self.add_class("kitlib-field")
        self.add_class("kitlib-row")

    @property
    def problem(self) -> str:
        """The problem with the value; "" = none."""
        return self._problem

    _problem = ""

    def say(self, problem: str) -> None:
        """Show a problem beside the control; an empty text clears it."""
        self._problem = problem
        self._note.value = f'<p role="alert">{self._help(problem)}</p>' if problem else ""

    def _help(self, problem: str) -> str:
        """Return the problem as HTML, with the correction first, if there is one."""
        said = html.escape(problem)
        limit = _ABOVE_LIMIT.search(problem)
        if limit and isinstance(self.control.value, str):
            mend = f"Raise the limit to {self.control.value.strip()}, or lower the request to {limit[1]}."
            return f'<b>{html.escape(mend)}</b><br><span class="kitlib-muted">{said}</span>'
        if FORMAT_WRONG not in problem or not isinstance(self.control.value, str):
            return said
        meant = html.escape(quantity_suggestion(self.control.value))
        return f'<b>{meant}</b><br><span class="kitlib-muted">{said}</span>'

    @property
    def value(self) -> Any:
        return self.control.value

    def hint(self, text: str) -> None:
        """Show the meaning of a value that is allowed but surprising."""
        self._note.value = f'<p class="kitlib-hint" role="status">{html.escape(text)}</p>' if text else ""
