"""The console of the commands: as wide as the terminal; in a pipe or a file, wide enough for whole lines."""

from __future__ import annotations

from typing import Any

from rich.console import Console

PIPE_WIDTH = 200


def console(**settings: Any) -> Console:
    """Return a console that does not highlight numbers in text."""
    made = Console(highlight=False, **settings)
    if not made.is_terminal and "width" not in settings:
        made.width = PIPE_WIDTH
    return made
