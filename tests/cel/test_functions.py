"""The table of all functions: each has its types, and none is there twice."""

from __future__ import annotations

import pytest

from kitlib.cel.functions import FUNCTIONS, METHODS, OPERATORS
from kitlib.cel.library import Overload


@pytest.mark.parametrize("table", [FUNCTIONS, METHODS, OPERATORS])
def test_no_two_ways_to_call_a_function_take_the_same(table: dict[str, list[Overload]]) -> None:
    for name, overloads in table.items():
        taken = [overload.takes for overload in overloads]
        assert len(taken) == len(set(taken)), name
