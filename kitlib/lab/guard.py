"""Compares a learner's writes with the setup: fields that a lab does not open must not change.

A lab names in lab.toml what its task asks to change; every other change is refused, with the object, the field's path
and the write that made it:

    [opens]
    "Pod shop" = ["containers.*.resources", "resources"]   # these fields; the pod may be deleted and made again
    "Pod job" = ["containers.+"]                           # containers that the setup does not have
    "Node node-1" = ["spec.unschedulable"]
    gone = ["Namespace shop"]                              # objects that may be deleted; their fields may not change
    new = ["PriorityClass"]                                # kinds of objects that may be added
    smaller = ["Pod job cpu"]                              # opened requests that may become smaller; no resource = all
    actions = ["write", "evict"]                           # of the journal, beside writes of objects

A path begins at the pod's specification unless its first step is metadata, spec, status or work; a step with dots is
written in brackets. `*` is one name, `+` the name of an entry that is new. `work.CONTAINER.PHASE.FIELD` is a declared
workload (the annotation kitlib.dev/workload.CONTAINER), phase by phase, so that a lab can open its threads and guard
its memory.

When a difference counts:

* an object that is not opened: at every moment since the first write. Undoing it is not enough, since its effect stays.
* an opened pod: at every moment of the pod that is there at the end. An earlier one of the same name was a try.
* an opened workload: at the end, for the same reason, and the pods that it made then are compared with those of the
  setup: a tampered template could outlive its correction in them.
* a pod or ReplicaSet that a workload made: from its creation.

A refused change takes the points of all tasks, except one that stays within the containers of an object that a task is
about (`about` of the task): that takes the points of this task.

An opened request may grow. It may become smaller only if the lab says so (`smaller`), since a pod with a request below
its use is slowed down, evicted and killed first, and its neighbours pay for it. A request of the pod as a whole
(spec.resources) that is at least the sum of before replaces those that its containers no longer have. A limit of the
pod as a whole that is the sum of before is no change, since the kubelet has given the pod's cgroup this limit already.

Only objects that the learner wrote are compared, so what controllers, scheduler and kubelets change is never an
accusation. A native sidecar counts as the container that it was before. A new annotation is a note, unless its key
belongs to Kubernetes or to this kit; one of a pod template starts a rollout, so it is open where `restartedAt` is. The
system's priority classes are never open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kitlib.api.core import Pod
from kitlib.api.meta import KubeObject
from kitlib.api.resource import Quantity
from kitlib.api.serialize import to_dict
from kitlib.lab.fields import Named, canonical, differences
from kitlib.lab.history import History, Key, ObjectChange, key_of
from kitlib.node.common.workload import ANNOTATION, WorkloadError, declared_workload

Opens = dict[str, tuple[str, ...]]
"""`KIND NAME` -> opened paths; `gone` -> `KIND NAME`, `smaller` -> `KIND NAME [RESOURCE]`, `new` -> kinds,
`actions` -> actions of the journal."""
TITLE = "Only what the task asks for changes"
WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "CronJob")
INERT = ("ConfigMap", "Secret", "Event", "Namespace", "ServiceAccount")
"""Kinds whose new objects have no effect on pods and nodes by themselves."""
_ON_OBJECTS = ("apply", "create", "patch", "resize", "delete", "evict")
_BY_CONTROLLERS = (
    "node.kubernetes.io/",
    "deployment.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "pod-template-",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
_BY_OTHERS = ("kubectl.kubernetes.io/", "kubernetes.io/change-cause", "kubernetes.io/limit-ranger")
_EFFECTIVE = ("kubernetes.io/", "k8s.io/", "kitlib.dev/")
"""Domains of annotations that affect Kubernetes or the kit."""
_PROTECTION = ("kubernetes.io/pv-protection", "kubernetes.io/pvc-protection")
"""Finalizers that controllers add and remove."""
_OF_DELETION = ("foregroundDeletion", "orphan")
"""Finalizers that the API server sets when an object is deleted with such a propagation policy
(deletionFinalizersForGarbageCollection in apiserver/pkg/registry/generic/registry/store.go)."""
_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_SYSTEM_CLASSES = "system-"
"""Prefix of the names of the system's priority classes."""
_FROM_CLASS = ("priority", "preemptionPolicy")
"""Fields of a pod that admission computes from its priorityClassName."""

Path = tuple[str, ...]


class RefusedChange(NamedTuple):
    """A refused change.

    Attributes:
        found: object, path and write in words.
        hint: the next step.
        within: `KIND NAME` of the object within whose containers the change stays, so that it has no effect on the
            scheduler and on other pods; "" = it may have helped with any task.
    """

    found: str
    hint: str
    within: str = ""


class LabGuard:
    """The comparison of a learner's objects with the setup.

    Args:
        opens: objects and fields that the lab allows to change.
        history: changes since the learner began.
        journal: the learner's actions.
    """

    def __init__(self, opens: Opens, history: History, journal: list[Mapping[str, Any]]) -> None:
        self._opens, self._history, self._journal = opens, history, journal
        self._known: dict[Key, KubeObject] = dict(history.first)
        self._last: dict[Key, KubeObject] = dict(history.first)
        self._of: dict[Key, list[ObjectChange]] = {}
        for change in history.changes:
            key = key_of(change.object)
            self._of.setdefault(key, []).append(change)
            self._known.setdefault(key, change.object)
            self._last[key] = change.object
            if change.type == "DELETED":
                del self._last[key]

    def refused(self) -> Iterator[RefusedChange]:
        """Yield the refused changes, one of each object, in the order of the journal."""
        written: dict[Key, None] = {}
        for step, entry in enumerate(self._journal):
            for key in self._targets(entry):
                if found := self._refused(step, entry, key):
                    yield RefusedChange(found, self._way_out(key))
                written[key] = None
            action = entry["action"]
            if action not in (*_ON_OBJECTS, "advance") and action not in self._opens.get("actions", ()):
                yield RefusedChange(
                    f"{_words(entry)} was done by hand", "act through manifests; lab.reset() starts again"
                )
        for key in written:
            if changed := self._changed(key):
                text, is_within = changed
                yield RefusedChange(text, self._way_out(key), _said(self._root(key)) if is_within else "")
        for key in self._last:
            if found := self._left_over(key):
                yield RefusedChange(found, self._way_out(key))
        for key, changes in self._of.items():
            if key[0] != "PriorityClass" or self._is_first(key):
                continue
            if any(to_dict(change.object).get("globalDefault") for change in changes):
                found = f"{_said(key)} is the default of all new pods (globalDefault), also of other teams"
                yield RefusedChange(found, "name the class in the pod instead; lab.reset() starts again")

    def _targets(self, entry: Mapping[str, Any]) -> Iterator[Key]:
        """Yield the objects that an action of the journal names."""
        if entry["action"] == "bind":  # a Binding may bring labels and annotations
            yield "Pod", str(entry.get("namespace", "default")), str(entry.get("name"))
        if entry["action"] not in _ON_OBJECTS:
            return
        # Applies of a text without objects stand in older journals with an empty list.
        plain = entry["objects"] if "objects" in entry else [{"kind": entry.get("kind", "Pod"), "metadata": entry}]
        for document in plain:
            kind, metadata = self._history.kind(str(document.get("kind"))), document.get("metadata") or {}
            name, place = str(metadata.get("name") or ""), str(metadata.get("namespace") or "default")
            key = (kind, place, name)
            yield key if key in self._known or (kind, "", name) not in self._known else (kind, "", name)

    def _refused(self, step: int, entry: Mapping[str, Any], key: Key) -> str:
        """Return why an action is refused regardless of its effect; "" = it is not."""
        action, root = entry["action"], self._root(key)
        if action in ("delete", "evict"):
            may_go = any(_names(name, root) for name in self._opens.get("gone", ()))
            mine = may_go or self._paths(root) or not self._is_first(root)
            if not mine and action not in self._opens.get("actions", ()):
                return f"{_said(key)} was deleted ({_words(entry, key)})"
            return ""
        made = any(c.type == "ADDED" and c.step == step for c in self._of.get(key, ()))
        if action in ("apply", "create") and key not in self._history.first and (made or key not in self._known):
            if key[0] not in (*INERT, *self._opens.get("new", ())):
                return f"{_said(key)} is new ({_words(entry, key)})"
        elif root != key and key[0] != "Pod":
            before = self._before(key, step)
            now = next((c.object for c in self._of.get(key, ()) if c.step == step), None)
            for path, _ in differences(_view(before), _view(now)) if before and now else ():
                return f"{_said(key)} belongs to {_said(root)}: {_text(path)} was changed ({_words(entry, key)})"
        return ""

    def _before(self, key: Key, step: int) -> KubeObject | None:
        earlier = [change.object for change in self._of.get(key, ()) if change.step < step]
        return earlier[-1] if earlier else self._history.first.get(key)

    def _changed(self, key: Key) -> tuple[str, bool] | None:
        """Return the first refused difference between a written object and its original; None = none.

        Returns:
            (the difference as text, whether all refused differences of the object stay within its containers).
        """
        before = self._known.get(key)
        root = self._root(key)
        if before is None or (not self._is_first(root) and root[0] != "Pod") or (root != key and key[0] != "Pod"):
            return None
        if not self._is_first(root):  # a new object of an opened kind
            return None
        opened, changes = self._paths(root), self._of.get(key, [])
        if opened and key[0] == "Pod":
            uid = self._last[key].metadata.uid if key in self._last else ""
            changes = [change for change in changes if change.object.metadata.uid == uid]
        elif opened and key[0] in WORKLOADS:
            changes = changes[-1:] if key in self._last else []
        baseline, first, is_within = _view(before), "", True
        for change in changes:
            if change.type == "DELETED":
                continue
            now, texts = _view(change.object), list[str]()
            for path in self._differences(baseline, now, opened):
                texts.append(f"{_text(path)} {_objection(_text(path), change.object)}")
                is_within = is_within and _is_within(path)
            if less := self._smaller(key, baseline, now):
                texts.append(less)
                is_within = False
            if texts and not first:
                first = f"{_said(key)}: {texts[0]} ({self._by(key, change)})"
        return (first, is_within) if first else None

    def _smaller(self, key: Key, before: Any, now: Any) -> str:
        """Return which request became smaller although the lab does not open that; "" = none."""
        for resource in ("cpu", "memory"):
            if self._may_shrink(key, resource):
                continue
            if less := _smaller(_amounts(before, "requests", resource), _amounts(now, "requests", resource)):
                name, old, new = less
                place = f"spec.containers.{name}.resources" if name else "spec.resources"
                return f"{place}.requests.{resource} is {new or 'missing'}, less than the {old} of before"
        return ""

    def _may_shrink(self, key: Key, resource: str) -> bool:
        for entry in self._opens.get("smaller", ()):
            kind, name, *resources = entry.split()
            if _names(f"{kind} {name}", key) and resources in ([], [resource]):
                return True
        return False

    def _left_over(self, key: Key) -> str:
        """Return how a pod of an opened workload differs from the setup's at the end; "" = no difference."""
        root = self._root(key)
        if key[0] != "Pod" or root == key or not self._is_first(root):
            return ""
        before = next(
            (item for k, item in self._history.first.items() if k[0] == "Pod" and self._root(k) == root), None
        )
        if before is None or key in self._history.first:
            return ""
        paths = self._differences(_view(before), _view(self._last[key]), self._paths(root), kin=True)
        path = next(paths, None)
        return f"{_said(key)}: {_text(path)} is not what {_said(root)} gave its pods" if path else ""

    def _differences(self, before: Any, now: Any, opened: tuple[Path, ...], *, kin: bool = False) -> Iterator[Path]:
        """Yield the paths of the differences that are not opened.

        Args:
            before: the earlier compared view.
            now: the later compared view.
            opened: patterns of the opened paths.
            kin: whether the two are different pods of one workload, with their own names.
        """
        for path, added in differences(before, now):
            if kin and path[:2] == ("metadata", "ownerReferences"):
                continue
            if added and path[-2:-1] == ("annotations",) and not any(domain in path[-1] for domain in _EFFECTIVE):
                restart = (*path[:-1], _RESTARTED)
                if path[0] == "metadata" or any(_matches(pattern, restart, added) for pattern in opened):
                    continue
            is_open = any(_matches(pattern, path, added) for pattern in opened) and not _is_systems(path, now)
            if not is_open and not _is_same_limit(path, before, now):
                yield path

    def _by(self, key: Key, change: ObjectChange) -> str:
        """Return the action that made a change, in words."""
        done = self._journal[: change.step + 1]
        entry = next((action for action in reversed(done) if key in self._targets(action)), None)
        return f"after {change.seconds:.0f} s" + (f", {_words(entry, key)}" if entry else "")

    def _root(self, key: Key) -> Key:
        """Return the top-level controller of an object; the object itself if it has no controller."""
        # Owner references can be written by users, so a cycle is possible.
        seen = {key}
        while (obj := self._known.get(key)) is not None:
            owner = next((reference for reference in obj.metadata.owner_references if reference.controller), None)
            above = (owner.kind, key[1], owner.name) if owner else key
            if above in seen or above not in self._known:
                return key
            seen.add(above)
            key = above
        return key

    def _is_first(self, key: Key) -> bool:
        return key in self._history.first

    def _paths(self, key: Key) -> tuple[Path, ...]:
        """Return the patterns of an object's opened paths."""
        written = [path for name, paths in self._opens.items() if _names(name, key) for path in paths]
        found = [_pattern(path, "spec") for path in written]
        found += [_pattern(path, "spec.template.spec") for path in written]
        if any(path[-1] == "priorityClassName" for path in found):
            found += [("spec", field) for field in _FROM_CLASS]
        return tuple(found)

    def _way_out(self, key: Key) -> str:
        """Return the next step, without the opened paths: in most labs they are the answer."""
        root = self._root(key)
        if not self._paths(root):
            return f"{_said(root)} is not part of the task: undoing it is not enough, lab.reset() starts again"
        return "the task does not ask for this change: put it back, or lab.reset() starts again"


def _names(name: str, key: Key) -> bool:
    kind, _, pattern = name.partition(" ")
    return kind == key[0] and fnmatchcase(key[2], pattern)


def _pattern(path: str, spec: str) -> Path:
    """Return a path of [opens] as steps from the object's root."""
    steps = [part.strip("[]") for part in re.findall(r"\[[^]]+\]|[^.\[\]]+", path)]
    return tuple(steps if steps[0] in ("metadata", "spec", "status", "work") else [*spec.split("."), *steps])


def _matches(pattern: Path, path: Path, added: bool) -> bool:
    """Return whether a pattern opens a path or one of its ancestors."""
    if pattern[-1] == "+":
        return added and len(path) == len(pattern) and _matches(pattern[:-1], path, added)
    return len(pattern) <= len(path) and all(a in ("*", b) for a, b in zip(pattern, path, strict=False))


def _is_systems(path: Path, view: Any) -> bool:
    """Return whether a change gives a pod a system priority class, which is reserved for critical components."""
    return path[-1] == "priorityClassName" and str(view["spec"].get(path[-1])).startswith(_SYSTEM_CLASSES)


def _is_within(path: Path) -> bool:
    """Return whether a field of a container matters to that container only: not what it requests, nor its ports."""
    if "containers" not in path[:-2]:
        return False
    field = path[path.index("containers") + 2 :]
    return field[0] not in ("ports", "resources") or field[:2] == ("resources", "limits")


def _objection(path: str, obj: KubeObject) -> str:
    """Return why the guard refuses a changed path of an object."""
    name = obj.spec.priority_class_name if isinstance(obj, Pod) and path == "spec.priorityClassName" else None
    if name and name.startswith(_SYSTEM_CLASSES):
        return f"is {name}, and the system's priority classes are reserved for components of the cluster"
    return "is no longer what it was"


def _text(path: Path) -> str:
    """Return a path in the notation of the manifest."""
    if path[0] != "work" or len(path) == 1:
        return ".".join(path)
    phase = f" (phase {int(path[2]) + 1}{''.join(f', {part}' for part in path[3:])})" if path[2:3] != ("exit",) else ""
    return f"metadata.annotations[{ANNOTATION}{path[1]}]{phase if path[2:] else ''}"


def _said(key: Key) -> str:
    return f"{key[0]} {key[2]}"


def _words(entry: Mapping[str, Any], key: Key | None = None) -> str:
    """Return an action in the learner's terms."""
    if key is not None:
        return f"{entry['action']} {_said(key)}"
    subject = str(entry.get("pod") or entry.get("name") or entry.get("node") or "").rpartition("/")[2]
    return " ".join(filter(None, (str(entry["action"]), subject, str(entry.get("file", "")))))


def _view(obj: KubeObject) -> dict[str, Any]:
    """Return the compared parts of an object: metadata set by users, declared workloads, and its specification."""
    plain = to_dict(obj)
    metadata = plain.get("metadata") or {}
    found: dict[str, Any] = {key: value for key, value in plain.items() if key not in ("apiVersion", "kind", "status")}
    others = (*_PROTECTION, *(_OF_DELETION if metadata.get("deletionTimestamp") else ()))
    finalizers = [finalizer for finalizer in metadata.get("finalizers") or [] if finalizer not in others]
    found["metadata"] = {"ownerReferences": metadata.get("ownerReferences"), "finalizers": finalizers}
    found["metadata"] |= {key: Named(_by_users(metadata.get(key) or {})) for key in ("labels", "annotations")}
    spec = found["spec"] = dict(plain.get("spec") or {})
    annotations = found["metadata"]["annotations"]
    if obj.kind == "Pod":
        spec.pop("nodeName", None)  # the scheduler sets it
        found["spec"] = _pod_view(spec)
    elif obj.kind == "PersistentVolumeClaim":
        spec.pop("volumeName", None)  # the volume controller sets it
    elif obj.kind == "PersistentVolume":
        spec.pop("claimRef", None)  # the volume controller sets it
    elif obj.kind == "Namespace":
        spec.pop("finalizers", None)  # the namespace controller removes it
    elif obj.kind == "Node":
        spec["taints"] = [t for t in spec.get("taints") or [] if not str(t.get("key")).startswith(_BY_CONTROLLERS)]
        found["status"] = {key: (plain.get("status") or {}).get(key) for key in ("capacity", "allocatable")}
    elif isinstance(template := spec.get("template"), dict) and isinstance(template.get("spec"), dict):
        of_template = template.get("metadata") or {}
        annotations = Named(of_template.get("annotations") or {})  # a change of any of them causes a rollout
        made = {"labels": _by_users(of_template.get("labels") or {}), "annotations": annotations}
        spec["template"] = {"metadata": made, "spec": _pod_view(template["spec"])}
    work = {name: annotations.pop(name) for name in list(annotations) if name.startswith(ANNOTATION)}
    found["work"] = {name.removeprefix(ANNOTATION): _phases(str(text)) for name, text in work.items()}
    view: dict[str, Any] = canonical(found)
    return view


def _is_same_limit(path: Path, before: Any, now: Any) -> bool:
    """Return whether a limit is only written at the pod, too, or there instead of at its one container."""
    if path[-3:-1] != ("resources", "limits"):
        return False
    old, new = (_amounts(view, "limits", path[-1]) for view in (before, now))
    containers = _owners(before).keys() - {""}
    if "" in old or "" not in new or old.keys() != containers or new[""] != sum(old.values(), Quantity(0)):
        return False
    return "containers" not in path or len(old) == 1


def _owners(view: Any) -> dict[str, Any]:
    """Return what may have resources in a pod's view, by container; "" = the pod as a whole."""
    spec = view["spec"]
    spec = (spec.get("template") or {}).get("spec") or spec
    containers = spec.get("containers")
    return {"": spec, **(containers if isinstance(containers, dict) else {})}


def _amounts(view: Any, kind: str, resource: str) -> dict[str, Quantity]:
    """Return the requests or limits of a resource in a pod's view, by container; "" = the pod as a whole."""
    owners = _owners(view).items()
    found = {name: ((one.get("resources") or {}).get(kind) or {}).get(resource) for name, one in owners}
    return {name: amount for name, amount in found.items() if isinstance(amount, Quantity)}


def _smaller(before: dict[str, Quantity], now: dict[str, Quantity]) -> tuple[str, Quantity, Quantity | None] | None:
    """Return the name of the first container with a smaller request, with both amounts; None = there is none."""
    whole = before.get("") or sum(before.values(), Quantity(0))
    replaced = "" in now and now[""] >= whole
    for name, old in before.items():
        new = now.get(name)
        if new < old if new is not None else not replaced:
            return name, old, new
    return None


def _pod_view(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod's specification with its native sidecars among the containers."""
    inits = [container for container in spec.get("initContainers") or [] if container.get("restartPolicy") != "Always"]
    sides = [container for container in spec.get("initContainers") or [] if container.get("restartPolicy") == "Always"]
    mains = [{key: side[key] for key in side if key != "restartPolicy"} for side in sides]
    return {**spec, "initContainers": inits, "containers": [*(spec.get("containers") or []), *mains]}


def _phases(text: str) -> Any:
    """Return a declared workload phase by phase; the text itself if it is invalid."""
    try:
        read = declared_workload(text)
    except (WorkloadError, ValueError):
        return text
    found = Named({str(n): {**phase._asdict(), "tmpfs": list(phase.tmpfs)} for n, phase in enumerate(read.phases)})
    found["exit"] = read.exit_code
    return found


def _by_users(pairs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if not key.startswith((*_BY_CONTROLLERS, *_BY_OTHERS))}
