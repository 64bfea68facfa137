"""Columns of pods under the line of maxSkew: on random clusters a next pod is below the line just where it may go."""

import re

import pytest
from hypothesis import given, strategies

from kitlib.charts.spread_columns import HEAD, lowest, row_height, rows_shown, skew_at, spread_columns

numbers = strategies.integers


def domains_of(counts, max_skew, left_out=()):
    least = min(counts)
    return [
        {
            "domain": f"zone{n + 1}",
            "pods": count + (left_out[n] if n < len(left_out) else 0),
            "counted": count,
            "skew": count + 1 - least,
            "allowed": count + 1 - least <= max_skew,
        }
        for n, count in enumerate(counts)
    ]


def line_of(svg):
    return float(re.search(r'<path d="M0 ([\d.]+)H\d+" fill="none"[^>]*stroke-dasharray="8 5"', svg)[1])


@given(strategies.lists(numbers(0, 30), min_size=1, max_size=12), numbers(1, 10), numbers(280, 1000))
def test_the_next_pod_ends_below_the_line_just_where_it_is_allowed(counts, max_skew, width):
    domains = domains_of(counts, max_skew)
    svg = spread_columns(domains, max_skew, sentence="", width=width)
    rows = rows_shown(domains, max_skew)
    floor = HEAD + rows * row_height(rows)
    for row in domains:
        top = floor - (row["counted"] + 1) * row_height(rows)
        assert (top >= line_of(svg) - 0.06) == row["allowed"]
    assert line_of(svg) >= HEAD - 0.06, "the line is in the picture"


@given(numbers(1, 10), numbers(0, 20), numbers(0, 9))
def test_a_height_is_read_as_the_skew_that_is_drawn_there(max_skew, least, more):
    rows = least + max_skew + 2 + more
    y = HEAD + (rows - least - max_skew) * row_height(rows)
    assert skew_at(y, rows, least) == max_skew


def test_the_lowest_count_is_zero_while_min_domains_is_not_reached():
    rows = [{"domain": "a", "pods": 2, "counted": 2, "skew": 3, "allowed": False}]
    assert lowest(rows) == 0
    assert "lowest 0 + maxSkew 1 = 1" in spread_columns(rows, 1, sentence="")


def test_pods_that_are_not_counted_stand_beside_the_column_and_names_are_whole():
    rows = domains_of([1, 0], 1, left_out=(2,))
    svg = spread_columns(rows, 1, sentence="", pods={"zone1": ["pod-1", "pod-2", "pod-3"]}, chosen="zone2")
    assert svg.count("not counted by the constraint") == 2
    assert svg.count('data-carry="pod-') == 3 and "★ next" in svg


@pytest.mark.parametrize(("strict", "words"), [(True, "no pod above it"), (False, "counts against a node")])
def test_a_soft_constraint_does_not_say_that_it_refuses(strict, words):
    assert words in spread_columns(domains_of([2, 0], 1), 1, sentence="", strict=strict)


def test_two_hundred_domains_are_blocks_without_names_and_without_two_hundred_stops_of_the_keyboard():
    svg = spread_columns(domains_of([1] * 200, 1), 1, sentence="")
    assert svg.count("tabindex") == 1


@pytest.mark.parametrize("width", [300, 720])
def test_a_still_picture_shows_the_same_pods_and_line_without_what_can_be_dragged(width):
    rows = domains_of([2, 0], 1)
    moved, still = (spread_columns(rows, 1, sentence="", width=width, still=still) for still in (False, True))
    assert line_of(still) == line_of(moved) and still.count("<rect") < moved.count("<rect")
    assert "next pod</text>" in moved and "next pod</text>" not in still
    for mark in ("data-", "tabindex", 'role="slider"', 'role="button"', "drag"):
        assert mark in moved and mark not in still.replace("data-key", "")
