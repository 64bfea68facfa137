"""Events in the form of the core group and of events.k8s.io: one object, kept once, with two sets of field names.

Source: pkg/apis/events/v1/conversion.go; registry/events/rest.
"""

from __future__ import annotations

from typing import Any

EVENTS = "events.k8s.io"


def event_of(group: str, data: dict[str, Any]) -> dict[str, Any]:
    """An event in the form of the core group or of events.k8s.io. Source: pkg/apis/events/v1/conversion.go."""
    renamed = {"involvedObject": "regarding", "message": "note", "reportingComponent": "reportingController"}
    deprecated = {
        "source": "deprecatedSource",
        "firstTimestamp": "deprecatedFirstTimestamp",
        "lastTimestamp": "deprecatedLastTimestamp",
        "count": "deprecatedCount",
    }
    names = {**renamed, **deprecated}
    if group != EVENTS:
        names = {new: old for old, new in names.items()}
    made = {names.get(field, field): value for field, value in data.items()}
    if group != EVENTS:
        made["apiVersion"] = "v1"
        made.setdefault("type", "Normal")
    return made
