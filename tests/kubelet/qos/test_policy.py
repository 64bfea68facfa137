"""oom_score_adj of a container, by the class of its pod and its part of the machine's memory."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust

GI = 2**30
BOTH = {"cpu": "1", "memory": "1Gi"}


def pod(*requests: str, sidecar: str | None = None, **spec: Any) -> Pod:
    """Return a pod whose containers request so much memory ("" = nothing), which makes it Burstable if any does."""

    def container(name: str, amount: str) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"memory": amount} if amount else {}}}

    inits = [] if sidecar is None else [{**container("s", sidecar), "restartPolicy": "Always"}]
    containers = [container(f"c{number}", amount) for number, amount in enumerate(requests)]
    return from_dict({"spec": {"containers": containers, "initContainers": inits, **spec}}, Pod)


def score(made: Pod, capacity: int = 4 * GI) -> int:
    return get_container_oom_score_adjust(made, made.spec.containers[0], capacity, Release("1.36"))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (pod("1Gi"), 750),
        (pod("1Gi", "2Gi"), 750),
        (pod("3Mi"), 1000),  # 1000 - 0: one point below BestEffort, see the next test
        (pod("", "1Gi"), 1000),
        (pod("4Gi"), 0),
        (pod("4088Mi"), 3),
        (pod("4084Mi"), 3),
        (pod("4080Mi"), 4),
        (pod("5Gi"), 0),
    ],
)
def test_a_burstable_container_by_its_part_of_the_memory(made: Pod, expected: int) -> None:
    """1000 − 1000 × request / capacity, at least 3 and at most 999. Source: qos.GetContainerOOMScoreAdjust."""
    assert score(made) == min(max(expected, 3), 999)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{"name": "c"}]}, 1000),
        ({"containers": [{"name": "c", "resources": {"requests": BOTH, "limits": BOTH}}]}, -997),
        ({"containers": [{"name": "c"}], "priority": 2_000_001_000, "priorityClassName": "system-node-critical"}, -997),
    ],
    ids=["BestEffort", "Guaranteed", "node-critical"],
)
def test_the_other_classes_have_one_value(spec: dict[str, Any], expected: int) -> None:
    assert score(from_dict({"spec": spec}, Pod)) == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [("2Gi", 500), ("1Mi", 750), ("", 750)],
    ids=["its own", "its containers'", "without a request"],
)
def test_a_sidecar_is_not_killed_before_the_containers_that_it_serves(own: str, expected: int) -> None:
    """At most the value of the regular container with the smallest request. Source: KEP-753."""
    made = pod("1Gi", "2Gi", sidecar=own)
    assert get_container_oom_score_adjust(made, made.spec.init_containers[0], 4 * GI, Release("1.36")) == expected


def test_what_only_the_pod_requests_is_divided_evenly() -> None:
    """Source: qos.remainingPodMemReqPerContainer; KEP-2837."""
    made = pod("512Mi", "", resources={"requests": {"memory": "1536Mi"}})
    assert [get_container_oom_score_adjust(made, one, 4 * GI, Release("1.36")) for one in made.spec.containers] == [
        750,
        875,
    ]
