"""The points of a sweep: order, seeds, and what is no grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitlib.api.errors import KitError
from kitlib.study.sweeps.grid import key, plain, points


def test_the_last_parameter_changes_fastest_and_seeds_fastest_of_all() -> None:
    made = points({"a": [1, 2], "b": ["x"]}, seeds=2)
    assert made == [
        {"a": 1, "b": "x", "seed": 0},
        {"a": 1, "b": "x", "seed": 1},
        {"a": 2, "b": "x", "seed": 0},
        {"a": 2, "b": "x", "seed": 1},
    ]


def test_points_may_be_listed_and_seeds_may_stand_alone() -> None:
    assert points([{"a": 1}, {"a": 2, "b": 3}]) == [{"a": 1}, {"a": 2, "b": 3}]
    assert points({}, seeds=[7, 9]) == [{"seed": 7}, {"seed": 9}]


def test_the_key_does_not_depend_on_the_order_of_names() -> None:
    assert key({"b": 1, "a": [1, {"d": 2, "c": 3}]}) == key({"a": [1, {"c": 3, "d": 2}], "b": 1})
    assert key({"a": 1}) != key({"a": "1"})


def test_values_are_as_json_gives_them_back() -> None:
    assert plain({"a": (1, np.int64(2), np.float64(0.5)), "b": None}, "x") == {"a": [1, 2, 0.5], "b": None}


@pytest.mark.parametrize(
    ("grid", "seeds", "says"),
    [
        ({}, (), "grid: must have at least one parameter"),
        ({"a": []}, (), "grid.a: must have at least one value"),
        ({"a": 5}, (), "grid.a: must be a list of values, got 5"),
        ({"a": "xyz"}, (), "grid.a: must be a list of values, got 'xyz'"),
        ({"a": {"b": 1}}, (), "grid.a: must be a list of values"),
        ({"a": [object()]}, (), r"grid.a\[0\]: must be a number, a string"),
        ({"a": ["\udcff"]}, (), r"grid.a\[0\]: must be valid UTF-8 text, got '\\udcff'"),
        ({"a": [float("inf")]}, (), r"grid.a\[0\]: must be a finite number, got inf"),
        ({"a": [1, 1]}, (), r'the point {"a":1} occurs twice'),
        ({"max skew": [1]}, (), "a parameter's name must be a valid Python identifier, got 'max skew'"),
        ({1: [1]}, (), "a parameter's name must be a valid Python identifier, got 1"),
        (7, (), "grid: must map parameters to lists of values, got 7"),
        (["a"], (), r"grid\[0\]: must map parameters to values, got 'a'"),
        ({"a": range(2000), "b": range(2000)}, (), "4000000 points are too many for one sweep; the maximum is 1000000"),
        ({"a": [1]}, -1, "seeds: must be a non-negative number, got -1"),
        ({"a": [1]}, True, "seeds: must be a number of seeds"),
        ({"a": [1]}, 1.5, "seeds: must be a number of seeds"),
        ({"a": [1]}, ["x"], r"seeds\[0\]: must be an integer, got 'x'"),
        ({"a": [1]}, [1, 1], "occurs twice"),
        ({"a": [1], "seed": [1]}, 2, "grid.seed: cannot be used together with seeds="),
    ],
)
def test_what_is_no_grid_is_refused_by_name(grid: Any, seeds: Any, says: str) -> None:
    with pytest.raises(KitError, match=says):
        points(grid, seeds)
