"""Notebooks: teach IPython how the kit's plain values look, since the rooms that make them know nothing of views."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.cgroup_tree import CgroupTree
from kitlib.views.cgroup_tree import TreeView


def register(shell: Any = None) -> bool:
    """Show cgroup trees as trees in this notebook from now on.

    Args:
        shell: an IPython shell; None = the one that runs.

    Returns:
        Whether there is a notebook to teach.
    """
    if shell is None:
        try:
            from IPython.core.getipython import get_ipython
        except ImportError:
            return False
        shell = get_ipython()
    if shell is None:
        return False
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(CgroupTree, lambda tree: TreeView(tree)._repr_html_())
    text = shell.display_formatter.formatters["text/plain"]
    text.for_type(CgroupTree, lambda tree, printer, cycle: printer.text(str(TreeView(tree))))
    return True
