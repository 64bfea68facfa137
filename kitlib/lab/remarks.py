"""Remarks for an instructor on a room's files: foreign accounts, and work that two learners share.

A remark is not a verdict. Learners who work together have equal journals; if the whole room has one variant, short
solutions may be equal by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

SHOWN = 5
"""Maximum number of names in one remark; further ones are counted."""


@dataclass(frozen=True)
class SharedFile:
    """The parts of a learner's file that are compared.

    Attributes:
        owners: the hub's accounts in the file.
        journals: "LAB TASK" -> digest of the variant and the journal that earned points.
        collected: whether the hub's list contains this file; None = a hub did not collect the folder.
        unchanged: whether the file has the digest in that list.
    """

    owners: tuple[str, ...] = ()
    journals: Mapping[str, str] | None = None
    collected: bool | None = None
    unchanged: bool = True


def remarks(room: Mapping[str, SharedFile]) -> dict[str, tuple[str, ...]]:
    """Return the remarks on each learner's file.

    Args:
        room: the learner's name, from the file or folder -> the work.
    """
    doers: dict[tuple[str, str], list[str]] = defaultdict(list)
    for learner, work in room.items():
        for task, digest in (work.journals or {}).items():
            doers[task, digest].append(learner)
    has_owners = any(work.owners or work.collected is not None for work in room.values())
    return {
        learner: (*_of_file(learner, work, has_owners), *_shared(learner, work, doers))
        for learner, work in room.items()
    }


def _of_file(learner: str, work: SharedFile, has_owners: bool) -> list[str]:
    found = []
    if others := [owner for owner in work.owners if owner != learner]:
        found.append(f"another's file: written by the account {', '.join(others[:SHOWN])}")
    if not work.owners and has_owners:  # without any account, the learners chose all names themselves
        found.append("the file names no account")
    if work.collected is False:
        found.append("not among the files that the hub collected")
    elif not work.unchanged:
        found.append("changed after the hub collected it")
    return found


def _shared(learner: str, work: SharedFile, doers: Mapping[tuple[str, str], list[str]]) -> list[str]:
    """Return a remark for each group of learners who share work with this one, with the labs and tasks."""
    tasks: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for task, digest in (work.journals or {}).items():
        others = tuple(other for other in doers[task, digest] if other != learner)
        if others:
            tasks[others].append(task)
    return [
        f"same variant and same journal as {', '.join(others[:SHOWN])}"
        f"{f' and {len(others) - SHOWN} more' if len(others) > SHOWN else ''}: {', '.join(of)}"
        for others, of in tasks.items()
    ]
