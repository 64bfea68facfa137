"""`apply`: creates or changes the objects of manifests, all of them or none.

A new object is created; an existing one is merged with the last applied manifest (see `merge`). An error names the
file, the document and the field.

Source: kubectl apply (apply.go, patcher.go).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import IO, Any

from kitlib.api.boundary import check_data, guarded
from kitlib.api.core import Node, Pod
from kitlib.api.decoding import cannot_be_handled
from kitlib.api.errors import KitError, ManifestError
from kitlib.api.guard import described
from kitlib.api.meta import SERVER_WRITTEN, KubeObject
from kitlib.api.serialize import Located, deepcopy, from_dict, load_located, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.custom_kinds import unknown_fields
from kitlib.apiserver.store.kinds import Resource, resource_of

Manifest = str | bytes | os.PathLike[str] | IO[str] | IO[bytes] | KubeObject | dict[str, Any]
Manifests = Manifest | Iterable[Manifest]
Key = tuple[str, str, str]


@guarded("manifest")
def read(source: Manifests) -> list[Located]:
    """Return the objects of a source with the places they were read from.

    Args:
        source: a path, an open file, text, bytes, an object, its plain data, or several of these.

    Raises:
        ManifestError: the source has something else than objects, or two objects of the same kind and name.
    """
    found = _read(source)
    seen: dict[Key, Located] = {}
    for located in found:
        key = key_of(located.object, resource_of(located.object))
        if key[2] and key in seen:
            first = seen[key]
            where = f" (first in document {first.document})" if first.document else ""
            problem = f'Duplicate value: "{key[2]}": the {located.object.kind} stands in it twice{where}'
            raise ManifestError(problem, file=located.file, document=located.document, field="metadata.name")
        seen[key] = located
    return found


def _read(source: Manifests) -> list[Located]:
    if isinstance(source, KubeObject):
        return [Located(source, "", 0)]
    if isinstance(source, dict):
        check_data(source)
        return [Located(from_dict(source, strict=True), "", 0, source)]
    if isinstance(source, str | bytes | os.PathLike) or hasattr(source, "read"):
        return load_located(source, strict=True, keep_data=True)  # type: ignore[arg-type]
    return [located for one in source for located in _read(one)]


class Applier:
    """The implementation of `apply`, which remembers the applied manifests as kubectl does in an annotation.

    Args:
        api: the API server of the cluster.
    """

    def __init__(self, api: APIServer) -> None:
        self._api = api
        self._last: dict[Key, dict[str, Any]] = {}

    def apply(self, located: Sequence[Located], *, create_only: bool = False) -> list[KubeObject]:
        """Create or change all objects; if one is rejected, nothing changes.

        Args:
            located: the objects from `read`.
            create_only: whether existing objects are rejected, as by `kubectl create`.

        Returns:
            Copies of the stored objects.

        Raises:
            KitError: the API server's error with the place in front.
        """
        made: list[KubeObject] = []
        last = dict(self._last)
        try:
            with self._api.store.transaction():
                new_nodes = {one.object.name for one in located if isinstance(one.object, Node)}
                for one in located:
                    try:
                        self._check_node(one, new_nodes)
                        made.append(self._one(one, create_only))
                    except KitError as error:
                        raise placed(error, one) from error.__cause__
                    except Exception as error:  # a value of an unexpected type
                        raise placed(ManifestError(f"cannot be applied: {described(error)}"), one) from error
        except BaseException:
            self._last = last
            raise
        return made

    def forget(self, obj: KubeObject) -> None:
        """Remove the last applied manifest of a deleted object."""
        self._last.pop(self._key_of(obj), None)

    def _one(self, one: Located, create_only: bool) -> KubeObject:
        obj = one.object
        key = self._key_of(obj)
        placed_here = deepcopy(obj)
        placed_here.metadata.namespace = key[1]
        standing = self._api.store.standing(placed_here) if obj.name else None
        unknown = [f'unknown field "{path}"' for path in unknown_fields(self._api.store, obj)]
        if unknown and not obj.metadata.resource_version:
            problem = f"strict decoding error: {', '.join(unknown)}"
            raise ManifestError(cannot_be_handled(obj.api_version, obj.kind, problem))
        if standing is None or create_only:
            stored = self._api.create(obj)
            self._last[key] = _manifest(one)
            return stored
        if obj.metadata.resource_version:  # an object from the cluster is complete
            return self._api.update(obj)
        manifest, current = _manifest(one), to_dict(standing)
        from kitlib.apiserver.store.merge import three_way

        merged = three_way(self._last.get(key, {}), manifest, current)
        self._last[key] = manifest
        return self._api.update(from_dict(merged))

    def _key_of(self, obj: KubeObject) -> Key:
        return key_of(obj, self._api.store.kinds.of(obj))

    def _check_node(self, one: Located, new: set[str]) -> None:
        if isinstance(one.object, Pod) and one.object.spec.node_name:
            name = one.object.spec.node_name
            if name not in new and self._api.store.find(Node, name, copy=False) is None:
                known = ", ".join(node.name for node in self._api.store.list(Node, copy=False)) or "none"
                problem = f'Not found: "{name}": there is no such node; valid values: {known}'
                raise ManifestError(problem, field="spec.nodeName")


def _manifest(one: Located) -> dict[str, Any]:
    """Return the manifest to apply with its nulls, except those in metadata fields that the server sets."""
    manifest = to_dict(one.object)
    if one.data is None:
        return manifest
    from kitlib.apiserver.store.merge import with_nulls

    manifest = with_nulls(manifest, one.data)
    metadata = manifest.get("metadata", {})
    for field in SERVER_WRITTEN:
        if field in metadata and metadata[field] is None:
            del metadata[field]
    return manifest


def key_of(obj: KubeObject, kind: Resource) -> Key:
    """Return resource, namespace (`default` if empty), and name."""
    return kind.qualified, (obj.metadata.namespace or "default") if kind.namespaced else "", obj.metadata.name


def placed(error: KitError, one: Located) -> KitError:
    """Return the error with file and document at the start of its message."""
    if isinstance(error, ManifestError):
        return ManifestError(error.problem, file=one.file, document=one.document, field=error.field)
    where = [part for part in (one.file, f"document {one.document}" if one.document else "") if part]
    if where:
        error.args = (f"{', '.join(where)}: {error}",)
    return error
