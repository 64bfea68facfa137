"""Who is killed first on a node whose pods use more or less than planned."""

from __future__ import annotations

import pytest

from kitlib.advisor.first_victim import first_victim
from kitlib.api.errors import KitError


def test_as_planned_the_smallest_pod_is_killed_whatever_the_seed() -> None:
    assert {first_victim(seed)["victim"] for seed in range(3)} == {"log"}


def test_the_seed_draws_and_decides() -> None:
    drawn = [first_victim(seed, spread=30)["victim"] for seed in range(12)]
    assert drawn == [first_victim(seed, spread=30)["victim"] for seed in range(12)]
    assert len(set(drawn)) > 1 and "db" not in drawn, "a Guaranteed pod stays"


def test_where_all_fits_no_pod_is_killed() -> None:
    assert first_victim(pods=[{"name": "a", "uses": 100}]) == {"victim": "none"}
    assert first_victim(memory="4Gi") == {"victim": "none"}


def test_a_pod_s_request_protects_it() -> None:
    pods = [{"name": "a", "uses": 300}, {"name": "b", "uses": 300, "requests": 900}, {"name": "c", "uses": 600}]
    assert first_victim(pods=pods)["victim"] in ("a", "c")


def test_what_is_no_pod_is_refused() -> None:
    with pytest.raises(KitError, match="pods: a pod must have the fields name and uses"):
        first_victim(pods=[{"name": "a", "memory": 5}])
    with pytest.raises(KitError, match="spread: must be a percentage from 0 to 100, got 200"):
        first_victim(spread=200)
