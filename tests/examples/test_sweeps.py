"""The sweeps that come with the kit find what they are there to show."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.examples.sweeps import example, examples


@pytest.mark.thorough
def test_a_zone_under_maintenance_costs_pods_unless_its_taints_are_honoured() -> None:
    found = example("max-skew").sweep().run(workers=0)
    pending = found.mean("pending", "nodeTaintsPolicy", "maxSkew")
    ignore = [pending["Ignore", skew] for skew in (1, 2, 3, 5)]
    honor = [pending["Honor", skew] for skew in (1, 2, 3, 5)]
    assert not found.errors and ignore == sorted(ignore, reverse=True) and ignore[0] > 9 > 3 > ignore[-1]
    assert honor == sorted(honor, reverse=True) and all(a < b for a, b in zip(honor, ignore, strict=True))
    skews = found.mean("zone_skew", "nodeTaintsPolicy", "maxSkew")
    assert skews["Ignore", 1] == 1, "as strict as it is said to be"


def test_most_allocated_leaves_nodes_free_and_needs_weight() -> None:
    found = example("packing").sweep().run(workers=0)
    free = found.mean("nodes_free", "strategy", "weight")
    assert not found.errors and all(row.values["pending"] == 0 for row in found.rows)
    assert free["LeastAllocated", 1] < 1 and free["MostAllocated", 10] > 4
    assert free["MostAllocated", 1] < free["MostAllocated", 3] <= free["MostAllocated", 10]


def test_a_larger_max_skew_has_fewer_pods_wait_and_puts_more_of_them_into_one_zone() -> None:
    found = example("nights").sweep().run(workers=0)
    pending, most = found.mean("pending", "maxSkew"), found.mean("zone_most", "maxSkew")
    assert not found.errors and pending[1] > pending[2] >= pending[3] == 0
    assert 5 <= most[1] <= most[2] <= most[3], "fifteen pods in three zones"


@pytest.mark.thorough
def test_the_smallest_pod_is_killed_first_as_long_as_pods_use_what_was_planned() -> None:
    found = example("first-victim").sweep().run(workers=0)
    share = found.share("victim", "spread")
    assert not found.errors and share[0] == {"log": 1.0}
    assert len(share[30]) > 2 and share[10]["log"] > share[30].get("log", 0)


@pytest.mark.parametrize("name", ["first-victim", "max-skew", "packing"])
def test_the_sweeps_of_the_notebook_are_small_enough_for_one_shared_processor(name: str) -> None:
    """At about 100 points a second two seconds each, as on Binder."""
    assert len(example(name).sweep().points) <= 200


def test_an_unknown_example_names_those_that_there_are() -> None:
    assert examples() == ["first-victim", "max-skew", "nights", "packing"]
    with pytest.raises(KitError, match="no sweep 'x'; valid values: first-victim, max-skew, nights, packing"):
        example("x")
