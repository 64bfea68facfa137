"""Settings of image and container garbage collection: each is seen to do something."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.kubelet.app.read import read_settings
from tests.kubelet.config.settings_seen import QUIET, Row, after, check, dead, images, names, pod

ROOMY = {"ephemeral_storage": "10Gi", "images": {"old:1": "2Gi", "x": "1Gi", "spare:1": "1Gi"}}
FULL = {"ephemeral_storage": "10Gi", "images": {"old:1": "4Gi", "x": "3Gi", "spare:1": "2Gi"}}
RUNS = [pod("runs")]
FAILS = [pod("fails", "1s exit=1"), pod("fails-too", "1s exit=1")]
"""Restarted after 0, 10, 20 and 40 seconds: each has left four dead instances after a minute."""
MANY = "--maximum-dead-containers-per-container=9"

ROWS = [
    Row(
        "image_gc_high_threshold_percent",
        ["--image-gc-high-threshold=40", "--image-gc-low-threshold=30"],
        RUNS,
        after(301, images),
        ["old:1", "spare:1", "x"],
        ["spare:1", "x"],
        QUIET,
        ROOMY,
    ),
    Row(
        "image_gc_low_threshold_percent",
        ["--image-gc-low-threshold=20"],
        RUNS,
        after(301, images),
        ["spare:1", "x"],
        ["x"],
        [*QUIET, "--image-gc-high-threshold=85"],
        FULL,
    ),
    Row(
        "image_minimum_gc_age",
        ["--minimum-image-ttl-duration=10m"],
        RUNS,
        after(301, images),
        ["spare:1", "x"],
        ["old:1", "spare:1", "x"],
        QUIET,
        FULL,
    ),
    Row(
        "image_maximum_gc_age",
        {"imageMaximumGCAge": "5m"},
        RUNS,
        after(601, images),
        ["old:1", "spare:1", "x"],
        ["x"],
        {"evictionHard": {"memory.available": "0%"}},
        ROOMY,
    ),
    Row("maximum_dead_containers_per_container", [MANY], FAILS, after(59, dead), 2, 8),
    Row("maximum_dead_containers", ["--maximum-dead-containers=1"], FAILS, after(61, dead), 8, 1, [MANY]),
    Row(
        "minimum_container_ttl_duration",
        ["--minimum-container-ttl-duration=10m"],
        FAILS,
        after(61, dead),
        2,
        8,
        [MANY, "--maximum-dead-containers=2"],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_setting_changes_what_is_seen(row: Row) -> None:
    check(row)


def test_a_greatest_age_of_images_needs_its_gate_until_it_is_always_there() -> None:
    wanted = {"imageMaximumGCAge": "1h"}
    with pytest.raises(KitError, match="ImageMaximumGCAge feature gate is required for Kubelet configuration option"):
        read_settings(wanted, release=Release("1.29"))
    assert read_settings(wanted, release=Release("1.30")).image_maximum_gc_age == 3600
