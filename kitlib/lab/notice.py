"""A line beside a cell's own output: a measurement was disturbed, or something in a real lesson is simulated."""

from __future__ import annotations

import html


class Notice:
    """One sentence, as a quiet line of a notebook or of a terminal."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<p role="status" class="kitlib-notice" style="opacity:.8"><i>{html.escape(self.text)}</i></p>'


def notice(text: str) -> None:
    """Show a sentence at once: in the running cell, else on standard output."""
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        print(text)
        return
    if get_ipython() is None:
        print(text)
    else:
        display(Notice(text))
