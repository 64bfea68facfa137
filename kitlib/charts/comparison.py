"""Two objects compared value by value: equal, different, and one-sided values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.matrix import EQUAL_OR_NOT, plain_matrix


def comparison_chart(
    rows: Sequence[Row], names: tuple[str, str], *, what: str, about: str = "", only_different: bool = False
) -> Chart:
    """Return a chart with one line per value and one column per object; differing lines have another colour and ≠.

    Args:
        rows: {"label", "left", "right"}; None = the object does not have the value.
        names: names of the two objects.
        what: the title.
        about: sentence before the count; "" = none.
        only_different: whether equal values are in the table only; if no value differs, the picture has all.
    """
    different = [row for row in rows if row["left"] != row["right"]]
    count = f"{len(different)} of {len(rows)} values differ" + (
        ": " + ", ".join(str(row["label"]) for row in different[:4]) + ("…" if len(different) > 4 else "")
        if different
        else ""
    )
    left, right = names if names[0] != names[1] else (f"{names[0]} (left)", f"{names[1]} (right)")

    drawn = different if only_different and different else rows

    def plain() -> dict[str, Any]:
        made = plain_matrix(
            [("≠ " if row["left"] != row["right"] else "") + str(row["label"]) for row in drawn],
            [left, right],
            [[2 if row["left"] != row["right"] else 1] * 2 for row in drawn],
            [[_said(row["left"]), _said(row["right"])] for row in drawn],
            EQUAL_OR_NOT,
            "%{y}, %{x}: %{text}",
            zmax=2,
            ygap=1,
        )
        made["layout"]["height"] = 110 + 24 * max(len(drawn), 2)
        return made

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    columns = {
        "value": [row["label"] for row in rows],
        left: [row["left"] for row in rows],
        right: [row["right"] for row in rows],
        "same": [row["left"] == row["right"] for row in rows],
    }
    return Chart(what, f"{about} {count}.".strip(), columns, draw, plain)


def _said(value: object) -> str:
    return "–" if value is None else str(value)
