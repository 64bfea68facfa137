"""The cgroup tree in the page: rows that open by keyboard to their reasons, values that flash after a change.

The rows are those of the static view (kitlib.views.cgroup_html); the page keeps open rows and the focus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets

from kitlib.views.cgroup_html import STYLE, tree_body
from kitlib.views.cgroup_row import CgroupRow, short_id
from kitlib.widgets._parts.page import script


class TreePicture(anywidget.AnyWidget):
    """A cgroup tree in the page.

    Attributes:
        body: the rows as HTML.
        rows: the rows as plain data.
    """

    _esm = script("tree.js", STYLE=STYLE)
    body = traitlets.Unicode().tag(sync=True)
    rows: traitlets.List[dict[str, Any]] = traitlets.List()

    def bring(self, rows: Sequence[CgroupRow], compared: bool) -> None:
        """Show these rows."""
        self.rows = [_plain(row) for row in rows]
        self.body = tree_body(rows, compared=compared, whole=True)


def _plain(row: CgroupRow) -> dict[str, Any]:
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
