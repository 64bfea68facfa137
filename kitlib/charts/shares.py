"""The CPU time of sibling cgroups on a busy machine: their weights, their limits and the resulting CPUs.

A weight promises a part of all CPUs. A limit below this part leaves CPU time over, and the other cgroups take it by
their weights; the picture shows both as parts of one bar.

Source: kernel Documentation/scheduler/sched-design-CFS.rst (group scheduling), sched-bwc.rst (quota).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.charts.base import Chart, Row
from kitlib.charts.style import BLUE, PALETTE
from kitlib.charts.svg import Drawing, fitted

NARROW = 520
"""Width in pixels below which the words are under each bar."""
_ENOUGH = 0.005
"""CPUs below which a difference is not shown."""
_LID_IN_SIGHT = 1.6
"""Greatest limit in the picture, as a multiple of the longest bar; the words of a row name a greater one."""
_TITLE = "CPU when all are busy"


def shares_chart(
    names: Sequence[str],
    weights: Sequence[int],
    cpus: Sequence[float],
    *,
    observed: Sequence[float] | None = None,
    limits: Sequence[float | None] | None = None,
) -> Chart:
    """Return a chart with a bar per cgroup: the CPUs by its weight under its limit, and the measured CPUs.

    Args:
        names: the cgroups, siblings of one parent or leaves of a tree.
        weights: cpu.shares (v1) or cpu.weight (v2) of each.
        cpus: predicted CPUs of each.
        observed: measured CPUs of each; None = not measured.
        limits: limit of each in CPUs; None = none.
    """
    total = sum(cpus) or 1
    columns: dict[str, Sequence[Any]] = {
        "cgroup": list(names),
        "weight": list(weights),
        "predicted CPUs": [round(value, 4) for value in cpus],
        "percent": [round(100 * value / total, 1) for value in cpus],
    }
    lids = list(limits) if limits is not None else [None] * len(names)
    if any(lid is not None for lid in lids):
        columns["limit CPUs"] = lids
    if observed is not None:
        columns["observed CPUs"] = [round(value, 4) for value in observed]
    parts = ", ".join(f"{name} {100 * value / total:.0f}%" for name, value in zip(names, cpus, strict=True))
    rows = _rows(names, weights, cpus, lids, observed)

    def plain() -> dict[str, Any]:
        data: list[dict[str, Any]] = [
            {
                "type": "bar",
                "x": list(names),
                "y": list(cpus),
                "name": "predicted",
                "text": [f"{value:.2f}" for value in cpus],
                "marker": {
                    "color": BLUE if observed is None else PALETTE[1],
                    "pattern": {"shape": "" if observed is None else "/"},
                },
            }
        ]
        if observed is not None:
            marker = {"color": BLUE, "pattern": {"shape": ""}}
            data.append({"type": "bar", "x": list(names), "y": list(observed), "name": "observed", "marker": marker})
        layout = {"barmode": "group", "yaxis": {"title": {"text": "CPUs"}, "rangemode": "tozero"}}
        return {"data": data, "layout": layout}

    def draw():
        import plotly.graph_objects as go

        return go.Figure(plain())

    sentence = f"{total:.2f} CPUs are divided: {parts}."
    held = [row for row in rows if row["over"] > _ENOUGH and row["lid"] is not None]
    if held:
        taken = ", ".join(str(row["name"]) for row in rows if row["more"] > _ENOUGH)
        for row in held:
            sentence += f" The limit of {row['name']} leaves {row['over']:.2f} CPUs"
            sentence += f" to {taken}." if taken else " idle."
    if observed is not None:
        pairs = zip(names, observed, cpus, strict=True)
        sentence += " Measured: " + ", ".join(f"{n} {o:.2f} (predicted {c:.2f})" for n, o, c in pairs) + "."
    return Chart(_TITLE, sentence, columns, draw, plain, fitted=lambda width: _picture(rows, sentence, width))


def _rows(
    names: Sequence[str],
    weights: Sequence[int],
    cpus: Sequence[float],
    lids: Sequence[float | None],
    observed: Sequence[float] | None,
) -> list[Row]:
    """Return for each cgroup the CPUs of its weight alone, what a limit leaves over, and what it takes from others."""
    divided, weight = sum(cpus), sum(weights) or 1
    rows: list[Row] = []
    for place, (name, cpu, lid) in enumerate(zip(names, cpus, lids, strict=True)):
        promised = divided * weights[place] / weight
        measured = observed[place] if observed is not None else None
        over, more = max(0.0, promised - cpu), max(0.0, cpu - promised)
        rows.append(
            {"name": name, "cpu": cpu, "lid": lid, "promised": promised, "over": over, "more": more, "seen": measured}
        )
    return rows


def _picture(rows: Sequence[Row], sentence: str, width: int) -> str:
    d = Drawing(width)
    narrow = width < NARROW
    left, right = (8.0, 12.0) if narrow else (110.0, 210.0)
    tall, high, top = (64, 20, 50) if narrow else (54, 26, 38)
    most = max([max(row["cpu"], row["promised"], row["lid"] or 0) for row in rows], default=0) or 1
    most = min(most, _LID_IN_SIGHT * (max([max(row["cpu"], row["promised"]) for row in rows], default=0) or 1))
    scale = (width - left - right) / most
    d.text(8, 18, _TITLE, size=14, bold=True)
    tops = [top + place * tall + (18 if narrow else 0) for place in range(len(rows))]
    for row, y in zip(rows, tops, strict=True):
        _bar(d, row, left, y, high, scale, most, named=not narrow)
    floor = top + len(rows) * tall
    _flows(d, rows, [y + high / 2 for y in tops], left, scale, high)
    for row, y in zip(rows, tops, strict=True):
        if narrow:
            d.text(8, y - 6, fitted(f"{row['name']}: {_words(row, 0)}", width - 16), halo=True)
        else:
            d.text(8, y + 17, fitted(str(row["name"]), 98), bold=True)
            d.text(width - right + 10, y + 17, _words(row, most))
    _axis(d, left, floor, scale, most)
    d.height = floor + 30
    return d.svg(_TITLE, sentence)


def _words(row: Row, most: float) -> str:
    """Return the figures of a row; the limit among them if it has no name in the picture, which ends at `most` CPUs."""
    seen = f", measured {row['seen']:.2f}" if row["seen"] is not None else ""
    lid = f", limit {row['lid']:g}" if row["lid"] is not None and row["lid"] > most else ""
    return f"{row['cpu']:.2f} CPU{seen}{lid}"


def _bar(d: Drawing, row: Row, left: float, y: float, high: float, scale: float, most: float, *, named: bool) -> None:
    own = min(row["cpu"], row["promised"]) * scale
    name, promised = row["name"], row["promised"]
    d.rect(
        left, y, own, high, "blue", tint=42, words=f"{name}: {row['cpu']:.2f} CPUs, its weight promises {promised:.2f}"
    )
    if row["over"] > _ENOUGH:
        wide = row["over"] * scale
        d.rect(left + own, y, wide, high, stroke="soft", dash="4 3", words=f"{row['over']:.2f} CPUs left to the others")
        if wide > 76:
            d.text(
                left + own + wide / 2,
                y + high / 2 + 4,
                f"{row['over']:.2f} left over",
                "soft",
                anchor="middle",
                size=11,
            )
    if row["more"] > _ENOUGH:
        words = f"{row['more']:.2f} CPUs that a limit leaves over"
        d.hatch(left + own, y, row["more"] * scale, high, "blue", "over", words)
    d.rect(left, y, max(row["cpu"] * scale, 1), high, stroke="blue", weight=1.5)
    if row["seen"] is not None:
        x = left + row["seen"] * scale
        d.path(
            f"M{x - 5:.1f} {y + high + 9:.1f}L{x:.1f} {y + high + 1:.1f}L{x + 5:.1f} {y + high + 9:.1f}Z",
            "ink",
            fill="ink",
        )
    if row["lid"] is not None and row["lid"] <= most:
        x = left + row["lid"] * scale
        reached = row["cpu"] >= row["lid"] - _ENOUGH
        d.limit(x, y - 6, x, y + high + 6, reached=reached)
        if named:
            d.text(x + 5, y - 3, f"limit {row['lid']:g}", "orange-text" if reached else "ink", size=11, halo=True)


def _flows(d: Drawing, rows: Sequence[Row], middles: Sequence[float], left: float, scale: float, high: float) -> None:
    """Draw an arrow from the CPU time that a limit leaves over to each cgroup that takes a part of it."""
    for giver, row in enumerate(rows):
        if row["over"] <= _ENOUGH or row["lid"] is None:
            continue
        x = left + (row["cpu"] + row["over"] / 2) * scale
        for taker, other in enumerate(rows):
            if other["more"] <= _ENOUGH:
                continue
            down = 1 if taker > giver else -1
            to = left + (other["promised"] + other["more"] / 2) * scale
            y1, y2 = middles[giver] + down * high / 2, middles[taker] - down * high / 2
            bend = (y1 + y2) / 2
            d.path(f"M{x:.1f} {y1:.1f}C{x:.1f} {bend:.1f} {to:.1f} {bend:.1f} {to:.1f} {y2 - down * 5:.1f}", "soft")
            d.path(
                f"M{to - 4:.1f} {y2 - down * 7:.1f}L{to:.1f} {y2:.1f}L{to + 4:.1f} {y2 - down * 7:.1f}Z",
                "soft",
                fill="soft",
            )


def _axis(d: Drawing, left: float, floor: float, scale: float, most: float) -> None:
    step = next(one for one in (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128) if most / one <= 6)
    d.line(left, floor, left + most * scale, floor)
    for number in range(int(most / step) + 1):
        x = left + number * step * scale
        d.line(x, floor, x, floor + 4)
        d.text(
            x,
            floor + 17,
            f"{number * step:g}" + (" CPU" if number == 0 else ""),
            "soft",
            anchor="start" if number == 0 else "middle",
            size=11,
        )
