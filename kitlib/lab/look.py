"""Shows a learner's cluster as text, from a replay of the journal of the newest check or call for help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from kitlib.api.convert import decoder
from kitlib.api.errors import KitError
from kitlib.lab import submissions
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.grader import MAX_JOURNAL, prepare
from kitlib.lab.launch import in_course
from kitlib.lab.submissions import Submitted

EVENTS = 12
"""Number of newest events that are shown."""


@dataclass(frozen=True)
class LearnerMoment:
    """The state of a learner's work when an entry was written.

    Attributes:
        lab: the lab's name.
        journal: the learner's actions, in order.
        ground: the conditions under which the lab was done.
        seconds: unix time by the learner's clock.
    """

    lab: str
    journal: list[dict[str, Any]]
    ground: Ground
    seconds: float


def newest(file: Path) -> LearnerMoment:
    """Return the newest moment of a progress file that has a journal.

    Raises:
        KitError: the file cannot be read, or has none.
    """
    for entry in reversed(submissions.entries(file)):
        if entry.lab in submissions.course_labs() and (journal := _journal(entry)) is not None:
            return LearnerMoment(entry.lab, journal, entry.details.ground, entry.seconds)
    raise KitError("the learner has not checked a lab or asked for help yet, so there is no cluster to show")


def _journal(entry: Submitted) -> list[dict[str, Any]] | None:
    raw = bytes(entry.details.journal)
    try:
        found = decoder(list[dict[str, Any]]).decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found


def shown(folder: LabFolder, journal: Sequence[dict[str, Any]], ground: Ground) -> str:
    """Return the cluster after a journal as text: pods, the lab's subject as in `kubectl describe`, events.

    Raises:
        KitError: the journal is too long or cannot be replayed.
    """
    from kitlib.views.kubectl import describe

    if len(journal) > MAX_JOURNAL:
        raise KitError(f"the journal has {len(journal)} entries, but at most {MAX_JOURNAL} can be replayed")
    cluster = prepare(folder, ground)
    try:
        cluster.replay(list(journal))
        pods = cluster.list("Pod")
        parts = ["\n".join([f"{'POD':34} {'NODE':12} {'STATUS':18} {'QOS':11} RESTARTS", *map(_line, pods)])]
        there = {pod.metadata.name for pod in pods}
        names = [name.split() for name in folder.definition.edit]
        parts += [describe(cluster, name, kind="pod") for kind, name in names if kind == "Pod" and name in there]
        events = [f"{e.reason:20} {e.involved_object.name:24} {e.message}" for e in cluster.events()[-EVENTS:]]
        return "\n\n".join([*parts, "\n".join(["EVENTS", *events])])
    finally:
        cluster.close()


def _line(pod: Any) -> str:
    states = [one.state for one in pod.status.container_statuses]
    waiting = next((state["waiting"].get("reason", "") for state in states if state and state.get("waiting")), "")
    restarts = sum(one.restart_count for one in pod.status.container_statuses)
    status = pod.status.reason or waiting or pod.status.phase or "new"
    return (
        f"{pod.metadata.name:34} {pod.spec.node_name or '-':12} {status:18} {pod.status.qos_class or '-':11} {restarts}"
    )


def source(moment: LearnerMoment) -> LabFolder:
    """Return the lab of a moment, in its variant. Raises: KitError."""
    return LabFolder.read(in_course("labs", moment.lab), moment.ground.seed)
