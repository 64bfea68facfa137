"""The values of an explanation: a stage's result and a gap in the kit's knowledge; access to plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kitlib.api.meta import Condition, KubeObject
from kitlib.api.serialize import to_dict

STAGES = (
    "scaling",
    "creation",
    "quota",
    "queue",
    "gate",
    "suspension",
    "gang",
    "filters",
    "preemption",
    "volumes",
    "binding",
    "admission",
    "start",
    "resize",
)
"""The stages between an object and its running pods, in their order."""
HELD, PASSED, NOTE = "held", "passed", "note"
"""States of a stage: it blocks the pod; it does not; an explanation without an effect."""
YOU, TEAM, PLATFORM = "you", "your team", "the platform"
"""Owners of a change: the pod's author; the authors of other objects in its namespace; the cluster's operator."""


@dataclass(frozen=True)
class StageResult:
    """The result of a stage.

    Attributes:
        stage: one of `STAGES`.
        state: `HELD`, `PASSED` or `NOTE`.
        text: a sentence with numbers, without a full stop.
        objects: the blocking objects, `Kind namespace/name`.
        said_by: the component whose status was read; "" = computed by the kit's rules.
        at: time at which that component wrote it; None = not known.
        owner: the party that can change the result; "" = not known.
    """

    stage: str
    state: str
    text: str
    objects: tuple[str, ...] = ()
    said_by: str = ""
    at: datetime | None = None
    owner: str = ""

    def __str__(self) -> str:
        if not self.said_by:
            return self.text
        when = f" at {clock(self.at)}" if self.at is not None else ""
        return f"{self.said_by} said{when}: {self.text}"


@dataclass(frozen=True)
class Gap:
    """A field or kind that an answer depends on, and that is not modelled or was not read.

    Attributes:
        kind: the kind of the object.
        field: path of the field; "" = objects of the kind as a whole.
        why: the part of the answer that depends on it.
        decides: whether the verdict may change; False = only details of the answer.
    """

    kind: str
    field: str
    why: str
    decides: bool = True

    def __str__(self) -> str:
        return f"{self.kind}{f' {self.field}' if self.field else ''}: {self.why}"


def counted(number: int, noun: str, one: str = "", many: str = "") -> str:
    """Return a number with its noun and verb: `1 pod has`, `3 pods have`."""
    verb = one if number == 1 else many
    return f"{number} {noun}{'' if number == 1 else 's'}{f' {verb}' if verb else ''}"


def clock(at: datetime) -> str:
    """Return a time in UTC as text: `2026-08-01 10:02 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def name_of(obj: KubeObject) -> str:
    """Return `Kind namespace/name`."""
    return f"{obj.kind} {obj.key}"


def data_of(obj: KubeObject) -> dict[str, Any]:
    """Return an object as plain data, also if the kit has no type for its kind."""
    return to_dict(obj)


def look(data: Any, *path: str) -> Any:
    """Return the value at a path of plain data; None if a step is missing or not a mapping."""
    for step in path:
        if not isinstance(data, Mapping):
            return None
        data = data.get(step)
    return data


def items(data: Any, *path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list at a path of plain data; none if it is not a list."""
    found = look(data, *path)
    for item in found if isinstance(found, list) else ():
        if isinstance(item, Mapping):
            yield item


def mapping(data: Any, *path: str) -> Mapping[str, Any]:
    """Return the mapping at a path of plain data; {} if there is none."""
    found = look(data, *path)
    return found if isinstance(found, Mapping) else {}


def text(data: Any, *path: str) -> str:
    """Return the string at a path of plain data; "" if there is none."""
    found = look(data, *path)
    return found if isinstance(found, str) else ""


def number(data: Any, *path: str, default: int = 0) -> int:
    """Return the integer at a path of plain data, or the default."""
    found = look(data, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def moment(value: object) -> datetime | None:
    """Return a time of plain data (RFC 3339); None if it is not one."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def conditions_of(obj: KubeObject) -> dict[str, Condition]:
    """Return type -> condition of any object's status."""
    found = {}
    for one in items(data_of(obj), "status", "conditions"):
        found[text(one, "type")] = Condition(
            type=text(one, "type"),
            status=text(one, "status"),
            reason=text(one, "reason"),
            message=text(one, "message"),
            last_transition_time=moment(one.get("lastTransitionTime")),
        )
    return found


def group_of(obj: KubeObject) -> str:
    """Return the API group of an object; "" = the core group."""
    group, slash, _ = obj.api_version.partition("/")
    return group if slash else ""
