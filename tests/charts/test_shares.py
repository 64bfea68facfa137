"""The picture of shares draws what the chart's figures say, on random weights and limits."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.charts.shares import shares_chart
from kitlib.node.simulated.cpu.sharing import water_fill

CGROUPS = st.lists(st.tuples(st.integers(2, 5000), st.sampled_from([None, 0.1, 0.5, 1.0, 3.0])), min_size=1, max_size=6)


def drawn(svg: str, kind: str) -> list[float]:
    """The widths in pixels of the boxes of a kind."""
    return [float(width) for width in re.findall(rf'<rect[^>]* width="([\d.]+)"[^>]*{kind}', svg)]


@settings(max_examples=60, deadline=None)
@given(CGROUPS, st.sampled_from([366, 720, 1000]))
def test_bars_are_as_long_as_their_cpus_and_what_is_left_over_is_what_is_taken(cgroups, width):
    names = [f"c{place}" for place in range(len(cgroups))]
    weights, limits = [one for one, _ in cgroups], [lid for _, lid in cgroups]
    cpus = [float(one) for one in water_fill([(weight, lid or 4.0) for weight, lid in cgroups], 4)]
    chart = shares_chart(names, weights, cpus, limits=limits)
    svg = chart.svg(width)
    outlines = drawn(svg, 'stroke-width="1.5"')
    longest = max(range(len(cpus)), key=cpus.__getitem__)
    scale = outlines[longest] / cpus[longest]
    assert all(abs(wide - max(cpu * scale, 1)) < 0.2 for wide, cpu in zip(outlines, cpus, strict=True))
    promised = [sum(cpus) * weight / sum(weights) for weight in weights]
    more = [cpu - own for cpu, own in zip(cpus, promised, strict=True) if cpu - own > 0.005]
    hatched = drawn(svg, 'fill="url')
    assert len(hatched) == len(more)
    assert all(abs(wide - one * scale) < 0.3 for wide, one in zip(hatched, more, strict=True))
    assert svg.count("stroke-dasharray") == sum(own - cpu > 0.005 for own, cpu in zip(promised, cpus, strict=True))


def test_the_sentence_says_who_takes_what_a_limit_leaves_over():
    chart = shares_chart(["a", "b"], [100, 100], [0.5, 1.5], limits=[0.5, None])
    assert "The limit of a leaves 0.50 CPUs to b." in chart.sentence
    assert "limit 0.5" in chart.svg(720) and "0.50 left over" in chart.svg(720)
    free = shares_chart(["a", "b"], [100, 100], [1.0, 1.0])
    assert "limit" not in free.svg(720) + free.sentence
