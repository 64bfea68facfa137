"""The object store: the storage of the API server with etcd's guarantees, in one process.

Objects are stored by resource, namespace and name. Every change has a resource version, one number for the whole
store; an update with an older version is a conflict, so two writers never overwrite each other unnoticed. A watcher
receives every change once, in order. Changes inside `transaction()` are atomic, and watchers receive them only after
the end of the transaction.

Readers get copies, unless they request the stored object itself (`copy=False`), which they must not change.

Source: apiserver registry.Store (Create, Update, Delete), etcd3 store's resource versions, names.SimpleNameGenerator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, TypeVar, cast
from weakref import WeakSet

from kitlib.api.copying import share
from kitlib.api.errors import AlreadyExists, Conflict, NotFound
from kitlib.api.meta import KubeObject, LabelSelector
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy, to_dict
from kitlib.apiserver.store.kinds import Kinds, Resource
from kitlib.apiserver.store.names import Names
from kitlib.apiserver.store.watch_events import Reader as Reader
from kitlib.apiserver.store.watch_events import ResourceExpired as ResourceExpired
from kitlib.apiserver.store.watch_events import WatchEvent as WatchEvent

T = TypeVar("T", bound=KubeObject)
Now = Callable[[], datetime]
Key = tuple[str, str]  # namespace ("" for objects without one), name
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_HISTORY = 100_000
"""The maximum number of changes in the history."""
MAX_BEHIND = 20_000
"""The maximum number of versions that a reader may lag behind; compaction ignores readers beyond it."""
MARK_SECONDS = 10.0
"""The interval in seconds at which the current version and the time are recorded for compaction."""
COMPACTION_SECONDS = 300.0
"""The age in seconds at which changes are compacted. Source: kube-apiserver --etcd-compaction-interval."""


class Watch:
    """The changes since a version, read by polling; reading never blocks."""

    def __init__(
        self,
        store: Store,
        kind: str | None,
        namespace: str | None,
        since: int,
        before_poll: Callable[[], None] | None = None,
    ) -> None:
        self._store, self._kind, self._namespace, self._seen = store, kind, namespace, since
        self._before_poll = before_poll
        store.readers.add(self)

    @property
    def seen(self) -> int:
        """The version up to which the changes have been read."""
        return self._seen

    def poll(self) -> list[WatchEvent]:
        """Return the changes since the last call.

        Raises:
            ResourceExpired: changes since the last call are already compacted.
        """
        if self._before_poll is not None:
            self._before_poll()
        self._store.bring_up_to_date(self._kind)
        found = self._store.changes(self._seen)
        self._seen = self._store.version
        return [
            event
            for event in found
            if (self._kind is None or self._store.kinds.of(event.object).qualified == self._kind)
            and (self._namespace is None or event.object.metadata.namespace == self._namespace)
        ]

    def __iter__(self) -> Iterator[WatchEvent]:
        yield from self.poll()


class Store:
    """The objects of one cluster.

    Args:
        now: the clock; None = the machine's.
        seed: the seed of UIDs and generated names: the same seed gives the same names.

    Attributes:
        steady_now: a monotonic clock for durations; `now` unless the owner sets another.
        readers: the readers for which compaction keeps unread changes.
        names: UIDs and suffixes for new objects.
        kinds: the built-in kinds and those of the stored CustomResourceDefinitions.
        before_read: qualified kind -> function that updates the objects of that kind before they are read or watched.
    """

    def __init__(self, now: Now | None = None, seed: int = 0) -> None:
        self.now = now or (lambda: datetime.now(UTC))
        self.steady_now = self.now
        self.version = 0
        self.names = Names(seed)
        self._objects: dict[str, dict[Key, KubeObject]] = {}
        self._uids: dict[str, tuple[str, Key]] = {}
        self._history: deque[WatchEvent] = deque(maxlen=_HISTORY)
        self._listeners: list[Callable[[WatchEvent], None]] = []
        self._undo: list[tuple[str, Key, KubeObject | None]] | None = None
        self._pending: list[WatchEvent] = []
        self._last_written: dict[str, KubeObject] = {}
        self._forgotten = 0
        self._marks: deque[tuple[datetime, int]] = deque()
        self.readers: WeakSet[Reader] = WeakSet()
        self.kinds = Kinds(lambda: cast(Any, self._objects.get(_DEFINITIONS, {})).values())
        self.before_read: dict[str, Callable[[], None]] = {}

    def get(self, kind: str | type[T] | Resource, name: str, namespace: str = "", *, copy: bool = True) -> Any:
        """Return an object.

        Raises:
            NotFound: there is no object of that name.
        """
        found = self.find(kind, name, namespace, copy=copy)
        if found is None:
            raise NotFound(self.kinds.named(kind).qualified, name)
        return found

    def find(self, kind: str | type[T] | Resource, name: str, namespace: str = "", *, copy: bool = True) -> Any:
        """Return an object, or None if there is none of that name."""
        wanted = self.kinds.named(kind)
        if wanted.qualified in self.before_read:
            self.before_read[wanted.qualified]()
        found = self._objects.get(wanted.qualified, {}).get((namespace if wanted.namespaced else "", name))
        return deepcopy(found) if copy and found is not None else found

    def standing(self, obj: T) -> T | None:
        """Return a copy of the stored object of the same kind, namespace and name, of built-in or custom kind."""
        meta = obj.metadata
        found = self._objects.get(self.kinds.of(obj).qualified, {}).get((meta.namespace, meta.name))
        return None if found is None else deepcopy(found)  # type: ignore[return-value]

    def list(
        self,
        kind: str | type[T] | Resource,
        namespace: str | None = None,
        selector: LabelSelector | LabelSelectorMatcher | None = None,
        *,
        copy: bool = True,
    ) -> list[Any]:
        """Return all objects of a kind in the order of their creation.

        Args:
            kind: the kind, plural or short name: `Pod`, `pods`, `po`.
            namespace: the namespace of the objects; None = all.
            selector: the selector of their labels; None = all.
            copy: whether to return copies; stored objects must not be changed.
        """
        matcher = LabelSelectorMatcher(selector) if isinstance(selector, LabelSelector) else selector
        qualified = self.kinds.named(kind).qualified
        if qualified in self.before_read:
            self.before_read[qualified]()
        found = self._objects.get(qualified, {})
        if namespace is None:
            chosen = list(found.values())
        else:
            chosen = [obj for (place, _), obj in found.items() if place == namespace]
        if matcher is not None:
            chosen = [obj for obj in chosen if matcher.matches(obj.metadata.labels)]
        return [deepcopy(obj) for obj in chosen] if copy else chosen

    def namespaces(self, kind: str | type[T] | Resource) -> set[str]:
        """Return the namespaces that contain objects of a kind."""
        return {place for place, _ in self._objects.get(self.kinds.named(kind).qualified, {})}

    def bring_up_to_date(self, qualified: str | None = None) -> None:
        """Update the objects of this kind, or of all kinds, whose state is computed on reads."""
        for kind, refresh in self.before_read.items():
            if qualified in (None, kind):
                refresh()

    def create(self, obj: T) -> T:
        """Store a new object: name (from `generateName`), UID, creation time and version are filled in.

        A UID that is already set is kept, so that an example keeps its recorded UIDs, unless another object has it:
        owners are referenced by UID, and a copied manifest with another name is another object.

        Returns:
            A copy of the stored object.

        Raises:
            AlreadyExists: an object of that name exists.
        """
        made = deepcopy(obj)
        self._add(made)
        return deepcopy(made)

    def adopt(self, obj: KubeObject) -> None:
        """Store a new object itself instead of a copy; neither it nor its parts may be changed afterwards.

        Raises:
            AlreadyExists: an object of that name exists.
        """
        self._add(obj, foreign=True)

    def _add(self, made: KubeObject, *, foreign: bool = False) -> None:
        """Fill in the metadata of a new object and store it; a foreign object shares its parts with others already."""
        meta, kind = made.metadata, self.kinds.of(made)
        if not meta.name and meta.generate_name:
            meta.name = self.free_name(made)
        key = (meta.namespace, meta.name)
        if key in self._objects.get(kind.qualified, {}):
            raise AlreadyExists(kind.qualified, meta.name)
        meta.uid = self.free_uid(meta.uid)
        meta.creation_timestamp = meta.creation_timestamp or self.now()
        if type(made) is KubeObject or (meta.generation is None and hasattr(made, "spec")):
            meta.generation = 1
        self._put("ADDED", kind, key, made, foreign=foreign)

    def free_uid(self, wanted: str) -> str:
        """Return the wanted UID, or a new one if it is "" or in use."""
        return self.new_uid() if not wanted or self.has_uid(wanted) else wanted

    def has_uid(self, uid: str) -> bool:
        """Return whether an object with this UID is stored."""
        plural, key = self._uids.get(uid, ("", ("", "")))
        standing = self._objects.get(plural, {}).get(key)
        return standing is not None and standing.metadata.uid == uid

    def new_uid(self) -> str:
        """Return a UID that is not in use."""
        # A repeated request gets its earlier names again, some of which its completed steps have used.
        while self.has_uid(uid := self.names.new_uid()):
            pass
        return uid

    def new_suffix(self) -> str:
        """Return the five random characters at the end of a generated name."""
        return self.names.new_suffix()

    def update(self, obj: T, *, same_generation: bool = False) -> T:
        """Replace an object; a `resourceVersion` that is set must be the newest.

        Args:
            obj: the new state of the object.
            same_generation: whether to keep the generation even if the spec changes, for a pod's Binding or a custom
                status.

        Returns:
            A copy of the stored object; its version is unchanged if nothing changed.

        Raises:
            NotFound: the object does not exist.
            Conflict: the object was changed since it was read, or has another UID.
        """
        kind, meta = self.kinds.of(obj), obj.metadata
        key = (meta.namespace, meta.name)
        old = self._objects.get(kind.qualified, {}).get(key)
        if old is None:
            raise NotFound(kind.qualified, meta.name)
        if meta.resource_version and meta.resource_version != old.metadata.resource_version:
            raise Conflict(kind.qualified, meta.name)
        if meta.uid and meta.uid != old.metadata.uid:
            detail = f"Precondition failed: UID in precondition: {meta.uid}, UID in object meta: {old.metadata.uid}"
            raise Conflict(kind.qualified, meta.name, detail)
        made = deepcopy(obj)
        made.metadata.uid = old.metadata.uid
        made.metadata.creation_timestamp = old.metadata.creation_timestamp
        made.metadata.resource_version = old.metadata.resource_version
        made.metadata.generation = old.metadata.generation
        # An update without changes writes nothing. Source: etcd3 store GuaranteedUpdate.
        if made == old and to_dict(made) == to_dict(old):  # compares fields without a declared type too
            return made
        marked = made.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None
        changed = _content(made) != _content(old) and not same_generation
        if old.metadata.generation and (changed or marked):  # Source: registry.Store markAsDeleting, rest.BeforeDelete
            made.metadata.generation = old.metadata.generation + 1
        self._put("MODIFIED", kind, key, made)
        return deepcopy(made)

    def delete(self, kind: str | type[T] | Resource, name: str, namespace: str = "") -> Any:
        """Delete an object.

        Returns:
            The object before its deletion, with the version of the deletion.

        Raises:
            NotFound: the object does not exist.
        """
        wanted = self.kinds.named(kind)
        key = (namespace if wanted.namespaced else "", name)
        old = self._objects.get(wanted.qualified, {}).get(key)
        if old is None:
            raise NotFound(wanted.qualified, name)
        gone = deepcopy(old)
        self._remember(wanted.qualified, key)
        del self._objects[wanted.qualified][key]
        self._uids.pop(old.metadata.uid, None)
        self._forget_kinds(wanted.qualified)
        self.version += 1
        gone.metadata.resource_version = str(self.version)
        self._tell(WatchEvent("DELETED", gone, old))
        return gone

    def watch(
        self,
        kind: str | type[T] | Resource | None = None,
        namespace: str | None = None,
        since: int | None = None,
        before_poll: Callable[[], None] | None = None,
    ) -> Watch:
        """Watch the changes from now on (or since a version) of one kind or of all kinds.

        Args:
            kind: `Pod`, `pods`, `po`; None = all kinds.
            namespace: the namespace of the objects; None = all.
            since: a resource version; None = the newest.
            before_poll: called before each reading, to bring the store up to date.
        """
        wanted = None if kind is None else self.kinds.named(kind).qualified
        return Watch(self, wanted, namespace, self.version if since is None else since, before_poll)

    def subscribe(self, listener: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """Call `listener` at every change; return a function that removes it. It must not change the object."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    @property
    def oldest(self) -> int:
        """The version after which all changes are in the history."""
        return self._forgotten

    def changes(self, since: int) -> Sequence[WatchEvent]:
        """Return the changes after a version, oldest first.

        Raises:
            ResourceExpired: the changes since that version are compacted.
        """
        if since >= self.version:
            return []
        if since < self._forgotten:
            raise ResourceExpired(f"too old resource version: {since} ({self._forgotten})")
        newer = []
        for event in reversed(self._history):
            if event.version <= since:
                break
            newer.append(event)
        return newer[::-1]

    def compact(self) -> None:
        """Remove the changes older than five minutes from the history, except those that a reader has not yet read.

        Called periodically; a version is as old as the call at which it was recorded as the newest.

        Source: etcd3.compactor; upstream's watch cache has a window of its own for slow watchers.
        """
        now, old = self.now(), self._forgotten
        if not self._marks or (now - self._marks[-1][0]).total_seconds() >= MARK_SECONDS:
            self._marks.append((now, self.version))
        while self._marks and (now - self._marks[0][0]).total_seconds() >= COMPACTION_SECONDS:
            old = self._marks.popleft()[1]
        least = self.version - MAX_BEHIND
        wanted = min((reader.seen for reader in self.readers if reader.seen >= least), default=old)
        self._forget_until(min(old, wanted))

    def _forget_until(self, version: int) -> None:
        while self._history and self._history[0].version <= version:
            self._forgotten = self._history.popleft().version

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the changes inside atomic: an exception that leaves the block undoes all of them."""
        if self._undo is not None:  # nested: the outer transaction decides
            yield
            return
        self._undo, self._pending = [], []
        # A failed attempt must not change the names of later objects.
        before = (self.version, self.names.random.getstate())
        try:
            yield
        except BaseException:
            for plural, key, old in reversed(self._undo):
                if old is None:
                    self._objects[plural].pop(key, None)
                else:
                    self._objects[plural][key] = old
                self._forget_kinds(plural)
            for plural in {plural for plural, _, _ in self._undo}:  # restore the order of creation
                self._objects[plural] = dict(sorted(self._objects[plural].items(), key=lambda item: age(item[1])))
            self.version = before[0]
            self.names.random.setstate(before[1])
            self._undo = None
            raise
        self._undo, told = None, self._pending
        self._pending = []
        for event in told:
            self._publish(event)

    def _put(self, change: str, kind: Resource, key: Key, made: KubeObject, *, foreign: bool = False) -> None:
        self._remember(kind.qualified, key)
        previous = self._objects.get(kind.qualified, {}).get(key)
        self.version += 1
        self._forget_kinds(kind.qualified)
        made.metadata.resource_version = str(self.version)
        if change == "ADDED":
            made.__dict__["created_"] = self.version
            self._uids[made.metadata.uid] = (kind.qualified, key)
        else:
            before = self._objects[kind.qualified][key]
            made.__dict__["created_"] = age(before)
        if not foreign:
            self._share_parts(kind, made, previous)
        self._objects.setdefault(kind.qualified, {})[key] = made
        self._tell(WatchEvent(change, made, previous))

    def _share_parts(self, kind: Resource, made: KubeObject, previous: KubeObject | None) -> None:
        """Share equal parts with the last version and the last object written: stored objects never change."""
        for known in (previous, self._last_written.get(kind.qualified)):
            if type(known) is type(made):
                share(made, known)
        self._last_written[kind.qualified] = made

    def _forget_kinds(self, changed: str) -> None:
        if changed == _DEFINITIONS:
            self.kinds.invalidate()

    def _remember(self, plural: str, key: Key) -> None:
        if self._undo is not None:
            self._undo.append((plural, key, self._objects.setdefault(plural, {}).get(key)))

    def _tell(self, event: WatchEvent) -> None:
        if self._undo is not None:
            self._pending.append(event)
        else:
            self._publish(event)

    def _publish(self, event: WatchEvent) -> None:
        if len(self._history) == _HISTORY:
            self._forgotten = self._history[0].version
        self._history.append(event)
        for listener in tuple(self._listeners):
            listener(event)

    def free_name(self, obj: KubeObject) -> str:
        """Return an unused name made from the object's `generateName`."""
        taken = self._objects.get(self.kinds.of(obj).qualified, {})
        while True:
            name = obj.metadata.generate_name[:58] + self.new_suffix()
            if (obj.metadata.namespace, name) not in taken:
                return name


def _content(obj: KubeObject) -> Any:
    """Return the part of an object that its generation counts: the spec, or all but a custom object's metadata."""
    return obj.unknown_fields if type(obj) is KubeObject else getattr(obj, "spec", None)


age: Callable[[KubeObject], int] = attrgetter("created_")
"""Returns the version at which an object was created; lists are in this order."""
