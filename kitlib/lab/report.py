"""The instructor's table: one row per learner, one column per lab, from the learners' progress files.

Each learner's file is `NAME.jsonl` or `NAME/progress.jsonl` in the collected folder; in the folders `submitted` and
`autograded` of an nbgrader course, a learner has one file for each assignment, `NAME/LAB/progress.jsonl`.
`kitlib.lab.submissions` takes the best check of each task of the course, limited to the task's points. Tasks of a lab
may be solved in different attempts: points count what a learner has shown, once. A certificate asks for more: one
attempt that solves all tasks. Without a replay these are the learners' claims; with one, only confirmed points count.
Predictions give no points. The cost of hints (`hint_cost` of lab.toml, KITLIB_HINT_COST) is subtracted from the total.
A file that is refused has a row without points and the reason; the other rows are not affected. Each learner is a point
of a sweep: a room is graded in several processes, and a file that ends its process is one bad row. Remarks name files
and work that an instructor should check (`kitlib.lab.remarks`).
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.lab import collected, submissions
from kitlib.lab.launch import in_order
from kitlib.lab.moved import plain
from kitlib.lab.recheck import recheck as replay
from kitlib.lab.remarks import SharedFile, remarks
from kitlib.lab.score import hint_cost
from kitlib.study.sweeps import SweepProgress, SweepRow, sweep

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters that begin a formula in a spreadsheet (OWASP, "CSV Injection"), including the full-width forms."""


@dataclass(frozen=True)
class LearnerRow:
    """The results of a learner.

    Attributes:
        learner: name of the file or folder.
        labs: lab -> (points, possible points so far).
        hints: lab -> hints taken.
        cost: lab -> points that these hints cost.
        seeds: lab -> the seeds of the checked variants.
        minutes: lab -> minutes between the first and the last entry.
        changed_checks: labs whose check file differed from the package's when a task was graded.
        not_confirmed: claims that a replay did not confirm, as text; None = no replay.
        problems: refused parts of the file, or the reason why all of it was refused, as text.
        name: name in the roster of the hub that collected the file; "" = none.
        tries: lab -> number of checks of its tasks.
        predictions: lab or notebook -> question -> whether the first answer was right.
        owners: the hub's accounts in the file.
        journals: "LAB TASK" -> digest of the variant and the journal that earned points.
        remarks: remarks for the instructor: another account's file, the same work as another's.
    """

    learner: str
    labs: dict[str, tuple[float, float]] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)
    cost: dict[str, float] = field(default_factory=dict)
    seeds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    minutes: dict[str, float] = field(default_factory=dict)
    changed_checks: tuple[str, ...] = ()
    not_confirmed: tuple[str, ...] | None = None
    problems: tuple[str, ...] = ()
    name: str = ""
    tries: dict[str, int] = field(default_factory=dict)
    predictions: dict[str, dict[str, bool]] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    journals: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """The sum of all labs' points, each minus the cost of its hints, but at least 0."""
        return sum(max(points - self.cost.get(lab, 0.0), 0.0) for lab, (points, _) in self.labs.items())


def read_learners(
    folder: str | Path,
    *,
    recheck: bool = False,
    workers: int | None = None,
    progress: Callable[[SweepProgress], Any] | bool = False,
    key: Path | None = None,
) -> list[LearnerRow]:
    """Return one row for every progress file in `folder`, by name.

    Args:
        folder: the folder with the files.
        recheck: whether to replay each task's best check with this installation's labs, and to count its result.
        workers: processes that read and replay files; None = one per processor and file at most, none without a
            replay; 0 = this process.
        progress: as for `study.sweep`.
        key: the public key of the hub that collected the files; None = the signature is not checked.

    Raises:
        KitError: the folder does not exist, holds no progress file, or was not signed by this key.
    """
    place = Path(folder)
    if not place.is_dir():
        raise KitError(f"{place}: not a folder")
    root = place.resolve()
    found = [(path.stem, path) for path in root.glob("*.jsonl") if path.name != "progress.jsonl"]
    found += [(path.parent.name, path) for path in root.glob("*/progress.jsonl")]
    if (root / "progress.jsonl").exists():
        found.append((root.name, root / "progress.jsonl"))
    seen, refused = _one_file_each(root, found)
    seen = _assignments(root) | seen  # where a learner has one file, a hub's signature covers that file alone
    if not seen:
        raise KitError(
            f"{place}: no progress files found; expected NAME.jsonl, NAME/progress.jsonl or NAME/LAB/progress.jsonl "
            "(nbgrader)"
        )
    points = [
        # parameters of a sweep are text, but a file's name may have bytes that are not UTF-8
        {"paths": [quote_from_bytes(os.fsencode(path)) for path in paths], "recheck": recheck}
        for paths in seen.values()
    ]
    if workers is None and not recheck:
        workers = 0  # reading alone is quicker than starting a process
    results = sweep(graded, points, workers=workers, progress=progress)
    rows = [
        _learner_row(submissions.shortened(name), row, recheck) for name, row in zip(seen, results.rows, strict=True)
    ]
    made = sorted([*rows, *refused], key=lambda row: row.learner)
    return _remarked(made, collected.read(root, key), {name: paths[0] for name, paths in seen.items()})


def _one_file_each(root: Path, found: Iterable[tuple[str, Path]]) -> tuple[dict[str, list[Path]], list[LearnerRow]]:
    """Return the first file of each learner, and a row that refuses each further one."""
    refused, seen = list[LearnerRow](), dict[str, list[Path]]()
    for name, path in sorted(found):
        if name in seen:
            first, second = (path_of.relative_to(root) for path_of in (seen[name][0], path))
            problem = f"{second}: not read: {first} is this learner's file already"
            refused.append(LearnerRow(submissions.shortened(name), problems=(submissions.shortened(problem),)))
        else:
            seen[name] = [path]
    return seen, refused


def _assignments(root: Path) -> dict[str, list[Path]]:
    """Return the files of labs that nbgrader collected, by learner; a link in a learner's place is not followed."""
    found: dict[str, list[Path]] = {}
    names = [place.name for place in in_order("labs")]  # older exports have numbers
    for learner in sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink()):
        # by name, so that other content of a learner's folder is not listed
        files = [learner / lab / "progress.jsonl" for name in names for lab in (name, plain(name))]
        if there := [file for file in files if os.path.lexists(file)]:
            found[learner.name] = there
    return found


def _remarked(
    rows: list[LearnerRow], taken: collected.Collection | None, files: Mapping[str, Path]
) -> list[LearnerRow]:
    """Return the rows with their remarks, and with the names of the hub's roster."""
    paths = {submissions.shortened(name): path for name, path in files.items()}
    room = {}
    for row in rows:
        known = taken.files.get(row.learner) if taken else None
        unchanged = known is None or known.digest == _file_digest(paths[row.learner])
        room[row.learner] = SharedFile(
            row.owners, row.journals, None if taken is None else known is not None, unchanged
        )
    found = remarks(room)
    names = {account: file.name for account, file in taken.files.items()} if taken else {}
    return [replace(row, remarks=found[row.learner], name=names.get(row.learner, "")) for row in rows]


def _file_digest(path: Path) -> str:
    try:
        return hashlib.sha256(submissions.content(path)).hexdigest()
    except KitError:  # the row names the reason
        return ""


def names_are_good_faith(rows: Iterable[LearnerRow]) -> bool:
    """Return whether no file of the room names an account, so that the learners chose the names themselves."""
    return not any(row.owners for row in rows)


def _learner_row(learner: str, row: SweepRow, recheck: bool) -> LearnerRow:
    """Return a learner's row; if the process ended or its code failed, a row without points."""
    if not row.error:
        return convert({**row.values["found"], "learner": learner}, LearnerRow)
    problem = submissions.shortened(f"bad file: {row.error}")
    return LearnerRow(learner, problems=(problem,), not_confirmed=() if recheck else None)


def graded(paths: list[str], recheck: bool) -> dict[str, Any]:
    """Return the results of a learner's files as data; the scenario of the sweep.

    Args:
        paths: paths of the progress files, the bytes of each quoted as in a URL.
        recheck: whether to replay the claims.
    """
    files = [Path(os.fsdecode(unquote_to_bytes(path))) for path in paths]
    return {"found": msgspec.to_builtins(_row("", files, recheck))}


def _row(learner: str, paths: Sequence[Path], recheck: bool) -> LearnerRow:
    try:
        found = submissions.read(*paths)
    except KitError as error:
        return LearnerRow(learner, problems=(f"bad file: {error}",), not_confirmed=() if recheck else None)
    points = {key: entry.points for key, entry in found.checks.items()}
    claims = replay(found.checks) if recheck else []
    # Every claim is replaced, so one that the replay does not confirm counts with the replay's points.
    points |= {(claim.lab, claim.task): claim.confirmed for claim in claims}
    course = submissions.course_labs()
    labs = dict.fromkeys(found.seconds, (0.0, 0.0))
    for (lab, task), earned in points.items():
        so_far, of = labs[lab]
        labs[lab] = so_far + earned, of + course[lab].task(task).points
    return LearnerRow(
        learner,
        labs=labs,
        not_confirmed=tuple(str(claim) for claim in claims if claim.why) if recheck else None,
        hints={lab: found.hints.get(lab, 0) for lab in labs},
        cost={lab: found.hints.get(lab, 0) * hint_cost(course[lab]) for lab in labs},
        seeds={lab: found.seeds.get(lab, ()) for lab in labs},
        minutes={lab: (last - first) / 60 for lab, (first, last) in found.seconds.items()},
        changed_checks=found.changed_checks,
        problems=found.problems,
        tries=dict(found.tries),
        predictions=_by_lab(found.predictions),
        owners=found.owners,
        journals={
            f"{lab} {task}": digest
            for (lab, task), entry in found.checks.items()
            if entry.points and (digest := _digest(entry))
        },
    )


def _by_lab(predictions: Mapping[tuple[str, str], bool]) -> dict[str, dict[str, bool]]:
    made: dict[str, dict[str, bool]] = {}
    for (lab, question), right in predictions.items():
        made.setdefault(lab, {})[question] = right
    return made


def _digest(entry: submissions.Submitted) -> str:
    """Return a digest of variant and journal; "" if the entry has no journal."""
    journal = bytes(entry.details.journal)
    return hashlib.sha256(b"%d %s" % (entry.details.ground.seed, journal)).hexdigest() if journal else ""


def labs_of(rows: Iterable[LearnerRow]) -> list[str]:
    """Return the names of all labs that a learner has begun, in the order of the course."""
    begun = {lab for row in rows for lab in row.labs}
    return [lab for lab in submissions.course_labs() if lab in begun]


def to_csv(rows: list[LearnerRow]) -> str:
    """Return the table as CSV: a row for each learner, columns for each lab, then predictions of labs and notebooks.

    Further columns have the claims that a replay did not confirm, the refused parts of files, and remarks for the
    instructor. Spreadsheets read no cell as a formula.
    """
    labs, out, replayed = labs_of(rows), io.StringIO(), any(row.not_confirmed is not None for row in rows)
    asked = sorted({place for row in rows for place in row.predictions})
    writer = csv.writer(out, lineterminator="\n")
    columns = [f"{lab} {what}" for lab in labs for what in _LAB_COLUMNS]
    columns += [f"{place} predictions {what}" for place in asked for what in ("right", "answered")]
    optional = {
        "name": [row.name for row in rows],
        "not confirmed": ["; ".join(row.not_confirmed or ()) for row in rows],
        "refused": ["; ".join(row.problems) for row in rows],
        "remarks": ["; ".join(row.remarks) for row in rows],
    }
    more = {name: texts for name, texts in optional.items() if any(texts) or (name == "not confirmed" and replayed)}
    writer.writerow(["learner", *columns, f"total {_counted(rows)}", "changed checks", *more])
    for number, row in enumerate(rows):
        cells: list[object] = [_text(row.learner)]
        for lab in labs:
            points, of = row.labs.get(lab, ("", ""))
            cells += [_number(points), _number(of), row.hints.get(lab, ""), _number(row.cost.get(lab, ""))]
            minutes = row.minutes.get(lab, "")
            cells += [_seeds(row, lab), row.tries.get(lab, "" if lab not in row.labs else 0)]
            cells.append(minutes if isinstance(minutes, str) else f"{minutes:.0f}")
        for place in asked:
            answers = row.predictions.get(place)
            cells += ["", ""] if answers is None else [sum(answers.values()), len(answers)]
        cells += [_number(row.points), " ".join(row.changed_checks)]
        cells += [_text(texts[number]) for texts in more.values()]
        writer.writerow(cells)
    return out.getvalue()


def _counted(rows: Iterable[LearnerRow]) -> str:
    """Return whether points are "confirmed" by a replay, or "claimed" by the files, which anybody may have written."""
    return "confirmed" if any(row.not_confirmed is not None for row in rows) else "claimed"


CLAIMED = "No point is confirmed: these are what the learners' files claim, and anybody can write a file. "
CLAIMED += "kitlib lab-report FOLDER --recheck replays them."
_LAB_COLUMNS = ("points", "of", "hints", "hint cost", "variant", "tries", "minutes")


def to_json(rows: list[LearnerRow]) -> str:
    """Return the table as JSON: a list of learners with all their data, including each prediction."""
    data = [{**msgspec.to_builtins(row), "total": row.points, "points": _counted(rows)} for row in rows]
    for entry in data:
        del entry["journals"]  # digests, which were compared already
    return msgspec.json.format(msgspec.json.encode(data)).decode() + "\n"


def _text(value: str) -> str:
    """Return a text that spreadsheets do not read as a formula: they do not show an apostrophe in front."""
    return f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value


def to_html(rows: list[LearnerRow]) -> str:
    """Return the table as a page: a bar in each cell, hints and minutes as small print, changed checks marked."""
    labs, counted = labs_of(rows), _counted(rows)
    warning = f"<p><strong>{html.escape(CLAIMED)}</strong></p>" if counted == "claimed" else ""
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
        f"{warning}<table><caption>{len(rows)} learners, {len(labs)} labs. Points of possible points; ⚠ = the check "
        f'file had been changed.</caption><thead><tr><th scope="col">learner</th>{head}'
        f'<th scope="col">total {counted}</th></tr></thead>'
        f"<tbody>{body}</tbody></table>{_not_confirmed(rows)}{_refused(rows)}"
        f"{_remarks(rows)}</html>"
    )


def _not_confirmed(rows: list[LearnerRow]) -> str:
    if all(row.not_confirmed is None for row in rows):
        return ""
    items = "".join(
        f"<li>{html.escape(f'{row.learner}: {text}')}</li>" for row in rows for text in row.not_confirmed or ()
    )
    said = f"<h2>Not confirmed by a replay</h2><ul>{items}</ul>" if items else "<p>A replay confirmed every point.</p>"
    return f"{said}<p>{BEST}</p>"


def _refused(rows: list[LearnerRow]) -> str:
    items = "".join(f"<li>{html.escape(f'{row.learner}: {text}')}</li>" for row in rows for text in row.problems)
    return f"<h2>Refused</h2><ul>{items}</ul>" if items else ""


def _remarks(rows: list[LearnerRow]) -> str:
    items = "".join(f"<li>{html.escape(f'{row.learner}: {text}')}</li>" for row in rows for text in row.remarks)
    faith = f"<p>{GOOD_FAITH}</p>" if names_are_good_faith(rows) else ""
    return (f"<h2>Remarks</h2><ul>{items}</ul>" if items else "") + faith


BEST = (
    "Each task counts with its best attempt, replayed by itself. A certificate needs one attempt that solves all tasks."
)
GOOD_FAITH = "No file names an account of a hub: the names are of good faith."


def _cell(row: LearnerRow, lab: str) -> str:
    if lab not in row.labs:
        return "<td></td>"
    points, of = row.labs[lab]
    warning = " ⚠" if lab in row.changed_checks else ""
    meter = f'<meter max="{_number(of) or 1}" value="{_number(points)}"></meter>'
    cost, seeds = row.cost.get(lab, 0.0), _seeds(row, lab)
    hints = f"{row.hints.get(lab, 0)} hints{f' (-{_number(cost)})' if cost else ''}"
    variant = f", variant {seeds}" if seeds else ""
    return (
        f"<td>{meter} {_number(points)}/{_number(of)}{warning}"
        f"<br><small>{hints}, {row.minutes.get(lab, 0):.0f} min{variant}</small></td>"
    )


def _seeds(row: LearnerRow, lab: str) -> str:
    """Return the seeds of the variants that a learner checked; "" if there are none."""
    return " ".join(map(str, row.seeds.get(lab, ())))


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
