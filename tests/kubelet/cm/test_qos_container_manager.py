"""The QoS cgroups: sums of the pods' requests, memory that lower classes leave free, and `--qos-reserved`."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.qos_container_manager import (
    QosRequests,
    QosReservedError,
    parse_qos_reserved,
    qos_cpu_shares,
    qos_memory_formula,
    qos_memory_limits,
    qos_memory_protection,
    qos_requests,
)


def pod(requests: dict[str, str], limits: dict[str, str] | None = None, **spec: object) -> Pod:
    resources = {"requests": requests, "limits": limits or {}}
    return from_dict({"spec": {"containers": [{"name": "c", "resources": resources}], **spec}}, Pod)


SAME = {"cpu": "1", "memory": "100"}
GUARANTEED, BURSTABLE, BEST_EFFORT = pod(SAME, SAME), pod({"cpu": "300m", "memory": "40"}), pod({})


def test_requests_are_summed_by_class_with_overhead() -> None:
    assert qos_requests([]) == QosRequests(0, 0, 0)
    assert qos_requests([GUARANTEED, BURSTABLE, BEST_EFFORT, BURSTABLE]) == QosRequests(600, 80, 100)
    assert qos_requests([pod({"cpu": "1"}), pod({"memory": "7"})]) == QosRequests(1000, 7, 0)
    assert qos_requests([pod({"cpu": "1"}, overhead={"cpu": "50m", "memory": "5"})]) == QosRequests(1050, 5, 0)
    assert QosRequests(1, 2, 3) + QosRequests(10, 20, 30) == QosRequests(11, 22, 33)


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (1000, 1024), (1500, 1536)])
def test_shares_of_the_classes(milli: int, shares: int) -> None:
    assert qos_cpu_shares(QosRequests(burstable_cpu=milli)) == {"Burstable": shares, "BestEffort": 2}


@pytest.mark.parametrize(("percent", "burstable", "best_effort"), [(0, 1000, 1000), (50, 950, 930), (100, 899, 858)])
def test_lower_classes_cannot_use_a_part_of_the_requests_of_higher_ones(
    percent: int, burstable: int, best_effort: int
) -> None:
    """Source: setMemoryReserve."""
    requests = QosRequests(0, burstable_memory=41, guaranteed_memory=101)
    limits = qos_memory_limits(requests, 1000, percent)
    assert limits == {"Burstable": burstable, "BestEffort": best_effort}
    for qos, expected in limits.items():
        assert qos_memory_formula(qos, requests, 1000, percent).result() == str(expected)  # type: ignore[arg-type]


def test_without_known_allocatable_memory_there_is_no_limit() -> None:
    assert qos_memory_limits(QosRequests(0, 1, 1), 0, 50) == {}
    assert qos_memory_limits(QosRequests(0, 0, 0), 1, 50) == {"Burstable": 1, "BestEffort": 1}


@pytest.mark.parametrize(("policy", "low", "least"), [("TieredReservation", "40", "140"), ("None", "0", "0")])
def test_protection_of_a_class_needs_that_of_the_cgroups_above(policy: str, low: str, least: str) -> None:
    """Source: setMemoryQoS."""
    found = qos_memory_protection(QosRequests(0, 40, 100), policy)
    assert found == {"Burstable": {"memory.low": low}, "Guaranteed": {"memory.min": least}}


@pytest.mark.parametrize(
    ("text", "percent"), [("0%", 0), ("50%", 50), ("100%", 100), ("+7%", 7), ("-0%", 0), ("007%", 7)]
)
def test_a_percentage(text: str, percent: int) -> None:
    assert parse_qos_reserved({"memory": text}) == {"memory": percent}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cpu": "50%"}, 'cannot reserve "cpu" resource'),
        ({"memory": "50"}, "percentage expected, got '50'"),
        ({"memory": "x%"}, "invalid number in percentage 'x%'"),
        ({"memory": "%"}, "invalid number in percentage '%'"),
        ({"memory": "+-5%"}, "invalid number"),
        ({"memory": "101%"}, "between 0 and 100"),
        ({"memory": "-1%"}, "between 0 and 100"),
        ({"memory": "5 %"}, "invalid number"),
    ],
)
def test_what_is_no_percentage_of_memory_is_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(QosReservedError, match=message):
        parse_qos_reserved(settings)
