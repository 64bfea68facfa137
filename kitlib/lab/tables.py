"""Tables for notebooks: text stands left, container ids have twelve digits."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_ID = re.compile(r"([0-9a-f]{12})[0-9a-f]{20,52}")


def short(text: object) -> str:
    """The text with container ids as engines abbreviate them, to twelve digits."""
    return _ID.sub(r"\1…", str(text))


REFUSED = "refused"


class Table:
    """Rows under a header, shown as an HTML table or as aligned text.

    Args:
        rows: mappings (their keys are the header), a mapping of two columns, or a data frame.
        columns: the header, in this order; empty = as the rows have it. A column `refused` (what the host of a real
            node did not grant, and why) is always shown where it is not empty.
    """

    def __init__(self, rows: Any, columns: Sequence[str] = ()) -> None:
        chosen = list(columns)
        if hasattr(rows, "to_dict"):
            rows = rows.to_dict("records")
        elif isinstance(rows, Mapping):
            names, chosen = chosen or ["what", "value"], []
            rows = [
                {names[0]: key, **value} if isinstance(value, Mapping) else _named(names, key, value)
                for key, value in rows.items()
            ]
        self.rows: list[dict[str, Any]] = [dict(row) for row in rows]
        self.columns = chosen or list(dict.fromkeys(name for row in self.rows for name in row))
        if REFUSED not in self.columns and any(row.get(REFUSED) for row in self.rows):
            self.columns.append(REFUSED)

    def _texts(self) -> Iterable[list[str]]:
        for row in self.rows:
            yield [_text(row.get(name)) for name in self.columns]

    def __str__(self) -> str:
        lines = [list(map(str, self.columns)), *self._texts()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = ' style="text-align:left;vertical-align:top"'
        head = "".join(f'<th scope="col"{left}>{html.escape(str(name))}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td{left}>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._texts()
        )
        return f'<table class="kitlib-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def table(rows: Any, *columns: str) -> Table:
    """A table for a notebook; see `Table`."""
    return Table(rows, columns)


def _named(names: Sequence[str], key: Any, value: Any) -> dict[str, Any]:
    return dict(zip(names, (key, *(value if isinstance(value, tuple) else (value,))), strict=False))


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1 else f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(one)}" for key, one in value.items())
    if isinstance(value, list | tuple | set):
        return ", ".join(_text(one) for one in value)
    return short(value)
