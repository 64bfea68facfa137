"""Eviction thresholds: how they are read, and when they are met."""

import pytest

from kitlib.api.release import Release
from kitlib.kubelet.eviction.thresholds import (
    Observation,
    ThresholdError,
    node_conditions,
    parse_threshold_config,
    thresholds_met,
    without_huge_pages,
)


def test_a_soft_threshold_has_its_grace_period_and_the_hard_memory_one_a_twin():
    found = parse_threshold_config(
        ["pods"],
        {"memory.available": "100Mi", "nodefs.available": "0%"},
        {"memory.available": "10%"},
        {"memory.available": "1m30s"},
        {"memory.available": "50Mi"},
    )
    assert [(t.signal, t.grace_period, str(t.value)) for t in found] == [
        ("memory.available", 0, "100Mi"),
        ("memory.available", 90, "10%"),
        ("allocatableMemory.available", 0, "100Mi"),
    ]


def test_minimum_reclaim_keeps_an_eviction_going():
    thresholds = parse_threshold_config((), {"memory.available": "100Mi"}, min_reclaim={"memory.available": "50Mi"})
    seen = {"memory.available": Observation(120 * 2**20, 2**30)}
    assert not thresholds_met(thresholds, seen)
    going_on = thresholds_met(thresholds, seen, min_reclaim=True)
    assert node_conditions(going_on) == ["MemoryPressure"]


def test_a_soft_threshold_without_a_grace_period_is_refused():
    with pytest.raises(ThresholdError, match="grace period must be specified for the soft eviction threshold"):
        parse_threshold_config((), {}, {"memory.available": "1Gi"})


@pytest.mark.parametrize(
    ("release", "huge", "available", "capacity"),
    [
        ("1.36", 2, 5, 8),
        ("1.37", 0, 5, 8),
        ("1.37", 2, 3, 6),
        ("1.37", 7, 0, 3),
    ],
)
def test_huge_pages_are_no_available_memory(release: str, huge: int, available: int, capacity: int) -> None:
    gi = 2**30
    seen = {"memory.available": Observation(5 * gi, 8 * gi), "pid.available": Observation(1, 2)}
    found = without_huge_pages(seen, huge * gi, Release(release))
    assert found["memory.available"] == Observation(available * gi, capacity * gi)
    assert found["pid.available"] == (1, 2)


@pytest.mark.parametrize(
    ("threshold", "reclaim", "available", "met"),
    [
        ("100Mi", "", 100 * 2**20, False),
        ("100Mi", "", 100 * 2**20 - 1, True),
        ("25%", "", 2**28, False),
        ("25%", "", 2**28 - 1, True),
        ("100Mi", "50Mi", 150 * 2**20, False),
        ("100Mi", "50Mi", 150 * 2**20 - 1, True),
    ],
)
def test_a_threshold_is_met_below_its_line_and_not_at_it(threshold, reclaim, available, met):
    """Source: kubelet eviction.thresholdsMet: `thresholdMet = thresholdResult > 0`, strictly less available."""
    thresholds = parse_threshold_config(
        (), {"memory.available": threshold}, min_reclaim={"memory.available": reclaim} if reclaim else {}
    )
    seen = {"memory.available": Observation(available, 2**30)}
    assert bool(thresholds_met(thresholds, seen, min_reclaim=bool(reclaim))) is met


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.0%", ""),
        ("100.0%", ""),
        ("-1%", "must be >= 0%"),
        ("101%", "must be <= 100%"),
        ("0", "must be positive: 0"),
        ("-1", "must be positive: -1"),
        ("1", ""),
    ],
)
def test_what_a_threshold_may_be(text, problem):
    """Source: kubelet eviction.parseThresholdStatement."""
    if not problem:
        (found,) = parse_threshold_config((), {"memory.available": text})
        assert found.hard
        return
    with pytest.raises(ThresholdError, match=problem):
        parse_threshold_config((), {"memory.available": text})


@pytest.mark.parametrize(
    ("text", "problem"),
    [("0%", "must be positive: 0%"), ("1%", ""), ("-1Mi", "negative eviction minimum reclaim"), ("0", "")],
)
def test_what_a_minimum_reclaim_may_be(text, problem):
    """Source: kubelet eviction.parseMinimumReclaims."""
    if not problem:
        assert parse_threshold_config((), {"memory.available": "1Gi"}, min_reclaim={"memory.available": text})
        return
    with pytest.raises(ThresholdError, match=problem):
        parse_threshold_config((), {"memory.available": "1Gi"}, min_reclaim={"memory.available": text})
