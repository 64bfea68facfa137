"""The cost of preemption on each candidate node: the victims, their priorities, the violated budgets.

Source: kube-scheduler preemption.SelectCandidate
(fewest violations, lowest top priority, lowest sum of priorities, fewest victims, latest start).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import GREEN, VERMILLION
from kitlib.charts.svg import LETTER, Drawing

CRITERIA = (
    ("pdb_violations", "budgets broken"),
    ("highest_priority", "highest priority of a victim"),
    ("sum_of_priorities", "sum of priorities"),
    ("count", "number of victims"),
)
"""Criteria in order of comparison; the minimum wins, the next criterion decides among equals."""
LAST = "the latest start of the victims with the highest priority"
"""The criterion after these: among equals the maximum wins."""


def preemption_chart(candidates: Sequence[Row], nominated: str) -> Chart:
    """Return a chart with one row per candidate node: the victims, struck out on the nominated node, and the criteria.

    Args:
        candidates: {"node", "victims" (list of names), "highest_priority", "sum_of_priorities", "pdb_violations"}, and
            "start" (a time of day, the last criterion) where it is known.
        nominated: the selected node; "" = none.
    """
    names = ("node", "victims", "highest_priority", "sum_of_priorities", "pdb_violations")
    columns = {name: [row[name] for row in candidates] for name in names}
    if any(row.get("start") for row in candidates):
        columns["start"] = [row.get("start", "") for row in candidates]
    columns["victims"] = [", ".join(row["victims"]) for row in candidates]
    if nominated:
        victims = next((v for n, v in zip(columns["node"], columns["victims"], strict=True) if n == nominated), "")
        sentence = f"{nominated} is nominated; it loses {victims or 'no pod'}."
    else:
        sentence = "Preemption helps on no node."
    decides = deciding(candidates, nominated)
    if decides:
        sentence += f" What decides: {decides}."

    def draw():
        import plotly.graph_objects as go

        figure = go.Figure()
        figure.add_bar(
            y=columns["node"],
            x=columns["highest_priority"],
            orientation="h",
            text=[f"{v}, nominated" if n == nominated else v for n, v in zip(*_pairs(columns), strict=True)],
            marker={
                "color": [GREEN if node == nominated else VERMILLION for node in columns["node"]],
                "pattern": {"shape": ["x" if row["pdb_violations"] else "/" for row in candidates]},
            },
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
        figure.update_xaxes(title={"text": "highest priority of a victim"})
        figure.update_yaxes(autorange="reversed")
        return figure

    def picture() -> str:
        return _rows(candidates, nominated, decides).svg("Candidates of preemption", sentence)

    return Chart("Candidates of preemption", sentence, columns, draw, picture=picture)


def deciding(candidates: Sequence[Row], nominated: str) -> str:
    """Return the criterion that selected the nominated node; "" with fewer than two candidates."""
    left = list(candidates)
    if not nominated or len(left) < 2:
        return ""
    for key, words in CRITERIA:
        least = min(_value(row, key) for row in left)
        left = [row for row in left if _value(row, key) == least]
        if len(left) == 1:
            return words
    return LAST


def _value(row: Row, key: str) -> int:
    return len(row["victims"]) if key == "count" else int(row[key])


def _pairs(columns: dict[str, list]) -> tuple[list, list]:
    return columns["node"], columns["victims"]


def _rows(candidates: Sequence[Row], nominated: str, decides: str) -> Drawing:
    """Draw each node with its victims as boxes and the criteria as columns; the deciding criterion is marked.

    Only the pods of the nominated node are struck out: the others would have been victims, and stay.
    """
    d = Drawing(860)
    d.text(8, 18, "Candidates of preemption", size=14, bold=True)
    keys = [key for key, _ in CRITERIA]
    columns = list(zip((500, 575, 645, 715), ("budgets", "highest", "sum", "victims"), keys, strict=True))
    if any(row.get("start") for row in candidates):
        columns.append((800, "started", "start"))
    else:
        columns = [(x + 85, words, key) for x, words, key in columns]
    bold = {key for key, criterion in (*CRITERIA, ("start", LAST)) if criterion == decides}
    d.height = 64 + 44 * max(1, len(candidates))
    if not candidates:
        d.text(8, 60, "Preemption helps on no node.", "soft")
        return d
    d.text(8, 46, "node", "soft", size=11)
    d.text(120, 46, "would lose", "soft", size=11)
    for x, words, key in columns:
        d.text(x + 40, 46, words, "ink" if key in bold else "soft", anchor="end", size=11, bold=key in bold)
    for number, row in enumerate(candidates):
        top = 54 + 44 * number
        chosen = row["node"] == nominated
        d.rect(2, top, 852, 38, "raised", stroke="green" if chosen else "line", weight=2 if chosen else 1)
        d.text(12, top + 17, str(row["node"]), bold=True)
        if chosen:
            d.text(12, top + 32, "nominated", "green-text", size=11)
        at_x = 120.0
        for i, victim in enumerate(row["victims"]):
            wide = LETTER * len(victim) + 30
            if at_x + wide > columns[0][0]:
                d.text(at_x, top + 24, f"and {len(row['victims']) - i} more", "soft", size=11)
                break
            if chosen:
                d.hatch(at_x, top + 6, wide, 26, "red", "leaves", f"{victim} is deleted")
                d.rect(at_x, top + 6, wide, 26, stroke="red", weight=2, dash="5 3")
                d.rect(at_x + 7, top + 10, wide - 14, 18, "ground")  # a name on the hatch cannot be read
            else:
                d.rect(
                    at_x, top + 6, wide, 26, stroke="soft", dash="2 3", words=f"{victim} would be deleted, but stays"
                )
            d.text(at_x + 12, top + 23, victim, "ink" if chosen else "soft", struck=chosen)
            at_x += wide + 6
        for at, _, key in columns:
            shown = str(row.get(key, "")) if key == "start" else f"{_value(row, key):,}"
            d.text(at + 40, top + 24, shown, anchor="end", bold=key in bold and chosen)
    return d
