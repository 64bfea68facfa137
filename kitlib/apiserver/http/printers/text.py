"""Parts that several printers share: ages, label selectors, containers and images of a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kitlib.api.duration import human_duration
from kitlib.api.selectors import format_label_selector

Object = Mapping[str, Any]


def parse_time(text: str | None) -> datetime | None:
    """Parse a metav1.Time or MicroTime; None if it is absent or invalid."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def age(text: str | None, now: datetime) -> str:
    """Return the time since a timestamp, e.g. `5m`. Source: printers translateTimestampSince."""
    moment = parse_time(text)
    return "<unknown>" if moment is None else human_duration((now - moment).total_seconds())


def created(obj: Object, now: datetime) -> str:
    return age(obj.get("metadata", {}).get("creationTimestamp"), now)


def labels(found: Mapping[str, str] | None) -> str:
    """Return `a=b,c=d`, sorted by key. Source: labels.FormatLabels."""
    return ",".join(f"{k}={v}" for k, v in sorted((found or {}).items())) or "<none>"


def selector(found: Mapping[str, Any] | None) -> str:
    """Return a label selector on one line."""
    return "<none>" if found is None else format_label_selector(found) or "<none>"


def containers(template: Object) -> tuple[str, str]:
    """Return the names and the images of a template's containers. Source: printers layoutContainerCells."""
    found = template.get("spec", {}).get("containers") or ()
    return ",".join(c.get("name", "") for c in found), ",".join(c.get("image", "") for c in found)


def conditions(obj: Object) -> dict[str, Mapping[str, Any]]:
    return {c.get("type", ""): c for c in obj.get("status", {}).get("conditions") or ()}


def joined(values: Iterable[str], empty: str = "<none>") -> str:
    return ",".join(values) or empty


_ACCESS = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def access_modes(modes: Iterable[str] | None) -> str:
    """Return `RWO,ROX`, in a fixed order. Source: storage helper GetAccessModesAsString."""
    wanted = set(modes or ())
    return ",".join(short for mode, short in _ACCESS.items() if mode in wanted)
