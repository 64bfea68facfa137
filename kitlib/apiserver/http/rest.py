"""Objects by verb: get, list, create, update, patch, delete, on the cluster's API server and store.

The functions take and return plain data in the wire form; HTTP, tables and watches are implemented elsewhere.

Source: apiserver pkg/endpoints/handlers, pkg/registry/generic/registry.Store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from kitlib.api.apiextensions import CustomResourceDefinition
from kitlib.api.certificates import CertificateSigningRequest
from kitlib.api.errors import KitError, ManifestError
from kitlib.api.meta import is_condition_true
from kitlib.api.pod_strategy import grace_of
from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.admission.attributes import Deletion
from kitlib.apiserver.admission.deletion import BACKGROUND
from kitlib.apiserver.admission.updating import check_preconditions as check_changes
from kitlib.apiserver.admission.webhook_calls import current_attempts
from kitlib.apiserver.http import lists
from kitlib.apiserver.http.actions import ActionLog
from kitlib.apiserver.http.bodies import apply_document, read_object
from kitlib.apiserver.http.delete_options import check_preconditions, options_of, propagation_of
from kitlib.apiserver.http.event_versions import EVENTS, check_event
from kitlib.apiserver.http.field_validation import (
    check_applied,
    check_repeated,
    check_typed,
    decode,
    patch_errors,
    prune_custom,
    refused,
    set_defaults,
)
from kitlib.apiserver.http.managed_fields import Managers
from kitlib.apiserver.http.patches import PATCH_TYPES, patched, undecodable
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.reset_fields import own_fields, without_reset_fields
from kitlib.apiserver.http.resources import APIResource, ResourceTable
from kitlib.apiserver.http.selectors import field_selector, label_selector
from kitlib.apiserver.http.status import StatusError, of_error, success
from kitlib.apiserver.http.wires import Wires
from kitlib.apiserver.store.history import list_at
from kitlib.apiserver.store.kinds import Resource
from kitlib.apiserver.store.store import ResourceExpired
from kitlib.apiserver.validation.warnings.kinds import warnings_of

Object = dict[str, Any]
_SYSTEM_FIELDS = {
    "uid": "",
    "creation_timestamp": None,
    "deletion_timestamp": None,
    "deletion_grace_period_seconds": None,
    "self_link": "",
}
"""The metadata fields of a new object that only the server sets, and their empty values."""


class Rest:
    """The objects of a cluster.

    Attributes:
        warnings: the warnings of the current request.
        wires: the served forms of the objects.

    Args:
        cluster: a `Cluster`; its `api`, `settle`, `evict`, `record_action` and `now` are used.

    Attributes:
        actions: the recorder of accepted writes.
    """

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.actions = ActionLog(cluster.record_action)
        self._table: tuple[int, ResourceTable] | None = None
        self._definitions = 0
        self.warnings: list[str] = []
        self.wires = Wires(cluster)
        cluster.api.store.subscribe(self._on_change)

    def _on_change(self, event: Any) -> None:
        if event.object.kind == "CustomResourceDefinition":
            self._definitions += 1
        if event.type == "DELETED":
            self.wires.forget(event.object)

    @property
    def resources(self) -> ResourceTable:
        """The resources that are served now."""
        if self._table is None or self._table[0] != self._definitions:
            stored = self.cluster.api.store.list(CustomResourceDefinition, copy=False)
            # Established stays true after the names are accepted. Source: customresource_discovery_controller.go
            found = [one for one in stored if is_condition_true(one.status.conditions, "Established")]
            self._table = self._definitions, ResourceTable(map(to_dict, found), self.cluster.release)
        return self._table[1]

    @property
    def version(self) -> int:
        return int(self.cluster.api.store.version)

    # Reading.

    def get(self, served: APIResource, namespace: str, name: str) -> Object:
        """Return one object.

        Raises:
            StatusError: 404.
        """
        return self.wire(served, deepcopy(self._stored(served, namespace, name)))

    def shared_get(self, served: APIResource, namespace: str, name: str) -> Object:
        """Return `get`'s result from a cache; it must not be changed."""
        return self.shared_wire(served, self._stored(served, namespace, name))

    def _stored(self, served: APIResource, namespace: str, name: str) -> Any:
        found = self.cluster.api.store.find(self.kind_of(served), name, namespace, copy=False)
        if found is None:
            details = {"name": name, "group": served.group, "kind": served.plural}
            details = {key: value for key, value in details.items() if value}
            raise StatusError(404, f'{served.qualified} "{name}" not found', "NotFound", details)
        return found

    def exists(self, served: APIResource, namespace: str, name: str) -> bool:
        return self.cluster.api.store.find(self.kind_of(served), name, namespace, copy=False) is not None

    def objects_at(self, served: APIResource, namespace: str, start: lists.Start) -> list[Object]:
        """Return the objects at a version, or the newest; they must not be changed.

        Raises:
            StatusError: 410 if the changes since that version are compacted.
        """
        kind, store, place = self.kind_of(served), self.cluster.api.store, namespace or None
        if start.version is None or start.version == self.version:
            return self.wires.shared_list(served, store.list(kind, place, copy=False))
        try:
            found = list_at(store, kind, start.version, place)
        except ResourceExpired as error:
            raise lists.gone(start) from error
        newest = {id(obj) for obj in store.list(kind, place, copy=False)}
        return self.wires.shared_list(served, found, newest)

    def list(self, served: APIResource, namespace: str, request: Request) -> tuple[list[Object], Object]:
        """Return the objects that the selectors match, in the order of their keys, and the list's metadata.

        Pages: `limit` objects a page, `continue` is the token of the next one; all show the state of the first page.

        Raises:
            StatusError: as `lists.start_of`; 410 if the requested state is compacted.
        """
        matches, start = self.selector(served, request), lists.start_of(request, self.version)
        found, version = self.objects_at(served, namespace, start), start.version or self.version
        keys = {lists.key_of(obj, in_namespace=bool(namespace)): obj for obj in found if matches(obj)}
        chosen = sorted(key for key in keys if key >= start.key)
        meta: Object = {"resourceVersion": str(version)}
        limit = request.number("limit", 0) or 0
        if 0 < limit < len(chosen):
            if not request.get("labelSelector") and not request.get("fieldSelector"):
                meta["remainingItemCount"] = len(chosen) - limit
            chosen = chosen[:limit]
            meta["continue"] = lists.token_after(chosen[-1], version)
        return [keys[key] for key in chosen], meta

    def selector(self, served: APIResource, request: Request) -> Callable[[Mapping[str, Any]], bool]:
        """Return the conjunction of a request's label and field selectors."""
        tests = []
        if request.get("labelSelector"):
            tests.append(label_selector(request.get("labelSelector")))
        if request.get("fieldSelector"):
            wanted, custom = request.get("fieldSelector"), served.selectable
            tests.append(field_selector(wanted, served.group, served.plural, custom=custom))
        return lambda obj: all(test(obj) for test in tests)

    def wire(self, served: APIResource, obj: Any) -> Object:
        """Return a stored object in the served group and version.

        Raises:
            StatusError: 500 if a webhook does not convert the object to the version.
        """
        return self.wires.wire(served, obj)

    def shared_wire(self, served: APIResource, obj: Any) -> Object:
        """Return `wire`'s result from a cache, for lists and watches, which must not change it."""
        return self.wires.shared(served, obj)

    # Writing.

    def create(self, served: APIResource, namespace: str, request: Request) -> Object:
        """Create an object (POST)."""
        body = self._checked(served, namespace, "", self._body(served, request))
        self._complete(served, body, request)
        body.setdefault("metadata", {}).pop("managedFields", None)
        managed = without_reset_fields(served, body, {}, "")  # a new Node's status is stored nevertheless
        self._manage(served, {}, managed, request, "")
        return self._write(served, request, lambda: self._created(served, body, request), body)

    def update(self, served: APIResource, namespace: str, name: str, subresource: str, request: Request) -> Object:
        """Replace an object (PUT)."""
        body = self._checked(served, namespace, name, self._body(served, request))
        self._complete(served, body, request)
        return self._replace(served, self.get(served, namespace, name), body, subresource, request)

    def patch(self, served: APIResource, namespace: str, name: str, subresource: str, request: Request) -> Object:
        """Change an object (PATCH): JSON patch, merge patch, strategic merge patch, or server-side apply."""
        if request.content_type not in PATCH_TYPES:
            accepted = ", ".join(PATCH_TYPES)
            message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
            raise StatusError(415, message, "UnsupportedMediaType")
        if "apply-patch" in request.content_type:
            return self._apply(served, namespace, name, subresource, request)
        live = self.get(served, namespace, name)
        if served.schema is not None and "strategic" in request.content_type:
            message = "the body of the request was in an unknown format - accepted media types include: "
            raise StatusError(415, message + ", ".join(t for t in PATCH_TYPES if "strategic" not in t))
        changed = patched(live, request)
        strict_errors = patch_errors(served, changed, request, self.warnings)
        self._checked(served, namespace, name, changed)
        try:
            if strict_errors:
                raise refused(served, strict_errors)
            self._complete(served, changed, request)
            return self._replace(served, live, changed, subresource, request)
        except StatusError as error:
            if isinstance(error.__cause__, ManifestError) and error.__cause__.cause:
                raise undecodable(changed, request, error.__cause__) from error
            raise

    def _apply(self, served: APIResource, namespace: str, name: str, subresource: str, request: Request) -> Object:
        if not request.get("fieldManager"):
            why = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
            raise StatusError(422, why, "Invalid")
        body = apply_document(request)
        config = self._checked(served, namespace, name, body.data)
        check_typed(served, body)
        prune_custom(served, config, request, self.warnings)
        config["metadata"].pop("managedFields", None)
        sent, config = config, own_fields(served, config, subresource)
        now, force = self._time(), request.flag("force")
        try:
            live: Object | None = self.get(served, namespace, name)
        except StatusError:
            live = None
        base = live or {}
        managers = Managers(base.get("metadata", {}).get("managedFields"), served.schema)
        version = served.group_version
        merged = managers.apply(base, config, request.manager, version, force=force, subresource=subresource, now=now)
        check_applied(body, request, self.warnings)
        set_defaults(served, merged)
        merged.setdefault("metadata", {})["managedFields"] = managers.to_list()
        if live is None:
            new = {**sent, **merged}  # with the status of a new Node, which has no manager
            act = lambda: self.cluster.api.create(self._new(served, new, request))  # noqa: E731
            return self._write(served, request, act, new)
        return self._store(served, merged, subresource, request)

    def delete(self, served: APIResource, namespace: str, name: str, request: Request) -> Object:
        """Delete an object, or mark it as terminating if it has a grace period or finalizers."""
        return self._delete(served, namespace, name, Deletion(served.group_version, options=options_of(request)))

    def _delete(self, served: APIResource, namespace: str, name: str, request: Deletion) -> Object:
        live, options = self.get(served, namespace, name), request.options
        check_preconditions(served, live, options)
        grace, policy = grace_of(options.get("gracePeriodSeconds")), propagation_of(options)
        dry = bool(options.get("dryRun"))
        with self.errors(served, name), self._undone_if(dry):
            kind, api = self.kind_of(served), self.cluster.api
            api.delete(kind, name, namespace, grace=grace, propagation=policy or BACKGROUND, request=request)
            self.warnings += api.warnings
            if not dry:
                self.actions.deleted(kind, namespace, name, grace, policy)
            self.cluster.settle()
        standing = self.cluster.api.store.find(self.kind_of(served), name, namespace)
        if standing is not None and not dry:
            return self.wire(served, standing)
        details = {"name": name, "group": served.group, "kind": served.plural, "uid": live["metadata"].get("uid", "")}
        return success({key: value for key, value in details.items() if value})

    def delete_collection(self, served: APIResource, namespace: str, request: Request) -> Object:
        """Delete every object that the selectors match, one after the other, and return their list.

        The first object that cannot be deleted ends the request; the objects before it are deleted.

        Source: registry.Store.DeleteCollection, with one worker (--delete-collection-workers).
        """
        deletion = Deletion(served.group_version, True, options_of(request))
        # A webhook's answer is waited for between two objects: the attempts of one request continue, none starts anew.
        done = current_attempts().done
        if not done:
            done["list"], done["warnings"] = self.list(served, namespace, request), []
            done["left"] = list(done["list"][0])
        self.warnings += done["warnings"]
        while done["left"]:
            meta = done["left"][0]["metadata"]
            try:
                self._delete(served, meta.get("namespace", ""), meta["name"], deletion)
            except StatusError as error:
                if error.code != 404:
                    raise
            done["left"] = done["left"][1:]
            done["warnings"] = list(self.warnings)
        items, meta = done["list"]
        return {"kind": f"{served.kind}List", "apiVersion": served.group_version, "metadata": meta, "items": items}

    # Helpers.

    def kind_of(self, served: APIResource) -> Resource:
        """Return the store's resource."""
        found: Resource | None = self.cluster.api.store.kinds.find(served.group_version, served.kind)
        return found or Resource(served.kind, served.group, served.plural, served.namespaced)

    def _body(self, served: APIResource, request: Request) -> Object:
        body = read_object(request, served.kind, custom=served.schema is not None)
        check_repeated(served, body, request, self.warnings)
        return body.data

    def _checked(self, served: APIResource, namespace: str, name: str, body: Object) -> Object:
        """Return the body of a write if kind, namespace and name match the request.

        Source: apiserver handlers/create.go, rest/meta.go EnsureObjectNamespaceMatchesRequestNamespace.
        """
        version, kind = body.get("apiVersion"), body.get("kind")
        if version and version != served.group_version:
            message = f"the API version in the data ({version}) does not match the expected API version "
            raise StatusError(400, message + f"({served.group_version})")
        if kind and kind != served.kind:
            raise StatusError(400, f"the kind in the data ({kind}) does not match the expected kind ({served.kind})")
        meta = {} if body.get("metadata") is None else body["metadata"]
        if not isinstance(meta, dict):
            raise StatusError(400, "metadata: expected an object")
        made = {"apiVersion": served.group_version, "kind": served.kind, **body, "metadata": dict(meta)}
        meta = made["metadata"]
        if served.namespaced:
            if meta.get("namespace") and meta["namespace"] != namespace:
                why = "the namespace of the provided object does not match the namespace sent on the request"
                raise StatusError(400, why)
            meta["namespace"] = namespace
        else:
            meta.pop("namespace", None)
        if name:
            if meta.get("name") and meta["name"] != name:
                why = f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
                raise StatusError(400, why)
            meta["name"] = name
        return made

    def _complete(self, served: APIResource, body: Object, request: Request) -> None:
        """Prune a custom object to its schema and set its defaults."""
        prune_custom(served, body, request, self.warnings)
        set_defaults(served, body)

    def _object(self, served: APIResource, data: Object, request: Request) -> Any:
        return decode(served, data, request, self.warnings) if served.schema is None else from_dict(data)

    def _new(self, served: APIResource, data: Object, request: Request) -> Any:
        """Return a new object without the metadata that the server sets, whatever the request says.

        Source: rest.WipeObjectMetaSystemFields; PrepareForCreate of the strategies, which set the generation.
        """
        made = self._object(served, data, request)
        for field, empty in _SYSTEM_FIELDS.items():
            setattr(made.metadata, field, empty)
        if hasattr(made, "spec"):
            made.metadata.generation = None
        return made

    def _created(self, served: APIResource, body: Object, request: Request) -> Any:
        made = self._new(served, body, request)
        if isinstance(made, CertificateSigningRequest):
            request.user.sign(made)
        if served.group == EVENTS:
            check_event(made, None)
        stored = self.cluster.api.create(made)
        self.warnings += warnings_of(made)
        return stored

    def _replace(self, served: APIResource, live: Object, body: Object, subresource: str, request: Request) -> Object:
        body = without_reset_fields(served, body, live, subresource)
        # A patched object shares its unchanged parts with the live object, whose managedFields must not change.
        body["metadata"] = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
        if live["metadata"].get("managedFields"):
            body["metadata"]["managedFields"] = live["metadata"]["managedFields"]
        self._manage(served, live, body, request, subresource)
        return self._store(served, body, subresource, request)

    def _manage(self, served: APIResource, old: Object, new: Object, request: Request, subresource: str) -> None:
        managers = Managers(old.get("metadata", {}).get("managedFields"), served.schema)
        managers.update(old, new, request.manager, served.group_version, subresource, self._time())
        new["metadata"]["managedFields"] = managers.to_list()

    def store_changed(self, served: APIResource, data: Object, subresource: str, request: Request) -> Object:
        """Store an object that a subresource changed, and record the manager."""
        live = self.get(served, data["metadata"].get("namespace", ""), data["metadata"]["name"])
        self._manage(served, live, data, request, subresource)
        return self._store(served, data, subresource, request)

    def _store(self, served: APIResource, data: Object, subresource: str, request: Request) -> Object:
        api = self.cluster.api
        ways = {
            "status": self._update_status,
            "approval": self._update_status,
            "scale": lambda obj: api.update(obj, "scale"),
            "finalize": lambda obj: api.update(obj, "finalize"),
            "resize": api.resize,
            "ephemeralcontainers": api.update_ephemeral_containers,
        }
        write = ways.get(subresource, api.update)
        return self._write(served, request, lambda: write(self._changed(served, data, request)), data, subresource)

    def _update_status(self, obj: Any) -> Any:
        """Update the status; an API client's outdated version is a conflict, that of a component is not."""
        api = self.cluster.api
        standing, kind = api.store.standing(obj), api.store.kinds.of(obj)
        if standing is not None:
            check_changes(obj, standing, kind)
        return api.update_status(obj, metadata=True)

    def _changed(self, served: APIResource, data: Object, request: Request) -> Any:
        """Return the object of a write; its deletion time keeps the digits that the wire format drops."""
        made = self._object(served, data, request)
        standing = self.cluster.api.store.standing(made)
        if served.group == EVENTS:
            check_event(made, standing)
        if standing is not None and made.metadata.deletion_timestamp is not None:
            before = standing.metadata.deletion_timestamp
            if before is not None and before.replace(microsecond=0) == made.metadata.deletion_timestamp:
                made.metadata.deletion_timestamp = before
        return made

    def _write(
        self, served: APIResource, request: Request, act: Callable[[], Any], data: Object, subresource: str = ""
    ) -> Object:
        """Run a write, record it, and return the object after it; under `dryRun` it is undone."""
        meta, kind = data.get("metadata", {}), self.kind_of(served)
        name, store = meta.get("name") or "", self.cluster.api.store
        before = store.find(kind, name, meta.get("namespace", ""), copy=False) if name else None
        with self.errors(served, name), self._undone_if(request.dry_run):
            stored = act()
            self.warnings += self.cluster.api.warnings
        written = stored.metadata
        newest = store.find(kind, written.name, written.namespace, copy=False)
        if request.dry_run or newest is None or newest.metadata.resource_version != written.resource_version:
            shown = self.wire(served, stored)
        else:
            shown = self.shared_wire(served, newest)
        if request.dry_run:
            _with_version(shown, before.metadata.resource_version if before is not None else "")
        else:
            self.actions.written(kind, before, stored, data, subresource)
            self.cluster.settle()
        return shown

    def _undone_if(self, dry: bool) -> AbstractContextManager[None]:
        return self.cluster.api.dry_run() if dry else nullcontext()

    @contextmanager
    def errors(self, served: APIResource, name: str) -> Iterator[None]:
        """Convert the cluster's errors to StatusErrors about an object of a resource."""
        try:
            yield
        except KitError as error:
            raise of_error(error, served.group, served.plural, served.kind, name) from error

    def _time(self) -> str:
        return str(self.cluster.now().strftime("%Y-%m-%dT%H:%M:%SZ"))


def _with_version(shown: Object, version: str) -> None:
    """Set the stored version in the response to a dry run; a new object has none. Source: DryRunnableStorage."""
    shown["metadata"].pop("resourceVersion", None)
    if version:
        shown["metadata"]["resourceVersion"] = version
