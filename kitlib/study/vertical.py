"""Requests that a vertical pod autoscaler recommends: a high percentile of the usage, and a margin on top.

    cpu_recommendation([200] * 60)       # 60 samples of 200 milli-CPU each
    memory_recommendation([300 * 2**20]) # the peak of one day, in bytes
    Recommendation(lower=…, target=…, upper=…)

Samples fall into histogram buckets that grow by 5%. A sample of CPU weighs as much as the request at its time, a daily
peak of memory weighs 1, and both halve every day. The request follows the usage, while a horizontal autoscaler divides
the usage by the request: the two must not scale on the same resource. `kitlib.advisor.vertical` carries recommendations
out on a copy of a cluster.

Source: vertical-pod-autoscaler pkg/recommender/util (NewExponentialHistogramOptions, histogram Percentile),
model/aggregations_config, aggregate_container_state, container RecordOOM, logic/recommender
CreatePodResourceRecommender.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

GROWTH = 0.05
"""Growth of a bucket's width over the previous one's."""
HALF_LIFE = 24 * 3600.0
"""Seconds after which a sample weighs half."""
MIN_WEIGHT = 100.0
"""Minimum weight of a sample in milli-CPU."""
MARGIN = 1.15
"""--recommendation-margin-fraction."""
LEAST = 25.0
"""--pod-recommendation-min-cpu-millicores."""
LEAST_MEMORY = 250.0 * 2**20
"""--pod-recommendation-min-memory-mb, in bytes."""
OOM_RATIO, OOM_LEAST = 1.2, 100.0 * 2**20
"""--oom-bump-up-ratio and --oom-min-bump-up-bytes: the sample after a kill is the larger result."""
PERCENTILES = (0.5, 0.9, 0.95)
"""Percentiles of the lower bound, the target and the upper bound, 0 to 1."""


class Buckets(NamedTuple):
    """The buckets of a histogram: each is wider than the previous one by `GROWTH`.

    Attributes:
        first: the width of the first bucket, in milli-CPU or bytes.
        last: the start of the last bucket's range, in the same unit.
    """

    first: float
    last: float

    def start(self, bucket: int) -> float:
        """Return the start of a bucket: the sum of the widths before it. Source: exponentialHistogramOptions."""
        return self.first * ((1 + GROWTH) ** bucket - 1) / GROWTH

    def of(self, used: float) -> int:
        """Return the index of a sample's bucket, from 0."""
        if used < self.first:
            return 0
        found = math.floor(math.log(used * GROWTH / self.first + 1, 1 + GROWTH))
        return min(found, self.of(self.last - 1) + 1 if used >= self.last else found)


CPU, MEMORY = Buckets(10.0, 1_000_000.0), Buckets(1e7, 1e12)


class Recommendation(NamedTuple):
    """A recommended request, in milli-CPU or bytes, not widened for a short history.

    Attributes:
        lower: the lower bound; a lower request is raised at once.
        target: the request.
        upper: the upper bound; a higher request is lowered at once.
    """

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
        place = CPU.of(used)
        weights[place] = weights.get(place, 0.0) + weight
    return _recommended(CPU, weights, LEAST / containers)


def memory_recommendation(peaks: Iterable[float], *, every: float = HALF_LIFE, containers: int = 1) -> Recommendation:
    """Return the recommended request after a series of peaks of memory usage.

    Args:
        peaks: maximum usage of each day in bytes, the oldest first.
        every: seconds between two peaks; 0 = peaks of several replicas on the same day.
        containers: number of containers of the pod; the minimum recommendation is divided among them.
    """
    weights: dict[int, float] = {}
    for number, used in enumerate(peaks):
        place = MEMORY.of(used)
        weights[place] = weights.get(place, 0.0) + 2 ** (number * every / HALF_LIFE)
    return _recommended(MEMORY, weights, LEAST_MEMORY / containers)


def after_oom_kill(request: float, peak: float) -> float:
    """Return the sample, in bytes, that the recommender adds after an OOM kill. Source: ContainerState.RecordOOM.

    Args:
        request: the memory request at the time of the kill, in bytes.
        peak: the maximum usage of the day, in bytes.
    """
    used = max(request, peak)
    return max(used + OOM_LEAST, used * OOM_RATIO)


def _recommended(buckets: Buckets, weights: dict[int, float], least: float) -> Recommendation:
    found = (percentile(buckets, weights, one) * MARGIN for one in PERCENTILES)
    return Recommendation(*(round(max(one, least), 3) for one in found))


def percentile(buckets: Buckets, weights: dict[int, float], part: float) -> float:
    """Return the end of the bucket that reaches a share of the total weight, in the buckets' unit; 0 without samples.

    Args:
        buckets: the buckets.
        weights: weight by bucket.
        part: the percentile as a share, 0 to 1.
    """
    threshold, reached = part * sum(weights.values()), 0.0
    for bucket in sorted(weights):
        reached += weights[bucket]
        if reached >= threshold:
            return buckets.start(bucket + 1)
    return 0.0
