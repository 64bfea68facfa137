"""ImageLocality: a node scores higher if it has the pod's images, the more so the larger and more widespread they are.

Source: plugins/imagelocality.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, Affected, Context, Plugin, Reads, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Rows

MB = 1024 * 1024
MIN_THRESHOLD = 23 * MB
MAX_CONTAINER_THRESHOLD = 1000 * MB


class ImageLocality(Plugin):
    """The plugin that scores nodes by the sizes of images, each scaled by the share of the nodes that have the image.

    The scaling keeps pods from crowding on the few nodes that have an image.
    """

    name = "ImageLocality"
    reads = Reads.ALL_BUT_AMOUNTS

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return []

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        table = context.snapshot
        containers = info.pod.spec.containers
        if context.release.enabled("KitImageLocalityCountsInit"):
            containers = [*info.pod.spec.init_containers, *containers]
        sums = np.zeros(len(table), np.int64)
        spread = table.image_spread()
        for container in containers:
            found = spread.get(normalized(container.image), {})
            share = len(found) / max(len(table), 1)
            for row, size in found.items():
                sums[row] += int(float(size) * share)  # in floats and truncated. Source: scaledImageScore
        highest = MAX_CONTAINER_THRESHOLD * len(containers)
        clipped = np.clip(sums[rows], MIN_THRESHOLD, highest)
        return MAX_NODE_SCORE * (clipped - MIN_THRESHOLD) // (highest - MIN_THRESHOLD)


def normalized(image: str) -> str:
    """Return an image's name with its tag, `:latest` by default. Source: normalizedImageName."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
