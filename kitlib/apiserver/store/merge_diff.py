"""The difference of two objects as a strategic merge patch, the inverse of `merge.strategic_patch`.

Source: apimachinery strategicpatch.CreateTwoWayMergePatch (diffMaps, diffLists).
"""

from __future__ import annotations

from typing import Any

from kitlib.api.merge_rules import MergeRule, Shape, merge_field, merge_type


def strategic_diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the patch that turns an object into another; {} if they are equal.

    A list whose items have a key is compared item by item if both lists have the same items in the same order, and is
    replaced as a whole otherwise. The patch contains changes only, so it also applies to an object that differs
    elsewhere, as in the replay of a journal on other nodes.
    """
    return _between(merge_type(old), old, new)


def _between(shape: Shape, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {field: None for field in old if field not in new}
    for field, value in new.items():
        if field not in old:
            patch[field] = value
        elif old[field] != value:
            rule, below = merge_field(shape, field)
            patch |= _changed(rule, below, field, old[field], value)
    return patch


def _changed(rule: MergeRule, below: Shape, field: str, old: Any, new: Any) -> dict[str, Any]:
    """Return the part of a patch for one field with different values."""
    if isinstance(old, dict) and isinstance(new, dict) and rule.strategy != "replace":
        return {field: _between(below, old, new)}
    if not isinstance(old, list) or not isinstance(new, list):
        return {field: new}
    if rule.merges_values:
        return {f"$deleteFromPrimitiveList/{field}": [one for one in old if one not in new], field: new}
    if not rule.key or not all(isinstance(one, dict) for one in [*old, *new]):
        return {field: new}
    names = [one.get(rule.key) for one in new]
    if names != [one.get(rule.key) for one in old] or None in names or len(set(names)) < len(names):
        return {field: [{"$patch": "replace"}, *new]}
    pairs = zip(names, old, new, strict=True)
    return {field: [{rule.key: name, **_between(below, a, b)} for name, a, b in pairs if a != b]}
