"""Who the kernel would kill next: every candidate's badness, split into memory and adjustment.

Source: kernel mm/oom_kill.c oom_badness(): pages of rss + swap + page tables, plus oom_score_adj * totalpages / 1000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.advisor.oom_orders import oom_orders
from kitlib.charts.base import Chart, Row
from kitlib.charts.style import GREY, PATTERN, QOS_COLORS, QOS_PATTERNS


def oom_ranking(rows: Sequence[Row], *, killed: str = "", told: bool = True) -> Chart:
    """Return a chart with one bar per process, the worst on top; the first is the predicted victim.

    Args:
        rows: {"name", "qos", "memory_bytes", "oom_score_adj", "badness"} in any order; badness in pages; qos "node" =
            a process of no pod. With "refused" (and "wanted_badness", "why") where the host has refused the
            oom_score_adj that the kubelet wanted; then both orders are compared.
        killed: the process the kernel really killed, marked where it is known.
        told: whether the victim is named and marked before anything was killed.
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
        data = []
        for qos, color in {**QOS_COLORS, "node": GREY}.items():
            mine = [row for row in ranked if row["qos"] == qos]
            pattern = {"shape": QOS_PATTERNS.get(qos, "."), "fillmode": "overlay", "fgcolor": PATTERN}
            bars = {
                "type": "bar",
                "y": [row["name"] for row in mine],
                "x": [row["badness"] for row in mine],
                "customdata": [[row["memory_bytes"], row["oom_score_adj"]] for row in mine],
                "orientation": "h",
                "name": qos,
                "textposition": "outside",
                "cliponaxis": False,
                "text": [_mark(row, ranked[0] if told else None, killed) for row in mine],
                "marker": {"color": color, "pattern": pattern},
                "hovertemplate": "%{y}: %{x:,} pages; %{customdata[0]:,} bytes, adj %{customdata[1]}",
            }
            data += [bars] if mine else []
        names = [row["name"] for row in reversed(ranked)]
        layout = {
            "height": max(280, 130 + 26 * len(ranked)),
            "yaxis": {"categoryorder": "array", "categoryarray": names},
            "xaxis": {"title": {"text": "badness in pages"}},
        }
        return {"data": data, "layout": layout}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    return Chart("Who dies first", sentence, columns, draw, plain)


def _mark(row: Row, first: Row | None, killed: str) -> str:
    """Written on a bar: the victim, predicted or killed."""
    if killed:
        return "killed" if row["name"] == killed else ""
    return "victim" if row is first else ""
