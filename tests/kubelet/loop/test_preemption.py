"""Pods that end so that a critical pod fits: as few, as unimportant and as small as possible."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.preemption import PreemptionError, get_pods_to_preempt, preemptable

RELEASE = Release("1.36")
CRITICAL = 2_000_000_000


def pod(name: str, requests: dict[str, str], *, guaranteed: bool = False, priority: int | None = None) -> Pod:
    resources: dict[str, Any] = {"requests": requests, "limits": requests if guaranteed else {}}
    made: Pod = from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "containers": [{"name": "c", "image": "x", "resources": resources}],
                **({"priority": priority} if priority is not None else {}),
            },
        }
    )
    return made


PREEMPTOR = pod("critical", {"cpu": "1"}, priority=CRITICAL)
BEST_EFFORT = pod("best-effort", {})
SMALL = pod("small", {"cpu": "500m", "memory": "1Gi"})
LARGE = pod("large", {"cpu": "2", "memory": "2Gi"})
FIXED = pod("guaranteed", {"cpu": "1", "memory": "1Gi"}, guaranteed=True)
RUNNING = [BEST_EFFORT, SMALL, LARGE, FIXED]


@pytest.mark.parametrize(
    ("missing", "ended"),
    [
        ({"cpu": 500}, ["small"]),
        ({"cpu": 501}, ["large"]),
        ({"cpu": 2000}, ["large"]),
        ({"cpu": 2500}, ["large", "small"]),
        ({"cpu": 2501}, ["large", "guaranteed"]),
        ({"pods": 1}, ["best-effort"]),
        ({"pods": 2}, ["best-effort", "small"]),
        ({"memory": 2 * 2**30, "cpu": 500}, ["large"]),
    ],
)
def test_the_pods_nearest_to_what_is_missing_end(missing: dict[str, int], ended: list[str]) -> None:
    """Source: getPodsToPreempt, getPodsToPreemptByDistance."""
    found = get_pods_to_preempt(PREEMPTOR, RUNNING, missing, RELEASE)
    assert [one.metadata.name for one in found] == ended


def test_where_all_pods_together_are_too_small_nothing_ends() -> None:
    with pytest.raises(PreemptionError, match=r"found to reclaim resources: \[\(res: cpu, q: 1\), \]"):
        get_pods_to_preempt(PREEMPTOR, RUNNING, {"cpu": 3501}, RELEASE)


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        (CRITICAL, None, True),
        (CRITICAL, CRITICAL, False),
        (CRITICAL + 1, CRITICAL, True),
        (2, 1, True),
        (1, 1, False),
        (1, 2, False),
        (1, None, False),
    ],
)
def test_a_pod_ends_less_important_ones_only(mine: int, other: int | None, expected: bool) -> None:
    """Source: kubelet types.Preemptable."""
    assert preemptable(pod("a", {}, priority=mine), pod("b", {}, priority=other)) is expected


def test_the_distance_is_the_sum_of_the_squares_of_the_missing_parts() -> None:
    """Source: admissionRequirement.distance. Of (60%, 60%) and (80%, nothing) the latter is nearer: 0.64, not 0.72."""
    both, memory = pod("both", {"cpu": "400m", "memory": "400"}), pod("memory", {"cpu": "200m", "memory": "1000"})
    cpu = pod("cpu", {"cpu": "900m"})
    found = get_pods_to_preempt(PREEMPTOR, [both, memory, cpu], {"cpu": 1000, "memory": 1000}, RELEASE)
    assert sorted(one.metadata.name for one in found) == ["cpu", "memory"]


def test_of_equally_near_pods_the_smaller_one_ends() -> None:
    big = pod("big", {"cpu": "1", "memory": "2Gi"})
    small = pod("small", {"cpu": "1", "memory": "1Gi"})
    for running in ([big, small], [small, big]):
        found = get_pods_to_preempt(PREEMPTOR, running, {"cpu": 1000}, RELEASE)
        assert [one.metadata.name for one in found] == ["small"]
