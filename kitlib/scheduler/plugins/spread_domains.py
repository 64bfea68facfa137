"""PodTopologySpread's rules by domain: matching pods, skew, and the score of a count.

Source: plugins/podtopologyspread (common.go, filtering.go, scoring.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.plugin import MAX_NODE_SCORE, Context, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Rows

HOSTNAME = "kubernetes.io/hostname"
MAX_INT32 = 2**31 - 1
"""The smallest count if there is no domain."""


@dataclass(frozen=True)
class Constraint:
    """One constraint of a pod, parsed."""

    max_skew: int
    topology_key: str
    selector: LabelSelectorMatcher
    min_domains: int
    honour_affinity: bool
    honour_taints: bool


@dataclass(frozen=True)
class Domains:
    """The domains of a constraint, as far as they follow from the nodes and the pod.

    Attributes:
        constraint: the parsed constraint.
        codes: row -> number of its domain; -1 = it has none.
        size: the number of domains.
        rows: the rows whose pods are counted.
        eligible: the numbers of the domains among which the smallest count is found.
        own: 1 if the pod matches itself, else 0.
        hosts: whether every row is a domain of its own, with its number.
    """

    constraint: Constraint
    codes: NDArray[np.int32]
    size: int
    rows: Rows
    eligible: Rows
    own: int
    hosts: bool

    def smallest(self, counts: NDArray[np.int64]) -> int:
        """Return the smallest count of a domain, or 0 with fewer domains than minDomains. Source: minMatchNum."""
        if len(self.eligible) < self.constraint.min_domains:
            return 0
        if not len(self.eligible):
            return MAX_INT32
        some = counts if self.hosts and len(self.eligible) == len(counts) else counts[self.eligible]
        return int(some.min())


@dataclass
class DomainCounts:
    """A constraint's domains with their counts of matching pods.

    Attributes:
        domains: the domains.
        counts: the matching pods by domain, followed by a 0 for rows in no domain; by row if every row is a domain.
    """

    domains: Domains
    counts: NDArray[np.int64]

    def skews(self) -> NDArray[np.int64]:
        """Return each domain's skew with the pod: its count, + 1 if the pod matches itself, - the smallest count."""
        domains = self.domains
        found: NDArray[np.int64] = self.counts + (domains.own - domains.smallest(self.counts))
        return found

    def permitted(self) -> NDArray[np.bool_]:
        """Return which domains may take the pod: skew <= maxSkew; the last value, for rows in no domain, is False.

        Source: podtopologyspread Filter.
        """
        good: NDArray[np.bool_] = self.skews() <= self.domains.constraint.max_skew
        if not self.domains.hosts:
            good[-1] = False
        return good

    def by_row(self, rows: Rows) -> NDArray[np.int64]:
        """Return the counts of the domains that the rows are in."""
        found: NDArray[np.int64] = self.counts[rows if self.domains.hosts else self.domains.codes[rows]]
        return found


@dataclass
class ScoreState:
    """The counts, the weight of each constraint, and a mask of the feasible rows that get no score."""

    soft: list[DomainCounts]
    weights: list[float]
    ignored: NDArray[np.bool_]

    @classmethod
    def of(cls, soft: list[DomainCounts], rows: Rows, ignored: NDArray[np.bool_]) -> ScoreState:
        """Weigh the constraints.

        Args:
            soft: counts of the constraints with ScheduleAnyway.
            rows: the feasible rows.
            ignored: the mask of those of them that lack a constraint's label.
        """
        feasible = rows[~ignored]
        return cls(
            soft, [topology_normalizing_weight(domain_counts.domains, feasible) for domain_counts in soft], ignored
        )

    def raw(self, rows: Rows, release: Release) -> Scores:
        """Return the scores before normalisation. Source: podtopologyspread Score."""
        total: NDArray[np.floating[Any]] = np.zeros(len(rows), np.float64)
        for domain_counts, weight in zip(self.soft, self.weights, strict=True):
            part = score_for_count(domain_counts.by_row(rows), domain_counts.domains.constraint.max_skew, weight)
            if not domain_counts.domains.hosts:
                part[domain_counts.domains.codes[rows] < 0] = 0.0
            total += part
        return np.where(self.ignored, 0, whole(total, release))

    def normalized(self, raw: Scores) -> Scores:
        """Return the scores as 0 to 100: the fewer matching pods, the more. Source: NormalizeScore."""
        counted = raw[~self.ignored]
        if not len(counted):
            return np.zeros(len(raw), np.int64)
        return np.where(self.ignored, 0, between(raw, int(counted.min()), int(counted.max())))


def topology_normalizing_weight(domains: Domains, feasible: Rows) -> float:
    """Return the weight of a constraint: the more domains, the more. Source: topologyNormalizingWeight."""
    if domains.constraint.topology_key == HOSTNAME:
        return math.log(len(feasible) + 2)
    # if a label may be missing, its absence counts as one more value
    codes = domains.codes[feasible]
    return math.log(int(np.count_nonzero(np.bincount(codes + 1, minlength=1))) + 2)


def score_for_count(counts: NDArray[np.int64], max_skew: int, weight: float) -> NDArray[np.floating[Any]]:
    """Return a constraint's part of the score. Source: scoreForCount."""
    found: NDArray[np.floating[Any]] = counts * weight + (max_skew - 1)
    return found


def whole(scores: NDArray[np.floating[Any]], release: Release) -> Scores:
    """Return scores as whole numbers: rounded, in older releases cut off."""
    rounds = release.enabled("KitSpreadScoreRounded")
    return np.floor(scores + 0.5).astype(np.int64) if rounds else scores.astype(np.int64)


def between(scores: Scores, low: int, high: int) -> Scores:
    """Return scores turned round and scaled to 0..100, of which the smallest and the largest are known."""
    if high == 0:
        return np.full(len(scores), MAX_NODE_SCORE, np.int64)
    return MAX_NODE_SCORE * (high + low - scores) // high


def nobody_counts(domains: Domains, context: Context) -> bool:
    """Return whether the selector is empty: it counts no pod, although the pod itself matches it."""
    return domains.constraint.selector.everything and context.release.enabled("KitEmptySpreadSelectorCountsNobody")


def count_of(domains: Domains, pod: Pod) -> tuple[Hashable, Callable[[PodInfo], int]]:
    """Return the key of a constraint's count, and whether it counts a pod. Source: countPodsMatchSelector."""
    namespace, selector = pod.metadata.namespace, domains.constraint.selector

    def matches(other: PodInfo) -> int:
        meta = other.pod.metadata
        return int(meta.namespace == namespace and not other.terminating and selector.matches(meta.labels))

    return ("spread", namespace, selector), matches


def count(domains: Domains, pod: Pod, context: Context) -> NDArray[np.int64]:
    """Return the counts of `DomainCounts`: matching pods of the pod's namespace, on the rows that count; a copy."""
    if nobody_counts(domains, context):
        return np.zeros(domains.size + (not domains.hosts), np.int64)
    matching = context.snapshot.counted(*count_of(domains, pod), domains.constraint.selector)
    if domains.hosts:
        return matching.copy()
    return np.bincount(domains.codes[domains.rows], matching[domains.rows], minlength=domains.size + 1).astype(np.int64)
