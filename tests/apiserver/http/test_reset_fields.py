"""Over HTTP, too, the status is written through `/status` alone; another write does not manage it."""

from __future__ import annotations

from typing import Any

import pytest

NODES = "/api/v1/nodes"
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


def node(cpu: str, **labels: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "4Gi", "pods": "10"}
    status = {"capacity": amounts, "allocatable": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}, "status": status}


def managed(found: dict[str, Any]) -> set[str]:
    entries = found["metadata"].get("managedFields", [])  # without fields there is no manager
    return {field for one in entries if not one.get("subresource") for field in one["fieldsV1"]}


@pytest.mark.parametrize("way", ["POST", "apply"])
def test_a_new_node_keeps_its_status_and_nobody_manages_it(call: Any, way: str) -> None:
    if way == "POST":
        _, made = call("POST", NODES, node("4", a="b"))
    else:
        _, made = call("PATCH", f"{NODES}/n?fieldManager=m", node("4", a="b"), content_type=APPLY)
    assert made["status"]["capacity"]["cpu"] == "4"
    assert managed(made) == {"f:metadata"}


def test_writes_of_a_node_leave_its_status_and_writes_of_its_status_the_node(call: Any) -> None:
    call("POST", NODES, node("4"))
    _, before = call("GET", f"{NODES}/n")
    for code, found in (
        call("PUT", f"{NODES}/n", {**before, "status": node("9")["status"]}),
        call("PATCH", f"{NODES}/n", {"status": node("9")["status"]}, content_type=MERGE),
        call("PATCH", f"{NODES}/n?fieldManager=m", node("9", a="b"), content_type=APPLY),
    ):
        assert (code, found["status"]["capacity"]["cpu"]) == (200, "4")
        assert "f:status" not in managed(found)
    change = {"spec": {"unschedulable": True}, "status": {"capacity": {"cpu": "9"}}}
    code, found = call("PATCH", f"{NODES}/n/status", change, content_type=MERGE)
    assert (code, found["status"]["capacity"]["cpu"]) == (200, "9")
    assert "unschedulable" not in found["spec"]
    written = next(one for one in found["metadata"]["managedFields"] if one.get("subresource") == "status")
    assert set(written["fieldsV1"]) == {"f:status"}
