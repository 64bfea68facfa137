"""Watches: the events of a resource's changes, one JSON line each.

Source: apiserver handlers/watch.go, KEP-3157 (sendInitialEvents), KEP-956 (bookmarks).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from kitlib.apiserver.http.lists import Start, check_version
from kitlib.apiserver.http.printers import table
from kitlib.apiserver.http.protobuf import PROTOBUF, encode_event
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.store.watch_events import ResourceExpired, WatchEvent

BOOKMARK_EVERY = 60.0
"""The interval between bookmarks in seconds. Source: apiserver cacher bookmarkFrequency."""
DEFAULT_TIMEOUT = 1800.0
"""The default duration of a watch in seconds. Source: apiserver MinRequestTimeout."""
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchStream:
    """One watch; `poll` returns the encoded events that are due and never blocks.

    Args:
        rest: the objects of the cluster.
        served: the watched resource.
        namespace: the namespace of the objects; "" = all.
        name: the name of the only watched object; "" = all objects.
        request: the request; its query has resourceVersion, selectors, timeoutSeconds, bookmarks.
        shape: converts an object to its sent form (the object itself, a Table row, its metadata).
        protobuf: whether events are sent in frames of protobuf, not in lines of JSON.

    Raises:
        StatusError: 422 for conflicting options, 504 for a future version.
    """

    def __init__(
        self,
        rest: Rest,
        served: APIResource,
        namespace: str,
        name: str,
        request: Request,
        shape: Callable[[list[dict[str, Any]], bool], dict[str, Any]],
        *,
        protobuf: bool = False,
    ) -> None:
        self._protobuf = protobuf
        self._rest, self._served, self._namespace, self._name = rest, served, namespace, name
        self._matches, self._shape = rest.selector(served, request), shape
        self._known: set[tuple[str, str]] = set()
        self._lines: list[bytes] = []
        self._first = True
        self._bookmarks = request.flag("allowWatchBookmarks")
        self._next_bookmark = time.monotonic() + BOOKMARK_EVERY
        seconds = request.number("timeoutSeconds")
        self.deadline = time.monotonic() + (DEFAULT_TIMEOUT if not seconds or seconds < 0 else seconds)
        self.closed = False
        store = rest.cluster.api.store
        initial = request.flag("sendInitialEvents")
        if request.get("sendInitialEvents") and request.get("resourceVersionMatch") != "NotOlderThan":
            why = "resourceVersionMatch: Forbidden: sendInitialEvents requires resourceVersionMatch=NotOlderThan"
            raise StatusError(422, f'ListOptions.meta.k8s.io "" is invalid: {why}', "Invalid")
        version = request.resource_version
        check_version(version, rest.version)
        if version == 0 or initial:
            if version == 0 or request.get("sendInitialEvents").lower() != "false":
                for obj in self._objects(Start(None)):
                    self._add("ADDED", obj)
            self._seen = store.version
            if initial:
                self._bookmark(initial_end=True)
            return
        self._seen = version
        try:  # the objects that the client knows: one that no longer matches the selector gets a DELETED event
            self._known = {_key(obj) for obj in self._objects(Start(version))}
        except StatusError as error:
            if error.code != 410:
                raise
            # The watch starts with 200 and ends with an ERROR event. Source: cacher.Watch (newErrWatcher).
            self._error(StatusError(410, str(error.__cause__), "Expired"))

    def _objects(self, start: Start) -> list[dict[str, Any]]:
        """Return the watched objects at a version."""
        found = self._rest.objects_at(self._served, self._namespace, start)
        return [obj for obj in found if self._name in ("", obj["metadata"]["name"]) and self._matches(obj)]

    def _concerns(self, obj: Any) -> bool:
        meta = obj.metadata
        return (
            self._rest.cluster.api.store.kinds.of(obj).qualified == self._served.storage
            and (not self._namespace or meta.namespace == self._namespace)
            and (not self._name or meta.name == self._name)
        )

    def poll(self) -> list[bytes]:
        """Return the encoded events since the last call; after the deadline, close the stream."""
        store = self._rest.cluster.api.store
        store.bring_up_to_date(self._rest.kind_of(self._served).qualified)
        if store.version != self._seen and not self.closed:
            try:
                for event in store.changes(self._seen):
                    if self._concerns(event.object):
                        self._take(event)
                    # An event can need the answer of a conversion webhook: the next poll goes on with it.
                    self._seen = event.version
            except StatusError as error:
                self._error(error)
            except ResourceExpired as error:
                self._error(StatusError(410, str(error), "Expired"))
            self._seen = store.version
        now = time.monotonic()
        if self._bookmarks and now >= self._next_bookmark:
            self._bookmark()
        if now >= self.deadline:
            self.closed = True
        lines, self._lines = self._lines, []
        return lines

    def _take(self, event: WatchEvent) -> None:
        """Add the event of a change as a client sees it through the selectors: an update can add or delete."""
        obj = self._rest.shared_wire(self._served, event.object)
        key = _key(obj)
        known = key in self._known
        # An update can move an object into the selector (ADDED) or out of it (DELETED). The client of the latter does
        # not select the new content: it gets the old one with the version of the change, from which it can go on.
        # Source: cacheWatcher.convertToWatchEvent, updateResourceVersion.
        if event.type != "DELETED" and self._matches(obj):
            self._add("MODIFIED" if known else "ADDED", obj)
        elif known:
            if event.type != "DELETED" and event.previous is not None:
                version, obj = obj["metadata"]["resourceVersion"], self._rest.wire(self._served, event.previous)
                obj["metadata"] = {**obj["metadata"], "resourceVersion": version}
            self._known.discard(key)
            self._line("DELETED", obj)

    def _add(self, change: str, obj: dict[str, Any]) -> None:
        self._known.add(_key(obj))
        self._line(change, obj)

    def _line(self, change: str, obj: dict[str, Any]) -> None:
        shown = self._shape([obj], self._first)
        self._first = False
        self._send(change, shown)

    @property
    def content_type(self) -> str:
        """The media type of the stream. Source: handlers/watch.go serveWatchHandler."""
        return f"{PROTOBUF};stream=watch" if self._protobuf else "application/json"

    def _send(self, change: str, obj: dict[str, Any]) -> None:
        if self._protobuf:
            self._lines.append(encode_event(change, obj))
        else:
            self._lines.append(msgspec.json.encode({"type": change, "object": obj}) + b"\n")

    def _bookmark(self, *, initial_end: bool = False) -> None:
        self._next_bookmark = time.monotonic() + BOOKMARK_EVERY
        meta: dict[str, Any] = {"resourceVersion": str(self._rest.version), "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {_INITIAL_EVENTS_END: "true"}
        marked = {"kind": self._served.kind, "apiVersion": self._served.group_version, "metadata": meta}
        self._send("BOOKMARK", marked)

    def _error(self, error: StatusError) -> None:
        self._send("ERROR", error.body())
        self.closed = True


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"].get("name", "")


Shape = Callable[[list[dict[str, Any]], bool], dict[str, Any]]


def as_table(served: APIResource, now: Callable[[], datetime], include: str) -> Shape:
    """Return the function that converts a watch's objects to Tables; only the first Table has the columns."""

    def shape(objects: list[dict[str, Any]], first: bool) -> dict[str, Any]:
        made = table(
            served, objects, now(), {"resourceVersion": objects[0]["metadata"].get("resourceVersion", "")}, include
        )
        if not first:
            made["columnDefinitions"] = None
        return made

    return shape
