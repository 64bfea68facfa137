"""Candidates for preemption: which node is the cheapest."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import Candidate, PostFilterResult
from kitlib.scheduler.framework.status import Code


def victim(priority: int = 0, started: int | None = 0) -> PodInfo:
    status = {} if started is None else {"startTime": f"2026-01-01T00:00:{started:02d}Z"}
    return PodInfo(from_dict({"metadata": {"name": "v"}, "spec": {"priority": priority}, "status": status}, Pod))


def candidate(*victims: PodInfo, violations: int = 0, node: str = "n") -> Candidate:
    return Candidate(0, node, victims, violations)


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        (candidate(victim(9)), candidate(victim(1), violations=1)),
        (candidate(victim(1), victim(1), victim(1)), candidate(victim(2))),
        (candidate(victim(2), victim(1)), candidate(victim(2), victim(2))),
        (candidate(victim(2)), candidate(victim(2), victim(-5))),
        (candidate(victim(-5)), candidate(victim(-5), victim(-5))),
        (candidate(victim(1, 30)), candidate(victim(1, 20))),
        (candidate(victim(2, 30), victim(1, 0)), candidate(victim(2, 20), victim(1, 59))),
        (candidate(victim(2, 10), victim(2, 30)), candidate(victim(2, 5), victim(2, 59))),
        (candidate(victim(1, None)), candidate(victim(1, 59))),
    ],
    ids=["violations", "highest priority", "sum", "number", "number of negative ones", "latest start",
         "start of the highest only", "earliest of the highest", "not started yet"],
)  # fmt: skip
def test_the_cheaper_of_two_nodes(cheaper: Candidate, dearer: Candidate) -> None:
    """Source: pickOneNodeForPreemption."""
    assert cheaper.cost < dearer.cost


def test_the_first_of_the_best_nodes_is_nominated() -> None:
    made = candidate(victim(), node="b")
    found = PostFilterResult(Code.Success, candidates={"a": candidate(victim(1)), "b": made}, best=["b", "a"])
    assert (found.nominated, found.victims) == ("b", made.victims)
    nothing: Any = PostFilterResult(Code.Unschedulable, "no")
    assert (nothing.nominated, nothing.victims) == ("", ())
