"""Garbage collection of images: if their disk is full, unused images are removed, the longest unused first.

Every five minutes: if at least `imageGCHighThresholdPercent` of the images' file system is in use, unused images are
removed until the usage is `imageGCLowThresholdPercent`; an image younger than `imageMinimumGCAge` is kept. With
`imageMaximumGCAge` old unused images are removed regardless of the usage, under disk pressure all unused images.

Source: kubelet images realImageGCManager (detectImages, GarbageCollect, freeOldImages, freeSpace, DeleteUnusedImages);
KEP-4210.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.thresholds import Observation

EVERY = 300.0
"""Seconds between two collections. Source: kubelet ImageGCPeriod."""
DETECT_EVERY = 300.0
"""Seconds between two detections of the images in use. Source: realImageGCManager.Start."""


class Image(NamedTuple):
    """An image on the node: its name, its size in bytes, and whether the runtime excludes it from collection."""

    name: str
    size: int
    pinned: bool = False


@dataclass
class ImageRecord:
    """The kubelet's record of an image; times in seconds on the node's clock, minus infinity = never in use."""

    image: Image
    first_detected: float
    last_used: float = float("-inf")


@dataclass(frozen=True)
class Collected:
    """The result of one collection.

    Attributes:
        removed: the removed images, each with the reason `space` or `age`.
        to_free, freed: the bytes to free, and the freed bytes; 0 below the high threshold.
        used: the usage of the file system before, in percent.
        capacity: its size in bytes.
    """

    removed: tuple[tuple[Image, str], ...] = ()
    to_free: int = 0
    freed: int = 0
    used: int = 0
    capacity: int = 0

    def problem(self, release: Release) -> str:
        """Return the message of a failed collection; "" = it succeeded."""
        if self.freed >= self.to_free:
            return ""
        size = format_size(self.capacity)
        return release.text("image_gc_failed").format(
            to_free=self.to_free, freed=self.freed, used=self.used, capacity=size
        )


def format_size(size: int) -> str:
    """Return a size as `12 B`, `1.5 KiB` or, from 1 TiB, `2.0 TiB`. Source: formatSize."""
    if size < 1024:
        return f"{size} B"
    power = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**power:.1f} {'KMGT'[power - 1]}iB"


@dataclass
class ImageGC:
    """Records the age and the last use of images, and selects the images to remove.

    Args:
        settings: the kubelet's settings.
        began: the start of the kubelet, in seconds on the node's clock.

    Attributes:
        records: image name -> its record.
    """

    settings: KubeletSettings
    began: float = 0.0
    records: dict[str, ImageRecord] = field(default_factory=dict)

    @property
    def off(self) -> bool:
        """Whether the periodic collection is disabled. Source: Kubelet.StartGarbageCollection."""
        return self.settings.image_gc_high_threshold_percent == 100 and not self.settings.image_maximum_gc_age

    def detect(self, now: float, images: Iterable[Image], in_use: Collection[str]) -> None:
        """Record which images exist and which are in use now."""
        known = {image.name: image for image in images}
        for name, image in known.items():
            record = self.records.setdefault(name, ImageRecord(image, now))
            record.image = image
            if name in in_use:
                record.last_used = now
        self.records = {name: record for name, record in self.records.items() if name in known}

    def collect(
        self,
        now: float,
        images: Iterable[Image],
        in_use: Collection[str],
        disk: Observation,
        remove: Callable[[Image], None],
    ) -> Collected:
        """Run one collection.

        Args:
            now: seconds on the node's clock.
            images: the images on the node.
            in_use: the names of the images of all containers, including dead ones.
            disk: the images' file system, before the collection.
            remove: removes an image.
        """
        self.detect(now, images, in_use)
        removed: list[tuple[Image, str]] = []
        available = min(disk.available, disk.capacity)
        age = self.settings.image_maximum_gc_age
        # The kubelet does not persist when an image was last used: after its start every unused image would seem to be
        # too old, so it waits for the maximum age first.
        if age and now - self.began > age:
            for record in self._unused(in_use):
                if now - record.last_used > age:
                    self._remove(record, remove)
                    removed.append((record.image, "age"))
                    available += record.image.size
        # The integer division rounds the free part down, so the usage is rounded up, as in Go.
        used = 100 - available * 100 // disk.capacity
        if used < self.settings.image_gc_high_threshold_percent:
            return Collected(tuple(removed))
        wanted = disk.capacity * (100 - self.settings.image_gc_low_threshold_percent) // 100 - available
        gone = self._free(now, wanted, in_use, remove)
        freed = sum(one.size for one in gone)
        return Collected((*removed, *((image, "space") for image in gone)), wanted, freed, used, disk.capacity)

    def delete_unused(
        self, now: float, images: Iterable[Image], in_use: Collection[str], remove: Callable[[Image], None]
    ) -> list[Image]:
        """Remove all unused images that are old enough, for the eviction manager. Source: DeleteUnusedImages."""
        self.detect(now, images, in_use)
        return self._free(now, None, in_use, remove)

    def _unused(self, in_use: Collection[str]) -> list[ImageRecord]:
        """Return the unused images, the longest unused first, then the first detected.

        Source: imagesInEvictionOrder.
        """
        free = [r for name, r in self.records.items() if name not in in_use and not r.image.pinned]
        return sorted(free, key=lambda record: (record.last_used, record.first_detected))

    def _free(
        self, now: float, wanted: int | None, in_use: Collection[str], remove: Callable[[Image], None]
    ) -> list[Image]:
        """Remove images until `wanted` bytes are freed; None = all unused ones. Source: freeSpace."""
        gone: list[Image] = []
        for record in self._unused(in_use):
            if now - record.first_detected < self.settings.image_minimum_gc_age:
                continue  # it may have been pulled for a container that has not started yet
            self._remove(record, remove)
            gone.append(record.image)
            if wanted is not None and sum(image.size for image in gone) >= wanted:
                break
        return gone

    def _remove(self, record: ImageRecord, remove: Callable[[Image], None]) -> None:
        remove(record.image)
        del self.records[record.image.name]
