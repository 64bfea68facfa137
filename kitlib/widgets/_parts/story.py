"""The history of a board, moment by moment, for the player below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kitlib.charts.scene import Mark, Scene
from kitlib.widgets._parts.board_picture import BoardPicture

KEPT = 60
"""Maximum number of moments; the oldest are dropped first."""


class Story:
    """The moments of one board.

    Args:
        board: the board that shows them.
    """

    def __init__(self, board: BoardPicture) -> None:
        self._board = board
        self.moments: list[Scene] = []

    def tell(self, scene: Scene, caption: str, seconds: float) -> None:
        """Add a moment; if it looks like the last one, add the caption to that."""
        last = self.moments[-1] if self.moments else None
        if last is not None and last.areas == scene.areas:
            if caption and caption not in last.caption:
                self.moments[-1] = replace(last, caption=f"{last.caption} {caption}".strip())
            return
        self.moments = [*self.moments, replace(scene, caption=caption, seconds=seconds)][-KEPT:]

    def forget(self) -> None:
        """Delete all moments."""
        self.moments = []

    def show(self, now: Scene | None, legend: Sequence[Mark] = ()) -> None:
        """Show the moments and then the current state, unless the last moment shows it already."""
        scenes = list(self.moments)
        if now is not None and (not scenes or scenes[-1].areas != now.areas):
            scenes.append(now)
        self._board.bring(scenes, legend)
