"""An instructor's view of all learners at work: current lab or notebook, who is stuck, who is absent.

The view is read from the progress files on shared storage like `kitlib lab-report`: nothing of a learner's folder is
trusted. A learner is stuck if hints do not help: rows are sorted by the number of hints taken for an unsolved task.
Unchanged files are not read again.

Times are those of the machine that stores the files, since a learner's clock may be wrong. The newest entry gets the
time of the file's last change, and the other entries keep their distance from it.
"""

from __future__ import annotations

import html
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.lab import submissions
from kitlib.lab.definition import Definition
from kitlib.lab.room import RoomDecisions
from kitlib.lab.submissions import Submitted

TRIES = 5
"""Number of failed checks of a task after which a learner counts as stuck, with or without hints."""
QUIET = 15 * 60
"""Seconds without an entry after which a learner counts as quiet."""
HELP, STUCK, HINTED, QUIETLY, WORKS = "help", "stuck", "hints", "quiet", "works"
READS, DONE, ABSENT = "reads", "done", "absent"
ORDER = (HELP, STUCK, HINTED, QUIETLY, WORKS, READS, DONE, ABSENT)
"""States by descending urgency for an instructor."""


@dataclass(frozen=True)
class Seat:
    """The state of a learner.

    Attributes:
        learner: name of the folder or file.
        state: one of `ORDER`.
        lab: current lab or notebook; "" = none yet.
        task: current task; "" = none.
        solved: solved tasks of that lab.
        tasks: all tasks of that lab.
        hints: hints taken for that task.
        hints_there: hints that the task has.
        tries: failed checks of that task so far.
        idle: seconds since the last entry.
        why: the reason for the state, as text.
        name: name in the roster; "" = none.
        waits: seconds since the learner called for help or became stuck; 0 = neither.
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
    name: str = ""
    waits: float = 0.0


class RoomView:
    """The learners of a folder.

    Args:
        folder: folder with NAME.jsonl or NAME/progress.jsonl, as for `kitlib lab-report`.
        people: the roster, account -> name; None = everyone who has a file.

    Raises:
        KitError: `folder` is not a folder.
    """

    def __init__(self, folder: str | Path, people: Mapping[str, str] | None = None) -> None:
        self._folder, self._people = Path(folder), dict(people or {})
        if not self._folder.is_dir():
            raise KitError(f"{self._folder}: not a folder")
        self._known: dict[Path, tuple[tuple[int, int], Sequence[Submitted] | str]] = {}

    def seats(self, now: float | None = None, answered: Mapping[str, float] | None = None) -> list[Seat]:
        """Return every learner's state, those who need help first.

        Args:
            now: unix time; None = the machine's.
            answered: learner -> unix time of the trainer's last visit, which ends earlier calls for help.
        """
        at = time.time() if now is None else now
        found = self.files()
        made = [self._seat(name, path, at, (answered or {}).get(name, 0.0)) for name, path in found.items()]
        made += [Seat(account, ABSENT, why="has run nothing") for account in self._people if account not in found]
        named = [replace(seat, name=self._people.get(seat.learner, "")) for seat in made]
        return sorted(named, key=lambda seat: (ORDER.index(seat.state), -seat.waits, -seat.hints, seat.learner))

    def files(self) -> dict[str, Path]:
        """Return every learner's progress file."""
        found = [(path.stem, path) for path in self._folder.glob("*.jsonl") if path.name != "progress.jsonl"]
        found += [(path.parent.name, path) for path in self._folder.glob("*/progress.jsonl")]
        return {submissions.shortened(name): path for name, path in sorted(found)}

    def predictions(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Return (lab or notebook, question) -> (right, answered) of the whole room, by everyone's first answer."""
        counts: dict[tuple[str, str], tuple[int, int]] = {}
        for path in self.files().values():
            entries = self._entries(path)
            first: dict[tuple[str, str], bool] = {}
            for entry in () if isinstance(entries, str) else entries:
                if entry.kind == "prediction" and entry.details.answered:
                    first.setdefault((entry.lab, entry.task), entry.points > 0)
            for key, right in first.items():
                before = counts.get(key, (0, 0))
                counts[key] = before[0] + right, before[1] + 1
        return counts

    def _seat(self, learner: str, path: Path, now: float, answered: float) -> Seat:
        entries = self._entries(path)
        if isinstance(entries, str):
            return Seat(learner, QUIETLY, why=f"bad file: {entries}")
        written = self._known[path][0][0] / 1e9
        ahead = entries[-1].seconds - written if entries else 0.0
        return seat(learner, entries, now, ahead, answered)

    def _entries(self, path: Path) -> Sequence[Submitted] | str:
        try:
            # Not stat, so that a symbolic link cannot make another file look unchanged; reading it is refused.
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


def seat(learner: str, entries: Sequence[Submitted], now: float, ahead: float = 0.0, answered: float = 0.0) -> Seat:
    """Return a learner's state from the entries of the progress file.

    Args:
        learner: the learner's name.
        entries: entries of the progress file, oldest first.
        now: unix time.
        ahead: seconds by which the learner's clock is ahead of `now`'s.
        answered: unix time of the trainer's last visit.
    """
    if not entries:
        return Seat(learner, QUIETLY, why="has run nothing")
    last, now = entries[-1], now + ahead  # from here on by the learner's clock
    course, idle = submissions.course_labs(), max(0.0, now - last.seconds)
    made = (
        _in_lab(learner, course[last.lab], [entry for entry in entries if entry.lab == last.lab], now, idle)
        if last.lab in course
        else _in_notebook(learner, last.lab, idle)
    )
    calls = [entry for entry in entries if entry.kind == "help"]
    if calls and calls[-1].details.wanted and calls[-1].seconds > answered + ahead:
        waits = max(0.0, now - calls[-1].seconds)
        why = f"asks for help since {waits / 60:.0f} min{f'; {made.why}' if made.why else ''}"
        return replace(made, state=HELP, waits=waits, why=why)
    return made


def _in_notebook(learner: str, notebook: str, idle: float) -> Seat:
    state, why = (QUIETLY, _quiet(idle)) if idle >= QUIET else (READS, "")
    return Seat(learner, state, notebook, idle=idle, why=why)


def _in_lab(learner: str, lab: Definition, here: Sequence[Submitted], now: float, idle: float) -> Seat:
    name = here[-1].lab
    solved = {e.task for e in here if e.kind == "check" and e.points >= lab.task(e.task).points}
    if len(solved) == len(lab.tasks):
        return Seat(learner, DONE, name, "", len(solved), len(lab.tasks), idle=idle, why="all tasks solved")
    task = _task(lab, here, solved)
    # Reversed, so that the first time of each hint remains; showing a hint again is another entry.
    taken = {e.details.number: e.seconds for e in reversed(here) if e.kind == "hint" and e.task == task}
    hints, there = len(taken), len(lab.task(task).hints)
    failed = [e.seconds for e in here if e.kind == "check" and e.task == task]
    state, why, since = _state(taken.values(), there, failed, idle)
    waits = max(0.0, now - since) if since else 0.0
    why = f"{why}, for {waits / 60:.0f} min" if since else why
    at = (learner, state, name, task, len(solved), len(lab.tasks), hints, there, len(failed), idle, why)
    return Seat(*at, waits=waits)


def _task(lab: Definition, entries: Sequence[Submitted], solved: set[str]) -> str:
    """Return the unsolved task for which the last hint was taken, else the first unsolved one.

    A check without a name checks all tasks, so it does not show the task at which a learner works.
    """
    keys = [task.key for task in lab.tasks if task.key not in solved]
    hinted = [entry.task for entry in entries if entry.kind == "hint" and entry.task in keys]
    return hinted[-1] if hinted else keys[0]


def _state(hints: Collection[float], there: int, failed: Sequence[float], idle: float) -> tuple[str, str, float]:
    """Return the state, the reason, and the unix time since which the learner has been stuck (0 = not stuck).

    Args:
        hints: unix times at which each hint of the task was taken first.
        there: number of hints of the task.
        failed: unix times of the failed checks, oldest first.
        idle: seconds since the last entry.
    """
    if hints and len(hints) >= there:
        return STUCK, f"all {there} hints taken, not solved", max(hints)
    if len(failed) >= TRIES:
        return STUCK, f"{len(failed)} checks without success", failed[TRIES - 1]
    if idle >= QUIET:
        return QUIETLY, _quiet(idle), 0.0
    if hints:
        return HINTED, f"{len(hints)} of {there} hints taken", 0.0
    return WORKS, "", 0.0


def _quiet(idle: float) -> str:
    return f"nothing for {idle / 60:.0f} minutes"


def to_text(seats: Sequence[Seat], room: RoomDecisions | None = None) -> str:
    """Return the room as text: a line for each lab, then a line for each learner."""
    lines = [*_summary(seats, room or RoomDecisions()), ""]
    width = max([len(_shown(seat)) for seat in seats] + [7])
    lines.append(f"{'LEARNER':{width}}  STATE   LAB                           SOLVED  HINTS  CHECKS  IDLE  WHY")
    for one in seats:
        hints = f"{one.hints}/{one.hints_there}" if one.hints_there else "-"
        idle = f"{one.idle / 60:.0f}m" if one.lab else "-"
        place = f"{one.lab}" + (f" {one.task}" if one.task else "")
        lines.append(
            f"{_shown(one):{width}}  {one.state:6}  {place:28.28}  {one.solved}/{one.tasks:<4}  {hints:5}  "
            f"{one.tries:<6}  {idle:4}  {one.why}".rstrip()
        )
    return "\n".join(lines) + "\n"


def _shown(seat: Seat) -> str:
    return f"{seat.name} ({seat.learner})" if seat.name else seat.learner


def _summary(seats: Sequence[Seat], room: RoomDecisions) -> list[str]:
    labs = sorted({seat.lab for seat in seats if seat.lab} | set(room.open or ()))
    counts = Counter((seat.lab, seat.state) for seat in seats)
    counted = Counter(seat.state for seat in seats)
    more = [
        f", {counted[state]} {word}" for state, word in ((HELP, "ask for help"), (ABSENT, "absent")) if counted[state]
    ]
    lines = [f"{len(seats)} learners, {counted[STUCK]} stuck{''.join(more)}"]
    for lab in labs:
        told = [f"{counts[lab, state]} {state}" for state in ORDER if counts[lab, state]]
        told += [f"variant {room.seeds[lab]}"] if lab in room.seeds else []
        closed = room.open is not None and lab not in room.open
        lines.append(f"{lab}: {', '.join(told) or 'no learner'}{' (closed)' if closed else ''}")
    return lines


def to_html(seats: Sequence[Seat], room: RoomDecisions | None = None, every: int = 15) -> str:
    """Return a page for the front of the room that reloads itself.

    Args:
        seats: the learners, from `RoomView.seats`.
        room: the open labs; None = all.
        every: seconds between two reloads.
    """
    head = "".join(f"<li>{html.escape(line)}</li>" for line in _summary(seats, room or RoomDecisions()))
    rows = "".join(
        f'<tr class="{seat.state}"><th scope="row">{html.escape(_shown(seat))}</th><td>{seat.state}</td>'
        f"<td>{html.escape(seat.lab)}</td><td>{html.escape(seat.task)}</td><td>{seat.solved}/{seat.tasks}</td>"
        f"<td>{seat.hints}/{seat.hints_there}</td><td>{seat.tries}</td><td>{seat.idle / 60:.0f} min</td>"
        f"<td>{html.escape(seat.why)}</td></tr>"
        for seat in seats
    )
    names = ("Learner", "State", "Lab", "Task", "Solved", "Hints", "Checks", "Idle", "Why")
    columns = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{every}">'
        "<title>The room</title><style>body{font:16px system-ui,sans-serif;margin:2em;color:#1a1a1a;background:#fff}"
        "table{border-collapse:collapse}th,td{padding:.3em .8em;border-bottom:1px solid #767676;text-align:left}"
        ".help,.stuck{font-weight:700;color:#8a1c00}.done{color:#0b5d2a}</style></head>"
        f"<body><h1>The room</h1><ul>{head}</ul><table><thead><tr>{columns}</tr></thead>"
        f"<tbody>{rows}</tbody></table></body></html>\n"
    )
