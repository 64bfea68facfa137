"""Eviction thresholds: how they are read, and when they are met."""

import pytest

from kitlib.kubelet.eviction.thresholds import (
    Observation,
    ThresholdError,
    node_conditions,
    parse_threshold_config,
    thresholds_met,
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
