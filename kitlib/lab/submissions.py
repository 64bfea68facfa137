"""Reads the progress files that learners submitted, which may be forged for points.

Nothing of a learner's folder is imported or run, and no path in it is opened. A file is opened only if it is a regular
one of bounded size; each line must match a schema; labs and tasks are those of this installation's course, by their
exact names; the course determines a task's points. Other content is ignored and reported.

Predictions cannot be replayed, so they give no points here.
"""

from __future__ import annotations

import os
import re
import stat
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec

from kitlib.api.boundary import MAX_DEPTH, bracket_depth
from kitlib.api.convert import decoder
from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format
from kitlib.lab.definition import SIMULATED, Definition, Ground, LabFolder
from kitlib.lab.launch import in_order
from kitlib.lab.moved import home_of, plain
from kitlib.lab.progress import FORMAT, Kind, Name, Points

MAX_FILE = 64 << 20
"""Maximum size of a progress file in bytes: a course of 15 labs with a hundred checks each stays below 20 MB."""
MAX_LINE = 8 << 20
MAX_ENTRIES = 50_000
MAX_PROBLEMS = 50
"""Maximum number of problems listed per file; further ones are counted."""
_SHOWN = 80


class Details(msgspec.Struct, frozen=True):
    """The fields of an entry's details that the table needs; others are ignored.

    Attributes:
        journal: the learner's actions as JSON; decoded only for a replay.
        ground: the conditions under which the lab was done.
        check_changed: whether the learner's copy of the checks was edited.
        number: number of a hint, from 1.
        owner: the hub's account that opened the lab or notebook; "" = not recorded.
        wanted: whether a call for help is made (true) or withdrawn (false).
        predicted: the answer to a prediction, as JSON.
    """

    journal: msgspec.Raw = msgspec.Raw(b"")
    ground: Ground = SIMULATED
    check_changed: bool = False
    number: int | None = None
    owner: Annotated[str, msgspec.Meta(max_length=200)] = ""
    wanted: bool = True
    predicted: msgspec.Raw = msgspec.Raw(b"")

    @property
    def answered(self) -> bool:
        """Whether a prediction was answered: neither skipped nor given up."""
        return bytes(self.predicted) not in (b"", b"null")


class Submitted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of a progress file (`kitlib.lab.progress.ProgressEntry`)."""

    kind: Kind
    lab: Name
    task: Name
    points: Points
    of: Points
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e11)]
    details: Details = Details()
    format: Annotated[int, msgspec.Meta(ge=0, le=FORMAT)] = 0


@dataclass(frozen=True)
class Submission:
    """The accepted content of a learner's file.

    Attributes:
        checks: (lab, task) -> the check that claims most.
        hints: lab -> number of hints taken; repeated hints count once, as in the learner's own score.
        seeds: lab -> seeds of the checked variants.
        seconds: lab -> (first, last) unix time.
        changed_checks: labs with edited checks, according to the file itself.
        problems: refused parts, as text.
        owners: the hub's accounts that opened a lab or notebook.
        tries: lab -> number of checks of its tasks.
        predictions: (lab or notebook, question) -> whether the first answer was right.
    """

    checks: Mapping[tuple[str, str], Submitted] = field(default_factory=dict)
    hints: Mapping[str, int] = field(default_factory=dict)
    seeds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seconds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    changed_checks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    tries: Mapping[str, int] = field(default_factory=dict)
    predictions: Mapping[tuple[str, str], bool] = field(default_factory=dict)


@lru_cache(maxsize=1)
def course_labs() -> Mapping[str, Definition]:
    """Return the labs of this installation by name, without number; other labs cannot earn points."""
    return {plain(place.name): LabFolder.read(place).definition for place in in_order("labs")}


@lru_cache(maxsize=1)
def course_notebooks() -> Mapping[str, str]:
    """Return name -> name with number of this installation's notebooks, whose predictions are in the same file."""
    try:
        return {plain(path.stem): path.stem for path in in_order("notebooks")}
    except KitError:
        return {}


def shortened(text: str) -> str:
    """Return a learner's text on one line, of bounded length, without control characters."""
    clean = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "?", text)
    return clean if len(clean) <= _SHOWN else f"{clean[:_SHOWN]}… ({len(text)} characters)"


def entries(path: Path) -> list[Submitted]:
    """Return the valid lines of a learner's file, in file order.

    Raises:
        KitError: the file as a whole is refused.
    """
    return _entries(path)[0]


def _entries(path: Path) -> tuple[list[Submitted], list[str]]:
    """Return the valid lines, and the problems of the others."""
    reads, unfinished = decoder(Submitted), ""
    # editors of Windows write a byte order mark
    lines, found, problems = content(path).removeprefix(BOM_UTF8).split(b"\n"), list[Submitted](), list[str]()
    if len(lines) > MAX_ENTRIES:
        raise KitError(f"the file has {len(lines)} lines, but at most {MAX_ENTRIES} are allowed")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(_entry(reads, line))
        except KitError as error:
            if number < len(lines):
                problems.append(f"line {number}: {error}")
            else:  # may be an incomplete line of a killed kernel, unless it is the only one
                unfinished = f"line {number}: {error}"
    if not found and (problems or unfinished):
        raise KitError(f"the file has no valid entry; {(problems or [unfinished])[0]}")
    return found, problems


def read(*paths: Path) -> Submission:
    """Return the claims of a learner's files: one file, or one for each submitted assignment.

    Raises:
        KitError: every file as a whole is refused.
    """
    found, problems = _entries_of_all(paths)
    checks: dict[tuple[str, str], Submitted] = {}
    hints: dict[str, set[tuple[str, int | None]]] = {}
    seeds: dict[str, set[int]] = {}
    seconds: dict[str, tuple[float, float]] = {}
    changed: set[str] = set()
    owners: set[str] = set()
    tries: Counter[str] = Counter()
    predictions: dict[tuple[str, str], bool] = {}
    for entry in found:
        if entry.details.owner:
            owners.add(entry.details.owner)
        if entry.kind == "prediction" and entry.details.answered:
            predictions.setdefault((entry.lab, entry.task), entry.points > 0)
        if entry.lab not in course_labs():
            continue
        first, last = seconds.get(entry.lab, (entry.seconds, entry.seconds))
        seconds[entry.lab] = min(first, entry.seconds), max(last, entry.seconds)
        if entry.kind == "hint":
            hints.setdefault(entry.lab, set()).add((entry.task, entry.details.number))
        elif entry.kind == "check":
            tries[entry.lab] += 1
            seeds.setdefault(entry.lab, set()).add(entry.details.ground.seed)
            if entry.details.check_changed:
                changed.add(entry.lab)
            known = checks.get((entry.lab, entry.task))
            # of equal ones the last: an earlier one may be of older checks
            if known is None or entry.points >= known.points:
                checks[entry.lab, entry.task] = entry
    more = [f"{len(problems) - MAX_PROBLEMS} more problems"] if len(problems) > MAX_PROBLEMS else []
    return Submission(
        checks,
        {lab: len(taken_hints) for lab, taken_hints in hints.items()},
        {lab: tuple(sorted(used)) for lab, used in seeds.items()},
        seconds,
        tuple(sorted(changed)),
        tuple(problems[:MAX_PROBLEMS] + more),
        tuple(sorted(owners)),
        dict(tries),
        predictions,
    )


def _entries_of_all(paths: Sequence[Path]) -> tuple[list[Submitted], list[str]]:
    """Return the lines of all files that fit, and the problems of each with the name of its folder."""
    if len(paths) == 1:
        return _entries(paths[0])
    found, problems, taken = list[Submitted](), list[str](), 0
    for path in paths:
        try:
            more, wrong = _entries(path)
            taken += 1
        except KitError as error:
            more, wrong = [], [str(error)]
        found += more
        problems += [f"{shortened(path.parent.name)}: {text}" for text in wrong]
    if not taken:
        raise KitError("; ".join(problems[:MAX_PROBLEMS]))
    return found, problems


def _entry(reads: msgspec.json.Decoder[Submitted], line: bytes) -> Submitted:
    """Decode and validate a line.

    Raises:
        KitError: the line does not match the schema, or names a lab or task that the course does not have.
    """
    if len(line) > MAX_LINE:
        raise KitError(f"the line is too long: {len(line)} bytes, but at most {MAX_LINE} are allowed")
    if bracket_depth(line) > MAX_DEPTH:  # Python 3.14 decodes deeper texts than older versions
        raise KitError(f"invalid entry: nested more than {MAX_DEPTH} levels deep")
    try:
        entry = reads.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        check_format(line, FORMAT)
        raise KitError(f"invalid entry: {shortened(str(error))}") from None
    named, entry = entry.lab, msgspec.structs.replace(entry, lab=home_of(entry.lab, entry.task))
    lab = course_labs().get(entry.lab)
    if lab is None:
        if entry.lab in course_notebooks():
            return entry  # exercises of notebooks give no points in the table
        raise KitError(f"the course has no lab {shortened(named)!r}")
    if entry.kind == "prediction" or (entry.kind in ("open", "help") and not entry.task):
        return entry
    task = next((task for task in lab.tasks if task.key == entry.task), None)
    if task is None:
        raise KitError(f"lab {entry.lab} has no task {shortened(entry.task)!r}")
    if entry.points > task.points:
        raise KitError(
            f"{entry.lab} {task.key}: the entry claims {entry.points:g} points, but the task is worth {task.points:g}"
        )
    ground = entry.details.ground
    if entry.kind == "check" and (ground.kernel not in lab.kernels or ground.cgroup_version not in (0, 1, 2)):
        raise KitError(
            f"{entry.lab}: this lab cannot be done on {ground.kernel} nodes of cgroup v{ground.cgroup_version}"
        )
    return entry


def content(path: Path) -> bytes:
    """Return a regular file's bytes, without following links and without blocking.

    Raises:
        KitError: the file is not a regular one, or too large.
    """
    # O_NONBLOCK: opening a FIFO would wait for a writer. O_NOFOLLOW covers the last component only and does not exist
    # on Windows, hence the check of both components. fstat reads the opened file, which cannot be exchanged
    # afterwards.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink() or (path.name == "progress.jsonl" and path.parent.is_symlink()):
            raise KitError("the file is a symbolic link, which is not allowed")
        descriptor = os.open(path, flags)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise KitError("not a regular file")
            if found.st_size > MAX_FILE:
                raise KitError(f"the file is too large: {found.st_size} bytes, but at most {MAX_FILE} are allowed")
            return file.read(MAX_FILE)
    except OSError as error:
        raise KitError(f"the file cannot be read: {error.strerror or error}") from None
