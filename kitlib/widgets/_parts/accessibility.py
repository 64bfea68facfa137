"""Accessibility features that ipywidgets and plotly lack, added in the page itself.

This part belongs to every widget of the kit; only its panel "Share or export" is visible. It names the handles of
sliders after their labels, gives pictures their sentence as a description, and connects the message beside a field
with the field (aria-describedby, aria-invalid). It also contains the style sheet of all widgets, which respects the
reader's wish for reduced motion.

Source: WAI-ARIA 1.2 (slider, img, aria-errormessage); CSS prefers-reduced-motion.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from kitlib.api.errors import KitError
from kitlib.cluster.shared import MARK, line_of
from kitlib.widgets._parts.page import script, style, text


class Access(anywidget.AnyWidget):
    """The accessibility part of a widget.

    Args:
        state_of: returns the widget's state as the text of a link.

    Attributes:
        title: name of the widget for screen readers.
        sentence: description of its picture for screen readers.
        shares: whether the widget has the panel "Share or export".
        stale: whether the picture shows the values before a rejected one, and is therefore dimmed.
    """

    _esm = script("access.js", STYLE=style())
    title = traitlets.Unicode().tag(sync=True)
    sentence = traitlets.Unicode().tag(sync=True)
    stale = traitlets.Bool().tag(sync=True)
    shares = traitlets.Bool().tag(sync=True)

    def __init__(self, state_of: Callable[[], str] | None = None, **settings: Any) -> None:
        super().__init__(shares=state_of is not None, **settings)
        self._state_of = state_of
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "tools":
            names = ("picture_svg.js", "gif.js", "share.js")
            self.send({"kind": "tools", "script": "\n".join(text(name) for name in names)})
        elif content.get("kind") == "share":
            self.send({"kind": "shared", **self.shared()})

    def shared(self) -> dict[str, str]:
        """Return the panel's content: `fragment` of a link, `code`, `site`, and a `problem` if there is no link."""
        try:
            state = self._state_of() if self._state_of is not None else ""
        except KitError as error:
            return {"fragment": "", "code": "", "site": "", "problem": str(error)}
        site = os.environ.get("KITLIB_SITE", "").partition("#")[0]
        return {"fragment": MARK + state, "code": line_of(state, "shown"), "site": site, "problem": ""}
