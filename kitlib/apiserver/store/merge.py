"""The merges of `kubectl apply` and `kubectl patch`: three-way, strategic and JSON merge patches.

`apply` merges the manifest of the last apply, the new manifest and the stored object. Fields of the new manifest are
set; fields that only the last manifest has are removed; all others (defaults, status, controllers' fields) are kept.
Lists whose items have a key (containers by name) are merged item by item, all other lists are replaced.

Source: apimachinery strategicpatch.CreateThreeWayMergePatch; the patchMergeKey tags of k8s.io/api; RFC 7396.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from kitlib.api.merge_rules import MergeRule, Shape, merge_field, merge_type

_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def three_way(last: dict[str, Any], new: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Return the object after `kubectl apply`.

    Args:
        last: the manifest of the last apply; {} if there was none.
        new: the new manifest.
        current: the stored object.
    """
    return _three_way(merge_type(new, current), last, new, current)


def _three_way(shape: Shape, last: dict[str, Any], new: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Merge an object or a part of it; the shape gives the merge keys of its lists."""
    merged = dict(current)
    for field in last:
        if field not in new:
            merged.pop(field, None)
    for field, value in new.items():
        if value is None:  # null removes a field, even one of another writer
            merged.pop(field, None)
        elif isinstance(value, dict) and current.get(field) is None:
            merged[field] = merge_patch({}, value)  # nulls of absent fields are dropped
        else:
            merged[field] = _value(shape, field, last.get(field), value, current.get(field))
    return merged


def with_nulls(manifest: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Add the nulls of the data to the manifest that was parsed from it, in place, and return the manifest.

    `kubectl apply` sends them: a field that is null is removed, even if another writer set it, and gets its default
    again.
    Source: kubectl GetModifiedConfiguration; strategicpatch diffMaps.
    """
    for field, value in data.items():
        standing = manifest.get(field)
        if value is None:
            manifest[field] = None
        elif isinstance(value, dict):
            below = with_nulls(standing if isinstance(standing, dict) else {}, value)
            if below and standing is None:
                manifest[field] = below
        elif isinstance(value, list) and isinstance(standing, list):
            for part, item in zip(standing, value, strict=False):
                if isinstance(part, dict) and isinstance(item, dict):
                    with_nulls(part, item)
    return manifest


def merge_patch(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a JSON merge patch: mappings are merged, null removes a field, everything else replaces.

    Source: RFC 7396.
    """
    merged = dict(current)
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        elif isinstance(value, dict):
            below = merged.get(field)
            merged[field] = merge_patch(below if isinstance(below, dict) else {}, value)
        else:
            merged[field] = value
    return merged


def strategic_patch(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a strategic merge patch: as `merge_patch`, but lists whose items have a key are merged item by item.

    The directives `$patch` (replace, delete, merge), `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList`
    are supported. Source: apimachinery strategicpatch.mergeMap, mergeSlice.
    """
    return _strategic(merge_type(current), current, patch)


def _strategic(shape: Shape, current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a strategic merge patch to an object or a part of it."""
    directive = patch.get("$patch")
    if directive == "replace":
        return {field: value for field, value in patch.items() if field != "$patch"}
    if directive == "delete":
        return {}
    merged = dict(current)
    retained = patch.get("$retainKeys")
    if retained is not None:
        merged = {field: value for field, value in merged.items() if field in retained}
    for field, value in patch.items():
        if field.startswith(_DELETE_FROM):
            name = field.removeprefix(_DELETE_FROM)
            gone = {_hashable(item) for item in value}
            merged[name] = [item for item in merged.get(name) or [] if _hashable(item) not in gone]
        elif field.startswith("$"):
            continue
        elif value is None:
            merged.pop(field, None)
        else:
            merged[field] = _patched(shape, field, merged.get(field), value)
    for field, value in patch.items():
        if field.startswith(_ORDER):
            _set_order(merged, field.removeprefix(_ORDER), value)
    return merged


def _patched(shape: Shape, field: str, current: Any, patch: Any) -> Any:
    rule, below = merge_field(shape, field)
    if isinstance(patch, dict):
        if rule.strategy == "replace":
            return patch
        return _strategic(below, current if isinstance(current, dict) else {}, patch)
    if rule.merges_values and isinstance(patch, list) and isinstance(current, list):
        standing = {_hashable(item) for item in current}
        merged_values = [*current, *(item for item in patch if _hashable(item) not in standing)]
        return _normalized(merged_values, list(map(_hashable, patch)), list(map(_hashable, current)), _hashable)
    if not isinstance(patch, list):
        return patch
    plain = [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return plain
    key = _key_of(rule, patch, current)
    if key is None:
        return plain
    merged: dict[int, Any] = dict(enumerate(current))
    places: dict[Hashable, list[int]] = {}
    for at, old in merged.items():
        places.setdefault(_hashable(old[key]), []).append(at)
    for number, item in enumerate(patch, start=len(current)):
        name = _hashable(item[key])
        if item.get("$patch") == "delete":
            for at in places.pop(name, ()):
                del merged[at]
        elif name in places:
            at = places[name][0]
            merged[at] = _strategic(below, merged[at], item)
        else:
            places[name] = [number]
            merged[number] = _strategic(below, {}, item)
    order = [_hashable(item[key]) for item in plain]
    return _normalized(
        list(merged.values()), order, [_hashable(old[key]) for old in current], lambda value: _name(value, key)
    )


def _normalized(
    items: list[Any], patch: list[Hashable], server: list[Hashable], name: Callable[[Any], Hashable]
) -> list[Any]:
    """Return a merged list in order: the patch's items in its order, the server's items between them.

    An item of the server is placed before the first item that followed it in the stored list. An item that only the
    patch has comes first.

    Args:
        items: the merged list.
        patch: the names of the patch's items in their order.
        server: the names of the stored list's items in their order.
        name: returns an item's name.

    Source: strategicpatch normalizeElementOrder, mergeSortedSlice.
    """
    wanted = {entry: i for i, entry in reversed(list(enumerate(patch)))}
    places = {entry: i for i, entry in reversed(list(enumerate(server)))}
    right = sorted((item for item in items if name(item) in wanted), key=lambda item: wanted[name(item)])
    left = [item for item in items if name(item) not in wanted]
    made: list[Any] = []
    for item in left:
        place = places.get(name(item), -1)
        # A server item comes first only if the stored list has both and has it first. Source: mergeSortedSlice less.
        while right and not 0 <= place < places.get(name(right[0]), -1):
            made.append(right.pop(0))
        made.append(item)
    return made + right


def _set_order(merged: dict[str, Any], field: str, wanted: Any) -> None:
    """Sort a list as `$setElementOrder` lists its items; unlisted items follow in their previous order."""
    current = merged.get(field)
    if not isinstance(current, list) or not isinstance(wanted, list) or not wanted or wanted[0] == {}:
        return
    if isinstance(wanted[0], dict):
        key = next(iter(wanted[0]))
        places = {_name(item, key): i for i, item in enumerate(wanted) if isinstance(item, dict)}
        current.sort(key=lambda item: places.get(_name(item, key) if isinstance(item, dict) else None, len(places)))
    else:
        ranks = {_hashable(item): i for i, item in enumerate(wanted)}
        current.sort(key=lambda item: ranks.get(_hashable(item), len(ranks)))


def _name(item: dict[str, Any], key: str) -> Hashable:
    """Return an item's merge key; a manifest may hold any value there until it is validated."""
    return _hashable(item.get(key))


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, str | int | float | None) else repr(value)


def _value(shape: Shape, field: str, last: Any, new: Any, current: Any) -> Any:
    rule, below = merge_field(shape, field)
    if isinstance(new, dict) and isinstance(current, dict):
        if rule.strategy == "replace":
            return new
        merged_field = _three_way(below, last if isinstance(last, dict) else {}, new, current)
        return _retained(rule, new, current, merged_field)
    key = _key_of(rule, new, current)
    if key is None:
        return new
    listed = last if isinstance(last, list) else []
    before = {_name(item, key): item for item in listed if isinstance(item, dict) and key in item}
    standing = {_name(item, key): item for item in current}
    merged = []
    for item in new:
        name = _name(item, key)
        now = standing.get(name, {})
        merged.append(_retained(rule, item, now, _three_way(below, before.get(name, {}), item, now)))
    named = {_name(item, key) for item in new}
    # Items of other writers are kept; items that only the last manifest has are removed.
    return merged + [item for name, item in standing.items() if name not in named and name not in before]


def _retained(rule: MergeRule, new: dict[str, Any], current: dict[str, Any], merged: dict[str, Any]) -> dict[str, Any]:
    """Apply `$retainKeys`, which kubectl sends only if something differs.

    Source: strategicpatch handleDirectiveInDiff.
    """
    if not rule.retains_keys or merged == current:
        return merged
    return {name: value for name, value in merged.items() if name in new}


def _key_of(rule: MergeRule, new: Any, current: Any) -> str | None:
    """Return the merge key of two lists; None if the list is replaced as a whole."""
    if not rule.key or not isinstance(new, list) or not isinstance(current, list) or not current:
        return None
    return rule.key if all(isinstance(item, dict) and rule.key in item for item in [*new, *current]) else None
