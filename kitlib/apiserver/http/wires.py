"""Stored objects in the form in which a resource serves them, with a cache that lists and watches share.

Source: apiserver endpoints/handlers/response.go transformObject; apiextensions-apiserver conversion/converter.go.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from kitlib.api.autoscaling_v1 import to_v1
from kitlib.api.errors import KitError
from kitlib.api.events_v1 import served_event
from kitlib.api.required_fields import complete
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.custom.fields import fill
from kitlib.apiserver.http.event_versions import EVENTS
from kitlib.apiserver.http.protobuf import SharedObject
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.status import of_error
from kitlib.apiserver.http.timestamps import with_served_times

Object = dict[str, Any]
_OLD_AUTOSCALING = "autoscaling/v1"


class Wires:
    """The served forms of a cluster's objects.

    Args:
        cluster: a `Cluster`; its `api` is used.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str, str], tuple[Any, dict[str, tuple[Any, Object]]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def forget(self, obj: Any) -> None:
        """Remove a deleted object from the cache."""
        meta = obj.metadata
        self._known.pop((self._cluster.api.store.kinds.of(obj).qualified, meta.namespace, meta.name), None)

    def wire(self, served: APIResource, obj: Any) -> Object:
        """Return a stored object in the served group and version.

        Raises:
            StatusError: 500 if a webhook does not convert the object to the version.
        """
        return form(served, self._converted(served, [obj])[0])

    def shared(self, served: APIResource, obj: Any) -> Object:
        """Return `wire`'s result from the cache; it must not be changed."""
        return self.shared_list(served, [obj])[0]

    def shared_list(
        self, served: APIResource, objects: Sequence[Any], newest: Container[int] | None = None
    ) -> list[Object]:
        """Return the forms of objects; they must not be changed.

        Args:
            served: the resource.
            objects: objects of the resource.
            newest: the `id` of each object that is the newest state and therefore cached; None = all are.
        """
        found: list[Object | None] = []
        missing = []
        for obj in objects:
            made = self._forms_of(served, obj) if newest is None or id(obj) in newest else {}
            known = made.get(served.group_version)
            if known is not None and known[0] is served.schema:  # another schema has other defaults
                found.append(known[1])
            else:
                missing.append((len(found), obj, made))
                found.append(None)
        if missing:  # all together, so that a webhook is asked about all of them at once
            converted = self._converted(served, [obj for _, obj, _ in missing])
            for (i, _, made), obj in zip(missing, converted, strict=True):
                found[i] = SharedObject.of(form(served, obj))
                made[served.group_version] = served.schema, found[i]
        return found  # type: ignore[return-value]

    def _forms_of(self, served: APIResource, obj: Any) -> dict[str, tuple[Any, Any]]:
        key = (served.storage, obj.metadata.namespace, obj.metadata.name)
        known = self._known.get(key)
        if known is None or known[0] is not obj:
            known = (obj, {})
            store = self._cluster.api.store
            # A watch is sent an object after its deletion too: cached then, it would be kept for ever.
            if store.find(store.kinds.of(obj), obj.metadata.name, obj.metadata.namespace, copy=False) is not None:
                self._known[key] = known
        return known[1]

    def _converted(self, served: APIResource, objects: Sequence[Any]) -> Sequence[Any]:
        """Return custom objects in the served version; others are unchanged."""
        if served.schema is None or all(item.api_version == served.group_version for item in objects):
            return objects
        from kitlib.apiserver.admission.custom.conversion import converted

        api = self._cluster.api
        try:
            return converted(api.store, objects, served.group_version, api.webhooks)
        except KitError as error:
            raise of_error(error, served.group, served.plural, served.kind) from error


def form(served: APIResource, obj: Any) -> Object:
    """Return an object of the served version in the wire form, with defaults and the fields that its type requires."""
    data = to_dict(obj)
    with_served_times(data, custom=served.schema is not None)
    if served.group == EVENTS:
        data = served_event(complete(data))
    elif served.group_version == _OLD_AUTOSCALING:
        data = to_v1(complete(data))
    data["apiVersion"], data["kind"] = served.group_version, served.kind
    if served.schema is None:
        return complete(data)
    fill(data, served.schema)
    return data
