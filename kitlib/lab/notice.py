"""A line beside a cell's output: a measurement was disturbed, or a part of a real lesson is simulated."""

from __future__ import annotations

import html


class Notice:
    """A sentence, as an unobtrusive line of a notebook or a terminal."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<p role="status" class="kitlib-notice" style="opacity:.8"><i>{html.escape(self.text)}</i></p>'


_shown: tuple[int, str] | None = None
"""The last run of a cell that showed a notice, and the kind of the notice."""


def notice(text: str, kind: str = "") -> None:
    """Show a sentence at once, in the running cell or on standard output.

    Args:
        text: the sentence.
        kind: a cell shows one notice of each kind, however often it measures; "" = no limit.
    """
    global _shown
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        print(text)
        return
    shell = get_ipython()
    if shell is None:
        print(text)
        return
    now = (int(shell.execution_count), kind)
    if not kind or now != _shown:
        _shown = now
        display(Notice(text))
