"""Which manager owns which field of an object, and server-side apply.

A field set is a set of paths; a path is a tuple of steps as they stand in `fieldsV1`: `f:spec`, `k:{"name":"web"}` for
the item of a list with keys, `v:"x"` for a member of a set. Lists without keys are atomic: one field.

Source: sigs.k8s.io/structured-merge-diff (fieldpath, merge.Updater), KEP-555.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kitlib.api.merge_rules import MergeRule, Shape, merge_field, merge_type
from kitlib.apiserver.status import StatusError

Path = tuple[str, ...]
FieldSet = set[Path]

_DEFAULTS = {"protocol": "TCP"}
_NOT_OWNED = {
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata", "f:name"),
    ("f:metadata", "f:namespace"),
    ("f:metadata", "f:creationTimestamp"),
    ("f:metadata", "f:uid"),
    ("f:metadata", "f:resourceVersion"),
    ("f:metadata", "f:generation"),
    ("f:metadata", "f:managedFields"),
    ("f:metadata", "f:selfLink"),
}


def _keys(rule: MergeRule, items: list[Any]) -> tuple[str, ...]:
    """The keys of a list's items; () where the list is atomic."""
    if rule.keys and all(isinstance(item, dict) and rule.keys[0] in item for item in items):
        return rule.keys
    return ()


def _item_step(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    found = {key: item.get(key, _DEFAULTS.get(key)) for key in sorted(keys)}
    return "k:" + json.dumps({k: v for k, v in found.items() if v is not None}, separators=(",", ":"))


def fields_of(obj: Mapping[str, Any], schema: Mapping[str, Any] | None = None) -> FieldSet:
    """Every field that an object sets, without those that the server owns.

    Args:
        obj: any object.
        schema: of a custom resource.
    """
    found = _walk(schema or merge_type(obj), obj, ())
    return {path for path in found if path[:2] not in _NOT_OWNED and path[:1] not in _NOT_OWNED}


def _walk(shape: Shape, value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, Mapping) and value:
        for field, below in value.items():
            yield from _walk_field(shape, field, below, (*path, f"f:{field}"))
    elif path:
        yield path


def _walk_field(shape: Shape, field: str, value: Any, path: Path) -> Iterator[Path]:
    rule, below = merge_field(shape, field)
    if isinstance(value, list) and value:
        keys = _keys(rule, value)
        if keys:
            for item in value:
                step = _item_step(item, keys)
                yield (*path, step, ".")
                yield from _walk(below, item, (*path, step))
            return
        if rule.is_set:
            for item in value:
                yield (*path, f"v:{json.dumps(item)}")
            return
    if isinstance(value, list) or rule.is_atomic:
        yield path
    else:
        yield from _walk(below, value, path)


def encode(fields: FieldSet) -> dict[str, Any]:
    """A field set as `fieldsV1`."""
    made: dict[str, Any] = {}
    for path in sorted(fields):
        place = made
        for step in path:
            place = place.setdefault(step, {})
    return made


def decode(data: Mapping[str, Any], path: Path = ()) -> FieldSet:
    """A field set from `fieldsV1`."""
    found: FieldSet = set()
    for step, below in data.items():
        if step == "." or not isinstance(below, Mapping) or not below:
            found.add((*path, step))
        else:
            found |= decode(below, (*path, step))
    return found


def value_at(obj: Any, path: Path) -> Any:
    """What stands at a path; `...` (Ellipsis) where nothing does."""
    for step in path:
        kind, _, rest = step.partition(":")
        if step == ".":
            return True
        if kind == "f":
            if not isinstance(obj, Mapping) or rest not in obj:
                return ...
            obj = obj[rest]
        elif kind == "k":
            wanted = json.loads(rest)
            items = obj if isinstance(obj, list) else []
            obj = next((i for i in items if all(i.get(k, _DEFAULTS.get(k)) == v for k, v in wanted.items())), ...)
            if obj is ...:
                return ...
        else:
            return True if isinstance(obj, list) and json.loads(rest) in obj else ...
    return obj


def readable(path: Path) -> str:
    """A path as messages print it: `.spec.template.spec.containers[name="c"].image`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            text += "[" + ",".join(f"{k}={json.dumps(v)}" for k, v in json.loads(rest).items()) + "]"
        elif kind == "v":
            text += f"[={rest}]"
    return text


def merge(live: Any, applied: Any, schema: Mapping[str, Any] | None = None) -> Any:
    """What is applied over what stands: maps and lists with keys are merged, all else is replaced."""
    return _merged(schema or merge_type(applied, live), live, applied)


def _merged(shape: Shape, live: Any, applied: Any) -> Any:
    if not (isinstance(live, Mapping) and isinstance(applied, Mapping)):
        return applied
    made = dict(live)
    for name, value in applied.items():
        made[name] = _merged_field(shape, name, live[name], value) if name in live else value
    return made


def _merged_field(shape: Shape, name: str, live: Any, applied: Any) -> Any:
    rule, below = merge_field(shape, name)
    if isinstance(live, list) and isinstance(applied, list):
        if rule.is_set:
            return [*live, *(item for item in applied if item not in live)]
        keys = _keys(rule, [*live, *applied])
        if not keys:
            return applied
        standing = {_item_step(item, keys): item for item in live}
        for item in applied:
            step = _item_step(item, keys)
            standing[step] = _merged(below, standing[step], item) if step in standing else item
        return list(standing.values())
    return applied if rule.is_atomic else _merged(below, live, applied)


def remove(obj: Any, path: Path) -> Any:
    """The object without what stands at a path."""
    if not path:
        return obj
    step, rest = path[0], path[1:]
    kind, _, name = step.partition(":")
    if kind == "f" and isinstance(obj, Mapping) and name in obj:
        made = dict(obj)
        if rest:
            made[name] = remove(made[name], rest)
        else:
            del made[name]
        return made
    if kind == "k" and isinstance(obj, list):
        wanted = json.loads(name)
        kept = []
        for item in obj:
            if all(item.get(k, _DEFAULTS.get(k)) == v for k, v in wanted.items()):
                if rest in ((), (".",)):
                    continue
                item = remove(item, rest)
            kept.append(item)
        return kept
    if kind == "v" and isinstance(obj, list):
        return [item for item in obj if item != json.loads(name)]
    return obj


class Managers:
    """The managers of one object.

    Args:
        entries: its `metadata.managedFields`.
        schema: of a custom resource: which of its lists and mappings have owners for each item.
    """

    def __init__(self, entries: list[dict[str, Any]] | None, schema: Mapping[str, Any] | None = None) -> None:
        self._schema = schema
        self.entries = [
            {**entry, "fields": decode(entry.get("fieldsV1") or {})}
            for entry in entries or ()
            if isinstance(entry, dict) and isinstance(entry.get("fieldsV1") or {}, Mapping)
        ]

    def to_list(self) -> list[dict[str, Any]]:
        return [
            {**{k: v for k, v in entry.items() if k != "fields"}, "fieldsV1": encode(entry["fields"])}
            for entry in self.entries
            if entry["fields"]
        ]

    def _entry(self, manager: str, operation: str, version: str, subresource: str, now: str) -> dict[str, Any]:
        for entry in self.entries:
            same = (entry.get("manager"), entry.get("operation"), entry.get("subresource", ""))
            if same == (manager, operation, subresource):
                return entry
        entry = {"manager": manager, "operation": operation, "apiVersion": version, "time": now}
        entry |= {"fieldsType": "FieldsV1", "fields": set()}
        if subresource:
            entry["subresource"] = subresource
        self.entries.append(entry)
        return entry

    def update(
        self, old: Mapping[str, Any], new: Mapping[str, Any], manager: str, version: str, subresource: str, now: str
    ) -> None:
        """A write without apply: the manager owns what it changed; nobody owns what is gone."""
        before, after = fields_of(old, self._schema), fields_of(new, self._schema)
        changed = {path for path in after if path not in before or value_at(old, path) != value_at(new, path)}
        for entry in self.entries:
            entry["fields"] = {
                path for path in entry["fields"] - changed if path in after or value_at(new, path) is not ...
            }
        if changed:
            entry = self._entry(manager, "Update", version, subresource, now)
            entry["fields"] |= changed
            entry["time"] = now

    def apply(
        self,
        live: Mapping[str, Any],
        config: Mapping[str, Any],
        manager: str,
        version: str,
        *,
        force: bool,
        subresource: str,
        now: str,
    ) -> dict[str, Any]:
        """Server-side apply: the merged object.

        Raises:
            StatusError: 409 with a cause per field that another manager owns with another value, unless forced.
        """
        wanted = fields_of(config, self._schema)
        mine = self._entry(manager, "Apply", version, subresource, now)
        conflicts: list[tuple[dict[str, Any], Path]] = []
        for entry in self.entries:
            if entry is mine:
                continue
            for path in sorted(entry["fields"] & wanted):
                if path[-1] != "." and value_at(live, path) != value_at(config, path):
                    conflicts.append((entry, path))
        if conflicts and not force:
            raise _conflict(conflicts)
        for entry, path in conflicts:
            entry["fields"].discard(path)
        merged = merge(live, config, self._schema)
        others: FieldSet = set().union(*(e["fields"] for e in self.entries if e is not mine))
        for path in sorted(mine["fields"] - wanted, key=lambda p: (p[-1] != ".", -len(p))):  # whole items first
            shared = any(other[: len(path)] == path for other in others | wanted)
            if path[-1] == ".":
                item = path[:-1]
                shared = any(other[: len(item)] == item for other in others | wanted)
            if not shared:
                merged = remove(merged, path)
        mine["fields"], mine["time"], mine["apiVersion"] = wanted, now, version
        return dict(merged)


def _conflict(conflicts: list[tuple[dict[str, Any], Path]]) -> StatusError:
    """Source: apimachinery managedfields.NewConflictError."""
    causes: list[dict[str, str]] = []
    listed: dict[str, list[str]] = {}
    for entry, path in conflicts:
        with_sub = f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
        using = f" using {entry['apiVersion']}" if entry.get("operation") == "Update" else ""
        owner = f'"{entry.get("manager", "")}"{with_sub}{using}'
        causes.append({"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": readable(path)})
        listed.setdefault(owner, []).append(readable(path))
    count = len(conflicts)
    if count == 1:
        owner, fields = next(iter(listed.items()))
        message = f"Apply failed with 1 conflict: conflict with {owner}: {fields[0]}"
    else:
        lines = []
        for owner, fields in listed.items():
            lines.append(f"conflicts with {owner}:\n" + "\n".join(f"- {field}" for field in fields))
        message = f"Apply failed with {count} conflicts: " + "\n".join(lines)
    return StatusError(409, message, "Conflict", {"causes": causes})
