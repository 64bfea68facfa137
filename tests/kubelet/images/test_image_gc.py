"""Images that are collected: only unused ones, the longest unused first, as many as the thresholds ask for."""

from __future__ import annotations

import pytest

from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.images.image_gc import Collected, Image, ImageGC, format_size

IMAGES = [Image("a", 10), Image("b", 10), Image("c", 10), Image("pinned", 10, pinned=True)]
SETTINGS = KubeletSettings(
    image_gc_high_threshold_percent=80, image_gc_low_threshold_percent=60, image_minimum_gc_age=120
)


def collected(available: int, now: float = 1000, settings: KubeletSettings = SETTINGS) -> tuple[Collected, list[str]]:
    """What is removed on a disk of 100 bytes: `c` is in use, `b` was in use until 500, `a` never."""
    manager, removed = ImageGC(settings), []
    manager.detect(0, IMAGES, {"b", "c"})
    manager.detect(500, IMAGES, {"b", "c"})
    disk = Observation(available, 100)
    found = manager.collect(now, IMAGES, {"c"}, disk, lambda image: removed.append(image.name))
    return found, removed


@pytest.mark.parametrize(
    ("available", "removed", "problem"),
    [
        (21, [], ""),
        (20, ["a", "b"], ""),
        (15, ["a", "b"], "Failed to garbage collect required amount of images. Attempted to free 25 bytes, but only "
         "found 20 bytes eligible to free."),
    ],
    ids=["79% is below the high threshold", "80% is at it", "more was to be freed than is unused"],
)  # fmt: skip
def test_unused_images_go_until_the_low_threshold_is_reached(available: int, removed: list[str], problem: str) -> None:
    found, gone = collected(available)
    assert (gone, found.problem(Release.of("1.33"))) == (removed, problem)
    assert [reason for _, reason in found.removed] == ["space"] * len(removed)


def test_since_1_34_the_message_names_the_usage_of_the_disk() -> None:
    """Source: realImageGCManager.GarbageCollect of 1.36.2; kubernetes#71869."""
    text = (
        "Insufficient free disk space on the node's image filesystem (85% of 100 B used). Failed to free sufficient "
        "space by deleting unused images (freed 20 bytes). Investigate disk usage, as it could be used by active "
        "images, logs, volumes, or other data."
    )
    assert collected(15)[0].problem(Release.of("1.34")) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 2**20, "1.5 GiB"), (2**40, "1.0 TiB"), (2**51, "2048.0 TiB")],
)
def test_sizes_in_the_message(size: int, text: str) -> None:
    assert format_size(size) == text


def test_no_more_is_removed_than_the_low_threshold_needs() -> None:
    settings = KubeletSettings(image_gc_high_threshold_percent=80, image_gc_low_threshold_percent=70)
    assert collected(20, settings=settings)[1] == ["a"]


@pytest.mark.parametrize(("now", "removed"), [(119.0, []), (120.0, ["a", "b"])])
def test_an_image_younger_than_the_minimum_age_stays(now: float, removed: list[str]) -> None:
    manager, gone = ImageGC(SETTINGS), []
    manager.detect(0, IMAGES, {"c"})
    manager.collect(now, IMAGES, {"c"}, Observation(20, 100), lambda image: gone.append(image.name))
    assert gone == removed


@pytest.mark.parametrize(("now", "removed"), [(600, ["a"]), (800, ["a"]), (801, ["a", "b"])])
def test_an_image_unused_for_longer_than_the_maximum_age_goes_whatever_room_there_is(
    now: float, removed: list[str]
) -> None:
    settings = KubeletSettings(image_maximum_gc_age=300)
    found, gone = collected(90, now, settings)
    assert gone == removed and {reason for _, reason in found.removed} == {"age"}


def test_under_disk_pressure_all_unused_images_go_and_no_pinned_one() -> None:
    manager, gone = ImageGC(SETTINGS), []
    manager.detect(0, IMAGES, {"c"})
    manager.delete_unused(200, IMAGES, {"c"}, lambda image: gone.append(image.name))
    assert gone == ["a", "b"] and set(manager.records) == {"c", "pinned"}


@pytest.mark.parametrize(("high", "age", "off"), [(100, 0, True), (99, 0, False), (100, 1, False)])
def test_it_is_off_at_100_percent_without_a_maximum_age(high: int, age: int, off: bool) -> None:
    assert ImageGC(KubeletSettings(image_gc_high_threshold_percent=high, image_maximum_gc_age=age)).off is off
