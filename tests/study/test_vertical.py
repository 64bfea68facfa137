"""What a vertical autoscaler would request after some samples."""

from itertools import pairwise

import pytest

from kitlib.study.vertical import bucket_of, bucket_start, cpu_recommendation


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


def test_buckets_grow_by_five_percent_and_hold_what_they_say():
    widths = [bucket_start(n + 1) - bucket_start(n) for n in range(50)]
    assert widths[0] == pytest.approx(10) and all(b / a == pytest.approx(1.05) for a, b in pairwise(widths))
    for used in (0, 9.9, 10.1, 20.4, 20.6, 200, 5000):
        assert bucket_start(bucket_of(used)) <= used < bucket_start(bucket_of(used) + 1)
    assert bucket_of(2_000_000) == bucket_of(5_000_000)


def test_a_pod_of_two_containers_shares_the_minimum():
    assert cpu_recommendation([1] * 9, containers=2).target == pytest.approx(12.5)
