"""Registers the views of the kit's values in IPython: the modules that make the values do not import views."""

from __future__ import annotations

from typing import Any

from kitlib.api.meta import KubeObject
from kitlib.cluster.base import BaseCluster
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.views import error_box, objects
from kitlib.views.cgroup_tree import TreeView

WIDEST = 160
"""Maximum number of characters in a frame's cell."""
_LOOKS: tuple[tuple[type, Any, Any], ...] = (
    (CgroupTree, lambda tree: TreeView(tree)._repr_html_(), lambda tree: str(TreeView(tree))),
    (KubeObject, objects.object_html, objects.object_text),
    (BaseCluster, objects.cluster_html, objects.cluster_text),
)


def register(shell: Any = None) -> bool:
    """Register the views: cgroup trees as trees, objects as manifests, lists of objects and clusters as tables.

    Args:
        shell: an IPython shell; None = the running one.

    Returns:
        Whether there is a notebook.
    """
    if shell is None:
        try:
            from IPython.core.getipython import get_ipython
        except ImportError:
            return False
        shell = get_ipython()
    if shell is None:
        return False
    html, text = (shell.display_formatter.formatters[kind] for kind in ("text/html", "text/plain"))
    for kind, as_html, as_text in _LOOKS:
        html.for_type(kind, as_html)
        text.for_type(kind, lambda value, printer, cycle, show=as_text: printer.text(show(value)))
    html.for_type(list, lambda value: objects.list_html(value) if objects.is_list_of_objects(value) else None)
    plain = text.for_type(list)
    text.for_type(list, lambda value, printer, cycle: _print_list(value, printer, cycle, plain))
    decision = ("kitlib.scheduler.decision", "Decision")  # by name: the scheduler is loaded when there is one
    html.for_type_by_name(*decision, _decision_html)
    text.for_type_by_name(*decision, lambda value, printer, cycle: printer.text(value.explain()))
    error_box.install(shell)
    for module in ("pandas", "pandas.core.frame"):  # by name: pandas is loaded when the first frame is made
        html.for_type_by_name(module, "DataFrame", _frame_html)
    return True


def _print_list(value: list[Any], printer: Any, cycle: bool, plain: Any) -> None:
    """Print a list of objects as a table, and any other list as IPython does."""
    if objects.is_list_of_objects(value):
        printer.text(objects.list_text(value))
    else:
        plain(value, printer, cycle)


def _decision_html(decision: Any) -> str:
    from kitlib.views.decision import decision_html

    return decision_html(decision)


def _frame_html(frame: Any) -> Any:
    """Return a frame as HTML with full texts (pandas truncates at 50 characters), aligned left."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", WIDEST):
        made = frame._repr_html_()
    if not isinstance(made, str):
        return made
    texts = [i for i, kind in enumerate(frame.dtypes, start=1) if not pd.api.types.is_numeric_dtype(kind)]
    return _to_the_left(made, texts)


def _to_the_left(table: str, columns: list[int]) -> str:
    """Align columns of text and their headers left; numbers stay right."""
    name = f"kitlib-{abs(hash(tuple(columns))) % 10**8}"
    rules = "".join(
        f".{name} tbody td:nth-of-type({i}),.{name} thead th:nth-of-type({i + 1}){{text-align:left!important}}"
        for i in columns
    )
    return f"<div class='{name}'><style>{rules}</style>{table}</div>" if columns else table
