"""The attributes of a write for admission: the operation, the object before and after, and the requesting user.

Source: k8s.io/apiserver/pkg/admission Attributes; admission/v1 AdmissionRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from kitlib.api.core import Pod
from kitlib.api.meta import KubeObject
from kitlib.api.pod_strategy import grace_period
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.requester import requester
from kitlib.apiserver.store.kinds import Resource
from kitlib.apiserver.store.store import Store

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
STREAMS = ("attach", "exec", "portforward")
"""The subresources of a pod that a client opens a stream to."""
CONNECTED = (*STREAMS, "proxy")
"""The subresources that a client connects to."""
SCALE = "scale"
_OPTIONS = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}


def shown(obj: KubeObject | None) -> dict[str, Any] | None:
    """Return an object as expressions see it: with the fields that its type always has, even if they are empty.

    Source: runtime.DefaultUnstructuredConverter.ToUnstructured.
    """
    if obj is None or type(obj) is KubeObject:
        return None if obj is None else to_dict(obj)
    from kitlib.api.required_fields import complete

    return complete(to_dict(obj))


class Deletion(msgspec.Struct, frozen=True):
    """A deletion as it was requested.

    Attributes:
        version: the API version of the request, in which admission sees the object; "" = the stored one.
        collection: whether the request deletes a collection and therefore names no object.
        options: the fields of the request's DeleteOptions.
    """

    version: str = ""
    collection: bool = False
    options: dict[str, Any] = {}


DELETION = Deletion()
"""A deletion by a component, which sets no options."""


@dataclass(frozen=True)
class AdmissionAttributes:
    """The attributes of a write.

    Attributes:
        operation: CREATE, UPDATE, DELETE or CONNECT.
        resource: the resource of the request.
        new: the object after the write; None for a deletion. For CONNECT the options of the connection.
        old: the stored object; None for a creation.
        subresource: `status`, `resize`; "" = the object itself.
        dry_run: whether nothing is stored.
        parent: the object of a subresource whose kind differs: a Scale's workload, the pod of a Binding, an Eviction or
            a stream, the node of a proxied request.
        options: the fields of the request's DeleteOptions; those of a creation or an update are the requester's.
        unnamed: whether the request names no object: the deletion of a collection.
    """

    operation: str
    resource: Resource
    new: KubeObject | None
    old: KubeObject | None
    subresource: str = ""
    dry_run: bool = False
    parent: KubeObject | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    unnamed: bool = False

    @property
    def object(self) -> KubeObject:
        """The object of the write: the new one, or the stored one for a deletion."""
        found = self.new if self.new is not None else self.old
        assert found is not None, "a write has an object"
        return found

    @property
    def named(self) -> KubeObject:
        """The object with the name and the namespace of the request: the options of a stream have none."""
        return self.parent or self.object

    @property
    def name(self) -> str:
        """The name in the request. Source: handlers DeleteCollection, whose attributes have none."""
        return "" if self.unnamed else self.named.name

    @property
    def version(self) -> str:
        return self.named.api_version.rpartition("/")[2]

    @cached_property
    def names(self) -> dict[str, Any]:
        """The values of `object`, `oldObject` and `request` in expressions."""
        return {
            "object": shown(self.new),
            "oldObject": shown(self.old),
            "request": self._request(),
        }

    def _request(self) -> Mapping[str, Any]:
        """Return the value of `request` in expressions. Source: plugin/cel CreateAdmissionRequest."""
        who, resource = requester(), self.resource
        group, _, version = self.object.api_version.rpartition("/")
        kind = {"group": group, "version": version, "kind": self.object.kind}
        named = {"group": resource.group, "version": self.version, "resource": resource.plural}
        return {
            **dict.fromkeys(("kind", "requestKind"), kind),
            **dict.fromkeys(("resource", "requestResource"), named),
            **dict.fromkeys(("subResource", "requestSubResource"), self.subresource),
            "name": self.name,
            "namespace": self.named.namespace,
            "operation": self.operation,
            "userInfo": who.info,
            "dryRun": self.dry_run,
            "options": self._shown_options(),
        }

    def _shown_options(self) -> Mapping[str, Any] | None:
        """Return the options with their kind; a CONNECT request has none."""
        kind = _OPTIONS.get(self.operation)
        given = self.options if self.operation == DELETE else requester().options
        return None if kind is None else {"kind": kind, "apiVersion": "meta.k8s.io/v1", **given}


def delete_options(obj: KubeObject, grace: int | None, propagation: str, request: Deletion) -> dict[str, Any]:
    """Return the fields of a deletion's DeleteOptions, for a pod with the grace period that results.

    Args:
        obj: the object to delete.
        grace: the requested grace period in seconds; None = not requested.
        propagation: the treatment of dependents; the default, Background, is left out if it was not requested.
        request: the request. Options of a collection are shown as sent: each object is deleted with a copy of them.

    Source: registry Store.DeleteCollection; Store.Delete, which sets the period before admission (BeforeDelete).
    """
    if request.collection:
        return dict(request.options)
    if isinstance(obj, Pod):
        grace = grace_period(obj, grace)
    fields = {"gracePeriodSeconds": grace, "propagationPolicy": None if propagation == "Background" else propagation}
    return {**request.options, **{name: value for name, value in fields.items() if value is not None}}


def attributes_of(
    store: Store,
    new: KubeObject | None,
    old: KubeObject | None,
    subresource: str = "",
    *,
    dry_run: bool = False,
    parent: KubeObject | None = None,
    options: Mapping[str, Any] | None = None,
    unnamed: bool = False,
) -> AdmissionAttributes:
    """Return the attributes of a write to an object or a subresource; `scale` of a workload is shown as a Scale.

    Args:
        store: the object store, which has the resources of custom kinds.
        new: the object after the write; None for a deletion.
        old: the stored object; None for a creation.
        subresource: see `AdmissionAttributes`.
        dry_run: see `AdmissionAttributes`.
        parent: the pod of a Binding, an Eviction or a stream; the node of a proxied request.
        options: see `AdmissionAttributes`.
        unnamed: see `AdmissionAttributes`.

    Source: registry/apps/deployment/storage toScaleCreateValidation, scaleUpdatedObjectInfo.
    """
    operation = DELETE if new is None else CREATE if old is None else UPDATE
    if subresource in CONNECTED:
        operation = CONNECT
    about = parent or new or old
    assert about is not None, "a write has an object"
    resource = store.kinds.of(about)
    if subresource == SCALE and new is not None and old is not None:
        from kitlib.api.scale import is_scalable, scale_of

        if is_scalable(new):
            return AdmissionAttributes(
                operation, resource, scale_of(new), scale_of(old), subresource, dry_run, parent=new
            )
    return AdmissionAttributes(operation, resource, new, old, subresource, dry_run, parent, options or {}, unnamed)
