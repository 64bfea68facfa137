"""The console that commands print on: as wide as the terminal, and wide enough for whole lines in a pipe or a file."""

from __future__ import annotations

from typing import Any

from rich.console import Console

PIPE_WIDTH = 200


def console(**settings: Any) -> Console:
    """A console without guesses about what a number in a text is."""
    made = Console(highlight=False, **settings)
    if not made.is_terminal and "width" not in settings:
        made.width = PIPE_WIDTH
    return made
