"""A search that is kept finds what a new one finds, whatever has changed in between."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.scheduler.framework.candidate_search import CandidateSearch
from kitlib.scheduler.framework.change_log import ChangeLog
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import Candidate
from kitlib.scheduler.framework.status import Code, Status

SIZE = 12


def outcome(row: int, kind: int) -> Candidate | Status:
    """No candidate, an error, one that violates a budget, or one whose victim has one of three priorities."""
    if kind == 0:
        return Status(Code.Unschedulable, ("Insufficient cpu",), "NodeResourcesFit")
    pod = Pod(metadata=ObjectMeta(name=f"v{row}", uid=f"v{row}"))
    pod.spec.priority = kind % 3
    victims = () if kind == 1 else (PodInfo(pod),)
    return Candidate(row, f"n{row}", victims, violations=int(kind == 2))


def snapshot(log: ChangeLog) -> Any:
    return SimpleNamespace(changes=1, version=log.position, changed_since=log.since)


@pytest.mark.parametrize("seed", range(40))
def test_a_kept_search_finds_what_a_new_one_finds(seed: int) -> None:
    dice, log, kept = random.Random(seed), ChangeLog(), CandidateSearch()
    odd = seed % 3 == 0  # errors and budgets too
    kinds = [dice.randrange(0 if odd else 3, 6) for _ in range(SIZE)]
    for _ in range(30):
        for row in dice.sample(range(SIZE), dice.randrange(3)):
            kinds[row] = dice.choice([0, 3, 4, 5, *([1, 2] if odd else [])])
            log.append(row)
        some = np.array(sorted(dice.sample(range(SIZE), SIZE - (dice.random() < 0.2))), np.int64)
        enough = dice.choice([4, 4, 4, 20])

        def select(row: int) -> Candidate | Status:
            return outcome(row, kinds[row])

        one, other = (search.run(some, enough, select, snapshot(log)) for search in (kept, CandidateSearch()))
        assert list(one.candidates) == list(other.candidates)
        assert [c.cost for c in one.candidates.values()] == [c.cost for c in other.candidates.values()]
        assert one.best == other.best
        if not other.candidates:
            assert (one.reasons, one.errors) == (other.reasons, other.errors)
