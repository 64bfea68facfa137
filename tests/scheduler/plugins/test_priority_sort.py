"""PrioritySort: the order of the queue."""

from __future__ import annotations

from kitlib.scheduler.plugins.priority_sort import PrioritySort


def test_the_higher_priority_comes_first_and_then_the_longer_wait() -> None:
    """Source: queuesort Less."""
    pods = {"late": (5, 2.0), "early": (5, 1.0), "high": (9, 9.0), "negative": (-1, 0.0), "none": (0, 3.0)}
    ordered = sorted(pods, key=lambda name: PrioritySort.key(*pods[name]))
    assert ordered == ["high", "early", "late", "none", "negative"]
