"""What preemption would cost on each candidate node: the victims, their priorities, the budgets they break.

Source: kube-scheduler preemption.SelectCandidate
(fewest violations, lowest top priority, lowest sum of priorities, fewest victims, latest start).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import ORANGE, VERMILLION


def preemption_chart(candidates: Sequence[Row], nominated: str) -> Chart:
    """One bar a candidate node: how many pods it would lose; the nominated one is marked.

    Args:
        candidates: {"node", "victims" (list of names), "highest_priority", "sum_of_priorities", "pdb_violations"}.
        nominated: the node that was chosen, or "".
    """
    names = ("node", "victims", "highest_priority", "sum_of_priorities", "pdb_violations")
    columns = {name: [row[name] for row in candidates] for name in names}
    columns["victims"] = [", ".join(row["victims"]) for row in candidates]
    if nominated:
        victims = next((v for n, v in zip(columns["node"], columns["victims"], strict=True) if n == nominated), "")
        sentence = f"{nominated} is nominated; it loses {victims or 'nobody'}."
    else:
        sentence = "Preemption helps on no node."

    def draw():
        import plotly.graph_objects as go

        counts = [len(row["victims"]) for row in candidates]
        figure = go.Figure()
        figure.add_bar(
            y=columns["node"],
            x=counts,
            orientation="h",
            customdata=[[columns["victims"][i], columns["pdb_violations"][i]] for i in range(len(counts))],
            text=["nominated" if node == nominated else "" for node in columns["node"]],
            marker={
                "color": [VERMILLION if node == nominated else ORANGE for node in columns["node"]],
                "pattern": {"shape": ["x" if row["pdb_violations"] else "" for row in candidates]},
            },
            hovertemplate="%{y}: %{customdata[0]}; budgets broken: %{customdata[1]}<extra></extra>",
        )
        figure.update_xaxes(title={"text": "victims"}, dtick=1)
        figure.update_yaxes(autorange="reversed")
        return figure

    return Chart("Candidates of preemption", sentence, columns, draw)
