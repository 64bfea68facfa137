"""The best of the scored nodes, and the choice by chance among equal ones."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kitlib.scheduler.framework.scoring import best_rows, random_row
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod


@pytest.mark.parametrize(
    ("rows", "total", "expected"),
    [
        ([3, 5, 8], [1, 9, 2], [5]),
        ([3, 5, 8], [9, 1, 9], [3, 8]),
        ([4], [0], [4]),
        ([2, 7], [-1, -1], [2, 7]),
        ([], [], []),
    ],
)
def test_the_best_rows_have_the_highest_total(rows: list[int], total: list[int], expected: list[int]) -> None:
    assert best_rows(np.array(rows, np.int64), np.array(total, np.int64)).tolist() == expected


def test_each_of_equal_rows_may_be_chosen_and_the_seed_decides() -> None:
    rows, dice = np.array([3, 5, 8]), random.Random(4)
    assert {random_row(rows, dice) for _ in range(50)} == {3, 5, 8}
    assert random_row(rows, random.Random(7)) == random_row(rows, random.Random(7))


def test_a_batch_and_a_whole_cycle_throw_the_same_dice() -> None:
    """Like pods are placed by the incremental answers; every pod alone by a new scheduler's whole cycle."""
    nodes = [node(name) for name in "edcba"]
    batch, dice = Scheduler(nodes, seed=11), random.Random(11)
    placed: list[str] = []
    for i in range(5):
        found = batch.schedule(pod(f"p{i}"))
        alike = [name for name in "edcba" if name not in placed]
        assert found.suggested_host == alike[dice.randrange(len(alike))]
        placed.append(found.suggested_host)
