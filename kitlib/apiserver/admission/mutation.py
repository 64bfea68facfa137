"""Mutating admission: the API server's own plugins, then the policies, and both again where a policy changed anything.

Source: kubeapiserver options.AllOrderedPlugins; apiserver pkg/admission reinvocation.go.
"""

from __future__ import annotations

from typing import TypeVar, cast

from kitlib.api.coordination import RuntimeClass
from kitlib.api.core import LimitRange, Pod, ServiceAccount, Toleration
from kitlib.api.errors import Invalid, KitError
from kitlib.api.field_errors import invalid
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.policy import PriorityClass
from kitlib.api.scale import Scale
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission import limit_range
from kitlib.apiserver.admission.policy.attributes import attributes_of
from kitlib.apiserver.admission.policy.mutating import Request
from kitlib.apiserver.admission.priority import admit_priority
from kitlib.apiserver.admission.runtime_class import admit_runtime_class
from kitlib.apiserver.admission.service_account import admit_service_account
from kitlib.apiserver.store.store import Store

T = TypeVar("T", bound=KubeObject)
_NOT_NEGATIVE = "must be greater than or equal to 0"
_FALL_AWAY_AFTER = 300  # seconds; Source: plugin/pkg/admission/defaulttolerationseconds


def admit_new(store: Store, obj: T, given: ObjectMeta, *, dry_run: bool, service_accounts: bool) -> T:
    """A new object as mutating admission leaves it.

    Args:
        store: what the plugins and policies look at.
        obj: defaulted, with its name and UID; may be changed.
        given: the metadata that was sent. Policies see the object before a name is made from `generateName` and before
            it has a UID.
        dry_run: whether nothing of it will stand.
        service_accounts: whether pods run as service accounts.

    Raises:
        Forbidden, MutationDenied, InternalError
    """
    _admit(store, obj, service_accounts)
    request = Request(store, attributes_of(store, obj, None, dry_run=dry_run))
    made = _before_it_is_named(request, obj, given)
    if request.again:
        _admit(store, made, service_accounts)
        made = _before_it_is_named(request, made, given, second=True)
    return made


def admit_changed(store: Store, obj: T, old: KubeObject, subresource: str = "", *, dry_run: bool) -> T:
    """A changed object as mutating admission leaves it.

    Raises:
        MutationDenied, Invalid, InternalError
    """
    about = attributes_of(store, obj, old, subresource, dry_run=dry_run)
    seen = about.object
    request = Request(store, about)
    made = request.mutated(seen)
    made = request.mutated(made, second=True) if request.again else made
    if made is seen:
        return obj
    if isinstance(made, Scale):
        return _scaled(obj, made.spec.replicas)
    return cast(T, _in_place(obj, made))


def _scaled(obj: T, replicas: int) -> T:
    """Source: scaleUpdatedObjectInfo.UpdatedObject, autoscaling validation.ValidateScale."""
    if replicas < 0:
        raise Invalid("Scale.autoscaling", obj.name, [invalid("spec.replicas", replicas, _NOT_NEGATIVE)])
    obj.spec.replicas = replicas  # type: ignore[attr-defined]
    return obj


def _before_it_is_named(request: Request, obj: T, given: ObjectMeta, *, second: bool = False) -> T:
    """Source: registry.Store.Create, whose BeforeCreate comes after mutating admission."""
    name, uid = obj.metadata.name, obj.metadata.uid
    seen = obj
    if (given.name, given.uid) != (name, uid):
        seen = deepcopy(obj)
        seen.metadata.name, seen.metadata.uid = given.name, given.uid
    made = cast(T, request.mutated(seen, second=second))
    if made is seen:
        return obj
    made.metadata.name, made.metadata.uid = made.metadata.name or name, uid
    return cast(T, _in_place(obj, made))


def _in_place(before: KubeObject, after: KubeObject) -> KubeObject:
    """Source: rest.EnsureObjectNamespaceMatchesRequestNamespace."""
    after.metadata.namespace = after.metadata.namespace or before.metadata.namespace
    if after.metadata.namespace != before.metadata.namespace:
        raise KitError("the namespace of the provided object does not match the namespace sent on the request")
    return after


def _admit(store: Store, obj: KubeObject, service_accounts: bool) -> None:
    """The plugins of the API server, in its order."""
    if not isinstance(obj, Pod):
        return
    if service_accounts:
        admit_service_account(
            obj,
            lambda name, namespace: store.find(ServiceAccount, name, namespace, copy=False),
            store.new_suffix,
        )
    admit_priority(obj, store.list(PriorityClass, copy=False))
    limit_range.apply_defaults(obj, store.list(LimitRange, obj.namespace, copy=False))
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(t.key in ("", key) and t.effect in ("", "NoExecute") for t in obj.spec.tolerations):
            obj.spec.tolerations.append(
                Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=_FALL_AWAY_AFTER)
            )
    admit_runtime_class(obj, store.list(RuntimeClass, copy=False))
