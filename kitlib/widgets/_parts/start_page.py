"""The start page in a notebook: its content is plain values, a learner's input is returned as actions.

It does not depend on lessons or clusters: `kitlib.lab.start` sets its content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from kitlib.api.errors import KitError
from kitlib.views.tokens import css
from kitlib.widgets._parts.page import script, text

Action = Callable[..., None]


class StartPage(anywidget.AnyWidget):
    """The page; it calls `actions` by name when the learner acts.

    Attributes:
        progress: {"text", "part"} while the reader waits, `part` from 0 to 1 or None if unknown; {} = no wait.
    """

    _esm = script("start.js", STYLE=css() + text("start.css"))  # nothing else on a first visit brings the tokens
    kernel = traitlets.Dict().tag(sync=True)
    scene = traitlets.Dict().tag(sync=True)
    outcome = traitlets.Dict().tag(sync=True)
    reading = traitlets.Dict().tag(sync=True)
    course = traitlets.Dict().tag(sync=True)
    progress = traitlets.Dict().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    def __init__(self, actions: dict[str, Action], **values: Any) -> None:
        super().__init__(**values)
        self._actions = actions
        self.on_msg(self._heard)

    def _heard(self, _widget: Any, message: Any, _buffers: Any) -> None:
        kind = message.get("kind") if isinstance(message, dict) else None
        action = self._actions.get(str(kind))
        if action is None:
            return
        self.problem = ""
        try:
            action(**{key: value for key, value in message.items() if key == "value"})
        except (KitError, ValueError) as error:
            self.problem = str(error)
        finally:
            self.progress = {}
