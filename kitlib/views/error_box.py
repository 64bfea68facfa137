"""An error of the kit in a notebook: a box with the message, the excerpt and the next step; the traceback is folded.

Only errors that say what to change are shown in this way; others keep Python's traceback.

Source: IPython InteractiveShell.set_custom_exc.
"""

from __future__ import annotations

import html
import re
import sys
import traceback
from types import TracebackType
from typing import Any

from kitlib.api.errors import KitError, ManifestError
from kitlib.api.resource import FORMAT_WRONG
from kitlib.views.suggest import FORM
from kitlib.views.tokens import paint

_BOX = (
    f"border-left:4px solid {paint('red')};background:color-mix(in srgb,{paint('red')} 9%,transparent);"
    "padding:8px 12px;"
    "border-radius:0 6px 6px 0;color:inherit;font:14px/1.45 var(--jp-ui-font-family,system-ui,sans-serif)"
)
_MEND = (
    (r"not YAML", "Look at the line above the caret too: a missing colon, quote or space is often there."),
    (r"unknown field", "A field has another name or stands at another depth. Compare with kubectl explain."),
    (re.escape(FORMAT_WRONG), FORM),
    (r"already exists", "Delete the object first, or give the new one another name."),
    (r"not found", "Look at what there is: cluster.pods(), cluster.nodes."),
    (r"timed out", "Look at the events: cluster.events()."),
    (r"closed|not connected", "The cluster has ended. Make a new one and run the cells from there."),
)


def mending(error: KitError) -> str:
    """Return the next step, one sentence; "" if the message contains it."""
    return next((words for pattern, words in _MEND if re.search(pattern, str(error), re.IGNORECASE)), "")


def error_html(error: KitError, trace: str = "") -> str:
    """Return the box as HTML.

    Args:
        error: the error that was raised.
        trace: the whole traceback, which opens on demand; "" = none.
    """
    parts = [f"<p style='margin:0'><b>{type(error).__name__}</b>: {html.escape(str(error))}</p>"]
    if isinstance(error, ManifestError) and error.excerpt:
        parts.append(f"<pre style='margin:6px 0;color:inherit'>{html.escape(error.excerpt)}</pre>")
    mend = mending(error)
    if mend:
        parts.append(f"<p style='margin:4px 0 0'>{html.escape(mend)}</p>")
    if trace:
        shown = f"<pre style='color:inherit;overflow:auto;max-height:24em' tabindex='0'>{html.escape(trace)}</pre>"
        parts.append(f"<details><summary>Traceback</summary>{shown}</details>")
    return f"<div class='kitlib-error' role='alert' style='{_BOX}'>{''.join(parts)}</div>"


def error_text(error: KitError) -> str:
    """Return the content of the box as text for a terminal."""
    excerpt = error.excerpt if isinstance(error, ManifestError) else ""
    return "\n".join(part for part in (f"{type(error).__name__}: {error}", excerpt, mending(error)) if part)


def install(shell: Any) -> None:
    """Show the kit's errors as boxes in this shell from now on; the cell still counts as failed."""

    def show(here: Any, kind: type[KitError], error: KitError, trace: TracebackType | None, **_more: Any) -> list[str]:
        from IPython.display import display

        whole = "".join(traceback.format_exception(kind, error, trace))
        display({"text/html": error_html(error, whole), "text/plain": error_text(error)}, raw=True)
        lines = [error_text(error)]
        answer: Any = lines
        if sys.platform == "emscripten":  # Pyodide reads fields here; a list would end its kernel
            answer = {"ename": kind.__name__, "evalue": str(error), "traceback": lines}
        setattr(here, "_last_traceback", answer)  # noqa: B010 - what the kernel answers to a runner
        return lines

    shell.set_custom_exc((KitError,), show)
