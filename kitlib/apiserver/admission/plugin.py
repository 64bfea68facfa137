"""The interface of admission plugins, and the context that they receive with every write.

Source: k8s.io/apiserver/pkg/admission (MutationInterface, ValidationInterface).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kitlib.api.core import ResourceQuota
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.webhook_calls import WebhookCaller
from kitlib.apiserver.store.store import Store


@dataclass
class AdmissionContext:
    """The context that a plugin reads besides the write, and the results that it adds.

    Attributes:
        store: the object store.
        release: the release, with its feature gates.
        service_accounts: whether pods run as service accounts.
        given: the metadata in the request for a new object; None for a change.
        warnings: the warnings for the client.
        caller: the caller of webhooks; None = webhooks are unreachable.
        charged: quotas with their new use, which are stored together with the object.
    """

    store: Store
    release: Release
    service_accounts: bool = False
    given: ObjectMeta | None = None
    warnings: list[str] = field(default_factory=list)
    caller: WebhookCaller | None = None
    charged: list[ResourceQuota] = field(default_factory=list)


class AdmissionPlugin:
    """An admission plugin; a subclass overrides one method or both."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> KubeObject | None:
        """Change the object before it is validated: in place, or by returning another one.

        Raises:
            Forbidden, Invalid: the write is rejected.
        """
        return None

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        """Reject the write, or add warnings.

        Raises:
            Forbidden, Invalid: the write is rejected.
        """

    def admit_again(self, about: AdmissionAttributes, around: AdmissionContext) -> KubeObject | None:
        """Change the object once more, after a later plugin changed it.

        Source: apiserver pkg/admission reinvocation.go.
        """
        return self.admit(about, around)

    def asks_again(self) -> bool:
        """Return whether all plugins must run again because of this one's change."""
        return False


def before_it_is_named(
    obj: KubeObject, given: ObjectMeta | None, mutate: Callable[[KubeObject], KubeObject]
) -> KubeObject | None:
    """Run a mutation on an object; a new one has no generated name and no UID yet, as in upstream.

    Args:
        obj: the object, which is not changed.
        given: the metadata in the request for a new object; None for a change.
        mutate: returns the object after mutation, or the given object.

    Returns:
        The changed object; None if nothing changes it.

    Source: registry.Store.Create, whose BeforeCreate comes after mutating admission;
    rest.EnsureObjectNamespaceMatchesRequestNamespace.
    """
    seen, name, uid = obj, obj.metadata.name, obj.metadata.uid
    if given is not None and (given.name, given.uid) != (name, uid):
        seen = deepcopy(obj)
        seen.metadata.name, seen.metadata.uid = given.name, given.uid
    made = mutate(seen)
    if made is seen:
        return None
    if given is not None:
        made.metadata.name, made.metadata.uid = made.metadata.name or name, uid
    made.metadata.namespace = made.metadata.namespace or obj.metadata.namespace
    if made.metadata.namespace != obj.metadata.namespace:
        raise KitError("the namespace of the provided object does not match the namespace sent on the request")
    return made
