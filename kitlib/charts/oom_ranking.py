"""The ranking of the OOM killer: every candidate's badness, split into memory and adjustment.

Source: kernel mm/oom_kill.c oom_badness(): pages of rss + swap + page tables, plus oom_score_adj * totalpages / 1000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.advisor.oom_orders import oom_orders
from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, GREY, PALETTE, VERMILLION

PAGE = 4096
"""Size of a page in bytes; badness is counted in pages and shown in MiB."""


def oom_ranking(rows: Sequence[Row], *, killed: str = "", told: bool = True) -> Chart:
    """Return a chart with one bar per process, the worst on top; the first is the predicted victim.

    Args:
        rows: {"name", "qos", "memory_bytes", "oom_score_adj", "badness"} in any order; badness in pages; qos "node" =
            a process of no pod. If the host refused the kubelet's oom_score_adj, "refused" is set, with
            "wanted_badness" and "why"; then both orders are compared.
        killed: name of the process that the kernel killed, which is marked; "" = not known.
        told: whether the victim is named and marked, and the badness shown, before a process was killed.
    """
    ranked = sorted(rows, key=lambda row: -float(row["badness"]))
    columns = {key: [row[key] for row in ranked] for key in ("name", "qos", "memory_bytes", "oom_score_adj", "badness")}
    if not ranked:
        sentence = "No process is running, so nothing can be killed."
    else:
        sentence = f"{ranked[0]['name']} has the highest badness: it would be killed first."
        if killed:
            sentence = f"{ranked[0]['name']} has the highest badness and is killed first."
            right = "as predicted" if killed == ranked[0]["name"] else "which was not the prediction"
            sentence += f" The kernel killed {killed}, {right}."
    if ranked and not told and not killed:
        sentence = f"{len(ranked)} processes may be killed; the one with the most points dies first."
    refused = [
        f"{row['name']} (wanted {row['refused']}, has {row['oom_score_adj']})" for row in ranked if "refused" in row
    ]
    if refused:
        sentence += f" The host refused the oom_score_adj of {', '.join(refused)}. {oom_orders(ranked).sentence}"
        columns["refused"] = [f"{row['refused']}: {row.get('why', '')}" if "refused" in row else "" for row in ranked]

    def plain() -> dict[str, Any]:
        names = [row["name"] for row in ranked]
        own = [row["qos"] == "node" for row in ranked]
        colours = [
            VERMILLION if row["name"] == killed else GREY if node else BLUE
            for row, node in zip(ranked, own, strict=True)
        ]
        memory = [mebibytes(memory_points(row)) for row in ranked]
        rest = [mebibytes(int(row["badness"]) - memory_points(row)) for row in ranked]
        ends = [held + max(0.0, added) for held, added in zip(memory, rest, strict=True)]
        common = {
            "type": "bar",
            "y": names,
            "orientation": "h",
            "customdata": [[mebibytes(row["badness"]), row["oom_score_adj"]] for row in ranked],
            "hovertemplate": "%{y}: %{customdata[0]:,} Mi of points, oom_score_adj %{customdata[1]}",
        }
        patterns = ["x" if row["name"] == killed else "" for row in ranked]
        data = [
            {
                **common,
                "x": memory,
                "name": "memory in use",
                "marker": {"color": colours, "pattern": {"shape": patterns}},
            },
            {
                **common,
                "x": rest,
                "name": "added or taken away by oom_score_adj",
                "textposition": "outside",
                "cliponaxis": False,
                "text": [_mark(row, ranked[0], killed) if told or killed else "" for row in ranked],
                "marker": {"color": PALETTE[1], "pattern": {"shape": "/"}},
            },
        ]
        layout = {
            "barmode": "relative",
            "height": max(280, 130 + 26 * len(ranked)),
            "yaxis": {"categoryorder": "array", "categoryarray": list(reversed(names))},
            "xaxis": {
                "title": {"text": "badness in Mi: memory, and oom_score_adj ‰ of all memory, negative to the left"},
                "range": [min([0.0, *rest]), 1.25 * max([1.0, *ends])],  # room for the badness right of the bar
            },
        }
        return {"data": data if ranked else [], "layout": layout}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    return Chart("Who dies first", sentence, columns, draw, plain)


def memory_points(row: Row) -> int:
    """Return the pages of a process in memory; its page tables are counted with the adjustment."""
    return int(row["memory_bytes"]) // PAGE


def mebibytes(pages: float) -> float:
    """Return pages in MiB."""
    return round(float(pages) * PAGE / 2**20, 2)


def _mark(row: Row, first: Row, killed: str) -> str:
    """Return the text beside a bar: the badness, and the victim, predicted or killed."""
    fate = ("killed" if row["name"] == killed else "") if killed else "victim" if row is first else ""
    points = f"{mebibytes(row['badness']):,.0f} Mi"
    return f"{points}, {fate}" if fate else points
