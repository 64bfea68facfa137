"""Defaults of admission policies."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict


@pytest.mark.parametrize(("given", "expected"), [(None, "Fail"), ("Ignore", "Ignore"), ("Fail", "Fail")])
def test_a_policy_that_cannot_be_evaluated_fails_unless_it_says_otherwise(given: str | None, expected: str) -> None:
    """Source: SetDefaults_ValidatingAdmissionPolicySpec."""
    spec = {"failurePolicy": given} if given else {}
    data = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "spec": spec}
    made: Any = set_defaults(from_dict(data | {"metadata": {"name": "p"}}))
    assert made.spec.failure_policy == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
            {"nominalConcurrencyShares": 30, "lendablePercent": 0,
             "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}}},
        ),
        (
            {"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "limitResponse": {"type": "Reject"}}},
            {"nominalConcurrencyShares": 0, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
        ),
    ],
)  # fmt: skip
def test_a_priority_level(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: SetDefaults_LimitedPriorityLevelConfiguration, SetDefaults_QueuingConfiguration."""
    data = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "spec": spec}
    made: Any = set_defaults(from_dict(data | {"metadata": {"name": "p"}}))
    assert to_dict(made.spec.limited) == expected


def test_an_exempt_priority_level_has_no_shares_of_its_own() -> None:
    data = {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
            "metadata": {"name": "p"}, "spec": {"type": "Exempt", "exempt": {}}}  # fmt: skip
    made: Any = set_defaults(from_dict(data))
    assert to_dict(made.spec.exempt) == {"nominalConcurrencyShares": 0, "lendablePercent": 0}


@pytest.mark.parametrize(
    ("service", "port"),
    [({"name": "s", "namespace": "n"}, 443), ({"name": "s", "namespace": "n", "port": 8443}, 8443), (None, None)],
)
def test_the_port_of_an_api_service(service: Any, port: int | None) -> None:
    """Source: SetDefaults_ServiceReference."""
    data = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.x.io"}}
    spec = {"group": "x.io", "version": "v1", **({"service": service} if service else {})}
    made: Any = set_defaults(from_dict(data | {"spec": spec}))
    assert (made.spec.service.port if made.spec.service is not None else None) == port
