"""Statuses of workloads: their counts, conditions and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer

_KNOWN = frozenset({"terminatingReplicas", "collisionCount"})
"""The counts that are pointers upstream: None = unknown, and 0 is written."""


def status_data(obj: Any) -> dict[str, Any]:
    """Return a workload's status as plain data, whether its type declares the fields or not."""
    status = obj.status
    return dict(status) if isinstance(status, dict) else to_dict(status)


def set_status(api: APIServer, obj: Any, status: Mapping[str, object]) -> bool:
    """Write a workload's status if it differs; zero counts are left out, except for those in `_KNOWN`.

    Returns:
        Whether the status was written.
    """
    # Go's omitempty leaves out zero counts of int32; a pointer to 0 is written.
    wanted = {name: value for name, value in status.items() if value or (name in _KNOWN and value is not None)}
    if status_data(obj) == wanted:
        return False
    changed = deepcopy(obj)
    changed.status = wanted if isinstance(obj.status, dict) else from_dict(wanted, type(obj.status))
    api.update_status(changed)
    return True


def rfc3339(moment: datetime) -> str:
    """Return a time in the API's form, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_rfc3339(text: str) -> datetime:
    """Parse a time in the API's form."""
    return datetime.fromisoformat(text)


def seconds_since(text: str, now: datetime) -> float:
    """Return the seconds since a time in the API's form."""
    return (now - from_rfc3339(text)) / timedelta(seconds=1)


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """Return a condition for a workload's status."""
    made = {"type": kind, "status": status, "lastTransitionTime": rfc3339(now), "reason": reason}
    return {**made, "message": message} if message else made


def find_condition(conditions: Sequence[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """Return the condition of a type; None without one."""
    return next((condition for condition in conditions if condition["type"] == kind), None)
