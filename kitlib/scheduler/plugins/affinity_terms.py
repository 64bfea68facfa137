"""InterPodAffinity's rules: the pods that a term selects, and the effect of their number by topology value.

A place is a value of a topology key. `AffinityFilterState` holds the counts that Filter compares, `weighted_terms`
yields the terms that Score adds up. The counts are computed for each pod, or updated with each pod
(`incremental_affinity`); the rules are the same.

Source: plugins/interpodaffinity (filtering.go, scoring.go, plugin.go).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.counts import StandingTerm
from kitlib.scheduler.framework.node_columns import Codes
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo, Term
from kitlib.scheduler.framework.status import Rows

Matches = Callable[[PodInfo], int]


@dataclass
class TermCount:
    """Pods by place of a topology key. Source: topologyToMatchedTermCount.

    Attributes:
        codes: row -> place, -1 = the node lacks the label; None = every row is a place of its own.
        counts: the number of pods by place, followed by a 0; by row if `codes` is None.
    """

    codes: Codes | None
    counts: NDArray[np.int64]

    def at(self, rows: Rows | None) -> NDArray[np.int64]:
        """Return the counts of the places that the rows are in, 0 without a place; None = all rows."""
        if self.codes is None:
            return self.counts if rows is None else self.counts[rows]
        found: NDArray[np.int64] = self.counts[self.codes if rows is None else self.codes[rows]]
        return found


@dataclass
class AffinityFilterState:
    """The counts that Filter compares.

    Attributes:
        existing_anti: counts of pods whose required anti-affinity selects the incoming pod.
        affinity: counts of pods that all of its required affinity terms select, one count for each term.
        anti_affinity: counts of pods that its required anti-affinity selects.
        matches_itself: whether all of its required affinity terms select the pod itself.
    """

    existing_anti: list[TermCount] = field(default_factory=list)
    affinity: list[TermCount] = field(default_factory=list)
    anti_affinity: list[TermCount] = field(default_factory=list)
    matches_itself: bool = False

    def satisfy_pod_affinity(self, rows: Rows | None) -> NDArray[np.bool_]:
        """Return on which rows the required affinity is fulfilled. Source: satisfyPodAffinity."""
        # If no pod matches, the first pod of a group with affinity to itself may run on any node that has the labels:
        # otherwise no pod of the group could ever be scheduled. Source: satisfyPodAffinity
        first = self.matches_itself and not any(one.counts.any() for one in self.affinity)
        good: NDArray[np.bool_] | None = None
        for term_count in self.affinity:
            near = term_count.at(rows) > 0
            if first:
                codes = term_count.codes if rows is None or term_count.codes is None else term_count.codes[rows]
                near = np.ones(len(near), np.bool_) if codes is None else codes >= 0
            good = near if good is None else good & near
        assert good is not None
        return good


def weighted_terms(info: PodInfo, context: Context, hard_weight: int) -> Iterator[tuple[int, Term | StandingTerm]]:
    """Yield the terms that score a pod, each with the points of one pod that it selects or that has it.

    Args:
        info: the incoming pod; its preferred terms count the pods that they select.
        context: the cluster; terms of standing pods that select the incoming pod count the pods that have them.
        hard_weight: points of a standing pod's required affinity.

    Source: interpodaffinity processExistingPod.
    """
    for terms, sign in ((info.preferred_affinity, 1), (info.preferred_anti_affinity, -1)):
        for term in unrolled(terms, context):
            yield sign * term.weight, term
    if hard_weight:
        for standing in standing_that_mean(info, context, "required_affinity"):
            yield hard_weight, standing
    for kind, sign in (("preferred_affinity", 1), ("preferred_anti_affinity", -1)):
        for standing in standing_that_mean(info, context, kind):
            yield sign * standing.term.weight, standing


def unrolled(terms: tuple[Term, ...], context: Context) -> tuple[Term, ...]:
    """Return terms of the incoming pod with their namespace selectors replaced by namespaces."""
    if all(term.namespace_selector is None for term in terms):
        return terms
    keep = context.release.enabled("KitNamespaceSelectorAskedTwice")
    return tuple(term.unrolled(context.namespaces, keep_selector=keep) for term in terms)


def all_match(terms: Iterable[Term], other: PodInfo, context: Context) -> bool:
    """Return whether all terms select a pod; False without terms. Source: podMatchesAllAffinityTerms."""
    listed = list(terms)
    return bool(listed) and all(term.matches(other.pod, context.namespaces) for term in listed)


def matching(term: Term, context: Context) -> NDArray[np.int64]:
    """Return the number of pods on each row that a term selects."""
    return context.snapshot.counted(*_count(term, context))


def matching_all(terms: tuple[Term, ...], context: Context) -> NDArray[np.int64]:
    """Return the number of pods on each row that all terms select."""
    return context.snapshot.counted(*_count_all(terms, context))


def matching_by_place(term: Term, context: Context) -> NDArray[np.int64]:
    """Return the number of pods that a term selects by place of its topology key; by row if each row is a place."""
    codes, size = context.snapshot.places(term.topology_key)
    key, matches, selector = _count(term, context)
    return context.snapshot.counted_by(key, matches, term.topology_key, codes, size, selector)


def matching_all_by_place(terms: tuple[Term, ...], key: str, context: Context) -> NDArray[np.int64]:
    """Return the number of pods that all terms select, by place of a topology key."""
    codes, size = context.snapshot.places(key)
    count, matches, selector = _count_all(terms, context)
    return context.snapshot.counted_by(count, matches, key, codes, size, selector)


def _count(term: Term, context: Context) -> tuple[Hashable, Matches, LabelSelectorMatcher]:
    names = context.namespaces
    return ("term", term.key), lambda other: int(term.matches(other.pod, names)), term.selector


def _count_all(terms: tuple[Term, ...], context: Context) -> tuple[Hashable, Matches, LabelSelectorMatcher]:
    if len(terms) == 1:
        return _count(terms[0], context)
    key = ("terms", tuple(term.key for term in terms))
    return key, lambda other: int(all_match(terms, other, context)), terms[0].selector


def standing_that_mean(info: PodInfo, context: Context, kind: str) -> list[StandingTerm]:
    """Return the distinct terms of a kind with which pods on the nodes select this one.

    While nodes stay the same, terms are added and never removed: for a pod of a known kind only new terms are matched.
    """
    snapshot, names = context.snapshot, context.namespaces
    terms = snapshot.standing_terms(kind)
    if not terms:
        return []
    key = ("InterPodAffinity", kind)
    # numbers, not terms: pods of a kind share this, and it is also used with copies of the snapshot, whose terms are
    # other objects with the same numbers
    asked, numbers = info.prepared.get(key, (0, []))
    new = terms[asked:] if asked else snapshot.terms_about(kind, info.pod.metadata.labels)
    numbers += [standing.number for standing in new if standing.term.matches(info.pod, names)]
    info.prepared[key] = max(asked, len(terms)), numbers
    return [terms[number] for number in numbers if number < len(terms)]
