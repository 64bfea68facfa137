"""Charts of a sweep: means in cells, panels that share their colours, shares of names."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.charts import heat_map, share_bars, small_multiples

ROWS: list[dict[str, Any]] = [
    {"skew": skew, "zones": zones, "policy": policy, "seed": seed, "pending": zones * seed + skew, "error": ""}
    for skew in (1, 2)
    for zones in (2, 3)
    for policy in ("Honor", "Ignore")
    for seed in (0, 2)
]
BAD = {"skew": 1, "zones": 2, "policy": "Honor", "seed": 4, "pending": None, "error": "KeyError: 'x'"}


def test_a_cell_holds_the_mean_of_what_belongs_to_it() -> None:
    chart = heat_map(ROWS, "skew", "zones", "pending", unit="pods")
    assert [list(row) for row in chart.figure().data[0].z] == [[3, 4], [4, 5]]
    assert chart.sentence == "Mean pending goes from 3 pods (skew 1, zones 2) to 5 pods (skew 2, zones 3)."
    assert chart.columns["mean pending"] == [3, 4, 4, 5] and chart.columns["zones"] == ["2", "2", "3", "3"]
    assert "<svg" in chart.svg()


def test_errors_are_counted_and_left_out_of_the_mean() -> None:
    chart = heat_map([*ROWS, BAD], "skew", "zones", "pending")
    assert chart.figure().data[0].text[0][0] == "3 (1 ✗)" and chart.sentence.endswith("1 point ended in an error.")
    assert heat_map([BAD], "skew", "zones", "pending").sentence.startswith("No value of pending was measured.")


def test_panels_share_their_colours_and_name_their_value() -> None:
    rows = [{**row, "pending": row["pending"] + (10 if row["policy"] == "Ignore" else 0)} for row in ROWS]
    chart = small_multiples(rows, "skew", "zones", "pending", "policy")
    figure = chart.figure()
    assert [(trace.zmin, trace.zmax) for trace in figure.data] == [(0, 15), (0, 15)]
    assert [note.text for note in figure.layout.annotations[:2]] == ["policy Honor", "policy Ignore"]
    assert "to 15 (policy Ignore, skew 2, zones 3)" in chart.sentence and "<svg" in chart.svg()
    assert len(chart.columns["policy"]) == 8


def test_many_panels_stand_in_rows_and_too_many_are_refused() -> None:
    rows = [{"a": 1, "b": 1, "panel": i, "v": i} for i in range(6)]
    figure = small_multiples(rows, "a", "b", "v", "panel").figure()
    assert len(figure.data) == 6 and figure.layout.height > 300
    with pytest.raises(KitError, match="panel: has 13 values, but a chart can have at most 12 panels"):
        small_multiples([{"a": 1, "b": 1, "panel": i, "v": i} for i in range(13)], "a", "b", "v", "panel")


def test_shares_add_up_to_a_hundred_percent() -> None:
    rows = [{"jitter": j, "victim": v, "error": ""} for j, v in ((0, "a"), (0, "a"), (0, "b"), (0, "a"), (9, "b"))]
    chart = share_bars([*rows, {"jitter": 9, "victim": None, "error": "x"}], "jitter", "victim")
    assert [list(trace.y) for trace in chart.figure().data] == [[75, 0], [25, 100]]
    assert chart.sentence == "Most often, jitter 0: a 75%; jitter 9: b 100%."


def test_equal_values_are_said_to_be_equal() -> None:
    rows = [{"a": i, "b": 0, "v": 2} for i in range(3)]
    assert heat_map(rows, "a", "b", "v").sentence == "Mean v is 2 everywhere."


def test_columns_that_there_are_not_are_named() -> None:
    with pytest.raises(KitError, match="no column 'zone'; valid values: skew, zones"):
        heat_map(ROWS, "zone", "skew", "pending")
    with pytest.raises(KitError, match="column 'policy': must hold numbers, has 'Honor'"):
        heat_map(ROWS, "zones", "skew", "policy")
    with pytest.raises(KitError, match="rows: must have at least one row"):
        heat_map([], "a", "b", "c")
