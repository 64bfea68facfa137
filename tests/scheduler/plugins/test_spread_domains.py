"""PodTopologySpread's rules by domain: skew, permitted domains, and scores from counts."""

from __future__ import annotations

import numpy as np
import pytest

from kitlib.api.meta import LabelSelector
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.scheduler.plugins.spread_domains import (
    HOSTNAME,
    Constraint,
    DomainCounts,
    Domains,
    ScoreState,
    between,
    topology_normalizing_weight,
)

ROWS = np.arange(5)
CODES = np.array([0, 0, 1, 2, -1], np.int32)
"""Row -> domain: two nodes in the first, one in each of the others, the last without the label."""


def counts(*of: int, skew: int = 1, own: int = 1, key: str = "zone", least: int = 1, eligible: int = 3) -> DomainCounts:
    constraint = Constraint(skew, key, LabelSelectorMatcher(LabelSelector()), least, False, False)
    domains = Domains(constraint, CODES, 3, ROWS[:4], np.arange(eligible), own, hosts=False)
    return DomainCounts(domains, np.array([*of, 0]))


@pytest.mark.parametrize(
    ("made", "skews", "permitted"),
    [
        (counts(2, 1, 1), [2, 1, 1], [False, True, True]),
        (counts(2, 1, 1, skew=2), [2, 1, 1], [True, True, True]),
        (counts(2, 1, 1, own=0), [1, 0, 0], [True, True, True]),
        (counts(2, 1, 0), [3, 2, 1], [False, False, True]),
        (counts(2, 1, 0, eligible=2), [2, 1, 0], [False, True, True]),
        (counts(1, 1, 1, least=3), [1, 1, 1], [True, True, True]),
        (counts(1, 1, 1, least=4), [2, 2, 2], [False, False, False]),
    ],
    ids=["one more", "a larger maxSkew", "itself no match", "an empty domain", "not eligible", "enough", "too few"],
)
def test_a_domain_may_take_the_pod_up_to_max_skew(made: DomainCounts, skews: list[int], permitted: list[bool]) -> None:
    """skew = count + 1 - smallest; with fewer than minDomains the smallest is 0. Source: podtopologyspread Filter."""
    assert made.skews()[:3].tolist() == skews
    assert made.permitted().tolist() == [*permitted, False]


def test_a_constraint_weighs_more_the_more_domains_it_has() -> None:
    """ln(domains + 2): a missing label is a domain, and each host name. Source: topologyNormalizingWeight."""
    assert topology_normalizing_weight(counts(0, 0, 0).domains, ROWS) == pytest.approx(np.log(6))
    assert topology_normalizing_weight(counts(0, 0, 0).domains, ROWS[:2]) == pytest.approx(np.log(3))
    assert topology_normalizing_weight(counts(0, 0, 0, key=HOSTNAME).domains, ROWS) == pytest.approx(np.log(7))


@pytest.mark.parametrize(("release", "expected"), [("1.24", [10, 10, 3, 6, 0]), ("1.23", [9, 9, 2, 6, 0])])
def test_the_raw_score_is_count_times_weight_plus_max_skew_less_one(release: str, expected: list[int]) -> None:
    """The weight is ln 6 = 1.79: 5 pods 8.96 + 1, 1 pod 1.79 + 1, 3 pods 5.38 + 1; 1.23 cuts fractions off."""
    state = ScoreState.of([counts(5, 1, 3, skew=2)], ROWS, np.zeros(5, np.bool_))
    assert state.raw(ROWS, Release(release)).tolist() == expected


def test_ignored_rows_get_no_score_and_do_not_count_for_the_range() -> None:
    ignored = np.array([False, False, False, False, True])
    state = ScoreState.of([], ROWS, ignored)
    assert state.normalized(np.array([10, 10, 3, 6, 0])).tolist() == [30, 30, 100, 70, 0]
    assert ScoreState.of([], ROWS, ~np.zeros(5, np.bool_)).normalized(np.zeros(5, np.int64)).tolist() == [0] * 5


def test_the_smallest_raw_score_becomes_100() -> None:
    """100 * (high + low - score) / high; 100 for all where nothing counts. Source: NormalizeScore."""
    assert between(np.array([4, 2, 3]), 2, 4).tolist() == [50, 100, 75]
    assert between(np.array([0, 0]), 0, 0).tolist() == [100, 100]


@pytest.mark.parametrize(("eligible", "smallest"), [([0, 1, 2], 1), ([0, 2], 3)])
def test_the_smallest_count_is_looked_for_among_eligible_hosts(eligible: list[int], smallest: int) -> None:
    """Every row is a domain of its own here; a host that the pod cannot use is not eligible."""
    constraint = Constraint(1, HOSTNAME, LabelSelectorMatcher(LabelSelector()), 1, False, False)
    rows = np.arange(3)
    domains = Domains(constraint, rows.astype(np.int32), 3, rows, np.array(eligible, np.int64), 1, hosts=True)
    assert domains.smallest(np.array([3, 1, 4])) == smallest
