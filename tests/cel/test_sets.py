"""Lists as sets, and what patterns find."""

from __future__ import annotations

import pytest

from tests.cel.answers import answer


@pytest.mark.parametrize(
    "text",
    [
        "sets.contains([1, 2, 3], [3, 1, 1]) && !sets.contains([1], [1, 2]) && sets.contains([], [])",
        "sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [1, 2])",
        "sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])",
        "'ab12c3'.find('[0-9]+') == '12' && 'ab'.find('[0-9]') == ''",
        "'a1b2c3'.findAll('[0-9]') == ['1', '2', '3'] && 'a1b2'.findAll('[0-9]', 1) == ['1']",
        "'a1'.findAll('[0-9]', 0) == [] && 'a1'.findAll('x', -1) == []",
    ],
)
def test_what_holds(text: str) -> None:
    assert answer(text) is True


def test_a_pattern_that_is_none_is_told_and_sets_cost_what_is_compared() -> None:
    assert "error parsing regexp: missing closing )" in answer("'a'.find('(')")
    assert "found no matching overload for 'sets.contains'" in answer("sets.contains([1], 1)")
    assert "cost limit exceeded" in answer("sets.contains(many, many)", many=list(range(1000)))
