"""Processes messages of widgets while a cell computes.

JupyterLab sends the messages of widgets to a subshell of the kernel, a separate thread. ipykernel forwards a message
to the thread that last wrote to its widget instead, so that a thread that waits for a response gets it; for a widget
made by a cell this is the main thread. After the cell has ended no thread waits, so the subshell can process the
messages.

Source: JupyterLab commsOverSubshells; ipykernel BaseComm._reply_subshell_for (7.4).
"""

from __future__ import annotations

from typing import Any

_ROUTE = "_reply_subshell_id"


def answer_beside_cells() -> None:
    """Process messages in the subshell once the running cell ends; no effect without Jupyter or in older kernels."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None:
        shell.events.register("post_run_cell", forget_writers)  # registering it again has no effect


def forget_writers(*_: Any) -> None:
    """Delete from all comms the thread that wrote to them last."""
    from comm import get_comm_manager

    for one in list(getattr(get_comm_manager(), "comms", {}).values()):
        # publish_msg stores the sending thread in this attribute; without it _reply_subshell_for uses the page's
        # subshell. Requests with an ID have an entry of their own and are not affected.
        vars(one).pop(_ROUTE, None)
