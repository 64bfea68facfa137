"""FlowSchemas tell whether their priority level is there."""

from __future__ import annotations

from typing import Any

from tests.controllers.builders import hollow

API = "flowcontrol.apiserver.k8s.io/v1"
LEVEL: dict[str, Any] = {
    "apiVersion": API,
    "kind": "PriorityLevelConfiguration",
    "metadata": {"name": "mine"},
    "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}},
}
SCHEMA: dict[str, Any] = {
    "apiVersion": API,
    "kind": "FlowSchema",
    "metadata": {"name": "mine"},
    "spec": {"priorityLevelConfiguration": {"name": "mine"}, "matchingPrecedence": 7},
}


def test_a_schema_dangles_until_its_level_is_there_and_when_it_is_gone() -> None:
    """The rule of syncFlowSchemaStatus."""
    cluster = hollow(1)

    def dangling() -> tuple[str, str, str]:
        (found,) = cluster.get("FlowSchema", "mine").status.conditions
        assert found.type == "Dangling"
        return found.status, found.reason, found.message

    names = 'This FlowSchema references the PriorityLevelConfiguration object named "mine"'
    missing = ("True", "NotFound", f"{names} but there is no such object")
    cluster.apply([SCHEMA])
    assert dangling() == missing
    cluster.apply([LEVEL])
    assert dangling() == ("False", "Found", f"{names} and it exists")
    cluster.delete("PriorityLevelConfiguration", "mine")
    assert dangling() == missing
