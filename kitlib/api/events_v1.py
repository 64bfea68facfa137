"""Events of events.k8s.io: one object, stored as an event of the core group, with two sets of field names.

Source: pkg/apis/events/v1/conversion.go; k8s.io/api/events/v1.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from kitlib.api.core import EventSeries, ObjectReference
from kitlib.api.meta import KubeObject
from kitlib.api.numbers import Int32

_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
"""The fields of events.k8s.io by the fields of the core group."""
_CORE_NAMES = {new: old for old, new in _NAMES.items()}
_OMITTED = ("reportingController", "reportingInstance")
"""The fields that events.k8s.io omits when they are empty; the core group always writes them."""


class EventV1(KubeObject):
    """An events.k8s.io/v1 Event, as clients send it; it is stored as an event of the core group."""

    api_version: str = "events.k8s.io/v1"
    kind: str = "Event"
    event_time: datetime | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = msgspec.field(default_factory=ObjectReference)
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecated_source: dict[str, Any] = {}
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_count: Int32 = 0


def served_event(data: dict[str, Any]) -> dict[str, Any]:
    """Return a stored event as events.k8s.io serves it. Source: Convert_core_Event_To_v1_Event."""
    made = {_NAMES.get(field, field): value for field, value in data.items()}
    return {field: value for field, value in made.items() if value or field not in _OMITTED}


def stored_event(data: dict[str, Any]) -> dict[str, Any]:
    """Return an event of events.k8s.io as it is stored. Source: Convert_v1_Event_To_core_Event."""
    made = {_CORE_NAMES.get(field, field): value for field, value in data.items()}
    return {**made, "apiVersion": "v1"}
