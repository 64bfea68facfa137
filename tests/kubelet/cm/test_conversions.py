"""From milli-CPU to shares, weights and quotas: properties that hold for any input."""

from hypothesis import given
from hypothesis import strategies as st

from kitlib.kubelet.cm.conversions import (
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    shares_to_milli_cpu,
    shares_to_weight,
    shares_to_weight_by_runtime,
)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_cpu_is_never_a_smaller_figure(a, b):
    less, more = sorted((a, b))
    for convert in (milli_cpu_to_shares, milli_cpu_to_quota):
        assert convert(less) <= convert(more)
    for weight in (shares_to_weight, shares_to_weight_by_runtime):
        assert 1 <= weight(milli_cpu_to_shares(less)) <= weight(milli_cpu_to_shares(more)) <= 10_000


@given(st.integers(3, 256_000))
def test_shares_lose_at_most_a_thousandth_of_a_cpu(milli):
    assert shares_to_milli_cpu(milli_cpu_to_shares(milli)) in (milli - 1, milli)


def test_the_smallest_shares_are_two_milli_cpu_and_fewer_are_none():
    """Source: kubelet cm.sharesToMilliCPU."""
    assert [shares_to_milli_cpu(shares) for shares in (0, 1, 2, 3, 1024)] == [0, 0, 2, 3, 1000]
