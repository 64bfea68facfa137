"""The distribution of matching pods over topology domains: the count of each, and the skew with a new pod.

Source: KEP-895 (even pods spreading): skew = matching pods in the domain + self match - global minimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.matrix import matrix
from kitlib.charts.spread_columns import spread_columns
from kitlib.charts.style import BLUE, FAINT, GREEN, GREY, PALETTE


def spread_chart(
    domains: Sequence[Row],
    max_skew: int,
    topology_key: str,
    *,
    strict: bool = True,
    chosen: str = "",
    pods: Mapping[str, Sequence[str]] | None = None,
    rows: int = 0,
    still: bool = True,
) -> Chart:
    """Return a chart with a column of pods for each domain under the line lowest + maxSkew, and the next pod on each.

    Args:
        domains: {"domain", "pods", "counted", "skew", "allowed"}: matching pods; those on nodes that the constraint
            includes; the skew with the new pod; whether the constraint allows the new pod there. "room" is False where
            no node of the domain takes the pod for other reasons.
        max_skew: the constraint's maxSkew.
        topology_key: the node label that defines the domains.
        strict: whether the constraint refuses (DoNotSchedule).
        chosen: the domain that the scheduler selects for the new pod.
        pods: domain -> names of its matching pods, counted ones first.
        rows: rows of pods in the picture; 0 = as many as needed.
        still: whether nothing can be moved; a widget's picture has handles.
    """
    names = ("domain", "pods", "counted", "skew", "allowed")
    columns = {name: [row[name] for row in domains] for name in names}
    allowed = [str(row["domain"]) for row in domains if row["allowed"] and row.get("room", True)]
    closed = [str(row["domain"]) for row in domains if row["allowed"] and not row.get("room", True)]
    sentence = f"A new pod may go to {', '.join(allowed)} (maxSkew {max_skew})." if allowed else ""
    if closed:
        sentence += f" The constraint allows {', '.join(closed)}, but no node there takes the pod."
    sentence = sentence.strip() or f"No domain of {topology_key} keeps the skew within {max_skew}."

    def figure_of() -> dict[str, Any]:
        x = [str(row["domain"]) for row in domains]
        data: list[dict[str, Any]] = [
            {"type": "bar", "x": x, "y": columns["counted"], "name": "counted pods", "marker": {"color": BLUE}}
        ]
        ignored = [int(row["pods"]) - int(row["counted"]) for row in domains]
        if any(ignored):
            marker: dict[str, Any] = {"color": GREY, "pattern": {"shape": "."}}
            data.append({"type": "bar", "x": x, "y": ignored, "name": "pods left out", "marker": marker})
        texts = [f"skew {row['skew']}{'' if row['allowed'] else ' ✗'}" if len(x) <= 12 else "" for row in domains]
        marker = {
            "color": [GREEN if row["allowed"] else PALETTE[1] for row in domains],
            "pattern": {"shape": ["/" if row["allowed"] else "x" for row in domains]},
        }
        data.append(
            {
                "type": "bar",
                "x": x,
                "y": [1] * len(x),
                "name": "the new pod",
                "text": texts,
                "textposition": "outside",
                "cliponaxis": False,
                "hovertext": [f"skew {row['skew']}" for row in domains],
                "marker": marker,
            }
        )
        return {"data": data, "layout": {"barmode": "stack", "yaxis": {"title": {"text": "pods"}, "dtick": 1}}}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(figure_of())

    def picture(width: int) -> str:
        more: dict[str, Any] = {"strict": strict, "chosen": chosen, "pods": pods, "rows": rows, "still": still}
        return spread_columns(domains, max_skew, sentence=sentence, width=width, **more)

    return Chart(f"Spread over {topology_key}", sentence, columns, draw, fitted=picture)


def spread_map(zones: Sequence[str], nodes: Sequence[Sequence[str]], counts: Sequence[Sequence[int]]) -> Chart:
    """Return a chart with a row per zone and a cell per node, with the number of matching pods.

    Args:
        zones: names of the zones.
        nodes: for each zone, its node names.
        counts: for each zone, the number of matching pods on each node.
    """
    flat = [
        (zone, node, count)
        for zone, names, row in zip(zones, nodes, counts, strict=True)
        for node, count in zip(names, row, strict=True)
    ]
    totals = ", ".join(f"{zone} {sum(row)}" for zone, row in zip(zones, counts, strict=True))
    widest = max((len(row) for row in counts), default=0)

    def draw():
        figure = matrix(
            zones,
            [str(i + 1) for i in range(widest)],
            [list(row) + [None] * (widest - len(row)) for row in counts],
            [[str(count or "") for count in row] + [""] * (widest - len(row)) for row in counts],
            ((0, FAINT), (1, BLUE)),
            "%{customdata}: %{z} pods",
            customdata=[list(row) + [""] * (widest - len(row)) for row in nodes],
        )
        figure.update_yaxes(showgrid=False)
        figure.update_xaxes(title={"text": "node of the zone"}, showgrid=False)
        return figure

    names = ("zone", "node", "pods")
    return Chart(
        "Pods per node",
        f"Matching pods: {totals}.",
        {name: [row[i] for row in flat] for i, name in enumerate(names)},
        draw,
    )
