"""CustomResourceDefinitions: names that no other one of the group has are accepted, and then it is established.

Source: apiextensions-apiserver pkg/controller/status/naming_controller.go (calculateNamesAndConditions),
pkg/controller/establish/establishing_controller.go; pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.apiextensions import (
    CustomResourceDefinition,
    CustomResourceDefinitionNames,
    CustomResourceDefinitionStatus,
)
from kitlib.api.meta import Condition, put_condition
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.requester import API_SERVER
from kitlib.controllers.controller import Controller, Handler, Key, Manager
from kitlib.controllers.informers import Change

_KIND = "CustomResourceDefinition"


class CustomResourceDefinitionController(Controller):
    """Names and establishing, which upstream are two controllers."""

    name: ClassVar[str] = "crd-naming-condition-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.user = API_SERVER  # both run in it

    def handlers(self) -> Mapping[str, Handler]:
        return {_KIND: self._on_definition}

    def _on_definition(self, change: Change) -> None:
        """The names of one that is gone are free for the others of its group."""
        if change.type != "DELETED":
            self.queue.add(("", change.new.name))
            return
        if isinstance(change.new, CustomResourceDefinition):
            for one in self._group(change.new.spec.group):
                self.queue.add(("", one.name))

    def _group(self, group: str) -> list[CustomResourceDefinition]:
        return [one for one in self.api.store.list(CustomResourceDefinition, copy=False) if one.spec.group == group]

    def sync(self, key: Key) -> None:
        """Source: NamingConditionController.sync, EstablishingController.sync."""
        standing: CustomResourceDefinition | None = self.find(CustomResourceDefinition, key)
        if standing is None or standing.metadata.deletion_timestamp is not None:
            return
        changed = deepcopy(standing)
        status = changed.status
        taken = [one.status.accepted_names for one in self._group(standing.spec.group) if one.name != standing.name]
        accepted = self._accept(status.accepted_names, changed.spec.names, taken)
        self._put(status, "NamesAccepted", *accepted)
        if accepted[0] == "True":
            self._put(status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
        elif not any(one.type == "Established" for one in status.conditions):
            self._put(status, "Established", "False", "NotAccepted", "not all names are accepted")
        stored = next((one.name for one in changed.spec.versions if one.storage), "")
        if stored and stored not in status.stored_versions:
            status.stored_versions = [*status.stored_versions, stored]
        if status != standing.status:
            self.api.store.update(changed)

    def _accept(
        self,
        accepted: CustomResourceDefinitionNames,
        wanted: CustomResourceDefinitionNames,
        taken: list[CustomResourceDefinitionNames],
    ) -> tuple[str, str, str]:
        """Take the names that are free, in place; status, reason and message of the condition.

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
