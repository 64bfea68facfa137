"""What has happened on a board, moment by moment, so that the player below it can go back and play it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kitlib.charts.scene import Mark, Scene
from kitlib.widgets._parts.board_picture import BoardPicture

KEPT = 60
"""Moments that are kept; the oldest go first."""


class Story:
    """The moments of one board.

    Args:
        board: where they are shown.
    """

    def __init__(self, board: BoardPicture) -> None:
        self._board = board
        self.moments: list[Scene] = []

    def tell(self, scene: Scene, caption: str, seconds: float) -> None:
        """One more moment; where it looks like the last, that one gets its words as well."""
        last = self.moments[-1] if self.moments else None
        if last is not None and last.areas == scene.areas:
            if caption and caption not in last.caption:
                self.moments[-1] = replace(last, caption=f"{last.caption} {caption}".strip())
            return
        self.moments = [*self.moments, replace(scene, caption=caption, seconds=seconds)][-KEPT:]

    def forget(self) -> None:
        """Begin anew."""
        self.moments = []

    def show(self, now: Scene | None, legend: Sequence[Mark] = ()) -> None:
        """Show the moments, and behind them what is there now, unless the last moment shows it already."""
        scenes = list(self.moments)
        if now is not None and (not scenes or scenes[-1].areas != now.areas):
            scenes.append(now)
        self._board.bring(scenes, legend)
