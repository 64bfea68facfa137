"""Times in the wire format: `metav1.Time` has whole seconds, `MicroTime` of Leases and Events has microseconds.

Source: apimachinery pkg/apis/meta/v1 Time.MarshalJSON, MicroTime.MarshalJSON.
"""

from __future__ import annotations

import re
from typing import Any

_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
_SECONDS = 19
"""The length of a time up to its seconds in characters."""
_OF_METADATA = ("creationTimestamp", "deletionTimestamp")
_OF_EVENTS = ("firstTimestamp", "lastTimestamp")
_MICRO_TIMES = {
    "Event": (("eventTime",), ("series", "lastObservedTime")),
    "Lease": (("spec", "acquireTime"), ("spec", "renewTime")),
}
"""Kind -> paths of its times with microseconds, which Go parses with exactly six digits. Source: RFC3339Micro."""


def with_served_times(data: dict[str, Any], *, custom: bool = False) -> dict[str, Any]:
    """Convert an object's times to the wire format, in place, and return the object.

    Args:
        data: the object.
        custom: whether the kind is a custom one; times outside its metadata are strings that are never converted.
    """
    meta = data.get("metadata") or {}
    for name in _OF_METADATA:
        if name in meta:
            meta[name] = _whole(meta[name])
    if custom:
        return data
    for name in _OF_EVENTS:
        if data.get(name):
            data[name] = _whole(data[name])
    status = data.get("status")
    if isinstance(status, dict):
        _walk(status)
    for *steps, name in _MICRO_TIMES.get(data.get("kind", ""), ()):
        place = data
        for step in steps:
            place = place.get(step) or {}
        text = place.get(name)
        if isinstance(text, str) and len(text) == _SECONDS + 1:
            place[name] = f"{text[:_SECONDS]}.000000Z"
    return data


def _walk(value: dict[str, Any] | list[Any]) -> None:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        kind = type(item)
        if kind is dict or kind is list:
            _walk(item)
        elif kind is str and item[-1:] == "Z" and item[_SECONDS : _SECONDS + 1] == ".":
            value[key] = _whole(item)  # type: ignore[index]


def _whole(text: str) -> str:
    return f"{text[:_SECONDS]}Z" if _MICRO.fullmatch(text) else text
