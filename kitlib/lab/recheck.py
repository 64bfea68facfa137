"""Points checked again: each task's best check is replayed on this machine, with this installation's labs.

What a learner's file says is a claim. But each check in it carries the journal of what was done to the cluster: its
replay on a fresh cluster gives the points that it really earns. Predictions have no journal: they stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from kitlib.api.errors import KitError
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import grade_apart
from kitlib.lab.launch import course_source
from kitlib.lab.progress import Entry, Progress


@dataclass(frozen=True)
class Claim:
    """A task's best check.

    Attributes:
        lab, task: which.
        claimed: points in the file. confirmed: points of the replay. why: what the replay found; "" = the same.
    """

    lab: str
    task: str
    claimed: float
    confirmed: float
    why: str = ""

    def __str__(self) -> str:
        return f"{self.lab} {self.task}: {self.claimed:g} claimed, {self.confirmed:g} confirmed ({self.why})"


def recheck(progress: Progress) -> list[Claim]:
    """Replay the best check of every task in a learner's file."""
    best: dict[tuple[str, str], Entry] = {}
    for entry in progress.entries():
        known = best.get((entry.lab, entry.task))
        if entry.kind == "check" and (known is None or entry.points > known.points):
            best[entry.lab, entry.task] = entry
    return [_replayed(entry) for entry in best.values() if entry.points]


def _replayed(entry: Entry) -> Claim:
    def claim(confirmed: float, why: str) -> Claim:
        confirmed = min(entry.points, confirmed)
        return Claim(entry.lab, entry.task, entry.points, confirmed, "" if confirmed == entry.points else why)

    journal = entry.details.get("journal")
    if not isinstance(journal, list):
        return claim(0, "the entry has no journal")
    folder = course_source("labs") / entry.lab
    if not (folder / "lab.toml").exists():
        return claim(0, "there is no such lab here")
    try:
        ground = msgspec.convert(entry.details.get("ground") or {}, Ground)
        result = grade_apart(LabFolder.read(folder), journal, (entry.task,), ground).results[0]
    except (KitError, msgspec.ValidationError) as error:
        return claim(0, str(error))
    return claim(result.points, f"found {result.found}" if result.found else "the task is worth less")
