"""Tables for notebooks: text is aligned left, figures right, container IDs are shortened to twelve digits.

Figures of one dimension in a column have a bar below them, so that the rows can be compared at a glance.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

_ID = re.compile(r"([0-9a-f]{12})[0-9a-f]{20,52}")


def short(text: object) -> str:
    """Return the text with container IDs shortened to twelve digits, as engines do."""
    return _ID.sub(r"\1…", str(text))


REFUSED = "refused"
_AMOUNT = re.compile(r"[-−]?[0-9][0-9,]*(\.[0-9]+)?(m|Ki|Mi|Gi|Ti|%| ms| s)?")
"""A number in a table, optionally with a unit of Kubernetes or of time."""
_UNITS = {"m": (0, 1e-3), "Ki": (1, 2**10), "Mi": (1, 2**20), "Gi": (1, 2**30), "Ti": (1, 2**40), "%": (2, 1)} | {
    " ms": (3, 1e-3),
    " s": (3, 1),
}
"""Unit -> its dimension and factor; a plain number has the dimension 0."""
_BREAK = "word-break:normal;overflow-wrap:break-word"
"""Style that does not break a word which fits on one line."""


_LONGEST, _TOGETHER = 24, 90
"""Letters of a name that stays on one line, and those of all columns of a table that has such names."""


def folded(line: str, most: int = 96) -> str:
    """Return a line as lines of at most `most` letters that end after a blank or a comma, the later ones indented."""
    lines = [""]
    for word in re.findall(r"[^ ,]*[ ,]|[^ ,]+", line):
        if lines[-1].strip() and len(lines[-1] + word.rstrip()) > most:
            lines.append("    ")
        lines[-1] += word
    return "\n".join(map(str.rstrip, lines))


class Table:
    """Rows under a header, as aligned text or as an HTML table; figures are aligned right.

    Args:
        rows: mappings (their keys are the header), a mapping of two columns, or a data frame.
        columns: the header, in this order; empty = from the rows; names may be "" and may repeat. A column `refused`
            (settings that the host of a real node refused, and why) is always shown if it is not empty.
    """

    def __init__(self, rows: Any, columns: Sequence[str] = ()) -> None:
        chosen = list(columns)
        if hasattr(rows, "to_dict"):
            rows = rows.to_dict("records")
        elif isinstance(rows, Mapping):
            names = chosen or ["what", "value"]
            if all(isinstance(value, Mapping) for value in rows.values()):
                rows, chosen = [{names[0]: key, **value} for key, value in rows.items()], []
            else:
                width = 1 + max((len(value) for value in rows.values() if isinstance(value, tuple)), default=1)
                chosen = names[:width]
                keys = _keys(chosen)
                rows = [_named(keys, key, value) for key, value in rows.items()]
        self.rows: list[dict[str, Any]] = [dict(row) for row in rows]
        self.columns = chosen or list(dict.fromkeys(name for row in self.rows for name in row))
        if REFUSED not in self.columns and any(row.get(REFUSED) for row in self.rows):
            self.columns.append(REFUSED)

    def _texts(self) -> list[list[str]]:
        return [[_text(row.get(key)) for key in _keys(self.columns)] for row in self.rows]

    def _right(self) -> list[bool]:
        """Return for each column whether it has only numbers and amounts, so that it is aligned right."""
        found = []
        for i, key in enumerate(_keys(self.columns)):
            cells = [(row.get(key), text[i]) for row, text in zip(self.rows, self._texts(), strict=True) if text[i]]
            found.append(bool(cells) and all(_is_number(value, text) for value, text in cells))
        return found

    def _bars(self) -> list[list[float | None]]:
        """Return for each row and column the cell's share of the column's largest amount, 0 to 1; None = no bar.

        A column has bars if it has different amounts of one dimension, none of them negative. The first column has no
        bars, since it names the rows.
        """
        texts, right = self._texts(), self._right()
        bars: list[list[float | None]] = [[None] * len(self.columns) for _ in texts]
        for i in range(1, len(self.columns)):
            amounts = [_amount_of(row[i]) if row[i] else None for row in texts]
            known = [amount for amount in amounts if amount is not None]
            values = {value for _, value in known}
            if not right[i] or len(values) < 2 or min(values) < 0 or len({kind for kind, _ in known}) > 1:
                continue
            for row, one in zip(bars, amounts, strict=True):
                row[i] = None if one is None else one[1] / max(values)
        return bars

    def _whole(self) -> list[bool]:
        """Return for each column whether its cells are short names, which browsers would break after a hyphen.

        None, if the table would be too wide for a narrow page.
        """
        columns = list(zip(*self._texts(), strict=True)) or [()] * len(self.columns)
        longest = [max(map(len, column), default=0) for column in columns]
        names = [
            most <= _LONGEST and not any(" " in one for one in column)
            for most, column in zip(longest, columns, strict=True)
        ]
        wide = sum(min(most, 2 * _LONGEST) for most in longest)
        return names if wide <= _TOGETHER else [False] * len(names)

    def __str__(self) -> str:
        lines = [*([list(map(str, self.columns))] if any(self.columns) else []), *self._texts()]
        widths = [max((len(line[i]) for line in lines), default=0) for i in range(len(self.columns))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sides = ["right" if on else "left" for on in self._right()]
        whole = self._whole()
        styles = [f' style="text-align:{side};vertical-align:top;{_BREAK}"' for side in sides]
        head = "".join(
            f'<th scope="col"{style}>{html.escape(str(name))}</th>'
            for name, style in zip(self.columns, styles, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align:{side};vertical-align:top;{_BREAK}{";white-space:nowrap" if one else ""}'
                f'{_bar(part)}">{html.escape(cell)}</td>'
                for cell, side, part, one in zip(row, sides, parts, whole, strict=True)
            )
            + "</tr>"
            for row, parts in zip(self._texts(), self._bars(), strict=True)
        )
        top = f"<thead><tr>{head}</tr></thead>" if any(self.columns) else ""
        return f'<table class="kitlib-table">{top}<tbody>{body}</tbody></table>'


class Text:
    """Lines of text as a view, shown unchanged in the notebook's font for code.

    Args:
        text: the lines.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre-wrap">{html.escape(self.text)}</pre>'


def table(rows: Any, *columns: str) -> Table:
    """Return a table for a notebook; see `Table`."""
    return Table(rows, columns)


def _keys(names: Sequence[str]) -> list[str]:
    """Return a unique key for each column, since columns may have equal names."""
    return [name if name not in names[:i] else f"{name}#{i}" for i, name in enumerate(names)]


def _named(keys: Sequence[str], key: Any, value: Any) -> dict[str, Any]:
    return dict(zip(keys, (key, *(value if isinstance(value, tuple) else (value,))), strict=False))


def _is_number(value: Any, text: str) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool)) or bool(_AMOUNT.fullmatch(text))


def _amount_of(text: str) -> tuple[int, float] | None:
    """Return the dimension and the amount of a cell's text; None if it is no amount."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    kind, factor = _UNITS[found[2]] if found[2] else (0, 1)
    return kind, float(text.removesuffix(found[2] or "").replace(",", "").replace("−", "-")) * factor


def _bar(part: float | None) -> str:
    """Return the style of a bar below a figure, as long as its share of the cell without padding; "" = no bar."""
    if part is None:
        return ""
    ink = "color-mix(in srgb,currentColor 50%,transparent)"
    # Measured without the padding, so that bars of a row stay apart, and drawn in the padding below the figure.
    place = f"left 0 bottom -4px/{100 * part:.1f}% 3px no-repeat content-box border-box"
    return f";min-width:5em;background:linear-gradient({ink},{ink}) {place}"


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


GAP = "-"
"""The text of a cell without a value."""


def in_binary_units(amount: int) -> str:
    """Return bytes as Kubernetes writes them: 7516192768 is 7Gi; rounded to MiB if no unit divides them."""
    for power, unit in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if amount and amount % 2**power == 0:
            return f"{amount >> power}{unit}"
    return f"{amount / 2**20:.1f}Mi" if amount >= 2**20 else str(amount)


def pods_table(cluster: Any) -> Table:
    """Return one row per pod, with memory in binary units and "-" for missing values."""
    from kitlib.views.frames import POD_COLUMNS, pods_rows

    rows = [{name: GAP if value in (None, "") else value for name, value in row.items()} for row in pods_rows(cluster)]
    for row in rows:
        for name in ("memory request", "memory limit"):
            if name in row and row[name] != GAP:
                row[name] = in_binary_units(int(row[name]))
    return Table(rows, () if rows else POD_COLUMNS)
