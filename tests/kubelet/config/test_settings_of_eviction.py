"""Settings of eviction: each is seen to do something."""

from __future__ import annotations

import pytest

from tests.kubelet.config.settings_seen import (
    ALL,
    HOG,
    QUIET,
    SMALL,
    SOFT,
    Row,
    after,
    allocatable,
    check,
    grace,
    names,
    phases,
    pod,
    pressure,
    status,
)

ROWS = [
    Row(
        "eviction_hard",
        ["--eviction-hard=memory.available<1Gi"],
        ALL,
        allocatable("memory"),
        "8092Mi",
        "7Gi",
    ),
    Row(
        "eviction_hard",
        ["--eviction-hard=memory.available<500Mi"],
        [HOG],
        after(30, status("hog")),
        "Running",
        "Evicted",
        machine=SMALL,
    ),
    Row("eviction_soft", SOFT, [HOG], after(60, status("hog")), "Running", "Evicted", QUIET, SMALL),
    Row(
        "eviction_soft_grace_period",
        ["--eviction-soft-grace-period=memory.available=10m"],
        [HOG],
        after(60, status("hog")),
        "Evicted",
        "Running",
        [*QUIET, *SOFT],
        SMALL,
    ),
    Row(
        "eviction_minimum_reclaim",
        ["--eviction-minimum-reclaim=memory.available=300Mi"],
        [pod(f"p{i}", "memory=250Mi") for i in range(3)],
        after(60, phases),
        (2, "Evicted"),
        (1, "Evicted"),
        ["--eviction-hard=memory.available<300Mi"],
        SMALL,
    ),
    Row(
        "eviction_pressure_transition_period",
        ["--eviction-pressure-transition-period=20s"],
        [HOG],
        after(120, pressure),
        "True",
        "False",
        ["--eviction-hard=memory.available<500Mi"],
        SMALL,
    ),
    Row(
        "node_status_update_frequency",
        ["--node-status-update-frequency=1m"],
        [HOG],
        after(30, pressure),
        "True",
        "False",
        ["--eviction-hard=memory.available<500Mi"],
        SMALL,
    ),
    Row(
        "eviction_max_pod_grace_period",
        ["--eviction-max-pod-grace-period=7"],
        [HOG],
        after(60, grace),
        ["grace 2 s"],
        ["grace 7 s"],
        [*QUIET, *SOFT],
        SMALL,
    ),
    Row(
        "merge_default_eviction_settings",
        {"mergeDefaultEvictionSettings": True},
        ALL,
        allocatable("memory"),
        "8Gi",
        "8092Mi",
        {"evictionHard": {"nodefs.available": "5%"}},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_setting_changes_what_is_seen(row: Row) -> None:
    check(row)
