"""CustomResourceDefinitions: names that are unique in the group are accepted, then the definition is established.

Source: apiextensions-apiserver pkg/controller/status/naming_controller.go (calculateNamesAndConditions),
pkg/controller/establish/establishing_controller.go, pkg/controller/finalizer/crd_finalizer.go;
pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.apiextensions import (
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionStatus,
)
from kitlib.api.meta import Condition, is_condition_true, put_condition
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.custom.strategy import CLEANUP
from kitlib.apiserver.admission.requester import API_SERVER
from kitlib.apiserver.store.kinds import Resource
from kitlib.controllers.controller import Controller, Handler, Key, Manager
from kitlib.controllers.informers import Delta

_KIND = "CustomResourceDefinition"
POLL_SECONDS = 5.0
"""The interval in seconds of checks for remaining objects of a definition. Source: CRDFinalizer.deleteInstances."""


class CustomResourceDefinitionController(Controller):
    """The controller that accepts names, establishes and finalizes; three controllers in Kubernetes."""

    name: ClassVar[str] = "crd-naming-condition-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.user = API_SERVER  # these controllers run in kube-apiserver

    def handlers(self) -> Mapping[str, Handler]:
        return {_KIND: self._on_definition}

    def _on_definition(self, change: Delta) -> None:
        """Queue a changed definition; the names of a deleted one are free, so its whole group is queued."""
        if change.type != "DELETED":
            self.queue.add(("", change.new.name))
            return
        if isinstance(change.new, CustomResourceDefinition):
            for definition in self._group(change.new.spec.group):
                self.queue.add(("", definition.name))

    def _group(self, group: str) -> list[CustomResourceDefinition]:
        return [one for one in self.api.store.list(CustomResourceDefinition, copy=False) if one.spec.group == group]

    def sync(self, key: Key) -> None:
        """Source: NamingConditionController.sync, EstablishingController.sync."""
        standing: CustomResourceDefinition | None = self.find(CustomResourceDefinition, key)
        if standing is None:
            return
        if standing.metadata.deletion_timestamp is not None:
            if CLEANUP in standing.metadata.finalizers:
                self._finalize(key, standing)
            return
        changed = deepcopy(standing)
        status = changed.status
        taken = [
            definition.status.accepted_names
            for definition in self._group(standing.spec.group)
            if definition.name != standing.name
        ]
        accepted = self._accept(status.accepted_names, changed.spec.names, taken)
        self._put(status, "NamesAccepted", *accepted)
        if accepted[0] == "True":
            self._put(status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
        elif not any(condition.type == "Established" for condition in status.conditions):
            self._put(status, "Established", "False", "NotAccepted", "not all names are accepted")
        stored = next((version.name for version in changed.spec.versions if version.storage), "")
        if stored and stored not in status.stored_versions:
            status.stored_versions = [*status.stored_versions, stored]
        if status != standing.status:
            self.api.store.update(changed)

    def _finalize(self, key: Key, definition: CustomResourceDefinition) -> None:
        """Delete the objects of a definition, then remove its finalizer. Source: CRDFinalizer.sync."""
        changed, store = deepcopy(definition), self.api.store
        names, group = definition.spec.names, definition.spec.group
        self._put(
            changed.status,
            *("Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"),
        )
        if is_condition_true(definition.status.conditions, "Established"):
            kind = Resource(names.kind, group, names.plural, definition.spec.scope == "Namespaced")
            for obj in store.list(kind, copy=False):
                if obj.metadata.deletion_timestamp is None:
                    self.api.remove(kind, obj.name, obj.namespace, grace=0)
            if store.list(kind, copy=False):  # some have finalizers
                if changed.status != definition.status:
                    store.update(changed)
                self.queue.add_after(key, POLL_SECONDS)
                return
            done = ("InstanceDeletionCompleted", "removed all instances")
        else:
            done = ("NeverEstablished", "resource was never established")
        self._put(changed.status, "Terminating", "False", *done)
        self.api.remove_finalizer(store.update(changed), CLEANUP)

    def _accept(
        self,
        accepted: CustomResourceDefinitionNames,
        wanted: CustomResourceDefinitionNames,
        taken: list[CustomResourceDefinitionNames],
    ) -> tuple[str, str, str]:
        """Accept the free names, in place, and return status, reason and message of the condition.

        Source: calculateNamesAndConditions.
        """
        resources = {name for one in taken for name in (one.plural, one.singular, *one.short_names) if name}
        kinds = {name for one in taken for name in (one.kind, one.list_kind) if name}
        reason, used = "", list[str]()
        for field, why, names in (
            ("plural", "Plural", resources),
            ("singular", "Singular", resources),
            ("short_names", "ShortNames", resources),
            ("kind", "Kind", kinds),
            ("list_kind", "ListKind", kinds),
        ):
            value = getattr(wanted, field)
            conflicts = [one for one in (value if isinstance(value, list) else [value]) if one in names]
            if conflicts:
                reason = f"{why}Conflict"
                used += conflicts
            else:
                setattr(accepted, field, list(value) if isinstance(value, list) else value)
        accepted.categories = list(wanted.categories)
        if not used:
            return "True", "NoConflicts", "no conflicts found"
        shown = ", ".join(f'"{one}" is already in use' for one in used)
        return "False", reason if len(used) == 1 else "MultipleConflicts", shown if len(used) == 1 else f"[{shown}]"

    def _put(self, status: CustomResourceDefinitionStatus, kind: str, holds: str, reason: str, message: str) -> None:
        made = Condition(type=kind, status=holds, reason=reason, message=message)
        status.conditions = put_condition(status.conditions, made, self.api.store.now())
