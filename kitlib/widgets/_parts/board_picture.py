"""Boxes with tokens, drawn and moved in the page: nodes with their pods, queues, zones, processors.

A scene is plain data (`kitlib.charts.scene`); the player below the board plays a sequence of scenes. The page animates
every token from its old to its new position, unless the reader asked for reduced motion.

Source: WAI-ARIA authoring practices, toolbar pattern (one tab stop, arrow keys).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.charts.scene import Mark, Scene
from kitlib.widgets._parts.page import script, text


class BoardPicture(anywidget.AnyWidget):
    """The board.

    Args:
        label: its name for screen readers.
        on_act: called with the learner's action: {"act": "pick", "press", "more", "less", "move", "key" or "step",
            ...}.
        help: a line of help below the board.
        pick: whether tokens can be selected.
        movable: whether tokens can be moved between boxes.
        letters: further keys that the widget handles.

    Attributes:
        frames: the scenes in order.
        position: index of the visible scene; the page changes it too.
        more: whether a step after the last scene can be requested.
    """

    _esm = text("player.js") + script("board.js")
    _css = text("board.css")
    label = traitlets.Unicode().tag(sync=True)
    help = traitlets.Unicode().tag(sync=True)
    letters = traitlets.Unicode().tag(sync=True)
    pick = traitlets.Bool(False).tag(sync=True)
    movable = traitlets.Bool(False).tag(sync=True)
    more = traitlets.Bool(False).tag(sync=True)
    frames: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    legend: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)

    def __init__(self, label: str, on_act: Callable[[dict[str, Any]], None] | None = None, **settings: Any) -> None:
        super().__init__(label=label, **settings)
        self._on_act = on_act
        self.on_msg(self._on_message)

    def bring(self, scenes: Sequence[Scene], legend: Sequence[Mark] = (), *, position: int | None = None) -> None:
        """Show these scenes, at one of them (None = the last)."""
        with self.hold_sync():
            self.position = len(scenes) - 1 if position is None else position
            self.frames = [scene.plain() for scene in scenes]
            self.legend = [mark.plain() for mark in legend]

    @property
    def scene(self) -> dict[str, Any]:
        """The visible scene."""
        return dict(self.frames[self.position]) if self.frames else {"areas": []}

    def token(self, name: str) -> dict[str, Any]:
        """Return a token of the visible scene, with the ID of its `box`.

        Raises:
            KeyError: the scene has no such token.
        """
        for area in self.scene["areas"]:
            for box in area["boxes"]:
                for one in box["tokens"]:
                    if one["id"] == name:
                        return {**one, "box": box["id"]}
        raise KeyError(name)

    def box(self, name: str) -> dict[str, Any]:
        """Return a box of the visible scene."""
        return next(box for area in self.scene["areas"] for box in area["boxes"] if box["id"] == name)

    def act(self, what: str, **more: Any) -> None:
        """Simulate a learner's action in the page."""
        if self._on_act is not None:
            self._on_act({"act": what, **more})

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        message = dict(content)
        self.act(str(message.pop("act", "")), **message)
