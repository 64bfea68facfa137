"""FlowSchemas: a condition reports whether their PriorityLevelConfiguration exists.

Source: staging k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go (syncFlowSchemaStatus).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.flowcontrol import FlowSchema, PriorityLevelConfiguration
from kitlib.api.meta import Condition, with_condition
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.requester import API_SERVER
from kitlib.controllers.controller import Controller, Handler, Key, Manager
from kitlib.controllers.informers import Delta

DANGLING = "Dangling"


class FlowControlController(Controller):
    """The controller of FlowSchemas."""

    name: ClassVar[str] = "api-priority-and-fairness-config-consumer-v1"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.user = API_SERVER  # this controller runs in kube-apiserver

    def handlers(self) -> Mapping[str, Handler]:
        return {"FlowSchema": self._on_schema, "PriorityLevelConfiguration": self._on_level}

    def _on_schema(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_level(self, change: Delta) -> None:
        if change.type != "MODIFIED":
            for schema in self.informers.of_namespace("FlowSchema", ""):
                self.enqueue(schema)

    def sync(self, key: Key) -> None:
        """Source: syncFlowSchemaStatus."""
        schema: FlowSchema | None = self.find(FlowSchema, key)
        if schema is None:
            return
        named = schema.spec.priority_level_configuration.name
        missing = self.api.store.find(PriorityLevelConfiguration, named, copy=False) is None
        wanted, end = ("True", "but there is no such object") if missing else ("False", "and it exists")
        standing = next((condition for condition in schema.status.conditions if condition.type == DANGLING), None)
        message = f'This FlowSchema references the PriorityLevelConfiguration object named "{named}" {end}'
        if standing is not None and (standing.status, standing.message) == (wanted, message):
            return
        changed = deepcopy(schema)
        reason = "NotFound" if missing else "Found"
        made = Condition(type=DANGLING, status=wanted, reason=reason, message=message, last_transition_time=self.now())
        changed.status.conditions = with_condition(schema.status.conditions, made)
        self.api.update_status(changed)
