"""What a vertical pod autoscaler would request: a high percentile of what was used, and a margin on top.

    cpu_recommendation([200] * 60)       # 60 samples of 200 milli-CPU each
    Recommendation(lower=…, target=…, upper=…)

Samples fall into buckets that grow by 5%; each weighs as much as was requested when it was taken, and half as much a
day later. The request follows the use, while a horizontal autoscaler divides the use by the request: the two must not
look at the same resource.

Source: vertical-pod-autoscaler pkg/recommender/util (NewExponentialHistogramOptions, histogram Percentile),
model/aggregate_container_state, logic/recommender CreatePodResourceRecommender.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

FIRST_BUCKET = 10.0
"""Milli-CPU."""
GROWTH = 0.05
"""Each bucket is so much wider than the one before."""
LAST_BUCKET = 1_000_000.0
HALF_LIFE = 24 * 3600.0
"""Seconds after which a sample weighs half."""
MIN_WEIGHT = 100.0
"""Milli-CPU that a sample weighs at least."""
MARGIN = 1.15
"""--recommendation-margin-fraction."""
LEAST = 25.0
"""--pod-recommendation-min-cpu-millicores."""
PERCENTILES = (0.5, 0.9, 0.95)
"""Of the lower bound, the target and the upper bound."""


class Recommendation(NamedTuple):
    """Milli-CPU to request: lower bound, target, upper bound, before their widening for a short history."""

    lower: float
    target: float
    upper: float


def cpu_recommendation(
    samples: Iterable[float], *, request: float = MIN_WEIGHT, every: float = 60.0, containers: int = 1
) -> Recommendation:
    """What to request after these samples.

    Args:
        samples: milli-CPU used, the oldest first.
        request: milli-CPU that was requested meanwhile.
        every: seconds between two samples.
        containers: of the pod; the least recommendation is divided among them.
    """
    weights: dict[int, float] = {}
    for number, used in enumerate(samples):
        weight = max(request, MIN_WEIGHT) * 2 ** (number * every / HALF_LIFE)
        place = bucket_of(used)
        weights[place] = weights.get(place, 0.0) + weight
    found = (percentile(weights, one) * MARGIN for one in PERCENTILES)
    return Recommendation(*(round(max(one, LEAST / containers), 3) for one in found))


def bucket_start(bucket: int) -> float:
    """Milli-CPU at which a bucket begins: the first widths summed up. Source: exponentialHistogramOptions."""
    return FIRST_BUCKET * ((1 + GROWTH) ** bucket - 1) / GROWTH


def bucket_of(used: float) -> int:
    """The bucket of a sample."""
    if used < FIRST_BUCKET:
        return 0
    found = math.floor(math.log(used * GROWTH / FIRST_BUCKET + 1, 1 + GROWTH))
    return min(found, bucket_of(LAST_BUCKET - 1) + 1 if used >= LAST_BUCKET else found)


def percentile(weights: dict[int, float], part: float) -> float:
    """The end of the bucket in which so large a part of the weight is reached; 0 without samples."""
    threshold, reached = part * sum(weights.values()), 0.0
    for bucket in sorted(weights):
        reached += weights[bucket]
        if reached >= threshold:
            return bucket_start(bucket + 1)
    return 0.0
