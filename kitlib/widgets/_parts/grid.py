"""A table of cells for arrow keys and the mouse: every cell has a mark and a text.

Enter or a click presses a cell, + and - request one more or one less, m (or dragging) moves from one cell to another;
further letters belong to the widget. A status line reads out the text of the current cell.

Source: WAI-ARIA authoring practices, grid pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anywidget
import traitlets

from kitlib.views.board import Board

_HERE = Path(__file__).parent / "page"


class Act(NamedTuple):
    """A learner's action.

    Attributes:
        what: kind of action: `press`, `more`, `less`, `move` or `key`.
        row: index of the row.
        column: index of the column.
        to: row and column where a move ends.
        key: the letter of a `key` action.
    """

    what: str
    row: int
    column: int
    to: tuple[int, int] | None = None
    key: str = ""


class Grid(anywidget.AnyWidget):
    """The table.

    Args:
        label: its name for screen readers.
        help: a line of help below the table.
        on_act: called with the learner's action.
        movable: whether cells can be dragged.
        letters: further keys that the widget handles.
    """

    _esm = (_HERE / "grid.js").read_text(encoding="utf-8")
    _css = (_HERE / "grid.css").read_text(encoding="utf-8")
    label = traitlets.Unicode().tag(sync=True)
    help = traitlets.Unicode().tag(sync=True)
    letters = traitlets.Unicode().tag(sync=True)
    rows = traitlets.List(traitlets.Unicode()).tag(sync=True)
    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    cells: traitlets.List[list[list[str]]] = traitlets.List().tag(sync=True)
    selected = traitlets.List(traitlets.Int(), default_value=[0, 0]).tag(sync=True)
    movable = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        label: str,
        *,
        help: str = "",
        on_act: Callable[[Act], None] | None = None,
        movable: bool = False,
        letters: str = "",
    ) -> None:
        super().__init__(label=label, help=help, movable=movable, letters=letters)
        self._on_act = on_act
        self.on_msg(self._on_message)

    def fill(self, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Sequence[str]]]) -> None:
        """Show other cells: (mark, text, kind) each; the current one stays, or is the last one where fewer are left."""
        row, column = self.selected
        with self.hold_sync():
            self.selected = [min(row, max(len(rows) - 1, 0)), min(column, max(len(columns) - 1, 0))]
            self.rows, self.columns = list(rows), list(columns)
            self.cells = [[list(cell) for cell in row] for row in cells]

    def show(self, board: Board) -> None:
        self.fill(board.rows, board.columns, board.cells)

    def hint(self, row: int, column: int) -> str:
        """Return the text of a cell."""
        return str(self.cells[row][column][1])

    def act(self, what: str, row: int, column: int, to: tuple[int, int] | None = None, key: str = "") -> None:
        """Simulate a learner's action in the page."""
        self.selected = list(to) if to is not None else [row, column]  # the page's focus is there already
        if self._on_act is not None and row < len(self.rows) and column < len(self.columns):
            self._on_act(Act(what, row, column, to, key))

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        to = content.get("to")
        self.act(
            str(content.get("act", "")),
            int(content.get("row", 0)),
            int(content.get("column", 0)),
            (int(to[0]), int(to[1])) if to else None,
            str(content.get("key") or ""),
        )
