"""The Prometheus text format."""

from __future__ import annotations

import pytest

from kitlib.api.prometheus import Family, Histogram, exponential_buckets, exposition, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0, "0"), (1, "1"), (-2.5, "-2.5"), (0.005, "0.005"), (100000, "100000"), (1e6, "1e+06"), (1e21, "1e+21")],
        *[(1234567, "1.234567e+06"), (0.0001, "0.0001"), (0.00001, "1e-05"), (1.5e-7, "1.5e-07"), (-3e9, "-3e+09")],
        *[(float("inf"), "+Inf"), (float("-inf"), "-Inf"), (float("nan"), "NaN"), (0.1 + 0.2, "0.30000000000000004")],
    ],
)
def test_numbers_are_written_as_go_does(value: float, text: str) -> None:
    assert number(value) == text


def test_families_without_samples_are_left_out_and_labels_escaped() -> None:
    empty, used = Family("a_total", "none"), Family("b_total", "line\nand \\", ("path",))
    used.add(('x"\\\n',))
    used.add(('x"\\\n',), 2)
    assert exposition([used, empty]) == (
        '# HELP b_total line\\nand \\\\\n# TYPE b_total counter\nb_total{path="x\\"\\\\\\n"} 3\n'
    )


def test_a_histogram_counts_upwards_and_a_bound_belongs_to_its_bucket() -> None:
    made = Histogram("h", "help", exponential_buckets(1, 10, 3), ("verb",))
    for value in (0.5, 1, 5, 1000):
        made.observe(value, ("GET",))
    assert list(made.samples()) == [
        'h_bucket{verb="GET",le="1"} 2',
        'h_bucket{verb="GET",le="10"} 3',
        'h_bucket{verb="GET",le="100"} 3',
        'h_bucket{verb="GET",le="+Inf"} 4',
        'h_sum{verb="GET"} 1006.5',
        'h_count{verb="GET"} 4',
    ]
