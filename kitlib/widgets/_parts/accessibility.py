"""What ipywidgets and plotly leave out for keyboards and screen readers, added in the page itself.

A part of every widget of the kit, of which only the panel "Share or export" is seen. It names the handles of sliders
after their labels, gives pictures their sentence as a description, and ties the message beside a field to the field
(aria-describedby, aria-invalid). It also brings the style sheet of all widgets; whatever moves in it stands still where
the reader asked for reduced motion.

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
    """The part.

    Args:
        state_of: gives the widget as the text of a link.

    Attributes:
        title, sentence: what a screen reader says of the widget and of its picture.
        shares: whether the widget has the panel "Share or export".
        stale: whether the picture shows the values before a rejected one, and is dimmed.
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
        """What the panel shows: `fragment` of a link, `code`, `site`, and the `problem` where there is no link."""
        try:
            state = self._state_of() if self._state_of is not None else ""
        except KitError as error:
            return {"fragment": "", "code": "", "site": "", "problem": str(error)}
        site = os.environ.get("KITLIB_SITE", "").partition("#")[0]
        return {"fragment": MARK + state, "code": line_of(state, "shown"), "site": site, "problem": ""}
