"""Widgets are answered while a cell computes.

JupyterLab sends the messages of widgets to a subshell of the kernel, a thread of its own. ipykernel sends a message on
to the thread that last wrote to its widget instead, so that one who waits for an answer gets it; for what a cell has
made that is the main thread. Once the cell has ended nobody waits, and the page's choice holds.

Source: JupyterLab commsOverSubshells; ipykernel BaseComm._reply_subshell_for (7.4).
"""

from __future__ import annotations

from typing import Any

_ROUTE = "_reply_subshell_id"


def answer_beside_cells() -> None:
    """From the end of the running cell on; without Jupyter, or with an older kernel, nothing changes."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None:
        shell.events.register("post_run_cell", forget_writers)  # which keeps it once


def forget_writers(*_: Any) -> None:
    """No comm remembers the thread that wrote to it last."""
    from comm import get_comm_manager

    for one in list(getattr(get_comm_manager(), "comms", {}).values()):
        vars(one).pop(_ROUTE, None)
