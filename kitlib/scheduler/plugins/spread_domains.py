"""The domains that a spread constraint looks at, and how many matching pods stand in each of them.

Source: plugins/podtopologyspread/common.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import Pod
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Rows

MAX_INT32 = 2**31 - 1
"""The smallest count where there is no domain at all."""


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
    """What a constraint looks at, as far as nodes and pod say it.

    Attributes:
        constraint: parsed.
        codes: row -> number of its domain; -1 = it has none.
        size: how many domains there are.
        rows: whose pods are counted.
        eligible: numbers of the domains among which the smallest is looked for.
        own: 1 if the pod matches itself.
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
        """The smallest count of a domain, or 0 where there are too few domains. Source: minMatchNum."""
        if len(self.eligible) < self.constraint.min_domains:
            return 0
        if not len(self.eligible):
            return MAX_INT32
        some = counts if self.hosts and len(self.eligible) == len(counts) else counts[self.eligible]
        return int(some.min())


def skews(domains: Domains, counts: NDArray[np.int64], smallest: int) -> NDArray[np.int64]:
    """What each domain would have with one more: its matching pods + 1 (if the pod matches itself) − the smallest."""
    found: NDArray[np.int64] = counts + (domains.own - smallest)
    return found


def nobody_counts(one: Domains, context: Context) -> bool:
    """Whether the selector is empty: it counts nobody, though the pod itself matches it."""
    return one.constraint.selector.everything and context.release.enabled("KitEmptySpreadSelectorCountsNobody")


def count_of(one: Domains, pod: Pod) -> tuple[Hashable, Callable[[PodInfo], int]]:
    """Which pods of the pod's namespace are counted. Source: countPodsMatchSelector."""
    namespace, selector = pod.metadata.namespace, one.constraint.selector

    def matches(other: PodInfo) -> int:
        meta = other.pod.metadata
        return int(meta.namespace == namespace and not other.terminating and selector.matches(meta.labels))

    return ("spread", namespace, selector), matches


def count(one: Domains, pod: Pod, context: Context) -> NDArray[np.int64]:
    """Matching pods of the pod's namespace by domain, on the rows that count; a copy."""
    if nobody_counts(one, context):
        return np.zeros(one.size, np.int64)
    matching = context.snapshot.counted(*count_of(one, pod), one.constraint.selector)
    if one.hosts:
        return matching.copy()
    return np.bincount(one.codes[one.rows], matching[one.rows], minlength=one.size).astype(np.int64)
