"""The object store: what the API server and etcd are in a cluster, without a network.

Objects are kept by group and resource, namespace and name. Every change has a resource version, one number for the
whole store; an update that names an older version is refused, so two writers never overwrite each other unseen. A
watcher gets every change once, in order. Changes inside `transaction()` happen all together or not at all, and
watchers receive them only after the end of the transaction.

Readers get copies, unless they ask for the stored object itself (`copy=False`) and promise not to change it.

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
"""Changes that are remembered at most."""
MAX_BEHIND = 20_000
"""By how many changes a reader may be behind before nothing is kept for it any more."""
MARK_SECONDS = 10.0
"""Seconds between two versions whose age is noted."""
COMPACTION_SECONDS = 300.0
"""How long a change is remembered that nobody waits for. Source: kube-apiserver --etcd-compaction-interval."""


class Watch:
    """The changes since a moment, to be read whenever the reader likes; never blocks."""

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
        """The version up to which it has been read."""
        return self._seen

    def poll(self) -> list[WatchEvent]:
        """What has happened since the last call.

        Raises:
            ResourceExpired: where the reader was away for too long.
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
        seed: of the random numbers in UIDs and generated names: the same seed gives the same names.

    Attributes:
        steady_now: a clock that is never set, for durations; `now`, unless the owner gives another.
        readers: for whom changes are kept.
        names: UIDs and suffixes for new objects.
        kinds: the built-in kinds and those of the stored CustomResourceDefinitions.
        before_read: qualified kind -> what brings the objects of that kind up to date before they are read or watched.
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
        """One object.

        Raises:
            NotFound: where there is none of that name.
        """
        found = self.find(kind, name, namespace, copy=copy)
        if found is None:
            raise NotFound(self.kinds.named(kind).qualified, name)
        return found

    def find(self, kind: str | type[T] | Resource, name: str, namespace: str = "", *, copy: bool = True) -> Any:
        """As `get`, but None where there is none."""
        wanted = self.kinds.named(kind)
        if wanted.qualified in self.before_read:
            self.before_read[wanted.qualified]()
        found = self._objects.get(wanted.qualified, {}).get((namespace if wanted.namespaced else "", name))
        return deepcopy(found) if copy and found is not None else found

    def standing(self, obj: T) -> T | None:
        """A copy of the stored object of the same kind, namespace and name; of any kind, also one without a type."""
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
        """All objects of a kind, in the order of their creation.

        Args:
            kind: `Pod`, `pods`, `po`.
            namespace: only this one; None = all.
            selector: only objects with such labels; None = all.
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
        """The namespaces in which there are objects of a kind."""
        return {place for place, _ in self._objects.get(self.kinds.named(kind).qualified, {})}

    def bring_up_to_date(self, qualified: str | None = None) -> None:
        """Compute the objects of this kind, or of all kinds, that are computed when they are read."""
        for kind, refresh in self.before_read.items():
            if qualified in (None, kind):
                refresh()

    def create(self, obj: T) -> T:
        """Keep a new object: name (from `generateName`), UID, creation time and version are filled in.

        A UID that is already set is kept, so that an example can name the one it was written with, unless an object has
        it: a copied manifest with another name is another object, and owners are known by their UID.

        Returns:
            A copy of what was stored.

        Raises:
            AlreadyExists: where the name is taken.
        """
        made = deepcopy(obj)
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
        self._put("ADDED", kind, key, made)
        return deepcopy(made)

    def free_uid(self, wanted: str) -> str:
        """A UID for a new object: the wanted one, or another where it is "" or an object has it."""
        plural, key = self._uids.get(wanted, ("", ("", "")))
        standing = self._objects.get(plural, {}).get(key)
        taken = standing is not None and standing.metadata.uid == wanted
        return self.new_uid() if taken or not wanted else wanted

    def new_uid(self) -> str:
        """A UID that no object has yet."""
        return self.names.new_uid()

    def new_suffix(self) -> str:
        """Return random characters, as generated names end with."""
        return self.names.new_suffix()

    def update(self, obj: T, *, same_generation: bool = False) -> T:
        """Replace an object; one with a `resourceVersion` must be the newest.

        Args:
            obj: as it is to stand.
            same_generation: a change of the specification does not count: a pod's Binding, a custom object's status.

        Returns:
            A copy of what was stored; the very same version where nothing changed.

        Raises:
            NotFound: where there is none.
            Conflict: where it was changed since it was read, or is another object.
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
        if made == old and to_dict(made) == to_dict(old):  # fields of no declared type count too
            return made
        marked = made.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None
        changed = _content(made) != _content(old) and not same_generation
        if old.metadata.generation and (changed or marked):  # Source: registry.Store markAsDeleting, rest.BeforeDelete
            made.metadata.generation = old.metadata.generation + 1
        self._put("MODIFIED", kind, key, made)
        return deepcopy(made)

    def delete(self, kind: str | type[T] | Resource, name: str, namespace: str = "") -> Any:
        """Forget an object.

        Returns:
            The object as it stood.

        Raises:
            NotFound: where there is none.
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
        """The changes from now on (or since a version) of one kind or of all.

        Args:
            kind: `Pod`, `pods`, `po`; None = all kinds.
            namespace: only this one; None = all.
            since: a resource version; None = the newest.
            before_poll: called before each reading, to bring the store up to date.
        """
        wanted = None if kind is None else self.kinds.named(kind).qualified
        return Watch(self, wanted, namespace, self.version if since is None else since, before_poll)

    def subscribe(self, listener: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """Call `listener` at every change; the object it gets must not be changed.

        Returns:
            A function that ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    @property
    def oldest(self) -> int:
        """The version from which on all changes are remembered."""
        return self._forgotten

    def changes(self, since: int) -> Sequence[WatchEvent]:
        """The changes after a version, oldest first."""
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
        """Forget the changes that are five minutes old, except those that a watch has still to read.

        Called now and then; a version counts as old when it was the newest one at a call five minutes ago.

        Source: etcd3.compactor; the watch cache keeps a window of its own for those that are behind.
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
        """All changes inside stand together, or, where an exception leaves the block, none of them does."""
        if self._undo is not None:  # inside another one: that one decides
            yield
            return
        self._undo, self._pending = [], []
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
            for plural in {plural for plural, _, _ in self._undo}:  # an object put back stands where it stood
                self._objects[plural] = dict(sorted(self._objects[plural].items(), key=lambda item: age(item[1])))
            self.version = before[0]
            self.names.random.setstate(before[1])
            self._undo = None
            raise
        self._undo, told = None, self._pending
        self._pending = []
        for event in told:
            self._publish(event)

    def _put(self, change: str, kind: Resource, key: Key, made: KubeObject) -> None:
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
            if type(before) is type(made):
                share(made, before)
        sibling = self._last_written.get(kind.qualified)  # stored objects never change: what is the same is shared
        if type(sibling) is type(made):
            share(made, sibling)
        self._last_written[kind.qualified] = made
        self._objects.setdefault(kind.qualified, {})[key] = made
        self._tell(WatchEvent(change, made, previous))

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
        """A name that is not taken, made from the object's `generateName`."""
        taken = self._objects.get(self.kinds.of(obj).qualified, {})
        while True:
            name = obj.metadata.generate_name[:58] + self.new_suffix()
            if (obj.metadata.namespace, name) not in taken:
                return name


def _content(obj: KubeObject) -> Any:
    """Return the part of an object that its generation counts: of a custom object everything outside its metadata."""
    return obj.unknown_fields if type(obj) is KubeObject else getattr(obj, "spec", None)


age: Callable[[KubeObject], int] = attrgetter("created_")
"""The version at which an object was created: what the order of a list follows."""
