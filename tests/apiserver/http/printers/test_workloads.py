"""Rows of workloads and their autoscalers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.apiserver.http.printers import workloads

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2024-01-01T11:55:00Z"}
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}], "nodeSelector": {"n": "1"}},
}
SELECTOR = {"matchLabels": {"a": "b"}}
SHAPE = ["c,d", "i,j"]


def row(printer: Any, spec: Any = None, status: Any = None, **fields: Any) -> list[Any]:
    meta = {**META, **fields.pop("metadata", {})}
    whole = {"template": TEMPLATE, "selector": SELECTOR, **(spec or {})}
    found: list[Any] = printer({"metadata": meta, "spec": whole, "status": status or {}, **fields}, NOW)
    assert found[0] == "x"
    return found[1:]


def test_replicas() -> None:
    counts = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 4}
    assert row(workloads.print_replica_set, {"replicas": 5}, counts) == [5, 3, 2, "5m", *SHAPE, "a=b"]
    assert row(workloads.print_replica_set) == [1, 0, 0, "5m", *SHAPE, "a=b"]
    controller = row(workloads.print_replica_set, {"selector": {"a": "b"}}, kind="ReplicationController")
    assert controller[-1] == "a=b"
    assert row(workloads.print_deployment, {"replicas": 5}, counts) == ["2/5", 1, 4, "5m", *SHAPE, "a=b"]
    assert row(workloads.print_deployment)[:3] == ["0/1", 0, 0]
    assert row(workloads.print_stateful_set, {"replicas": 5}, counts) == ["2/5", "5m", *SHAPE]
    assert row(workloads.print_stateful_set)[0] == "0/1"


def test_daemon_sets() -> None:
    fields = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    ]
    counts = {name: i for i, name in enumerate(fields, 1)}
    assert row(workloads.print_daemon_set, {}, counts) == [1, 2, 3, 4, 5, "n=1", "5m", *SHAPE, "a=b"]
    assert row(workloads.print_daemon_set)[:5] == [0] * 5


@pytest.mark.parametrize(
    ("conditions", "deleted", "state"),
    [
        ((), False, "Running"),
        (("Complete", "SuccessCriteriaMet"), False, "Complete"),
        (("Failed", "FailureTarget"), False, "Failed"),
        (("Suspended",), False, "Suspended"),
        (("FailureTarget",), False, "FailureTarget"),
        (("SuccessCriteriaMet",), False, "SuccessCriteriaMet"),
        ((), True, "Terminating"),
        (("Suspended",), True, "Terminating"),
        (("Complete",), True, "Complete"),
    ],
)
def test_the_state_of_a_job(conditions: tuple[str, ...], deleted: bool, state: str) -> None:
    """Source: printJob."""
    listed = [{"type": type_, "status": "True"} for type_ in conditions] + [{"type": "Failed2", "status": "False"}]
    meta = {"deletionTimestamp": "2024-01-01T11:59:00Z"} if deleted else {}
    assert row(workloads.print_job, {}, {"conditions": listed}, metadata=meta)[0] == state
    assert row(workloads.print_job, {}, {"conditions": [{"type": "Failed", "status": "False"}]})[0] == "Running"


@pytest.mark.parametrize(
    ("spec", "status", "completions", "duration"),
    [
        ({"completions": 5}, {"succeeded": 2}, "2/5", ""),
        ({}, {}, "0/1", ""),
        ({"parallelism": 1}, {"succeeded": 1}, "1/1", ""),
        ({"parallelism": 3}, {"succeeded": 1}, "1/1 of 3", ""),
        ({}, {"startTime": "2024-01-01T11:58:00Z"}, "0/1", "2m"),
        ({}, {"startTime": "2024-01-01T11:58:00Z", "completionTime": "2024-01-01T11:58:09Z"}, "0/1", "9s"),
    ],
)
def test_the_progress_of_a_job(spec: dict[str, Any], status: dict[str, Any], completions: str, duration: str) -> None:
    found = row(workloads.print_job, spec, status)
    assert found[1:] == [completions, duration, "5m", *SHAPE, "a=b"]


def test_cron_jobs() -> None:
    job = {"spec": {"template": TEMPLATE}}
    plain = row(workloads.print_cron_job, {"schedule": "@daily", "jobTemplate": job})
    assert plain == ["@daily", "<none>", "<unset>", 0, "<none>", "5m", *SHAPE, "<none>"]
    spec = {"schedule": "* * * * *", "timeZone": "UTC", "suspend": False, "jobTemplate": job}
    status = {"active": [{}, {}], "lastScheduleTime": "2024-01-01T11:59:00Z"}
    assert row(workloads.print_cron_job, spec, status)[:5] == ["* * * * *", "UTC", "False", 2, "60s"]


def metric(kind: str, current: dict[str, Any] | None = None, name: str = "cpu", **target: Any) -> tuple[Any, Any]:
    field = kind[:1].lower() + kind[1:]
    return {"type": kind, field: {"name": name, "target": target}}, {"type": kind, field: {"current": current or {}}}


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        ([], "<none>"),
        ([metric("Resource", {"averageUtilization": 0}, averageUtilization=80)], "cpu: 0%/80%"),
        ([metric("Resource", averageUtilization=80)], "cpu: <unknown>/80%"),
        ([metric("Resource", {"averageValue": "1"}, averageValue="2")], "cpu: 1/2"),
        ([metric("Resource")], "cpu: <unknown>/<auto>"),
        ([metric("ContainerResource", averageUtilization=5)], "cpu: <unknown>/5%"),
        ([metric("Pods", {"averageValue": "1"}, averageValue="2")], "1/2"),
        ([metric("External", {"averageValue": "1"}, averageValue="2")], "1/2 (avg)"),
        ([metric("Object", {"value": "1"}, value="2")], "1/2"),
        ([metric("Object", value="2")], "<unknown>/2"),
        ([({"type": "New"}, {})], "<unknown type>"),
        ([metric("Pods", averageValue="1")] * 2, "<unknown>/1, <unknown>/1"),
        ([metric("Pods", averageValue="1")] * 4, "<unknown>/1, <unknown>/1 + 2 more..."),
    ],
)
def test_autoscalers(metrics: list[tuple[Any, Any]], shown: str) -> None:
    """Source: formatHPAMetrics."""
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 9,
        "metrics": [wanted for wanted, _ in metrics],
    }
    status = {"currentMetrics": [current for _, current in metrics], "currentReplicas": 3}
    printer = workloads.print_horizontal_pod_autoscaler
    assert row(printer, spec, status) == ["Deployment/d", shown, "<unset>", 9, 3, "5m"]
    assert row(printer, {**spec, "minReplicas": 0}, {})[2] == "0"


def test_other_rows() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}
    printer = workloads.print_controller_revision
    meta = {"ownerReferences": [{"kind": "Other"}, owner]}
    assert row(printer, revision=3, metadata=meta) == ["daemonset.apps/d", 3, "5m"]
    assert row(printer, metadata={"ownerReferences": [{**owner, "apiVersion": "v1"}]}) == ["daemonset/d", 0, "5m"]
    assert row(printer, metadata={"ownerReferences": [{**owner, "controller": None}]})[0] == "<none>"
    budget = workloads.print_pod_disruption_budget
    assert row(budget, {"minAvailable": 0}, {"disruptionsAllowed": 2}) == ["0", "N/A", 2, "5m"]
    assert row(budget, {"maxUnavailable": "10%"}) == ["N/A", "10%", 0, "5m"]
    assert row(workloads.print_pod_template, template=TEMPLATE) == [*SHAPE, "a=b"]
