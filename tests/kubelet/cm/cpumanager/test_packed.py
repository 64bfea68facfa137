"""Packed assignment: whole groups first, then the rest from the fullest group of each kind."""

from __future__ import annotations

import pytest

from kitlib.kubelet.cm.cpumanager.packed import take_by_topology_numa_packed
from kitlib.kubelet.cm.cpumanager.state import CPUManagerError
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus
from tests.kubelet.cm.cpumanager.machines import machine

SOCKETS = machine(sockets=2, cores=4)  # 0-3,8-11 and 4-7,12-15
CLUSTERS = machine(sockets=1, nodes=2, cores=2)  # one socket of two NUMA nodes: 0-1,4-5 and 2-3,6-7
CACHES = machine(sockets=1, cores=4, caches=2)  # two caches of two cores: 0-1,4-5 and 2-3,6-7
SINGLE = machine(sockets=1, cores=4, threads=1, caches=2)  # two caches of two processors


@pytest.mark.parametrize(
    ("available", "needed", "expected"),
    [
        ("0-15", 0, ""),
        ("0-15", 1, "0"),
        ("0-15", 2, "0,8"),
        ("0-15", 3, "0-1,8"),
        ("0-15", 8, "0-3,8-11"),
        ("0-15", 9, "0-4,8-11"),
        ("0-15", 16, "0-15"),
        ("1-15", 1, "8"),
        ("1-15", 2, "1,9"),
        ("1-15", 7, "1-3,8-11"),
        ("1-15", 8, "4-7,12-15"),
        ("1-3,5-7", 2, "1-2"),
        ("0,4-5,8,12-13", 2, "0,8"),
        ("0-1,4,8,12", 3, "1,4,12"),
    ],
)
def test_sockets_come_before_cores_and_cores_before_threads(available: str, needed: int, expected: str) -> None:
    """Source: takeByTopologyNUMAPacked."""
    assert format_cpus(take_by_topology_numa_packed(SOCKETS, parse_cpus(available), needed)) == expected


@pytest.mark.parametrize(
    ("available", "needed", "expected"),
    [("0-7", 8, "0-7"), ("0-7", 4, "0-1,4-5"), ("1-7", 4, "2-3,6-7"), ("0-7", 5, "0-2,4-5"), ("1-7", 3, "1,4-5")],
)
def test_numa_nodes_of_one_socket_are_groups_of_their_own(available: str, needed: int, expected: str) -> None:
    assert format_cpus(take_by_topology_numa_packed(CLUSTERS, parse_cpus(available), needed)) == expected


@pytest.mark.parametrize(
    ("available", "needed", "plain", "by_cache"),
    [
        ("0-7", 4, "0-1,4-5", "0-1,4-5"),
        ("1-7", 4, "1-2,5-6", "2-3,6-7"),
        ("1-7", 3, "1,4-5", "1,4-5"),
        ("1,3-7", 3, "1,4-5", "1,4-5"),
        ("0-7", 6, "0-2,4-6", "0-2,4-6"),
        ("0-7", 3, "0-1,4", "0-1,4"),
        ("1-7", 5, "1-2,4-6", "2-4,6-7"),
    ],
)
def test_whole_caches_are_kept_together_where_the_option_says_so(
    available: str, needed: int, plain: str, by_cache: str
) -> None:
    """Source: takeUncoreCache."""
    free = parse_cpus(available)
    assert format_cpus(take_by_topology_numa_packed(CACHES, free, needed)) == plain
    assert format_cpus(take_by_topology_numa_packed(CACHES, free, needed, by_cache=True)) == by_cache


@pytest.mark.parametrize(("needed", "expected"), [(1, "1"), (2, "2-3"), (3, "1-3")])
def test_a_cache_of_single_threads(needed: int, expected: str) -> None:
    assert format_cpus(take_by_topology_numa_packed(SINGLE, {1, 2, 3}, needed, by_cache=True)) == expected


@pytest.mark.parametrize(
    ("available", "needed", "expected"), [("0-15", 2, "0-1"), ("0-15", 8, "0-3,8-11"), ("1-15", 3, "1-3")]
)
def test_cores_are_not_filled_where_the_processors_are_spread(available: str, needed: int, expected: str) -> None:
    found = take_by_topology_numa_packed(SOCKETS, parse_cpus(available), needed, spread=True)
    assert format_cpus(found) == expected


def test_more_than_is_free_is_refused_with_both_numbers() -> None:
    with pytest.raises(CPUManagerError, match="requested=4, available=3"):
        take_by_topology_numa_packed(SOCKETS, range(3), 4)
    assert take_by_topology_numa_packed(SOCKETS, range(3), 3) == {0, 1, 2}
