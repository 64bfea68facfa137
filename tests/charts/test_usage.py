"""Usage over time: what is drawn is what was measured, the limit is a line with its name, and events are marked."""

import random
import re

import pytest

from kitlib.charts import usage_chart
from kitlib.charts.usage import _HIGH, _TOP, _Lines

Mi = 2**20


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("seed", range(20))
def test_heights_are_the_values_of_random_series(seed):
    rng = random.Random(seed)
    seconds = sorted(rng.sample(range(1, 60), 12))
    values = [rng.choice([None, rng.randrange(1, 200) * Mi]) for _ in seconds]
    limit = rng.randrange(1, 300) * Mi
    lines = _Lines(seconds, {"a": values}, {"a": limit}, {}, "bytes", [])
    drawn = [point for run in lines._runs(values) for point in run]
    back = [round((_TOP + _HIGH - y) / _HIGH * lines.high / Mi, 6) for _, y in drawn]
    assert back == [pytest.approx(value / Mi) for value in values if value is not None]
    chart = usage_chart(seconds, {"a": values}, limits={"a": limit})
    last = next((value for value in reversed(values) if value is not None), None)
    assert ("At the limit: a" in chart.sentence) == (last is not None and last >= 0.995 * limit)
    assert list(chart.frame()["seconds"]) == seconds
    assert f"limit {limit // Mi}Mi" in " ".join(texts(chart.svg())) or limit % 1024 == 0


def test_a_limit_has_one_name():
    one = texts(usage_chart([1], {"leak": [5 * Mi]}, limits={"leak": 9 * Mi}).svg())
    own = texts(usage_chart([1], {"available": [5 * Mi]}, limits={"soft": 9 * Mi}).svg())
    two = texts(usage_chart([1], {"a": [5 * Mi], "b": [1]}, limits={"a": 9 * Mi}).svg())
    assert "limit 9Mi" in one and "soft 9Mi" in own and "limit of a 9Mi" in two


def test_a_kill_is_a_cross_on_the_limit_and_ends_the_line():
    values = [10 * Mi, 20 * Mi, 10 * Mi]
    chart = usage_chart([1, 2, 3], {"a": values}, limits={"a": 20 * Mi}, marks=[(2.5, "killed 137", "end")])
    assert chart.sentence.endswith("killed 137 at 2.5 s.")
    assert "killed 137" in texts(chart.svg())
    lines = _Lines([1, 2, 3], {"a": values}, {}, {}, "bytes", chart_marks(chart))
    assert [len(run) for run in lines._runs(values)] == [2, 1]


def chart_marks(_chart):
    from kitlib.charts import UsageMark

    return [UsageMark(2.5, "killed 137", "end")]


def test_rates_are_steps_over_the_time_they_were_measured_in():
    lines = _Lines([1, 2], {"a": [2.0, 0.5]}, {}, {}, "CPUs", [])
    (run,) = lines._runs([2.0, 0.5])
    assert [round(x, 1) for x, _ in run] == [lines.x(0), lines.x(1), lines.x(1), lines.x(2)]
    assert run[0][1] == run[1][1] != run[2][1] == run[3][1]


def test_what_was_not_measured_has_no_axis():
    chart = usage_chart([], {})
    assert (
        texts(chart.svg()) == ["Usage over time", "Nothing measured yet."] and chart.sentence == "Nothing measured yet."
    )


def test_the_area_reaches_the_limit_at_the_kill():
    chart = usage_chart([1, 2], {"a": [5 * Mi, 8 * Mi]}, limits={"limit": 10 * Mi}, marks=[(2.5, "killed 137", "end")])
    area = re.search(r'<path d="(M[^"]*)Z" fill="[^"]*blue', chart.svg())
    points = [tuple(map(float, point.split())) for point in area[1][1:].split("L")]
    last = points[-3]  # the two points after it are on the floor
    cross = re.search(r'<path d="M([\d.]+) [\d.]+V[\d.]+"[^>]*stroke-dasharray="2 3"', chart.svg())
    assert abs(last[0] - float(cross[1])) < 0.1 and last[1] == min(y for _, y in points)
    evicted = usage_chart([1, 2], {"a": [8, 5]}, limits={"hard": 4}, marks=[(2.5, "evicted", "end")]).svg()
    ends = re.search(r'<path d="(M[^"]*)Z" fill="[^"]*blue', evicted)
    assert len(ends[1].split("L")) == 4
