"""A node's memory as a bar to scale: one token a process, the machine's end as a line across it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kitlib.charts.base import Row
from kitlib.charts.scene import BarScale, Box, Line, Token
from kitlib.views.units import size


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
) -> Box:
    """The bar of one node.

    Args:
        name: of the node.
        capacity: bytes of the machine, or of what `whole` names.
        rows: {"name", "qos", "memory_bytes", "words"}, in the order to show; qos "node" = of no pod.
        dead: names of those that were killed or evicted.
        chosen: the one that the learner has picked.
        coming: the one that is not there yet.
        marks: further lines, their place as a part of the capacity.
        words: what is said about the node.
        whole: what the capacity is that of.
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
    return Box(name, name, tokens, note, "bar", "bad" if scale.over else "", lines, words or note)


def mebibytes(amount: float) -> str:
    """Bytes in MiB, as amounts are compared best."""
    return f"{amount / 2**20:,.0f}Mi"
