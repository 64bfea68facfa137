"""The grace periods of a machine's shutdown: groups of pods, and the kubelet's messages."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.config.settings import SettingsError
from kitlib.kubelet.config.shutdown import group_by_priority, shutdown_periods

RELEASE = Release.of("1.36")
TWO = {"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}
BY_PRIORITY = [
    {"priority": 100000, "shutdownGracePeriodSeconds": 10},
    {"priority": 10000, "shutdownGracePeriodSeconds": 180},
    {"priority": 0, "shutdownGracePeriodSeconds": 60},
]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        (TWO, [(0, 20), (2_000_000_000, 10)]),
        ({"shutdownGracePeriod": "1m"}, [(0, 60), (2_000_000_000, 0)]),
        ({"shutdownGracePeriodByPodPriority": BY_PRIORITY}, [(0, 60), (10000, 180), (100000, 10)]),
    ],
    ids=["none", "two periods", "critical pods get nothing", "by priority, sorted"],
)
def test_periods_by_rising_priority(settings: dict[str, Any], expected: list[tuple[int, int]]) -> None:
    assert shutdown_periods(read_settings(settings, release=RELEASE), RELEASE) == expected


def test_a_pod_belongs_to_the_period_at_or_below_its_priority() -> None:
    """Source: nodeshutdown groupByPriority, its three rules on boundaries."""
    periods = shutdown_periods(read_settings({"shutdownGracePeriodByPodPriority": BY_PRIORITY}), RELEASE)
    pods = [-5, 0, 9999, 10000, 99999, 100000, 2_000_001_000]
    groups = group_by_priority(periods, pods, lambda priority: priority)
    assert [members for _, members in groups] == [[-5, 0, 9999], [10000, 99999], [100000, 2_000_001_000]]


_BOTH = "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "1.36",
        {"shutdownGracePeriod": "1s", "shutdownGracePeriodCriticalPods": "2s"},
        "shutdownGracePeriodCriticalPods {2s} must be <= shutdownGracePeriod {1s}",
    ),
    ("1.36", {"shutdownGracePeriod": "1ms"}, "shutdownGracePeriod {1ms} must be either zero or otherwise >= 1 sec"),
    ("1.36", {**TWO, "shutdownGracePeriodByPodPriority": BY_PRIORITY}, _BOTH),
    (
        "1.36",
        {**TWO, "featureGates": {"GracefulNodeShutdown": False}},
        "specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown",
    ),
    (
        "1.23",
        {"shutdownGracePeriodByPodPriority": BY_PRIORITY},
        "Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority",
    ),
]


@pytest.mark.parametrize(("release", "settings", "message"), REFUSED)
def test_the_kubelet_does_not_start_with_wrong_periods(release: str, settings: dict[str, Any], message: str) -> None:
    """Source: ValidateKubeletConfiguration and its table of tests."""
    with pytest.raises(SettingsError) as caught:
        read_settings(settings, release=Release.of(release))
    assert caught.value.problems == [f"invalid configuration: {message}"]
