"""A lab's rules: what stays as it is, what nobody does, what never happens.

They are declared in lab.toml, and judged over everything that happened since the learner began (`History`) and
everything that the learner did (the journal). A broken rule takes the points of the tasks that it guards, and is named.

    [[rules]]
    key = "nodes"
    title = "The nodes stay as they are"
    unchanged = ["Node *"]                                  # labels, annotations, specification; at every moment

    [[rules]]
    key = "server"
    title = "The server keeps its resources"
    unchanged = ["Pod shop: containers.server.resources"]   # these fields only
    at = "end"                                              # at the check; the pod may be replaced before it

    [[rules]]
    key = "hands"
    title = "No pod is deleted by hand"
    forbidden = ["delete Pod batch-*", "write"]             # actions of the journal

    [[rules]]
    key = "others"
    title = "No other pods are added"
    no_new_pods = true                                      # nor workloads; what the lab's own workloads make is none

    [[rules]]
    key = "budget"
    title = "The budget is never exceeded"
    never = true                                            # the function of that key in check.py, at every moment
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import to_dict
from kitlib.apiserver.store.kinds import resource
from kitlib.lab.checks import NeverFunction
from kitlib.lab.fields import MISSING, canonical, get
from kitlib.lab.history import History, Key, key_of, selected

_WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "CronJob")
_SET_BY_CONTROLLERS = ("node.kubernetes.io/", "deployment.kubernetes.io/", "ToBeDeletedByClusterAutoscaler")


class RuleSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One rule of lab.toml; the module's docstring shows the kinds.

    Attributes:
        key, title: its name, and the sentence that the learner reads.
        hint: the next step after it was broken.
        unchanged: `KIND NAME` with `*`, or `KIND NAME: FIELD, FIELD`.
        at: "always" or "end": when `unchanged` holds.
        forbidden: actions of the journal, with a kind and a name's pattern where the action has them.
        no_new_pods: at no moment is there a pod or workload that the lab did not begin with.
        never: check.py says what must never be.
        tasks: keys of the tasks that it guards; () = all.
    """

    key: str
    title: str
    hint: str = ""
    unchanged: tuple[str, ...] = ()
    at: Literal["always", "end"] = "always"
    forbidden: tuple[str, ...] = ()
    no_new_pods: bool = False
    never: bool = False
    tasks: tuple[str, ...] = ()

    def guards(self, task: str) -> bool:
        """Whether a task gives no point where this rule is broken."""
        return not self.tasks or task in self.tasks


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a rule was kept.

    Attributes:
        rule, title, hint, tasks: of the rule.
        found: what broke it; "" where it was kept.
    """

    rule: str
    title: str
    found: str = ""
    hint: str = ""
    tasks: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether nothing broke it."""
        return not self.found

    def guards(self, task: str) -> bool:
        """Whether a task gives no point where this rule is broken."""
        return not self.tasks or task in self.tasks

    def __str__(self) -> str:
        return f"✓ {self.title}" if self.kept else f"✗ {self.title}: {self.found}"


def judge(
    rules: Iterable[RuleSpec],
    history: History,
    journal: Iterable[Mapping[str, Any]],
    never: Mapping[str, NeverFunction],
) -> tuple[RuleResult, ...]:
    """Judge every rule.

    Args:
        rules: of the lab.
        history: since the learner began.
        journal: what the learner did.
        never: the functions of check.py, by the rule's key.
    """
    done = list(journal)
    return tuple(
        RuleResult(rule=rule.key, title=rule.title, hint=rule.hint, tasks=rule.tasks, found=found)
        for rule in rules
        for found in [_broken(rule, history, done, never)]
    )


def _broken(
    rule: RuleSpec, history: History, journal: list[Mapping[str, Any]], never: Mapping[str, NeverFunction]
) -> str:
    for what in rule.forbidden:
        if found := _done(what, journal):
            return found
    if rule.unchanged:
        watched = [_Watched(what, history.first) for what in rule.unchanged]
        if found := _changed(watched, history, always=rule.at == "always"):
            return found
    if rule.no_new_pods and (found := _added(history)):
        return found
    if rule.never:
        for moment in history.moments():
            if moment.change is not None and (found := never[rule.key](moment)):
                return f"{found} ({_after(moment.seconds)})"
    return ""


def _added(history: History) -> str:
    """The first pod or workload that was not there at the start and is not made by one that was; "" = none."""
    known = {key for key in history.first if key[0] in ("Pod", *_WORKLOADS)}
    for change in history.changes:
        key, metadata = key_of(change.object), change.object.metadata
        if key[0] not in ("Pod", *_WORKLOADS) or key in known:
            continue
        makers = [(one.kind, metadata.namespace, one.name) for one in metadata.owner_references if one.controller]
        if not any(maker[0] in _WORKLOADS and maker in known for maker in makers):
            return f"{key[0]} {key[2]} is new ({_after(change.seconds)})"
        known.add(key)
    return ""


def _after(seconds: float) -> str:
    return f"after {seconds:.0f} s"


def _done(what: str, journal: list[Mapping[str, Any]]) -> str:
    """The first entry of the journal that is the action; "" = none."""
    action, kind, name = [*what.split(), "*", "*"][:3]
    for entry in journal:
        if entry["action"] != action:
            continue
        for one_kind, one_name in _objects(entry):
            if kind in ("*", _kind(one_kind)) and fnmatchcase(one_name, name):
                return " ".join(filter(None, (action, one_kind, one_name, "was done by hand")))
    return ""


def _objects(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Kind and name of what an entry of the journal is about."""
    if "objects" in entry:
        return [(str(one.get("kind")), str((one.get("metadata") or {}).get("name"))) for one in entry["objects"]]
    return [(str(entry.get("kind", "") or "Pod"), str(entry.get("name", entry.get("pod", ""))))]


def _kind(name: str) -> str:
    """The kind that `po`, `pods` or `Pod` names."""
    try:
        return resource(name).kind
    except KitError:
        return name


class _Watched:
    """Objects and fields that stay as they were."""

    def __init__(self, what: str, first: dict[Key, KubeObject]) -> None:
        objects, _, fields = what.partition(":")
        try:
            self.kind, self.name = objects.split()
        except ValueError:
            raise KitError(f"rule: {what!r}: KIND NAME or KIND NAME: FIELD, FIELD is expected") from None
        self.fields = [one.strip() for one in fields.split(",") if one.strip()]
        self.before = {key: self.look(one) for key, one in selected(first, self.kind, self.name).items()}

    def fits(self, key: Key) -> bool:
        return key[0] == self.kind and fnmatchcase(key[2], self.name)

    def look(self, obj: KubeObject) -> dict[str, Any]:
        """Field -> value, of what is watched."""
        plain = to_dict(obj)
        if self.fields:
            return {path: get(plain, path) for path in self.fields}
        metadata = plain.get("metadata", {})
        found = {
            "metadata.labels": _by_users(metadata.get("labels") or {}),
            "metadata.annotations": _by_users(metadata.get("annotations") or {}),
        }
        rest = {key: one for key, one in plain.items() if key not in ("metadata", "status", "apiVersion", "kind")}
        spec = {key: one for key, one in rest.pop("spec", {}).items() if key != "nodeName"}  # the scheduler sets it
        taints = [t for t in spec.get("taints") or [] if not str(t.get("key")).startswith(_SET_BY_CONTROLLERS)]
        for key, one in {**spec, "taints": taints, "unschedulable": spec.get("unschedulable") or False}.items():
            found[f"spec.{key}"] = canonical(one, key in ("requests", "limits", "hard"))
        return found | {key: canonical(one) for key, one in rest.items()}

    def difference(self, key: Key, obj: KubeObject | None) -> str:
        """How an object differs from what it was; "" = not at all."""
        if obj is None or (obj.metadata.deletion_timestamp is not None and not self.fields):
            return f"{key[0]} {key[2]} is gone"
        now, before = self.look(obj), self.before.get(key)
        if before is None:
            return f"{key[0]} {key[2]} is new"
        for path in sorted(before.keys() | now.keys()):
            old, new = before.get(path, MISSING), now.get(path, MISSING)
            if old != new and not (_is_empty(old) and _is_empty(new)):
                return f"{key[0]} {key[2]}: {path} is no longer what it was"
        return ""


def _by_users(pairs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if not key.startswith(_SET_BY_CONTROLLERS)}


def _is_empty(value: Any) -> bool:
    return value is MISSING or value is None or value is False or (isinstance(value, dict | list | str) and not value)


def _changed(watched: list[_Watched], history: History, *, always: bool) -> str:
    """What of the watched objects changed; "" = nothing."""
    last: dict[Key, KubeObject] = dict(history.first)
    for change in history.changes:
        key = key_of(change.object)
        gone = change.type == "DELETED"
        last.pop(key, None) if gone else last.update({key: change.object})
        if always:
            for one in watched:
                if one.fits(key) and (found := one.difference(key, None if gone else change.object)):
                    return f"{found} ({_after(change.seconds)})"
    for one in watched:
        for key in one.before:
            if found := one.difference(key, last.get(key)):
                return found
    return ""
