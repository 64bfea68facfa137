"""Counts by place, required affinity of the first pod of a group, and the terms that score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.plugins.affinity_terms import AffinityFilterState, TermCount, all_match, weighted_terms
from kitlib.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from tests.scheduler.plugins.incremental_cases import Compared, node, pod
from tests.scheduler.plugins.test_incremental_affinity import affinity, term

PLACES = np.array([0, 0, 1, -1], np.int32)  # four rows in two places, the last one in none


def count(*by_place: int, codes: Any = PLACES) -> TermCount:
    return TermCount(codes, np.array(by_place, np.int64))


def test_the_count_of_a_row_is_that_of_its_place() -> None:
    found = count(3, 5, 0)
    assert found.at(None).tolist() == [3, 3, 5, 0]
    assert found.at(np.array([2, 3])).tolist() == [5, 0]
    by_row = count(1, 2, 3, 4, codes=None)
    assert by_row.at(None).tolist() == [1, 2, 3, 4]
    assert by_row.at(np.array([3, 0])).tolist() == [4, 1]


@pytest.mark.parametrize(
    ("counts", "itself", "expected"),
    [
        ([count(1, 0, 0)], False, [True, True, False, False]),
        ([count(0, 0, 0)], False, [False, False, False, False]),
        ([count(0, 0, 0)], True, [True, True, True, False]),
        ([count(1, 0, 0)], True, [True, True, False, False]),
        ([count(0, 0, 0), count(0, 0, 0, 0, codes=None)], True, [True, True, True, False]),
        ([count(0, 0, 0), count(0, 0, 0, 1, codes=None)], True, [False, False, False, False]),
        ([count(2, 1, 0), count(0, 1, 1, 1, codes=None)], False, [False, True, True, False]),
    ],
    ids=["near a pod", "no pod", "the first of a group", "not the first", "two terms", "one term has a pod", "both"],
)
def test_required_affinity(counts: list[TermCount], itself: bool, expected: list[bool]) -> None:
    """Source: satisfyPodAffinity."""
    state = AffinityFilterState(affinity=counts, matches_itself=itself)
    assert state.satisfy_pod_affinity(None).tolist() == expected
    rows = np.array([3, 0])
    assert state.satisfy_pod_affinity(rows).tolist() == [expected[3], expected[0]]


def test_a_pod_matches_all_terms_or_none() -> None:
    found = Compared(InterPodAffinity(), pod("asked"), [node("a", "z")])
    terms = PodInfo(pod("x", **affinity(near=[term("a"), term("b")]))).required_affinity
    a = PodInfo(pod("other", "a"))
    assert all_match(terms[:1], a, found.context)
    assert not all_match(terms, a, found.context)
    assert not all_match([], a, found.context)


@pytest.mark.parametrize(
    ("asked", "standing", "hard", "weights"),
    [
        ({}, {}, 1, []),
        (affinity(likes=[(5, term())], dislikes=[(3, term("b"))]), {}, 1, [5, -3]),
        (affinity(near=[term()], apart=[term()]), {}, 1, []),
        ({}, affinity(near=[term()]), 7, [7]),
        ({}, affinity(near=[term()]), 0, []),
        ({}, affinity(likes=[(5, term())], dislikes=[(3, term())]), 1, [5, -3]),
        ({}, affinity(likes=[(5, term("b"))]), 1, []),
        (affinity(likes=[(2, term())]), affinity(near=[term()], likes=[(4, term())]), 1, [2, 1, 4]),
    ],
    ids=[
        "none",
        "own",
        "required ones of its own",
        "required by another",
        "without weight",
        "another's",
        "about others",
        "all",
    ],
)
def test_the_terms_that_score(asked: dict[str, Any], standing: dict[str, Any], hard: int, weights: list[int]) -> None:
    """Source: processExistingPod."""
    made = pod("asked", "a", **asked)
    found = Compared(InterPodAffinity(), made, [node("a", "z"), node("b", "y")])
    found.place(pod("standing", "a", **standing), 0)
    assert [weight for weight, _ in weighted_terms(PodInfo(made), found.context, hard)] == weights
