"""CPU requests that a vertical pod autoscaler recommends: a high percentile of the usage, and a margin on top.

    cpu_recommendation([200] * 60)       # 60 samples of 200 milli-CPU each
    Recommendation(lower=…, target=…, upper=…)

Samples fall into histogram buckets that grow by 5%. The weight of a sample is the request at its time, and halves every
day. The request follows the usage, while a horizontal autoscaler divides the usage by the request: the two must not
scale on the same resource.

Source: vertical-pod-autoscaler pkg/recommender/util (NewExponentialHistogramOptions, histogram Percentile),
model/aggregate_container_state, logic/recommender CreatePodResourceRecommender.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

FIRST_BUCKET = 10.0
"""Width of the first bucket in milli-CPU."""
GROWTH = 0.05
"""Growth of a bucket's width over the previous one's."""
LAST_BUCKET = 1_000_000.0
HALF_LIFE = 24 * 3600.0
"""Seconds after which a sample weighs half."""
MIN_WEIGHT = 100.0
"""Minimum weight of a sample in milli-CPU."""
MARGIN = 1.15
"""--recommendation-margin-fraction."""
LEAST = 25.0
"""--pod-recommendation-min-cpu-millicores."""
PERCENTILES = (0.5, 0.9, 0.95)
"""Percentiles of the lower bound, the target and the upper bound, 0 to 1."""


class Recommendation(NamedTuple):
    """A recommended request in milli-CPU: lower bound, target, upper bound, not widened for a short history."""

    lower: float
    target: float
    upper: float


def cpu_recommendation(
    samples: Iterable[float], *, request: float = MIN_WEIGHT, every: float = 60.0, containers: int = 1
) -> Recommendation:
    """Return the recommended request after a series of samples.

    Args:
        samples: usage in milli-CPU, the oldest first.
        request: request in milli-CPU at the time of the samples.
        every: seconds between two samples.
        containers: number of containers of the pod; the minimum recommendation is divided among them.
    """
    weights: dict[int, float] = {}
    for number, used in enumerate(samples):
        # Newer samples weigh more instead of older ones less, as in the decaying histogram: only the ratio matters.
        weight = max(request, MIN_WEIGHT) * 2 ** (number * every / HALF_LIFE)
        place = bucket_of(used)
        weights[place] = weights.get(place, 0.0) + weight
    found = (percentile(weights, one) * MARGIN for one in PERCENTILES)
    return Recommendation(*(round(max(one, LEAST / containers), 3) for one in found))


def bucket_start(bucket: int) -> float:
    """Return the start of a bucket in milli-CPU: the sum of the widths before it.

    Source: exponentialHistogramOptions.
    """
    return FIRST_BUCKET * ((1 + GROWTH) ** bucket - 1) / GROWTH


def bucket_of(used: float) -> int:
    """Return the index of a sample's bucket, from 0."""
    if used < FIRST_BUCKET:
        return 0
    found = math.floor(math.log(used * GROWTH / FIRST_BUCKET + 1, 1 + GROWTH))
    return min(found, bucket_of(LAST_BUCKET - 1) + 1 if used >= LAST_BUCKET else found)


def percentile(weights: dict[int, float], part: float) -> float:
    """Return the end, in milli-CPU, of the bucket that reaches a share of the total weight; 0 without samples.

    Args:
        weights: weight by bucket.
        part: the percentile as a share, 0 to 1.
    """
    threshold, reached = part * sum(weights.values()), 0.0
    for bucket in sorted(weights):
        reached += weights[bucket]
        if reached >= threshold:
            return bucket_start(bucket + 1)
    return 0.0
