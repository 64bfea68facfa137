"""The journal: a user's actions on a cluster in order, to be repeated on a new one.

It contains actions, never results. A simulated cluster is deterministic, so the same actions on a cluster with the same
start lead to the same state. Labs are graded and lessons are shown again in this way.

A journal may be forged to gain points. So each entry is checked against the schema of its action and contains plain
data only. Text or a path in place of an object is rejected, so that a replay opens no file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from operator import is_
from typing import Annotated, Any, get_args

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import CgroupTree

FORMAT = 1
Entry = dict[str, Any]
Name = Annotated[str, msgspec.Meta(max_length=1024)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=366 * 86_400)]
_LOOK_BACK = 8
"""Number of entries among which an earlier one of the same action is looked for."""
MAX_STEPS = 10_000_000
"""The maximum number of equal steps of one entry."""


class Action(msgspec.Struct, tag_field="action", forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The common part of all entries.

    Attributes:
        at: the time of an action on real nodes, in seconds of the cluster's clock.
        by: the user of a request over HTTP; "" = the caller in this process.
        client: the program that sent the request, as `kubectl`; "" = no request.
    """

    at: float = 0.0
    by: Name = ""
    client: Name = ""


class Apply(Action, tag="apply", frozen=True, kw_only=True):
    objects: list[dict[str, Any]]


class Create(Action, tag="create", frozen=True, kw_only=True):
    objects: list[dict[str, Any]]


class Delete(Action, tag="delete", frozen=True, kw_only=True):
    kind: Name
    name: Name
    namespace: Name
    grace: int | None = None
    propagation_policy: str = "Background"


class Patch(Action, tag="patch", frozen=True, kw_only=True):
    """A strategic merge patch of an object, or of the part that a subresource writes."""

    kind: Name
    name: Name
    namespace: Name
    patch: dict[str, Any]
    subresource: Name = ""


class PatchStatus(Patch, tag="patch_status", frozen=True, kw_only=True):
    """A patch through the `status` subresource."""


class Resize(Action, tag="resize", frozen=True, kw_only=True):
    name: Name
    namespace: Name
    containers: dict[Name, dict[str, dict[str, Any]]]
    pod: dict[str, dict[str, Any]] = {}


class Evict(Action, tag="evict", frozen=True, kw_only=True):
    name: Name
    namespace: Name
    grace: int | None = None


class Bind(Action, tag="bind", frozen=True, kw_only=True):
    """A binding of a pod to a node, made by a scheduler outside the cluster."""

    name: Name
    namespace: Name
    node: Name
    metadata: dict[str, Any] = {}


class Advance(Action, tag="advance", frozen=True, kw_only=True):
    """Time that passes: `seconds` at once, or in `steps` steps of so many seconds each while the API is served."""

    seconds: Seconds
    steps: Annotated[int, msgspec.Meta(ge=0, le=MAX_STEPS)] = 0


class Write(Action, tag="write", frozen=True, kw_only=True):
    """A write to a cgroup file by hand; `pod`, `container` and `kind` identify the cgroup's owner, "" = none."""

    node: Name
    path: Annotated[str, msgspec.Meta(max_length=4096)]
    file: Name
    value: Annotated[str, msgspec.Meta(max_length=65_536)]
    pod: Name = ""
    container: Name = ""
    kind: Name = ""


class Signal(Action, tag="signal", frozen=True, kw_only=True):
    node: Name
    pod: Name
    container: Name
    signal: int
    namespace: Name = "default"


class Exit(Action, tag="exit", frozen=True, kw_only=True):
    node: Name
    namespace: Name
    pod: Name
    container: Name
    code: int


class RestartKubelet(Action, tag="restart_kubelet", frozen=True, kw_only=True):
    node: Name
    kubelet: str | list[str] | dict[str, Any] | None = None
    delete_checkpoints: bool = False


class ShutDownNode(Action, tag="shutdown", frozen=True, kw_only=True):
    node: Name


class CancelShutdown(Action, tag="cancel_shutdown", frozen=True, kw_only=True):
    node: Name


class Reboot(Action, tag="reboot", frozen=True, kw_only=True):
    node: Name


AnyAction = (
    Apply
    | Create
    | Delete
    | Patch
    | PatchStatus
    | Resize
    | Evict
    | Bind
    | Advance
    | Write
    | Signal
    | Exit
    | RestartKubelet
    | ShutDownNode
    | CancelShutdown
    | Reboot
)
ACTIONS: dict[str, type[AnyAction]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyAction)}
"""The schemas of entries by name of the action."""


def owner(tree: CgroupTree, path: str) -> dict[str, str]:
    """Return a cgroup's pod, container and kind for an entry, since UIDs in paths differ in a replay."""
    cgroup = tree.get(path)
    return {"pod": cgroup.pod, "container": cgroup.container, "kind": cgroup.kind} if cgroup and cgroup.pod else {}


def place_of(entry: Entry, tree: CgroupTree) -> str:
    """Return the path of an entry's cgroup in another cluster's tree."""
    named = (entry["pod"], entry.get("container"), entry.get("kind"))
    return next((c.path for c in tree.values() if (c.pod, c.container, c.kind) == named), str(entry["path"]))


def _shared(old: Any, new: Any) -> Any:
    """Return plain data equal to `new`, with its equal parts taken from `old`.

    A loop that makes a thousand equal pods keeps one copy of their spec.
    """
    if type(new) is not type(old):  # 1, 1.0 and true are equal in Python and not in JSON
        return new
    if isinstance(new, dict):
        made: Any = {name: _shared(old.get(name), part) for name, part in new.items()}
        return old if _same(made.values(), old.values()) and list(made) == list(old) else made
    if isinstance(new, list):
        made = [_shared(one, part) for one, part in zip(old, new, strict=False)] + new[len(old) :]
        return old if _same(made, old) else made
    return old if new == old else new


def _same(made: Collection[Any], old: Collection[Any]) -> bool:
    return len(made) == len(old) and all(map(is_, made, old))


class Journal(list[Entry]):
    """A list of actions in order, as plain data.

    Attributes:
        is_open: whether requests over HTTP and the time of a server are recorded too; a server that runs for days
            for foreign programs closes it, since its journal would grow without end.
    """

    is_open = True

    def record(self, action: str, **fields: Any) -> None:
        """Add an action."""
        self.keep([{"action": action, **fields}])

    def keep(self, entries: Iterable[Entry]) -> None:
        """Add entries; each shares its equal parts with the last one of its action, so neither may be changed."""
        for entry in entries:
            action = entry["action"]
            last = next((known for known in self[: -_LOOK_BACK - 1 : -1] if known["action"] == action), None)
            self.append(
                entry if last is None else {name: _shared(last.get(name), part) for name, part in entry.items()}
            )

    def step(self, seconds: float) -> None:
        """Add a step of time; equal steps in succession are one entry, so that an hour of waiting is not thousands."""
        last = self[-1] if self else {}
        if last.get("action") == "advance" and last.get("steps") and last["seconds"] == seconds:
            last["steps"] += 1
        else:
            self.record("advance", seconds=seconds, steps=1)

    def to_json(self) -> str:
        """Return a JSON document with the format's number and the actions."""
        return json.dumps({"format": FORMAT, "actions": self}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Journal:
        """Read the result of `to_json`, or the bare list that kitlib 0.1 wrote.

        Raises:
            KitError: the text is not a journal.
        """
        from kitlib.api.file_format import check_format

        try:
            read = json.loads(text)
            check_format(read, FORMAT, "journal")
            return cls.checked(read.get("actions", ()) if isinstance(read, dict) else read)
        except (ValueError, RecursionError) as error:
            raise KitError(f"a journal must be a JSON list of actions: {error}") from error

    @classmethod
    def checked(cls, entries: Iterable[Any]) -> Journal:
        """Return the entries if each is an action with exactly its fields, of the right types.

        Raises:
            KitError: an entry is invalid; the error names the first one.
        """
        made = cls()
        if not isinstance(entries, list | tuple):
            raise KitError("a journal must be a list of actions")
        for number, entry in enumerate(entries, start=1):
            action = entry.get("action") if isinstance(entry, dict) else None
            if not isinstance(action, str) or action not in ACTIONS:
                raise KitError(f"journal entry {number}: {str(action)[:80]!r}: valid values: {', '.join(ACTIONS)}")
            required = {f.encode_name for f in msgspec.structs.fields(ACTIONS[action]) if f.required}
            missing = sorted(required - entry.keys())
            if missing:
                raise KitError(f"journal entry {number}: {action}: missing fields: {', '.join(missing)}")
            try:
                convert(entry, ACTIONS[action])
            except (msgspec.ValidationError, RecursionError) as error:
                raise KitError(f"journal entry {number}: {action}: {str(error)[:200]}") from None
            # The entry itself, not the converted one, which has defaults for fields that were not recorded.
            made.append(dict(entry))
        return made
