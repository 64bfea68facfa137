"""The event recorder: repeated events are counted, similar ones combined, and excess ones of an object dropped.

* A repeated event increments `count` of the existing one.
* The tenth different message of one object, type and reason within ten minutes, and all that follow, are one event:
  `(combined from similar events): ...`.
* An object may write 25 events at once from one component, then one every five minutes.

The scheduler writes events.k8s.io events, which are counted but neither combined nor dropped.

Source: client-go tools/record (EventCorrelator, EventAggregator, EventSourceObjectSpamFilter, eventLogger).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Any, Protocol

from kitlib.api.core import Event, Namespace, ObjectReference
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.apiserver.store.store import Store

MAX_LRU_CACHE_ENTRIES = 4096
MAX_SIMILAR_EVENTS = 10
MAX_INTERVAL_SECONDS = 600
SPAM_BURST = 25
SPAM_QPS = 1 / 300
EVENT_TTL_SECONDS = 3600
"""The time in seconds after its last write at which an event is deleted. Source: kube-apiserver --event-ttl."""
COMBINED = "(combined from similar events): "
_SERIES_COMPONENTS = ("", "default-scheduler")
"""Components that write events.k8s.io events; "" is the scheduler, which does not name itself."""

Key = tuple[str, ...]


@dataclass
class _Similar:
    """The messages of one object, type and reason. Source: aggregateRecord."""

    messages: dict[str, None] = field(default_factory=dict)
    last: datetime | None = None


@dataclass
class _Bucket:
    """The token bucket of one object and component. Source: flowcontrol.NewTokenBucketPassiveRateLimiter."""

    tokens: float
    at: datetime


@dataclass
class _Written:
    """The last observation of an event. Source: eventLog."""

    first: datetime
    last: datetime
    name: str = ""
    count: int = 0


class EventCorrelator:
    """The history of written events, from which a new event is counted, combined or dropped.

    Upstream bounds it by its number of entries alone. Here `expire` also removes the entries that can no longer change
    an answer, so that a cluster whose pods come and go does not grow until thousands of them have been there.
    """

    def __init__(self) -> None:
        self._similar: OrderedDict[Key, _Similar] = OrderedDict()
        self._buckets: OrderedDict[Key, _Bucket] = OrderedDict()
        self._written: OrderedDict[Key, _Written] = OrderedDict()

    def aggregate(self, group: Key, message: str, now: datetime) -> tuple[str, Key]:
        """Return the message to write and the key by which its event is counted. Source: EventAggregate."""
        similar = _entry(self._similar, group, _Similar)
        if _outdated(similar.last, now):
            similar.messages.clear()
        similar.messages[message] = None
        similar.last = now
        if len(similar.messages) < MAX_SIMILAR_EVENTS:
            return message, (*group, message)
        # Upstream removes an arbitrary message (PopAny); the oldest one keeps runs reproducible.
        del similar.messages[next(iter(similar.messages))]
        return COMBINED + message, group

    def admit(self, source: Key, now: datetime) -> bool:
        """Return whether an object may write one more event. Source: EventSourceObjectSpamFilter.Filter."""
        bucket = _entry(self._buckets, source, lambda: _Bucket(SPAM_BURST, now))
        bucket.tokens, bucket.at = _refilled(bucket, now), now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def observe(self, key: Key, now: datetime) -> _Written:
        """Count one more event with this key and return its observation. Source: eventLogger.eventObserve."""
        written = _entry(self._written, key, lambda: _Written(now, now))
        written.count, written.last = written.count + 1, now
        return written

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self._similar) + len(self._buckets) + len(self._written)

    def expire(self, now: datetime, exists: Callable[[str], bool]) -> None:
        """Remove the entries without which every later event gets the same answer.

        Args:
            now: the time.
            exists: returns whether an object with a UID is stored. The count of an event goes on while its object
                exists, however long ago the event was deleted.
        """
        # The caches are in the order of their last use, so that the first recent entry ends the search.
        for group in list(takewhile(lambda group: _outdated(self._similar[group].last, now), self._similar)):
            del self._similar[group]
        for source in [source for source, bucket in self._buckets.items() if _refilled(bucket, now) >= SPAM_BURST]:
            del self._buckets[source]
        for key in list(takewhile(lambda key: _ended(self._written[key].last, now), self._written)):
            if not exists(key[1]):
                del self._written[key]


def _outdated(last: datetime | None, now: datetime) -> bool:
    """Return whether the messages of a group count no longer."""
    return last is not None and (now - last).total_seconds() > MAX_INTERVAL_SECONDS


def _refilled(bucket: _Bucket, now: datetime) -> float:
    """Return the tokens of a bucket at a time; a full one is like one that was never used."""
    passed = max(0.0, (now - bucket.at).total_seconds())
    return min(SPAM_BURST, bucket.tokens + passed * SPAM_QPS)


def _ended(written: datetime, now: datetime) -> bool:
    """Return whether an event of this last write is deleted."""
    return (now - written).total_seconds() >= EVENT_TTL_SECONDS


def _entry(cache: OrderedDict[Key, Any], key: Key, make: Any) -> Any:
    """Return the entry of a key; a new one evicts the least recently used entry of a full cache."""
    found = cache.get(key)
    if found is None:
        found = cache[key] = make()
        if len(cache) > MAX_LRU_CACHE_ENTRIES:
            cache.popitem(last=False)
    else:
        cache.move_to_end(key)
    return found


class EventWriter(Protocol):
    """The part of the API server that recording an event needs.

    Attributes:
        store: the object store.
        correlator: the correlator that counts and combines events.
    """

    store: Store
    correlator: EventCorrelator


def record(
    api: EventWriter,
    about: KubeObject,
    kind: str,
    reason: str,
    message: str,
    source: str = "",
    field: str = "",
    annotations: Mapping[str, str] | None = None,
    reporter: str = "",
) -> None:
    """Write an event about an object.

    Args:
        api: the API server.
        about: the involved object.
        kind: "Normal" or "Warning".
        reason: the event's reason, in CamelCase.
        message: the event's message.
        source: the component that writes the event.
        field: the path of the part of the object that the event is about.
        annotations: the event's annotations.
        reporter: the reporting component if it is not `source`.
    """
    now, correlator = api.store.now(), api.correlator
    involved: Key = (source, about.metadata.uid, about.kind, about.name)
    key: Key = (*involved, kind, reason, field, message)
    if source not in _SERIES_COMPONENTS:
        message, key = correlator.aggregate((*involved, kind, reason), message, now)
        key = (*key, field)
    # An event that the spam filter drops is counted all the same. Source: EventCorrelate.
    written = correlator.observe(key, now)
    if source not in _SERIES_COMPONENTS and not correlator.admit(involved, now):
        return
    namespace = about.namespace or "default"
    place = api.store.find(Namespace, namespace, copy=False)
    if place is None or place.metadata.deletion_timestamp is not None:
        return
    existing = api.store.find(Event, written.name, namespace) if written.name else None
    if existing is not None:
        existing.count, existing.last_timestamp, existing.message = written.count, now, message
        api.store.update(existing)
        return
    reference = ObjectReference(
        api_version=about.api_version,
        kind=about.kind,
        namespace=about.namespace,
        name=about.name,
        uid=about.metadata.uid,
        field_path=field,
    )
    made = Event(
        metadata=ObjectMeta(
            # An event that was deleted meanwhile comes back with its name, first time and count. Source: recordEvent.
            name=written.name or f"{about.name}.{api.store.version + 1:016x}",
            namespace=namespace,
            annotations=dict(annotations or {}),
        ),
        involved_object=reference,
        reason=reason,
        message=message,
        type=kind,
        count=written.count,
        source={"component": source} if source else {},
        reporting_component=reporter or source,
        first_timestamp=written.first,
        last_timestamp=now,
    )
    api.store.create(made)
    written.name = made.name


def expire(api: EventWriter) -> int:
    """Delete the events whose last write is an hour ago and return their number.

    Source: kube-apiserver's event storage, which attaches leases (registry/core/event, --event-ttl).
    """
    store, now = api.store, api.store.now()
    old = [
        event
        for event in store.list(Event, copy=False)
        if (written := event.last_timestamp or event.metadata.creation_timestamp) is not None and _ended(written, now)
    ]
    for event in old:
        store.delete(Event, event.name, event.namespace)
    api.correlator.expire(now, store.has_uid)
    return len(old)
