"""A node's memory as a bar to scale: a token per process, and a line at the end of the machine's memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kitlib.charts.base import Row
from kitlib.charts.scene import BarScale, Box, Line, PointColumn, Token
from kitlib.views.units import size

PAGE = 4096
"""Size of a page in bytes; the kernel counts points in pages."""


def memory_box(
    name: str,
    capacity: int,
    rows: Sequence[Row],
    *,
    dead: Collection[str] = (),
    chosen: str = "",
    coming: str = "",
    marks: Sequence[Line] = (),
    words: str = "",
    whole: str = "the machine",
    points: bool = False,
) -> Box:
    """Return the bar of a node.

    Args:
        name: the node's name.
        capacity: bytes of the machine, or of the object in `whole`.
        rows: {"name", "qos", "memory_bytes", "words"}, in display order; qos "node" = a process of no pod.
        dead: names of the killed or evicted processes.
        chosen: name of the process that the learner has selected; "" = none.
        coming: name of the process that does not exist yet; "" = none.
        marks: further lines, at a fraction of the capacity.
        words: description of the node.
        whole: object that has the capacity.
        points: whether each process has a column of its points above it; rows then have "badness" in pages and
            "oom_score_adj".
    """
    used = sum(int(row["memory_bytes"]) for row in rows)
    scale = BarScale(capacity, used)
    tokens = [
        Token(
            str(row["name"]),
            str(row["name"]).partition("/")[0],
            note=size(int(row["memory_bytes"])),
            kind=str(row["qos"]),
            state="dead"
            if row["name"] in dead
            else "chosen"
            if row["name"] == chosen
            else "promised"
            if row["name"] == coming
            else "",
            size=scale.of(float(row["memory_bytes"])),
            words=str(row.get("words", "")),
        )
        for row in rows
    ]
    end = scale.of(capacity)
    lines = [Line(mark.at * end, mark.label, mark.kind) for mark in marks]
    lines.append(Line(end, f"{size(capacity)}: {whole}", "bad" if scale.over else ""))
    free = f"{mebibytes(capacity - used)} free" if not scale.over else f"{mebibytes(used - capacity)} too much"
    lines.sort(key=lambda line: line.at)
    note = f"{mebibytes(used)} of {mebibytes(capacity)} in use, {free}"
    columns = point_columns(rows, scale, dead, coming) if points else []
    return Box(name, name, tokens, note, "bar", "bad" if scale.over else "", lines, words or note, columns)


def point_columns(
    rows: Sequence[Row], scale: BarScale, dead: Collection[str] = (), coming: str = ""
) -> list[PointColumn]:
    """Return the points by which the kernel selects a victim, a column per process; negative ones point down.

    Source: kernel mm/oom_kill.c oom_badness(): pages in memory, plus oom_score_adj thousandths of all pages.

    Args:
        rows: as for `memory_box`, in the order of the bar.
        scale: scale of the bar.
        dead: names of the killed processes.
        coming: name of the process that does not exist yet; "" = none.
    """
    highest = max((abs(int(row["badness"])) for row in rows), default=0) or 1
    found: list[PointColumn] = []
    at = 0.0
    for row in rows:
        wide, all_points = scale.of(float(row["memory_bytes"])), int(row["badness"])
        memory = min(int(row["memory_bytes"]) // PAGE, max(all_points, 0))
        parts = [("memory", memory / highest), ("added", (all_points - memory) / highest)]
        if all_points < 0:
            parts = [("added", -all_points / highest)]
        label = f"{'−' if all_points < 0 else ''}{mebibytes(abs(all_points) * PAGE)}"
        words = f"{row['name']}: {label} of points, oom_score_adj {row['oom_score_adj']}"
        state = "dead" if row["name"] in dead else "promised" if row["name"] == coming else ""
        found.append(PointColumn(str(row["name"]), at, wide, parts, label, all_points < 0, state, words))
        at += wide
    return found


def mebibytes(amount: float) -> str:
    """Return bytes in MiB, one unit for all amounts, so that they can be compared."""
    return f"{amount / 2**20:,.0f}Mi"
