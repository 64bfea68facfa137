"""Every change of every object of a lab's cluster since the learner found it, in order.

A rule with `never` is evaluated at each moment, not only at the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.apiserver.store.store import WatchEvent

Key = tuple[str, str, str]
"""Kind, namespace ("" for cluster-scoped objects), name."""


class ObjectChange(NamedTuple):
    """One change of an object.

    Attributes:
        seconds: seconds since the learner began.
        type: type of the watch event: ADDED, MODIFIED, DELETED.
        object: the object after the change.
        step: index of the journal's action during which the change happened; another component may have caused it.
    """

    seconds: float
    type: str
    object: KubeObject
    step: int = 0


@dataclass
class Moment:
    """The cluster's objects at one moment, read-only.

    Attributes:
        seconds: seconds since the learner began.
        objects: all objects by key.
        change: the change that led to this moment; None for the first.
        first: the objects at the start.
        before: the changed object as it was; None = it is new.
    """

    seconds: float
    objects: dict[Key, KubeObject]
    change: ObjectChange | None = None
    first: dict[Key, KubeObject] = field(default_factory=dict, repr=False)
    before: KubeObject | None = None

    def get(self, kind: str, name: str, namespace: str = "default") -> Any:
        """Return an object, or None."""
        return self.objects.get((kind, namespace, name)) or self.objects.get((kind, "", name))

    def pods(self, **labels: str) -> list[Pod]:
        return [
            item
            for item in self.objects.values()
            if isinstance(item, Pod) and labels.items() <= item.metadata.labels.items()
        ]


def key_of(obj: KubeObject) -> Key:
    """Return an object's kind, namespace and name."""
    return obj.kind, obj.metadata.namespace, obj.metadata.name


def selected(objects: dict[Key, KubeObject], kind: str, name: str) -> dict[Key, KubeObject]:
    """Return the objects of a kind whose names match a pattern with `*`."""
    return {key: item for key, item in objects.items() if key[0] == kind and fnmatchcase(key[2], name)}


class History:
    """The recorded changes of a cluster, from now on.

    Args:
        cluster: the cluster as the learner finds it.

    Attributes:
        first: the objects as they are now.
        changes: the changes since then.
    """

    def __init__(self, cluster: Any) -> None:
        store, self._clock, self._journal = cluster.api.store, cluster.clock, cluster.journal
        self._began, self._kinds = cluster.clock.seconds, store.kinds
        kept = [one for kind in store.kinds.all() for one in store.list(kind, copy=False)]
        self.first: dict[Key, KubeObject] = {key_of(one): one for one in kept if one.kind != "Event"}
        self.changes: list[ObjectChange] = []
        self._stop = store.subscribe(self._note)

    def _note(self, event: WatchEvent) -> None:
        if event.object.kind != "Event":
            seconds = self._clock.seconds - self._began
            self.changes.append(ObjectChange(seconds, event.type, event.object, len(self._journal)))

    def stop(self) -> None:
        """Stop recording."""
        self._stop()

    def kind(self, name: str) -> str:
        """Return the kind for a name of a built-in or custom kind, as `po`; an unknown name is returned as it is."""
        try:
            return self._kinds.named(name).kind
        except KitError:
            return name

    def moments(self) -> Iterator[Moment]:
        """Yield the state at the start, then the state after each change; one mapping is updated and reused."""
        objects = dict(self.first)
        yield Moment(0.0, objects, None, self.first)
        for change in self.changes:
            before = objects.pop(key := key_of(change.object), None)
            if change.type != "DELETED":
                objects[key] = change.object
            yield Moment(change.seconds, objects, change, self.first, before)

    def named_its_node(self, pod: Pod) -> str:
        """Return the write that created a pod with spec.nodeName, so that no scheduler placed it; "" = none.

        A pod of the setup has none: its creation is not recorded.
        """
        uid = pod.metadata.uid
        made = next((c for c in self.changes if c.type == "ADDED" and c.object.metadata.uid == uid), None)
        if made is None or not isinstance(made.object, Pod) or not made.object.spec.node_name:
            return ""
        action = self._journal[made.step]["action"] if made.step < len(self._journal) else "made"
        return f"{action} after {made.seconds:.0f} s"


def as_time(moment: Any) -> datetime:
    """Return a time of a status, which may be ISO text in plain data."""
    if isinstance(moment, datetime):
        return moment
    return datetime.fromisoformat(str(moment).replace("Z", "+00:00"))
