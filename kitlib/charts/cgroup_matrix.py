"""The cgroup tree as a matrix: a row per cgroup, a column per file, each cell shows whether the value is as desired."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.charts.base import Chart, Row
from kitlib.charts.matrix import EQUAL_OR_NOT, matrix
from kitlib.charts.style import GREY

ABSENT, AS_DESIRED, DIFFERS = 0, 1, 2


def cgroup_matrix(rows: Sequence[Row], *, compared: bool = True) -> Chart:
    """Return a chart with one cell per file; differing cells have the sign ≠ and another colour.

    Args:
        rows: {"cgroup", "label", "file", "desired", "observed", "why"}, in tree order; None = the file does not exist.
        compared: whether `observed` was read.
    """
    labels = list(dict.fromkeys(str(row["label"]) for row in rows))
    files = list(dict.fromkeys(str(row["file"]) for row in rows if row["file"]))
    different = [row for row in rows if row["desired"] != row["observed"]]
    if not compared:
        sentence = f"{len(labels)} cgroups, {sum(bool(row['file']) for row in rows)} files, as the kubelet wants them."
    elif not different:
        sentence = f"{len(labels)} cgroups; desired and observed are the same, file by file."
    else:
        first = different[0]
        what = f"{first['label']} {first['file']}".strip()
        sentence = (
            f"{len(different)} {'value differs' if len(different) == 1 else 'values differ'} between desired and "
            f"observed; the first is {what}: desired {_said(first['desired'])}, observed {_said(first['observed'])}."
        )

    def draw():
        cells = {(str(row["label"]), str(row["file"])): row for row in rows}
        states, texts = [], []
        for label in labels:
            mine = [cells.get((label, file)) for file in files]
            states.append(
                [ABSENT if c is None else DIFFERS if c["desired"] != c["observed"] else AS_DESIRED for c in mine]
            )
            texts.append(["" if c is None else _text(c) for c in mine])
        figure = matrix(
            labels,
            files,
            states,
            texts,
            EQUAL_OR_NOT,
            "%{y}<br>%{x}: %{text}",
            textfont={"size": 11},
            zmin=ABSENT,
            zmax=DIFFERS,
            xgap=1,
            ygap=1,
        )
        figure.update_layout(height=max(260, 150 + 24 * len(labels)))
        figure.update_yaxes(tickfont={"color": GREY})
        figure.update_xaxes(side="bottom", tickangle=-30)
        return figure

    names = ("cgroup", "file", "desired", "observed", "why")
    return Chart("Desired and observed", sentence, {name: [row[name] for row in rows] for name in names}, draw)


def _text(row: Row) -> str:
    shown = _said(row["observed"])
    return f"≠ {shown}" if row["desired"] != row["observed"] else shown


def _said(value: object) -> str:
    return "missing" if value is None else str(value) or "there"
