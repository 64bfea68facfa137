"""The merge of server-side apply: maps and lists with keys are merged, sets are joined, all else is replaced.

Source: sigs.k8s.io/structured-merge-diff (typed/merge.go, helpers.go), KEP-555.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from kitlib.api.merge_rules import MergeRule, Shape, merge_field, merge_type

KEY_DEFAULTS = {"protocol": "TCP"}
"""The defaults of keys that an item may omit."""


def keys_of(rule: MergeRule, items: list[Any]) -> tuple[str, ...]:
    """Return the names of the fields that identify a list's items; () where the list is atomic."""
    if rule.keys and all(isinstance(item, dict) and rule.keys[0] in item for item in items):
        return rule.keys
    return ()


def item_step(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return an item's step in a path: `k:{"name":"web"}`."""
    found = {key: item.get(key, KEY_DEFAULTS.get(key)) for key in sorted(keys)}
    return "k:" + json.dumps({k: v for k, v in found.items() if v is not None}, separators=(",", ":"))


def comparable(value: Any) -> Hashable:
    """Return a hashable form of a value; equal values give equal results."""
    return ("json", json.dumps(value, sort_keys=True)) if isinstance(value, list | Mapping) else value


def merge(live: Any, applied: Any, shape: Shape = None) -> Any:
    """Merge an applied object into a live one: maps and lists with keys are merged, all else is replaced.

    Args:
        live: the stored object, as plain data.
        applied: the applied configuration, as plain data.
        shape: the objects' type, or the schema of a custom resource; None = the type of their kind.
    """
    return _merged(shape or merge_type(applied, live), live, applied)


def _merged(shape: Shape, live: Any, applied: Any) -> Any:
    if not (isinstance(live, Mapping) and isinstance(applied, Mapping)):
        return applied
    made = dict(live)
    for name, value in applied.items():
        made[name] = _merged_field(shape, name, live[name], value) if name in live else value
    return made


def _merged_field(shape: Shape, name: str, live: Any, applied: Any) -> Any:
    rule, below = merge_field(shape, name)
    if not (isinstance(live, list) and isinstance(applied, list)):
        return applied if rule.is_atomic else _merged(below, live, applied)
    if rule.is_set:
        values = {comparable(item): item for item in applied}
        order = _in_order(list(map(comparable, live)), list(values))
        return [live[old] if given == _ABSENT else list(values.values())[given] for old, given in order]
    keys = keys_of(rule, [*live, *applied])
    if not keys:
        return applied
    last = {item_step(item, keys): item for item in applied}
    items, steps = list(last.values()), [item_step(item, keys) for item in live]
    once = {step for step, count in Counter(steps).items() if count == 1}
    made = []
    for old, given in _in_order(steps, list(last)):
        if given == _ABSENT:
            made.append(live[old])
        else:
            new = items[given]
            # A key that the live list has several times is ambiguous: the applied item replaces instead of merging.
            made.append(_merged(below, live[old], new) if old != _ABSENT and steps[old] in once else new)
    return made


_ABSENT = -1


def _in_order(live: Sequence[Hashable], applied: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Merge the order of two lists: shared items in the applied order, others at their own position.

    Yields:
        The positions of an item in both lists, _ABSENT in the list that does not have it.

    Source: mergingWalker.visitListItems.
    """
    # Both lists are walked side by side. Items of both lists are emitted in the applied order; an item of the live list
    # alone keeps its position relative to its live neighbours.
    standing = {step: place for place, step in reversed(list(enumerate(live)))}
    wanted = set(applied)
    done: set[Hashable] = set()
    shared = (step for step in applied if step in standing)
    awaited = next(shared, None)
    old = new = 0
    while old < len(live) or new < len(applied):
        if old < len(live) and new < len(applied):
            if live[old] == applied[new]:
                yield old, new
                done.add(live[old])
                old, new, awaited = old + 1, new + 1, next(shared, None)
                continue
            if live[old] in wanted and awaited is not None and awaited != live[old]:
                old += 1  # it comes later, in the applied order
                continue
        if old < len(live):
            if live[old] not in wanted:
                yield old, _ABSENT
                old += 1
                continue
            if live[old] in done:
                old += 1
        if new < len(applied):
            step = applied[new]
            yield standing.get(step, _ABSENT), new
            done.add(step)
            new += 1
            if awaited == step:
                awaited = next(shared, None)
