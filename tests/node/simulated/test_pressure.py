"""Pressure averages as the kernel keeps them: whole percents every 2.004 s, fixed point with 11 bits."""

import pytest

from kitlib.node.simulated.pressure import NOTHING, PERIOD, Pressure, updated


def averages(shown, kind="some"):
    line = next(text for text in shown.splitlines() if text.startswith(kind))
    return [float(pair.split("=")[1]) for pair in line.split()[1:4]]


@pytest.mark.parametrize(
    ("average", "decay", "percents", "after"),
    [
        (0, 1677, 100, 37_100),  # (2048 − 1677) · 100 · 2048 / 2048
        (37_100, 1677, 100, 67_480),  # rounded up while it rises
        (37_100, 1677, 0, 30_379),  # rounded down while it falls
        (0, 1981, 50, 3_350),
        (0, 2034, 1, 14),
        (204_800, 2034, 100, 204_800),
    ],
)
def test_one_update_is_the_kernels_calc_load(average, decay, percents, after):
    assert updated(average, decay, percents) == after


def test_averages_move_at_the_end_of_a_period_and_the_total_all_the_time():
    one = Pressure(0.0)
    assert one.show(1.0) == NOTHING
    one = Pressure(0.0)
    one.set(0.0, 0.5, 0.25)
    assert one.show(PERIOD - 0.001).splitlines()[0] == "some avg10=0.00 avg60=0.00 avg300=0.00 total=1001500"
    assert one.show(PERIOD).splitlines()[0] == "some avg10=9.05 avg60=1.63 avg300=0.34 total=1002000"
    assert one.show(2 * PERIOD - 0.004).splitlines()[0] == "some avg10=9.05 avg60=1.63 avg300=0.34 total=2002000"


def test_averages_tend_to_the_share_of_waiting_time_and_decay_after_it():
    one = Pressure(0.0)
    one.set(0.0, 0.5, 0.25)
    # after five updates: 50 · (1 − 0.8188⁵) = 31.6
    assert one.show(5 * PERIOD).splitlines()[0].startswith("some avg10=31.59 avg60=7.66 avg300=1.68 ")
    assert averages(one.show(1000), "full")[0] == 25.0
    one.set(1000, 0.0, 0.0)
    # 1000 s are 499 periods and 2 ms: five more updates are due by 1010.016
    assert averages(one.show(1010.02))[0] == pytest.approx(50 * (1677 / 2048) ** 5, abs=0.05)
    assert averages(one.show(100_000)) == [0.0, 0.0, 0.0]


def test_part_of_a_period_counts_as_whole_percents():
    one = Pressure(0.0)
    one.set(0.5, 1.0, 0.0)
    one.set(0.7, 0.0, 0.0)  # 0.2 of 2.004 s are 9.98 percent: 9
    assert averages(one.show(PERIOD))[0] == 1.63
    assert updated(0, 1677, 9) // 20.48 / 100 == 1.63


def test_many_small_steps_and_one_large_one_lead_to_the_same():
    many, once = Pressure(0.0), Pressure(0.0)
    for one in (many, once):
        one.set(0.0, 0.75, 0.5)
    for i in range(1, 1201):
        many.settle(i * 0.1)
    assert many.show(120.0) == once.show(120.0)
