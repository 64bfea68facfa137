"""Affinity terms of the pod that is placed and of pods that stand: whom they mean, and how many of these stand where.

Source: plugins/interpodaffinity (filtering.go, plugin.go).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import compress

import numpy as np
from numpy.typing import NDArray

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
    return context.snapshot.counted_by(*_count(term, context), term.topology_key, codes, size)


def matching_all_by_place(terms: tuple[Term, ...], key: str, context: Context) -> NDArray[np.int64]:
    """How many pods of each place all of the terms mean."""
    codes, size = context.snapshot.places(key)
    return context.snapshot.counted_by(*_count_all(terms, context), key, codes, size)


def _count(term: Term, context: Context) -> tuple[Hashable, Matches]:
    names = context.namespaces
    return ("term", term.key), lambda other: int(term.matches(other.pod, names))


def _count_all(terms: tuple[Term, ...], context: Context) -> tuple[Hashable, Matches]:
    if len(terms) == 1:
        return _count(terms[0], context)
    return ("terms", tuple(term.key for term in terms)), lambda other: int(all_match(terms, other, context))


def standing_that_mean(info: PodInfo, context: Context, kind: str) -> Iterable[StandingTerm]:
    """The different terms of a kind by which standing pods mean this one.

    Terms are added, never taken away, while the nodes stay the same.
    """
    terms = context.snapshot.standing_terms(kind)
    if not terms:
        return ()
    meant: list[bool] = info.prepared.setdefault(("InterPodAffinity", kind), [])
    meant += [standing.term.matches(info.pod, context.namespaces) for standing in terms[len(meant) :]]
    return compress(terms, meant)
