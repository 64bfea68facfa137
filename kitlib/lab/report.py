"""The instructor's table: one row a learner, one column a lab, from the learners' progress files.

Each learner's file is `NAME.jsonl` or `NAME/progress.jsonl` in the folder that was collected. Points count as they do
for the learner: the best check of each task, the first answer of each prediction.
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.lab.progress import Entry, Progress
from kitlib.lab.recheck import recheck as replay


@dataclass(frozen=True)
class LearnerRow:
    """What one learner reached.

    Attributes:
        learner: the file's or folder's name.
        labs: lab -> (points, possible points so far).
        hints: lab -> hints taken.
        minutes: lab -> minutes between the first and the last entry.
        changed_checks: labs whose check file differed from the package's when a task was graded.
        not_confirmed: claims that a replay did not confirm, in words; None = nothing was replayed.
    """

    learner: str
    labs: dict[str, tuple[float, float]] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)
    minutes: dict[str, float] = field(default_factory=dict)
    changed_checks: tuple[str, ...] = ()
    not_confirmed: tuple[str, ...] | None = None

    @property
    def points(self) -> float:
        """All points together."""
        return sum(points for points, _ in self.labs.values())


def read_learners(folder: str | Path, *, recheck: bool = False) -> list[LearnerRow]:
    """One row for every progress file in `folder`, by name.

    Args:
        folder: where the files are.
        recheck: replay each task's best check here, with this installation's labs, and count what comes out.

    Raises:
        KitError: the folder is not there or holds no progress file.
    """
    place = Path(folder)
    if not place.is_dir():
        raise KitError(f"{place}: not a folder")
    files = {path.stem: path for path in place.glob("*.jsonl") if path.name != "progress.jsonl"}
    files |= {path.parent.name: path for path in place.glob("*/progress.jsonl")}
    if (place / "progress.jsonl").exists():
        files.setdefault(place.resolve().name, place / "progress.jsonl")
    if not files:
        raise KitError(f"{place}: no progress files (NAME.jsonl or NAME/progress.jsonl)")
    return [_row(name, files[name], recheck) for name in sorted(files)]


def _row(learner: str, path: Path, recheck: bool) -> LearnerRow:
    progress = Progress(path.parent)
    progress.path = path
    by_lab: dict[str, list[Entry]] = {}
    for entry in progress.entries():
        by_lab.setdefault(entry.lab, []).append(entry)
    scores = {lab: progress.score(lab) for lab in by_lab}
    claims = replay(progress) if recheck else []
    for claim in claims:
        points, of = scores[claim.lab]
        scores[claim.lab] = points - claim.claimed + claim.confirmed, of
    return LearnerRow(
        learner,
        labs=scores,
        not_confirmed=tuple(str(claim) for claim in claims if claim.why) if recheck else None,
        hints={lab: sum(e.kind == "hint" for e in entries) for lab, entries in by_lab.items()},
        minutes={lab: (entries[-1].seconds - entries[0].seconds) / 60 for lab, entries in by_lab.items()},
        changed_checks=tuple(
            lab for lab, entries in by_lab.items() if any(e.details.get("check_changed") for e in entries)
        ),
    )


def labs_of(rows: Iterable[LearnerRow]) -> list[str]:
    """Every lab that anybody has begun, by name."""
    return sorted({lab for row in rows for lab in row.labs})


def to_csv(rows: list[LearnerRow]) -> str:
    """The table as CSV: learner, points and possible points of each lab, hints, total, and labs with changed checks.

    A last column says what a replay did not confirm, where there was one.
    """
    labs, out, replayed = labs_of(rows), io.StringIO(), any(row.not_confirmed is not None for row in rows)
    writer = csv.writer(out, lineterminator="\n")
    columns = [f"{lab} {what}" for lab in labs for what in ("points", "of", "hints")]
    writer.writerow(["learner", *columns, "total", "changed checks", *(["not confirmed"] if replayed else [])])
    for row in rows:
        cells: list[object] = [row.learner]
        for lab in labs:
            points, of = row.labs.get(lab, ("", ""))
            cells += [_number(points), _number(of), row.hints.get(lab, "")]
        cells += [_number(row.points), " ".join(row.changed_checks)]
        writer.writerow([*cells, *(["; ".join(row.not_confirmed or ())] if replayed else [])])
    return out.getvalue()


def to_html(rows: list[LearnerRow]) -> str:
    """The table as a page of its own: a bar a cell, hints and minutes as small print, changed checks marked."""
    labs = labs_of(rows)
    head = "".join(f'<th scope="col">{html.escape(lab)}</th>' for lab in labs)
    body = "".join(
        f'<tr><th scope="row">{html.escape(row.learner)}</th>'
        + "".join(_cell(row, lab) for lab in labs)
        + f"<td>{_number(row.points)}</td></tr>"
        for row in rows
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Labs: what the learners reached</title>'
        "<style>body{font:15px system-ui;margin:2em}table{border-collapse:collapse}th,td{border:1px solid #bbb;"
        "padding:.3em .6em;text-align:left}small{color:#555}meter{width:6em}</style>"
        f"<table><caption>{len(rows)} learners, {len(labs)} labs. Points of possible points; ⚠ = the check "
        f'file had been changed.</caption><thead><tr><th scope="col">learner</th>{head}'
        '<th scope="col">total</th></tr></thead>'
        f"<tbody>{body}</tbody></table>{_not_confirmed(rows)}</html>"
    )


def _not_confirmed(rows: list[LearnerRow]) -> str:
    if all(row.not_confirmed is None for row in rows):
        return ""
    items = "".join(
        f"<li>{html.escape(f'{row.learner}: {text}')}</li>" for row in rows for text in row.not_confirmed or ()
    )
    return f"<h2>Not confirmed by a replay</h2><ul>{items}</ul>" if items else "<p>A replay confirmed every point.</p>"


def _cell(row: LearnerRow, lab: str) -> str:
    if lab not in row.labs:
        return "<td></td>"
    points, of = row.labs[lab]
    warning = " ⚠" if lab in row.changed_checks else ""
    meter = f'<meter max="{_number(of) or 1}" value="{_number(points)}"></meter>'
    return (
        f"<td>{meter} {_number(points)}/{_number(of)}{warning}"
        f"<br><small>{row.hints.get(lab, 0)} hints, {row.minutes.get(lab, 0):.0f} min</small></td>"
    )


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
