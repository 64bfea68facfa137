"""The strip of periods: its cells are the measured times in proportion, and its sentence counts them."""

import random
import re

import pytest

from kitlib.charts import Period, throttling_chart
from kitlib.charts.throttling import _HIGH


@pytest.mark.parametrize(
    ("ran", "stopped", "parts"),
    [
        (20, 80, (0.2, 0.8)),  # one thread, limit 200m
        (50, 950, (0.05, 0.95)),  # ten threads: 5 ms run, 95 ms stopped, each
        (30, 0, (0.3, 0)),
        (0, 0, (0, 0)),
        (180, 0, (1, 0)),  # two processors, nothing stopped
    ],
)
def test_a_cell_is_as_high_as_the_period(ran, stopped, parts):
    assert Period(ran, stopped).parts() == pytest.approx(parts)


@pytest.mark.parametrize("seed", range(20))
def test_cells_and_sentence_are_the_periods(seed):
    rng = random.Random(seed)
    periods = [(rng.uniform(1, 100), rng.choice([0, rng.uniform(1, 400)])) for _ in range(rng.randrange(1, 40))]
    chart = throttling_chart({"api": periods}, limits={"api": 0.5})
    stopped = sum(1 for _, time in periods if time > 0)
    words = f"stopped in {stopped} of {len(periods)}" if stopped else "never stopped"
    assert words in chart.sentence and words in chart.svg()
    blue = [float(high) for high in re.findall(r'height="([\d.]+)" fill="var\(--kit-blue,', chart.svg())]
    assert blue == [pytest.approx(max(2, Period(*one).parts()[0] * _HIGH), abs=0.06) for one in periods]
    assert list(chart.frame()["ran ms"]) == [pytest.approx(ran, abs=0.006) for ran, _ in periods]


def test_without_a_period_it_says_so():
    assert (
        throttling_chart({}).sentence == "No period was measured."
        and "No period was measured." in throttling_chart({}).svg()
    )
