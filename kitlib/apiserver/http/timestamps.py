"""Times on the wire have whole seconds, as `metav1.Time` has; `MicroTime` of leases and events keeps its digits.

Source: apimachinery pkg/apis/meta/v1 Time.MarshalJSON, MicroTime.MarshalJSON.
"""

from __future__ import annotations

import re
from typing import Any

_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
_SECONDS = 19
"""Characters of a time up to its seconds."""
_OF_METADATA = ("creationTimestamp", "deletionTimestamp")
_OF_EVENTS = ("firstTimestamp", "lastTimestamp")


def with_whole_seconds(data: dict[str, Any]) -> dict[str, Any]:
    """An object whose metadata and status name whole seconds; changed in place."""
    meta = data.get("metadata") or {}
    for name in _OF_METADATA:
        if name in meta:
            meta[name] = _whole(meta[name])
    for name in _OF_EVENTS:
        if data.get(name):
            data[name] = _whole(data[name])
    status = data.get("status")
    if isinstance(status, dict):
        _walk(status)
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
