"""Fields of a manifest by name: `containers.server.resources.limits.memory`, `metadata.labels`.

A path begins at the pod's specification (of a Deployment: its template's), unless its first step is `metadata` or
`spec`. An entry of a list is named by its `name`, or by its number.

Rules name with such paths what stays as it is, and answers name with them what a learner changes.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.resource import Quantity, QuantityError

MISSING = object()
"""What `get` finds where there is nothing."""
_AMOUNTS = ("requests", "limits", "capacity", "allocatable")


def pod_spec(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod's specification in a Pod's or a workload's manifest."""
    spec: dict[str, Any] = manifest.setdefault("spec", {})
    template = spec.get("template")
    found: dict[str, Any] = template.setdefault("spec", {}) if isinstance(template, dict) else spec
    return found


def get(manifest: dict[str, Any], path: str) -> Any:
    """The value at a path, quantities as numbers; `MISSING` where there is none."""
    steps = path.split(".")
    place: Any = manifest if steps[0] in ("metadata", "spec") else pod_spec(manifest)
    for step in steps:
        place = _entry(place, step)
        if place is MISSING:
            return MISSING
    return canonical(place, steps[-1] in _AMOUNTS or (len(steps) > 1 and steps[-2] in _AMOUNTS))


def put(manifest: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path; None removes it. Missing mappings on the way are made."""
    steps = path.split(".")
    place: Any = manifest if steps[0] in ("metadata", "spec") else pod_spec(manifest)
    for step in steps[:-1]:
        found = _entry(place, step)
        if found is MISSING or found is None:
            found = {}
            _set(place, step, found)
        place = found
    if value is None:
        _remove(place, steps[-1])
    else:
        _set(place, steps[-1], value)


def canonical(value: Any, amounts: bool = False) -> Any:
    """A value that compares equal however it is written: quantities as exact numbers, named lists by name."""
    if isinstance(value, dict):
        return {key: canonical(one, amounts or key in _AMOUNTS) for key, one in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(one, dict) and "name" in one for one in value):
            return {one["name"]: canonical(one, amounts) for one in value}
        return [canonical(one, amounts) for one in value]
    if amounts and isinstance(value, str | int | float):
        try:
            return Quantity(value)
        except QuantityError:
            return value
    return value


def _entry(place: Any, step: str) -> Any:
    if isinstance(place, dict):
        return place.get(step, MISSING)
    if isinstance(place, list):
        named = next((one for one in place if isinstance(one, dict) and one.get("name") == step), MISSING)
        if named is MISSING and step.isdecimal() and int(step) < len(place):
            return place[int(step)]
        return named
    return MISSING


def _set(place: Any, step: str, value: Any) -> None:
    if isinstance(place, dict):
        place[step] = value
        return
    for number, one in enumerate(place):
        if str(number) == step or (isinstance(one, dict) and one.get("name") == step):
            place[number] = value
            return
    place.append(value)


def _remove(place: Any, step: str) -> None:
    if isinstance(place, dict):
        place.pop(step, None)
    else:
        found = _entry(place, step)
        if found is not MISSING:
            place.remove(found)
