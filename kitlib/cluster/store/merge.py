"""What `kubectl apply` does to an object that exists: a three-way merge of what was applied last time, what is applied
now, and what stands in the cluster.

A field that the new manifest sets is set; one that the last manifest set and the new one leaves out is removed; all
others (defaults, status, what controllers wrote) stay. Lists whose items have a key (containers by name) are merged
item by item, all other lists are replaced.

Source: apimachinery strategicpatch.CreateThreeWayMergePatch; the patchMergeKey tags of k8s.io/api; RFC 7396.
"""

from __future__ import annotations

from typing import Any

MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "conditions": "type",
    "ownerReferences": "uid",
    "taints": "key",
}


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
    """`kubectl patch`: as `merge_patch`, but lists whose items have a key are merged item by item."""
    merged = dict(current)
    for field, value in patch.items():
        if value is None:
            merged.pop(field, None)
        else:
            below = merged.get(field)
            merged[field] = _patched(field, below, value)
    return merged


def _patched(field: str, current: Any, patch: Any) -> Any:
    if isinstance(patch, dict):
        return strategic_patch(current if isinstance(current, dict) else {}, patch)
    key = _key_of(field, patch, current)
    if key is None:
        return patch
    merged = list(current)
    for item in patch:
        at = next((i for i, old in enumerate(merged) if old[key] == item[key]), None)
        if at is None:
            merged.append(item)
        else:
            merged[at] = strategic_patch(merged[at], item)
    return merged


def _value(field: str, last: Any, new: Any, current: Any) -> Any:
    if isinstance(new, dict) and isinstance(current, dict):
        return three_way(last if isinstance(last, dict) else {}, new, current)
    key = _key_of(field, new, current)
    if key is None:
        return new
    before = {item[key]: item for item in last if isinstance(item, dict) and key in item} if last else {}
    standing = {item[key]: item for item in current}
    merged = [three_way(before.get(item[key], {}), item, standing.get(item[key], {})) for item in new]
    named = {item[key] for item in new}
    # Items that somebody else added stay; items that the last manifest had and this one has not go.
    return merged + [item for name, item in standing.items() if name not in named and name not in before]


def _key_of(field: str, new: Any, current: Any) -> str | None:
    """By which field the items of two lists belong together; None where the list is replaced as a whole."""
    key = MERGE_KEYS.get(field)
    if key is None or not isinstance(new, list) or not isinstance(current, list) or not current:
        return None
    everyone = [*new, *current]
    return key if all(isinstance(item, dict) and key in item for item in everyone) else None
