"""Affinity terms of the pod that is placed and of pods that stand: whom they mean, and how many of these stand where.

Source: plugins/interpodaffinity (filtering.go, plugin.go).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.framework.counts import StandingTerm
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.pod_info import PodInfo, Term

Matches = Callable[[PodInfo], int]


def unrolled(terms: tuple[Term, ...], context: Context) -> tuple[Term, ...]:
    """Terms of the incoming pod with the namespaces that their selectors mean."""
    if all(term.namespace_selector is None for term in terms):
        return terms
    keep = context.release.enabled("KitNamespaceSelectorAskedTwice")
    return tuple(term.unrolled(context.namespaces, keep_selector=keep) for term in terms)


def all_match(terms: Iterable[Term], other: PodInfo, context: Context) -> bool:
    """Whether a pod is meant by all of the terms (and there are some). Source: podMatchesAllAffinityTerms."""
    listed = list(terms)
    return bool(listed) and all(term.matches(other.pod, context.namespaces) for term in listed)


def matching(term: Term, context: Context) -> NDArray[np.int64]:
    """How many pods of each row a term means."""
    return context.snapshot.counted(*_count(term, context))


def matching_all(terms: tuple[Term, ...], context: Context) -> NDArray[np.int64]:
    """How many pods of each row all of the terms mean."""
    return context.snapshot.counted(*_count_all(terms, context))


def matching_by_place(term: Term, context: Context) -> NDArray[np.int64]:
    """How many pods of each place of its topology key a term means; by row where every row is a place."""
    codes, size = context.snapshot.places(term.topology_key)
    key, matches, selector = _count(term, context)
    return context.snapshot.counted_by(key, matches, term.topology_key, codes, size, selector)


def matching_all_by_place(terms: tuple[Term, ...], key: str, context: Context) -> NDArray[np.int64]:
    """How many pods of each place all of the terms mean."""
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
    """Return the different terms of a kind by which standing pods mean this one.

    Terms are added, never taken away, while the nodes stay the same: of a pod of a known kind only the terms are asked
    that are new.
    """
    snapshot, names = context.snapshot, context.namespaces
    terms = snapshot.standing_terms(kind)
    if not terms:
        return []
    key = ("InterPodAffinity", kind)
    # numbers, not terms: pods of a kind share this, and also ask copies of the snapshot, which count on their own
    asked, numbers = info.prepared.get(key, (0, []))
    new = terms[asked:] if asked else snapshot.terms_about(kind, info.pod.metadata.labels)
    numbers += [standing.number for standing in new if standing.term.matches(info.pod, names)]
    info.prepared[key] = max(asked, len(terms)), numbers
    return [terms[number] for number in numbers if number < len(terms)]
