"""Fields of a manifest by name: `containers.server.resources.limits.memory`, `metadata.labels`.

A path begins at the pod's specification (of a Deployment: its template's), unless its first step is `metadata` or
`spec`. An entry of a list is named by its `name`, or by its number.

A lab's `[opens]` lists the fields that a learner may change with such paths, and answers use them for their changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kitlib.api.resource import Quantity, QuantityError

MISSING = object()
"""The value at a path that does not exist."""
_AMOUNTS = ("requests", "limits", "capacity", "allocatable")


def pod_spec(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the pod's specification in a Pod's or a workload's manifest, created if missing."""
    spec: dict[str, Any] = manifest.setdefault("spec", {})
    template = spec.get("template")
    found: dict[str, Any] = template.setdefault("spec", {}) if isinstance(template, dict) else spec
    return found


def put(manifest: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path; None removes it. Missing mappings on the way are created."""
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


class Named(dict[str, Any]):
    """The entries of a list by their names."""


def canonical(value: Any, amounts: bool = False) -> Any:
    """Return an equal value for all notations: quantities as exact numbers, named lists by name."""
    if isinstance(value, dict):
        return type(value)({key: canonical(one, amounts or key in _AMOUNTS) for key, one in value.items()})
    if isinstance(value, list):
        names = [one.get("name") if isinstance(one, dict) else None for one in value]
        if names and None not in names and len(set(names)) == len(names):
            return Named({str(one["name"]): canonical(one, amounts) for one in value})
        return [canonical(one, amounts) for one in value]
    if amounts and isinstance(value, str | int | float):
        try:
            return Quantity(value)
        except QuantityError:
            return value
    return value


def differences(
    before: Any, now: Any, path: tuple[str, ...] = (), *, whole: bool = False
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the path of each canonical value that differs, and whether it is a new entry of a named list.

    A mapping that only one side has is compared field by field, so that a path names the fields that came or went; an
    entry of a named list comes or goes as a whole.

    Args:
        before: the earlier canonical value.
        now: the later canonical value.
        path: the steps from the root to both values.
        whole: whether both are entries of a named list.
    """
    if whole and MISSING in (before, now):
        yield path, before is MISSING
    elif isinstance(before, dict) or isinstance(now, dict):
        old, new = (one if isinstance(one, dict) else {} for one in (before, now))
        named = isinstance(before, Named) or isinstance(now, Named)
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key, MISSING), new.get(key, MISSING), (*path, key), whole=named)
    elif before != now and not (_is_empty(before) and _is_empty(now)):
        yield path, False


def _is_empty(value: Any) -> bool:
    return value is MISSING or value is None or value is False or (isinstance(value, list | str) and not value)


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
