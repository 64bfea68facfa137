"""Rows with equal amounts have the same number, however they came to have them."""

from __future__ import annotations

import random

import pytest

from kitlib.scheduler.framework.row_amounts import RowAmounts

KINDS = {None: 1, "small": 1, "large": 3}


@pytest.mark.parametrize("seed", range(20))
def test_equal_amounts_have_equal_numbers_and_others_other_ones(seed: int) -> None:
    dice, taken = random.Random(seed), [0] * 5
    numbers = RowAmounts(lambda row: (taken[row],))
    known: dict[int, int] = {}
    for _ in range(300):
        row, kind, sign = dice.randrange(5), dice.choice(list(KINDS)), dice.choice([1, -1])
        taken[row] += sign * KINDS[kind]
        numbers.changed(row, kind, sign)
        for seen in dice.sample(range(5), 2):
            assert known.setdefault(taken[seen], numbers.of(seen)) == numbers.of(seen)
    assert len(set(known.values())) == len(known)


def test_numbers_go_on_after_all_amounts_were_forgotten() -> None:
    numbers = RowAmounts(lambda row: (row,))
    before = {numbers.of(row) for row in range(5)}
    numbers.forget()
    assert before.isdisjoint(numbers.of(row) for row in range(5))
