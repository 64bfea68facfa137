"""Which images the kubelet removes: those that no container uses, the longest unused first, when their disk is full.

Every five minutes: where `imageGCHighThresholdPercent` of the images' file system is in use, enough unused images go to
come down to `imageGCLowThresholdPercent`; one that is younger than `imageMinimumGCAge` stays. With `imageMaximumGCAge`
unused images go when they are old, however much room there is. Under disk pressure all unused ones go.

Source: kubelet images realImageGCManager (detectImages, GarbageCollect, freeOldImages, freeSpace, DeleteUnusedImages);
KEP-4210.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.thresholds import Observation

EVERY = 300.0
"""Seconds between two collections. Source: kubelet ImageGCPeriod."""
DETECT_EVERY = 300.0
"""Seconds between two looks at which images are in use. Source: realImageGCManager.Start."""


class Image(NamedTuple):
    """An image on the node: its name, bytes, and whether the runtime keeps it from being collected."""

    name: str
    size: int
    pinned: bool = False


@dataclass
class ImageRecord:
    """What the kubelet remembers of an image, seconds on the node's clock; minus infinity = it was never in use."""

    image: Image
    first_detected: float
    last_used: float = float("-inf")


@dataclass(frozen=True)
class Collected:
    """What one collection did.

    Attributes:
        removed: images and the reason, `space` or `age`.
        to_free, freed: bytes that were to be freed, and that were; 0 where there was room enough.
    """

    removed: tuple[tuple[Image, str], ...] = ()
    to_free: int = 0
    freed: int = 0

    @property
    def problem(self) -> str:
        """Why it has failed; "" = it has not."""
        if self.freed >= self.to_free:
            return ""
        return (
            "Failed to garbage collect required amount of images. Attempted to free "
            f"{self.to_free} bytes, but only found {self.freed} bytes eligible to free."
        )


@dataclass
class ImageGC:
    """Remembers since when images are there and unused, and picks those that go.

    Args:
        settings: the kubelet's.
        began: when the kubelet started, seconds.

    Attributes:
        records: image name -> what is known of it.
    """

    settings: KubeletSettings
    began: float = 0.0
    records: dict[str, ImageRecord] = field(default_factory=dict)

    @property
    def off(self) -> bool:
        """Whether it never collects of its own accord. Source: Kubelet.StartGarbageCollection."""
        return self.settings.image_gc_high_threshold_percent == 100 and not self.settings.image_maximum_gc_age

    def detect(self, now: float, images: Iterable[Image], in_use: Collection[str]) -> None:
        """Take note of what is there, and what is in use now."""
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
        """One collection.

        Args:
            now: seconds.
            images: on the node.
            in_use: names of those that a container has, be it a dead one.
            disk: the file system that holds images, before the collection.
            remove: does it.
        """
        self.detect(now, images, in_use)
        removed: list[tuple[Image, str]] = []
        available = min(disk.available, disk.capacity)
        age = self.settings.image_maximum_gc_age
        if age and now - self.began > age:
            for record in self._unused(in_use):
                if now - record.last_used > age:
                    self._remove(record, remove)
                    removed.append((record.image, "age"))
                    available += record.image.size
        used = 100 - available * 100 // disk.capacity
        if used < self.settings.image_gc_high_threshold_percent:
            return Collected(tuple(removed))
        wanted = disk.capacity * (100 - self.settings.image_gc_low_threshold_percent) // 100 - available
        gone = self._free(now, wanted, in_use, remove)
        return Collected((*removed, *((image, "space") for image in gone)), wanted, sum(one.size for one in gone))

    def delete_unused(
        self, now: float, images: Iterable[Image], in_use: Collection[str], remove: Callable[[Image], None]
    ) -> list[Image]:
        """Remove all unused images that are old enough; for the eviction manager. Source: DeleteUnusedImages."""
        self.detect(now, images, in_use)
        return self._free(now, None, in_use, remove)

    def _unused(self, in_use: Collection[str]) -> list[ImageRecord]:
        """The longest unused first, of these the one that is there the longest. Source: imagesInEvictionOrder."""
        free = [r for name, r in self.records.items() if name not in in_use and not r.image.pinned]
        return sorted(free, key=lambda record: (record.last_used, record.first_detected))

    def _free(
        self, now: float, wanted: int | None, in_use: Collection[str], remove: Callable[[Image], None]
    ) -> list[Image]:
        """Remove until so many bytes are free; None = all that may go. Source: freeSpace."""
        gone: list[Image] = []
        for record in self._unused(in_use):
            if now - record.first_detected < self.settings.image_minimum_gc_age:
                continue  # it may just have been pulled for a container that starts in a moment
            self._remove(record, remove)
            gone.append(record.image)
            if wanted is not None and sum(image.size for image in gone) >= wanted:
                break
        return gone

    def _remove(self, record: ImageRecord, remove: Callable[[Image], None]) -> None:
        remove(record.image)
        del self.records[record.image.name]
