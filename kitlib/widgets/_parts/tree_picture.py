"""The cgroup tree in the page: branches that open and close by keyboard, values that flash when they have changed.

The page keeps what is open and where the keyboard is; only values are exchanged. Colours come from the notebook's
theme; what differs carries a sign and a word as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.views.cgroup_html import STYLE
from kitlib.views.cgroup_row import Row, short_id
from kitlib.widgets._parts.page import script


class TreePicture(anywidget.AnyWidget):
    """A cgroup tree in the page; set `compared` before `rows`."""

    _esm = script("tree.js", STYLE=STYLE)
    compared = traitlets.Bool(False).tag(sync=True)
    rows: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)

    def bring(self, rows: Sequence[Row], compared: bool) -> None:
        """Show these lines."""
        with self.hold_sync():
            self.compared = compared
            self.rows = [_plain(row) for row in rows]


def _plain(row: Row) -> dict[str, Any]:
    return {
        "depth": row.depth,
        "path": row.path,
        "name": short_id(row.name),
        "file": row.file,
        "desired": row.desired,
        "observed": row.observed,
        "comment": row.comment,
        "qos": row.qos,
        "written": row.written,
        "differs": row.differs,
    }
