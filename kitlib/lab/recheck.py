"""Points checked again: each task's best check is replayed on this machine, with this installation's labs.

The points in a learner's file are a claim. Each check in it has the journal of the learner's actions, and the replay
of that journal on a fresh cluster gives the points that count. A journal is replayed once for all its tasks, in a
separate process with limited processor time and memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from kitlib.api.errors import KitError
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import TaskResult
from kitlib.lab.grading_process import grade_apart
from kitlib.lab.launch import in_course
from kitlib.lab.submissions import Submitted, shortened


@dataclass(frozen=True)
class Claim:
    """A task's best check and the result of its replay.

    Attributes:
        lab: the lab's name.
        task: the task's key.
        claimed: points in the file.
        confirmed: points of the replay.
        why: the result of the replay, if it differs; "" = confirmed.
    """

    lab: str
    task: str
    claimed: float
    confirmed: float
    why: str = ""

    def __str__(self) -> str:
        return f"{self.lab} {self.task}: {self.claimed:g} claimed, {self.confirmed:g} confirmed ({self.why})"


def recheck(checks: Mapping[tuple[str, str], Submitted]) -> list[Claim]:
    """Replay checks that claim points.

    Args:
        checks: (lab, task) -> the best check of a learner's file, as `submissions.read` returns it.
    """
    replays: dict[tuple[str, bytes, Ground], list[Submitted]] = {}
    for entry in checks.values():
        if entry.points:
            details = entry.details
            replays.setdefault((entry.lab, bytes(details.journal), details.ground), []).append(entry)
    return [claim for (_, journal, ground), entries in replays.items() for claim in _replayed(journal, ground, entries)]


def _replayed(journal: bytes, ground: Ground, entries: list[Submitted]) -> list[Claim]:
    tasks = tuple(entry.task for entry in entries)
    try:
        results = _results(entries[0].lab, journal, ground, tasks)
    except KitError as error:
        return [Claim(e.lab, e.task, e.points, 0, shortened(str(error))) for e in entries]
    return [_claim(entry, results[entry.task]) for entry in entries]


def _results(lab: str, journal: bytes, ground: Ground, tasks: tuple[str, ...]) -> dict[str, TaskResult]:
    try:
        actions = msgspec.json.decode(journal) if journal else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KitError(f"the journal of the entry cannot be read: {error}") from None
    if not isinstance(actions, list):
        raise KitError("the entry has no journal")
    folder = LabFolder.read(in_course("labs", lab), ground.seed)
    return {result.task: result for result in grade_apart(folder, actions, tasks, ground).results}


def _claim(entry: Submitted, result: TaskResult) -> Claim:
    confirmed = min(entry.points, result.points)
    why = f"found {shortened(result.found)}" if result.found else "the task is worth less"
    return Claim(entry.lab, entry.task, entry.points, confirmed, "" if confirmed == entry.points else why)
