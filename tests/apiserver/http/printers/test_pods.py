"""The row of a pod: what its STATUS is derived from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.apiserver.http.printers.pods import print_pod

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
RUNNING: dict[str, Any] = {"running": {}}


def ended(code: int = 0, reason: str = "", signal: int = 0) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def one(name: str, state: dict[str, Any], restarts: int = 0, last: str = "", **more: Any) -> dict[str, Any]:
    before = {"lastState": {"terminated": {"finishedAt": last}}} if last else {}
    ready = {"ready": "running" in state, "started": "running" in state}
    return {"name": name, "state": state, "restartCount": restarts, **before, **ready, **more}


def row(
    mains: list[Any],
    inits: list[Any] | None = None,
    sidecars: str = "",
    meta: dict[str, Any] | None = None,
    **status: Any,
) -> list[Any]:
    always = {name: {"restartPolicy": "Always"} for name in sidecars}
    spec = {
        "containers": [{"name": item["name"]} for item in mains],
        "initContainers": [{"name": item["name"], **always.get(item["name"], {})} for item in inits or []],
    }
    whole = {"phase": "Pending", "containerStatuses": mains, "initContainerStatuses": inits or [], **status}
    return print_pod({"metadata": {"name": "p", **(meta or {})}, "spec": spec, "status": whole}, NOW)


TRUE_READY: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True"}]}
INITIALIZED: dict[str, Any] = {"conditions": [{"type": "Initialized", "status": "True"}]}


@pytest.mark.parametrize(
    ("cells", "ready", "status"),
    [
        (row([one("a", RUNNING)], phase="Running"), "1/1", "Running"),
        (row([one("a", waiting("CrashLoopBackOff")), one("b", RUNNING)]), "1/2", "CrashLoopBackOff"),
        (row([one("a", waiting("ErrImagePull")), one("b", waiting("CreateError"))]), "0/2", "ErrImagePull"),
        (row([one("a", ended(1, "Error"))], phase="Failed"), "0/1", "Error"),
        (row([one("a", ended(3))], phase="Failed"), "0/1", "ExitCode:3"),
        (row([one("a", ended(137, "", 9))], phase="Failed"), "0/1", "Signal:9"),
        (row([one("a", ended(0, "Completed")), one("b", RUNNING)], phase="Running"), "1/2", "NotReady"),
        (row([one("a", ended(0, "Completed")), one("b", RUNNING)], phase="Running", **TRUE_READY), "1/2", "Running"),
        (row([one("a", ended(0, "Completed"))], phase="Succeeded"), "0/1", "Completed"),
        (row([], reason="Evicted", phase="Failed"), "0/0", "Evicted"),
        (row([], conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]), "0/0", "SchedulingGated"),
        (row([one("a", RUNNING)], phase="Running", meta={"deletionTimestamp": "x"}), "1/1", "Terminating"),
        (
            row([one("a", ended(0, "Completed"))], phase="Succeeded", meta={"deletionTimestamp": "x"}),
            "0/1",
            "Completed",
        ),
        (row([], phase="Running", reason="NodeLost", meta={"deletionTimestamp": "x"}), "0/0", "Unknown"),
        (row([one("a", waiting("PodInitializing"))], [one("i", RUNNING), one("j", {})]), "0/1", "Init:0/2"),
        (row([one("a", waiting("PodInitializing"))], [one("i", ended()), one("j", {})]), "0/1", "Init:1/2"),
        (row([one("a", {})], [one("i", waiting("CrashLoopBackOff"))]), "0/1", "Init:CrashLoopBackOff"),
        (row([one("a", {})], [one("i", waiting("PodInitializing"))]), "0/1", "Init:0/1"),
        (row([one("a", {})], [one("i", ended(2))]), "0/1", "Init:ExitCode:2"),
        (row([one("a", {})], [one("i", ended(2, "OOMKilled"))]), "0/1", "Init:OOMKilled"),
        (row([one("a", RUNNING)], [one("s", RUNNING)], "s", phase="Running"), "2/2", "Running"),
        (row([one("a", {})], [one("s", RUNNING), one("i", RUNNING)], "s"), "1/2", "Init:1/2"),
        (row([one("a", {})], [one("s", RUNNING, ready=False), one("i", RUNNING)], "s"), "0/2", "Init:1/2"),
        (row([one("a", RUNNING)], [one("i", ended(1))], phase="Running", **INITIALIZED), "1/1", "Init:ExitCode:1"),
    ],
)
def test_ready_and_status(cells: list[Any], ready: str, status: str) -> None:
    """Source: printPod."""
    assert cells[1:3] == [ready, status]


@pytest.mark.parametrize(
    ("cells", "restarts"),
    [
        (row([one("a", RUNNING, 2), one("b", RUNNING, 3)]), "5"),
        (
            row([one("a", RUNNING, 2, "2024-01-01T11:50:00Z"), one("b", RUNNING, 1, "2024-01-01T11:55:00Z")]),
            "3 (5m ago)",
        ),
        (row([one("a", RUNNING, 0, "2024-01-01T11:50:00Z")]), "0"),
        # Init containers count until they have finished, sidecars always.
        (row([one("a", {}, 7)], [one("i", RUNNING, 4, "2024-01-01T11:59:00Z")]), "4 (60s ago)"),
        (row([one("a", RUNNING, 1)], [one("i", ended(), 4)]), "1"),
        (row([one("a", RUNNING, 1)], [one("s", RUNNING, 4, "2024-01-01T11:58:00Z")], "s"), "5 (2m ago)"),
    ],
)
def test_restarts(cells: list[Any], restarts: str) -> None:
    assert cells[3] == restarts


def test_the_wide_columns() -> None:
    empty = print_pod({"metadata": {"name": "p"}, "spec": {}, "status": {}}, NOW)
    assert empty == ["p", "0/0", "", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    spec = {"nodeName": "n", "readinessGates": [{"conditionType": name} for name in "abc"]}
    status = {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "nominatedNodeName": "m", "conditions": conditions}
    meta = {"name": "p", "creationTimestamp": "2024-01-01T11:00:00Z"}
    found = print_pod({"metadata": meta, "spec": spec, "status": status}, NOW)
    assert found[4:] == ["60m", "1.1.1.1", "n", "m", "1/3"]
