"""Columns as kubectl aligns them: a tab ends a cell, and the cells of a column are as wide as the widest one.

Only consecutive lines that have a cell in a column share its width; a line without tabs ends the columns.

Source: Go's text/tabwriter as kubectl sets it up (padding 2, spaces).
"""

from __future__ import annotations

PADDING = 2


def align(text: str, padding: int = PADDING) -> str:
    """Replace the tabs of `text` by spaces so that cells are aligned; the last cell of a line is not padded."""
    lines = [line.split("\t") for line in text.split("\n")]
    widths = [[0] * (len(cells) - 1) for cells in lines]
    _widths(lines, widths, 0, len(lines), 0, padding)
    return "\n".join(
        "".join(cell.ljust(width) for cell, width in zip(cells, row, strict=False)) + cells[-1]
        for cells, row in zip(lines, widths, strict=True)
    )


def _widths(lines: list[list[str]], widths: list[list[int]], first: int, end: int, column: int, padding: int) -> None:
    row = first
    while row < end:
        if len(lines[row]) <= column + 1:
            row += 1
            continue
        stop = row
        while stop < end and len(lines[stop]) > column + 1:
            stop += 1
        widest = max(len(lines[r][column]) for r in range(row, stop))
        width = widest + padding if widest or column else 0
        for r in range(row, stop):
            widths[r][column] = width
        _widths(lines, widths, row, stop, column + 1, padding)
        row = stop
