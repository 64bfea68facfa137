"""Rows of webhooks, policies, flow control, certificates and API services."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.apiserver.http.printers import policies

NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2024-01-01T11:55:00Z"}


def row(printer: Any, **fields: Any) -> list[Any]:
    found: list[Any] = printer({"metadata": META, **fields}, NOW)
    assert found[0] == "x"
    return found[1:]


def test_webhook_configurations() -> None:
    assert row(policies.print_webhook_configuration, webhooks=[{}, {}]) == [2, "5m"]
    assert row(policies.print_webhook_configuration) == [0, "5m"]


def test_admission_policies() -> None:
    spec = {"validations": [{}], "mutations": [{}, {}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    printer = policies.print_admission_policy
    assert row(printer, kind="ValidatingAdmissionPolicy", spec=spec) == [1, "v1/ConfigMap", "5m"]
    assert row(printer, kind="MutatingAdmissionPolicy", spec=spec) == [2, "v1/ConfigMap", "5m"]
    assert row(printer, kind="ValidatingAdmissionPolicy") == [0, "<unset>", "5m"]


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (None, "<unset>"),
        ({"name": "n"}, "n"),
        ({"name": "n", "namespace": "s"}, "s/n"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "a=b"),
    ],
)
def test_bindings(reference: Any, shown: str) -> None:
    spec = {"policyName": "p", "paramRef": reference}
    assert row(policies.print_admission_policy_binding, spec=spec) == ["p", shown, "5m"]


def test_flow_schemas() -> None:
    printer = policies.print_flow_schema
    assert row(printer) == ["", 0, "<none>", "5m", "?"]
    spec = {
        "priorityLevelConfiguration": {"name": "l"},
        "matchingPrecedence": 9,
        "distinguisherMethod": {"type": "ByUser"},
    }
    dangling = {"conditions": [{"type": "Dangling", "status": "False"}]}
    assert row(printer, spec=spec, status=dangling) == ["l", 9, "ByUser", "5m", "False"]


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({"type": "Exempt"}, ["Exempt", "<none>", "<none>", "<none>", "<none>"]),
        (
            {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}},
            ["Limited", 5, "<none>", "<none>", "<none>"],
        ),
        (
            {
                "type": "Limited",
                "limited": {
                    "limitResponse": {"queuing": {"queues": 1, "handSize": 2, "queueLengthLimit": 3}},
                    "lendablePercent": 0,
                },
            },
            ["Limited", 0, 1, 2, 3],
        ),
    ],
)
def test_priority_levels(spec: dict[str, Any], cells: list[Any]) -> None:
    assert row(policies.print_priority_level_configuration, spec=spec) == [*cells, "5m"]


@pytest.mark.parametrize(
    ("types", "certificate", "shown"),
    [
        ((), None, "Pending"),
        (("Approved",), None, "Approved"),
        (("Approved",), "x", "Approved,Issued"),
        (("Denied", "Approved"), None, "Denied"),
        (("Approved", "Failed"), None, "Approved,Failed"),
        ((), "x", "Pending,Issued"),
    ],
)
def test_certificate_requests(types: tuple[str, ...], certificate: str | None, shown: str) -> None:
    """Source: extractCSRStatus."""
    status = {"conditions": [{"type": type_} for type_ in types], "certificate": certificate}
    spec = {"signerName": "s", "username": "u", "expirationSeconds": 3600}
    printer = policies.print_certificate_signing_request
    assert row(printer, spec=spec, status=status) == ["5m", "s", "u", "60m", shown]
    assert row(printer, spec={}, status=status) == ["5m", "<none>", "", "<none>", shown]


@pytest.mark.parametrize(
    ("conditions", "cells"),
    [
        ([], ["Unknown", "", ""]),
        ([{"type": "Other", "status": "True"}], ["Unknown", "", ""]),
        ([{"type": "Healthy", "status": "True", "message": "ok"}], ["Healthy", "ok", ""]),
        ([{"type": "Healthy", "status": "False", "error": "e"}], ["Unhealthy", "", "e"]),
    ],
)
def test_component_statuses(conditions: list[Any], cells: list[str]) -> None:
    assert row(policies.print_component_status, conditions=conditions) == cells


@pytest.mark.parametrize(
    ("service", "condition", "cells"),
    [
        (None, None, ["Local", "Unknown"]),
        (None, {"status": "True", "reason": "Local"}, ["Local", "True"]),
        ({"namespace": "n", "name": "s"}, {"status": "False", "reason": "R"}, ["n/s", "False (R)"]),
        ({"namespace": "n", "name": "s"}, {"status": "False"}, ["n/s", "False"]),
    ],
)
def test_api_services(service: Any, condition: dict[str, str] | None, cells: list[str]) -> None:
    status = {"conditions": [{"type": "Available", **condition}]} if condition else {}
    assert row(policies.print_api_service, spec={"service": service}, status=status) == [*cells, "5m"]


def test_other_rows() -> None:
    assert row(policies.print_service_cidr, spec={"cidrs": ["a", "b"]}) == ["a,b", "5m"]
    assert row(policies.print_volume_attributes_class, driverName="d") == ["d", "5m"]
