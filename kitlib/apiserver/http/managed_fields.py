"""Field ownership (`managedFields`) and server-side apply.

A field set is a set of paths; a path is a tuple of steps as in `fieldsV1`: `f:spec`, `k:{"name":"web"}` for an item of
a list with keys, `v:"x"` for a member of a set. Lists without keys are atomic: one field.

Source: sigs.k8s.io/structured-merge-diff (fieldpath, merge.Updater), KEP-555.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kitlib.api.merge_rules import Shape, merge_field, merge_type
from kitlib.api.structured_merge import KEY_DEFAULTS, comparable, item_step, keys_of, merge
from kitlib.apiserver.http.status import StatusError

Path = tuple[str, ...]
FieldSet = set[Path]

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


_METADATA = ("f:metadata",)


def fields_of(obj: Mapping[str, Any], schema: Mapping[str, Any] | None = None) -> FieldSet:
    """Return the fields that an object sets, without those that the server owns.

    Args:
        obj: the object in the wire form.
        schema: the schema of a custom resource; None = a built-in kind.
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
        keys = keys_of(rule, value)
        if keys:
            for item in value:
                step = item_step(item, keys)
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
    """Encode a field set as `fieldsV1`."""
    made: dict[str, Any] = {}
    for path in sorted(fields):
        place = made
        for step in path:
            place = place.setdefault(step, {})
    return made


def decode(data: Mapping[str, Any], path: Path = ()) -> FieldSet:
    """Decode a field set from `fieldsV1`."""
    found: FieldSet = set()
    for step, below in data.items():
        if step == "." or not isinstance(below, Mapping) or not below:
            found.add((*path, step))
        else:
            found |= decode(below, (*path, step))
    return found


def _named(item: Any, names: tuple[str, ...]) -> Any:
    """Return a list item's values of these fields; None if the item is not a mapping."""
    if not isinstance(item, Mapping):
        return None
    return tuple(comparable(item.get(name, KEY_DEFAULTS.get(name))) for name in names)


class Places:
    """An index of the values at paths of an object that does not change meanwhile."""

    def __init__(self, obj: Any) -> None:
        self._obj = obj
        self._items: dict[tuple[int, tuple[str, ...]], dict[Any, Any]] = {}

    def at(self, path: Path) -> Any:
        """Return the value at a path; `...` (Ellipsis) if there is none."""
        obj = self._obj
        for step in path:
            kind, _, rest = step.partition(":")
            if step == ".":
                return True
            if kind == "f":
                if not isinstance(obj, Mapping) or rest not in obj:
                    return ...
                obj = obj[rest]
            elif not isinstance(obj, list):
                return ...
            elif kind == "k":
                wanted = json.loads(rest)
                obj = self._index(obj, tuple(wanted)).get(tuple(map(comparable, wanted.values())), ...)
                if obj is ...:
                    return ...
            else:
                return True if comparable(json.loads(rest)) in self._index(obj, ()) else ...
        return obj

    def _index(self, items: list[Any], names: tuple[str, ...]) -> dict[Any, Any]:
        """Return the first item for each value of these fields; without fields, for each value of an item."""
        found = self._items.get((id(items), names))
        if found is None:
            found = self._items[id(items), names] = {}
            for item in items:
                found.setdefault(_named(item, names) if names else comparable(item), item)
        return found


def readable(path: Path) -> str:
    """Return a path as messages print it: `.spec.template.spec.containers[name="c"].image`."""
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


def remove(obj: Any, paths: Iterable[Path]) -> Any:
    """Return the object without the values at some paths."""
    tree: dict[str, Any] = {}
    for path in paths:
        place = tree
        for step in path:
            place = place.setdefault(step, {})
        place[_HERE] = {}
    return _without(obj, tree)


_HERE = ""
"""The key in the tree that marks the end of a path."""


def _without(obj: Any, tree: Mapping[str, Any]) -> Any:
    if isinstance(obj, Mapping):
        made = dict(obj)
        for step, below in tree.items():
            kind, _, name = step.partition(":")
            if kind != "f" or name not in made:
                continue
            if _HERE in below:
                del made[name]
            else:
                made[name] = _without(made[name], below)
        return made
    if not isinstance(obj, list):
        return obj
    values: set[Any] = set()
    items: dict[tuple[str, ...], dict[Any, Any]] = {}
    for step, below in tree.items():
        kind, _, rest = step.partition(":")
        if kind == "k":
            wanted = json.loads(rest)
            items.setdefault(tuple(wanted), {})[tuple(map(comparable, wanted.values()))] = below
        elif kind == "v":
            values.add(comparable(json.loads(rest)))
    remaining = []
    for item in obj:
        if values and comparable(item) in values:
            continue
        found = [below for names, known in items.items() if (below := known.get(_named(item, names))) is not None]
        if any(_HERE in below or "." in below for below in found):
            continue
        for below in found:
            item = _without(item, below)
        remaining.append(item)
    return remaining


def _is_named(schema: Mapping[str, Any] | None, path: Path) -> bool:
    """Return whether a schema names the field at a path: it is removed with the last field that its manager gives up.

    Source: structured-merge-diff merge/update.go prune (Set.EnsureNamedFieldsAreMembers).
    """
    if not path[-1].startswith("f:"):
        return False
    place: Any = schema
    for step in path if schema is not None else ():
        below = "items" if not step.startswith("f:") else "properties"
        place = (place.get(below) or {}) if isinstance(place, Mapping) else {}
        if below == "properties":
            if step[2:] not in place:
                return False
            place = place[step[2:]]
    return True


class Managers:
    """The field managers of one object.

    Args:
        entries: the object's `metadata.managedFields`.
        schema: the schema of a custom resource: which of its lists and mappings have owners for each item.
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
        """Record a write without apply: the manager owns the changed fields, removed fields lose their owners."""
        before, after = fields_of(old, self._schema), fields_of(new, self._schema)
        was, now_at = Places(old), Places(new)
        changed = {path for path in after if path not in before or was.at(path) != now_at.at(path)}
        for entry in self.entries:
            entry["fields"] = {
                # A path can have a value without being in the new field set, for example a mapping that was empty
                # before.
                path
                for path in entry["fields"] - changed
                if path in after or now_at.at(path) is not ...
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
        """Apply a configuration (server-side apply) and return the merged object.

        Raises:
            StatusError: 409 with a cause per field that another manager owns with another value, unless forced.
        """
        wanted = fields_of(config, self._schema)
        mine = self._entry(manager, "Apply", version, subresource, now)
        conflicts: list[tuple[dict[str, Any], Path]] = []
        stands, sets = Places(live), Places(config)
        for entry in self.entries:
            if entry is mine:
                continue
            for path in sorted(entry["fields"] & wanted):
                # "." is the existence of a list item, which managers share without a conflict.
                if path[-1] != "." and stands.at(path) != sets.at(path):
                    conflicts.append((entry, path))
        if conflicts and not force:
            raise _conflict(conflicts)
        for entry, path in conflicts:
            # Under force the conflicting fields change their owner.
            entry["fields"].discard(path)
        merged = merge(live, config, self._schema)
        # A field that the manager no longer applies is removed unless another manager owns it or a field below it.
        others: FieldSet = wanted.union(*(e["fields"] for e in self.entries if e is not mine))
        prefixes = {other[:length] for other in others for length in range(1, len(other) + 1)}
        gone = {path for path in mine["fields"] - wanted if (path[:-1] if path[-1] == "." else path) not in prefixes}
        merged = remove(merged, gone)
        parents = {path[:length] for path in gone for length in range(1, len(path))} - prefixes - {_METADATA}
        # Deepest first: the removal of a child can leave its parent empty.
        for path in sorted(parents, key=len, reverse=True):
            if Places(merged).at(path) in ({}, []) and _is_named(self._schema, path):
                merged = remove(merged, [path])
        mine["fields"], mine["time"], mine["apiVersion"] = wanted, now, version
        return dict(merged)


def _conflict(conflicts: list[tuple[dict[str, Any], Path]]) -> StatusError:
    """Return the error that lists the conflicts. Source: apimachinery managedfields.NewConflictError."""
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
