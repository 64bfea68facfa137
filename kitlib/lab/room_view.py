"""An instructor's view over all learners while they work: who is at which lab, and who is stuck.

Read from the progress files on shared storage, as `kitlib lab-report` reads them: nothing of a learner's folder is
trusted. A learner is stuck where hints do not help: the more of a task's hints are taken without its being solved, the
higher the row stands. Files that have not changed are not read again.
"""

from __future__ import annotations

import html
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.lab import submissions
from kitlib.lab.definition import Definition
from kitlib.lab.room import Room
from kitlib.lab.submissions import Submitted

TRIES = 5
"""Checks of a task without success from which a learner counts as stuck, with or without hints."""
QUIET = 15 * 60
"""Seconds without an entry after which a learner counts as quiet."""
STUCK, HINTED, QUIETLY, WORKS, DONE = "stuck", "hints", "quiet", "works", "done"
ORDER = (STUCK, HINTED, QUIETLY, WORKS, DONE)
"""States, those first to whom an instructor should go."""


@dataclass(frozen=True)
class Seat:
    """One learner now.

    Attributes:
        learner: the folder's or file's name.
        state: one of `ORDER`.
        lab, task: where the learner is; "" = nowhere yet.
        solved, tasks: of that lab.
        hints, hints_there: taken of that task, and how many it has.
        tries: checks of that task without success so far.
        idle: seconds since the last entry.
        why: in words.
    """

    learner: str
    state: str
    lab: str = ""
    task: str = ""
    solved: int = 0
    tasks: int = 0
    hints: int = 0
    hints_there: int = 0
    tries: int = 0
    idle: float = 0.0
    why: str = ""


class RoomView:
    """The learners of a folder.

    Args:
        folder: with NAME.jsonl or NAME/progress.jsonl, as for `kitlib lab-report`.

    Raises:
        KitError: it is no folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise KitError(f"{self._folder}: not a folder")
        self._known: dict[Path, tuple[tuple[int, int], Sequence[Submitted] | str]] = {}

    def seats(self, now: float | None = None) -> list[Seat]:
        """Every learner, those who need help first.

        Args:
            now: unix time; None = the machine's.
        """
        at = time.time() if now is None else now
        found = [(path.stem, path) for path in self._folder.glob("*.jsonl") if path.name != "progress.jsonl"]
        found += [(path.parent.name, path) for path in self._folder.glob("*/progress.jsonl")]
        made = [self._seat(submissions.shortened(name), path, at) for name, path in sorted(found)]
        return sorted(made, key=lambda seat: (ORDER.index(seat.state), -seat.hints, -seat.tries, seat.learner))

    def _seat(self, learner: str, path: Path, now: float) -> Seat:
        entries = self._entries(path)
        if isinstance(entries, str):
            return Seat(learner, QUIETLY, why=f"bad file: {entries}")
        return seat(learner, entries, now)

    def _entries(self, path: Path) -> Sequence[Submitted] | str:
        try:
            told = path.lstat()
            mark = told.st_mtime_ns, told.st_size
        except OSError as error:
            return error.strerror or str(error)
        known = self._known.get(path)
        if known is None or known[0] != mark:
            try:
                found: Sequence[Submitted] | str = submissions.entries(path)
            except KitError as error:
                found = str(error)
            known = self._known[path] = mark, found
        return known[1]


def seat(learner: str, entries: Iterable[Submitted], now: float) -> Seat:
    """Where a learner is, of what was done, oldest first.

    Args:
        learner: the name.
        entries: of the progress file, those of the course's labs.
        now: unix time.
    """
    course = submissions.course_labs()
    of_labs = [entry for entry in entries if entry.lab in course]
    if not of_labs:
        return Seat(learner, QUIETLY, why="has not begun a lab")
    last = of_labs[-1]
    lab = course[last.lab]
    here = [entry for entry in of_labs if entry.lab == last.lab]
    solved = {e.task for e in here if e.kind == "check" and e.points >= lab.task(e.task).points}
    idle = max(0.0, now - max(entry.seconds for entry in of_labs))
    if len(solved) == len(lab.tasks):
        return Seat(learner, DONE, last.lab, "", len(solved), len(lab.tasks), idle=idle, why="all tasks solved")
    task = _task(lab, here, solved)
    hints = len({e.details.number for e in here if e.kind == "hint" and e.task == task})
    there = len(lab.task(task).hints)
    tries = sum(e.kind == "check" and e.task == task for e in here)
    state, why = _state(hints, there, tries, idle)
    return Seat(learner, state, last.lab, task, len(solved), len(lab.tasks), hints, there, tries, idle, why)


def _task(lab: Definition, entries: Sequence[Submitted], solved: set[str]) -> str:
    """The unsolved task for which the last hint was taken, else the first that is not solved.

    A check without a name checks all tasks, so it does not say at which one a learner is.
    """
    keys = [task.key for task in lab.tasks if task.key not in solved]
    hinted = [entry.task for entry in entries if entry.kind == "hint" and entry.task in keys]
    return hinted[-1] if hinted else keys[0]


def _state(hints: int, there: int, tries: int, idle: float) -> tuple[str, str]:
    if hints and hints >= there:
        return STUCK, f"all {there} hints taken, not solved"
    if tries >= TRIES:
        return STUCK, f"{tries} checks without success"
    if idle >= QUIET:
        return QUIETLY, f"nothing for {idle / 60:.0f} minutes"
    if hints:
        return HINTED, f"{hints} of {there} hints taken"
    return WORKS, ""


def to_text(seats: Sequence[Seat], room: Room | None = None) -> str:
    """The room as text: a line for each lab, then a line for each learner."""
    lines = [*_summary(seats, room or Room()), ""]
    width = max([len(seat.learner) for seat in seats] + [7])
    lines.append(f"{'LEARNER':{width}}  STATE  LAB                           SOLVED  HINTS  CHECKS  IDLE  WHY")
    for one in seats:
        hints = f"{one.hints}/{one.hints_there}" if one.hints_there else "-"
        idle = f"{one.idle / 60:.0f}m" if one.lab else "-"
        place = f"{one.lab}" + (f" {one.task}" if one.task else "")
        lines.append(
            f"{one.learner:{width}}  {one.state:5}  {place:28.28}  {one.solved}/{one.tasks:<4}  {hints:5}  "
            f"{one.tries:<6}  {idle:4}  {one.why}".rstrip()
        )
    return "\n".join(lines) + "\n"


def _summary(seats: Sequence[Seat], room: Room) -> list[str]:
    labs = sorted({seat.lab for seat in seats if seat.lab} | set(room.open or ()))
    counts = Counter((seat.lab, seat.state) for seat in seats)
    lines = [f"{len(seats)} learners, {sum(seat.state == STUCK for seat in seats)} stuck"]
    for lab in labs:
        told = [f"{counts[lab, state]} {state}" for state in ORDER if counts[lab, state]]
        told += [f"variant {room.seeds[lab]}"] if lab in room.seeds else []
        closed = room.open is not None and lab not in room.open
        lines.append(f"{lab}: {', '.join(told) or 'no learner'}{' (closed)' if closed else ''}")
    return lines


def to_html(seats: Sequence[Seat], room: Room | None = None, every: int = 15) -> str:
    """A page for the front of the room that reads itself again.

    Args:
        seats: of `RoomView.seats`.
        room: which labs are open.
        every: seconds after which a browser reads the page again.
    """
    head = "".join(f"<li>{html.escape(line)}</li>" for line in _summary(seats, room or Room()))
    rows = "".join(
        f'<tr class="{one.state}"><th scope="row">{html.escape(one.learner)}</th><td>{one.state}</td>'
        f"<td>{html.escape(one.lab)}</td><td>{html.escape(one.task)}</td><td>{one.solved}/{one.tasks}</td>"
        f"<td>{one.hints}/{one.hints_there}</td><td>{one.tries}</td><td>{one.idle / 60:.0f} min</td>"
        f"<td>{html.escape(one.why)}</td></tr>"
        for one in seats
    )
    names = ("Learner", "State", "Lab", "Task", "Solved", "Hints", "Checks", "Idle", "Why")
    columns = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{every}">'
        "<title>The room</title><style>body{font:16px system-ui,sans-serif;margin:2em;color:#1a1a1a;background:#fff}"
        "table{border-collapse:collapse}th,td{padding:.3em .8em;border-bottom:1px solid #767676;text-align:left}"
        ".stuck th,.stuck td:nth-child(2){font-weight:700;color:#8a1c00}.done{color:#0b5d2a}</style></head>"
        f"<body><h1>The room</h1><ul>{head}</ul><table><thead><tr>{columns}</tr></thead>"
        f"<tbody>{rows}</tbody></table></body></html>\n"
    )
