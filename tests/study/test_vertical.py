"""What a vertical autoscaler would request after some samples."""

from itertools import pairwise

import pytest

from kitlib.study.vertical import CPU, MEMORY, after_oom_kill, cpu_recommendation, memory_recommendation


@pytest.mark.parametrize(
    ("samples", "lower", "target", "upper"),
    [
        ([200] * 60, 248.153, 248.153, 248.153),
        ([200] * 90 + [800] * 10, 248.153, 920.733, 920.733),
        ([800] * 4 + [200] * 96, 248.153, 248.153, 248.153),
        ([1] * 60, 25, 25, 25),
        ([], 25, 25, 25),
    ],
    ids=["steady", "the last tenth weighs a little more", "rare peaks do not count", "nearly idle", "no sample"],
)
def test_the_target_is_a_high_percentile_and_a_margin(samples, lower, target, upper):
    assert cpu_recommendation(samples) == pytest.approx((lower, target, upper), abs=0.001)


def test_what_happened_a_day_later_weighs_twice():
    old, new = [100.0] * 1440, [400.0] * 1440
    assert cpu_recommendation(old + new).lower > 400, "two thirds of the weight"
    assert cpu_recommendation(new + old).lower < 150


def test_samples_weigh_as_much_as_was_requested():
    assert cpu_recommendation([200] * 3, request=50) == cpu_recommendation([200] * 3, request=100)


@pytest.mark.parametrize(("buckets", "first"), [(CPU, 10), (MEMORY, 1e7)], ids=["cpu", "memory"])
def test_buckets_grow_by_five_percent_and_hold_what_they_say(buckets, first):
    widths = [buckets.start(n + 1) - buckets.start(n) for n in range(50)]
    assert widths[0] == pytest.approx(first) and all(b / a == pytest.approx(1.05) for a, b in pairwise(widths))
    for used in (0, 0.99 * first, 1.01 * first, 2.04 * first, 2.06 * first, 20 * first, 500 * first):
        assert buckets.start(buckets.of(used)) <= used < buckets.start(buckets.of(used) + 1)
    assert buckets.of(2 * buckets.last) == buckets.of(5 * buckets.last)


@pytest.mark.parametrize(
    ("peaks", "target"),
    [([300e6], 351.2e6), ([300e6] * 9 + [900e6], 1038.68e6), ([1e6], 250 * 2**20), ([], 250 * 2**20)],
    ids=["one day", "the last day weighs half of all", "nearly none", "no sample"],
)
def test_memory_is_a_high_percentile_of_daily_peaks(peaks, target):
    assert memory_recommendation(peaks).target == pytest.approx(target, rel=1e-4)


def test_a_kill_counts_as_a_larger_peak():
    assert after_oom_kill(2**30, 0) == pytest.approx(1.2 * 2**30)
    assert after_oom_kill(2**20, 2**24) == 2**24 + 100 * 2**20, "at least 100 MiB more"


def test_a_pod_of_two_containers_shares_the_minimum():
    assert cpu_recommendation([1] * 9, containers=2).target == pytest.approx(12.5)
