"""What `kubectl apply` does to an object that exists: a three-way merge of what was applied last time, what is applied
now, and what stands in the cluster.

A field that the new manifest sets is set; one that the last manifest set and the new one leaves out is removed; all
others (defaults, status, what controllers wrote) stay. Lists whose items have a key (containers by name) are merged
item by item, all other lists are replaced.

Source: apimachinery strategicpatch.CreateThreeWayMergePatch; the patchMergeKey tags of k8s.io/api; RFC 7396.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "port"),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "conditions": ("type",),
    "addresses": ("type",),
    "podIPs": ("ip",),
    "ownerReferences": ("uid",),
    "secrets": ("name",),
}
"""The fields whose lists are merged by a key; several candidates: the one that every item has."""
PRIMITIVE_SETS = frozenset({"finalizers", "podCIDRs"})
"""Lists of plain values that are merged as sets (patchStrategy merge without a key)."""
RETAIN_KEYS = frozenset({"strategy", "volumes"})
"""Fields of which a change keeps only what the manifest names (patchStrategy retainKeys): a union, where the new member
replaces the old one, whichever manager set it."""
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def three_way(last: dict[str, Any], new: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """The object after `apply`.

    Args:
        last: the manifest of the last apply; {} where there was none.
        new: the manifest of this one.
        current: what stands in the cluster.
    """
    merged = dict(current)
    for field in last:
        if field not in new:
            merged.pop(field, None)
    for field, value in new.items():
        merged[field] = _value(field, last.get(field), value, current.get(field))
    return merged


def merge_patch(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """`kubectl patch --type merge`: mappings are merged, null removes a field, everything else replaces.

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
    """`kubectl patch`: as `merge_patch`, but lists whose items have a key are merged item by item.

    The directives `$patch` (replace, delete, merge), `$retainKeys`, `$setElementOrder` and `$deleteFromPrimitiveList`
    are obeyed. Source: apimachinery strategicpatch.mergeMap, mergeSlice.
    """
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
            merged[name] = [item for item in merged.get(name) or [] if item not in value]
        elif field.startswith("$"):
            continue
        elif value is None:
            merged.pop(field, None)
        else:
            merged[field] = _patched(field, merged.get(field), value)
    for field, value in patch.items():
        if field.startswith(_ORDER):
            _set_order(merged, field.removeprefix(_ORDER), value)
    return merged


def _patched(field: str, current: Any, patch: Any) -> Any:
    if isinstance(patch, dict):
        return strategic_patch(current if isinstance(current, dict) else {}, patch)
    if field in PRIMITIVE_SETS and isinstance(patch, list) and isinstance(current, list):
        return [*current, *(item for item in patch if item not in current)]
    if not isinstance(patch, list):
        return patch
    plain = [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return plain
    key = _key_of(field, patch, current)
    if key is None:
        return plain
    merged = list(current)
    for item in patch:
        at = next((i for i, old in enumerate(merged) if old[key] == item[key]), None)
        if item.get("$patch") == "delete":
            merged = [old for old in merged if old[key] != item[key]]
        elif at is None:
            merged.append(strategic_patch({}, item))
        else:
            merged[at] = strategic_patch(merged[at], item)
    return merged


def _set_order(merged: dict[str, Any], field: str, wanted: Any) -> None:
    """Put a list into the order that the patch names; items that it does not name keep their places behind."""
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
    """By which an item of a list is known; a manifest may hold anything there until it is validated."""
    return _hashable(item.get(key))


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, str | int | float | None) else repr(value)


def _value(field: str, last: Any, new: Any, current: Any) -> Any:
    if isinstance(new, dict) and isinstance(current, dict):
        merged_field = three_way(last if isinstance(last, dict) else {}, new, current)
        return _retained(field, new, current, merged_field)
    key = _key_of(field, new, current)
    if key is None:
        return new
    listed = last if isinstance(last, list) else []
    before = {_name(item, key): item for item in listed if isinstance(item, dict) and key in item}
    standing = {_name(item, key): item for item in current}
    merged = []
    for item in new:
        name = _name(item, key)
        now = standing.get(name, {})
        merged.append(_retained(field, item, now, three_way(before.get(name, {}), item, now)))
    named = {_name(item, key) for item in new}
    # Items that another writer added stay; items that the last manifest had and this one has not go.
    return merged + [item for name, item in standing.items() if name not in named and name not in before]


def _retained(field: str, new: dict[str, Any], current: dict[str, Any], merged: dict[str, Any]) -> dict[str, Any]:
    """Source: strategicpatch handleDirectiveInDiff; `$retainKeys` is sent only where something differs."""
    if field not in RETAIN_KEYS or merged == current:
        return merged
    return {name: value for name, value in merged.items() if name in new}


def _key_of(field: str, new: Any, current: Any) -> str | None:
    """By which field the items of two lists belong together; None where the list is replaced as a whole."""
    if field not in MERGE_KEYS or not isinstance(new, list) or not isinstance(current, list) or not current:
        return None
    everyone = [*new, *current]
    for key in MERGE_KEYS[field]:
        if all(isinstance(item, dict) and key in item for item in everyone):
            return key
    return None
