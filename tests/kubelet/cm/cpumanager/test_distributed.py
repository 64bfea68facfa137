"""Distribution of a request over NUMA nodes in equal parts: how many nodes, which ones, and who serves the rest."""

from __future__ import annotations

import pytest

from kitlib.kubelet.cm.cpumanager.distributed import take_by_topology_numa_distributed
from kitlib.kubelet.cm.cpumanager.packed import take_by_topology_numa_packed
from kitlib.kubelet.cm.cpumanager.state import CPUManagerError
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus
from tests.kubelet.cm.cpumanager.machines import machine

TWO = machine(sockets=2, cores=4, threads=1)  # NUMA nodes 0-3 and 4-7
THREADS = machine(sockets=2, cores=4, threads=2)  # NUMA nodes 0-3,8-11 and 4-7,12-15
FOUR = machine(sockets=4, cores=4, threads=1)


@pytest.mark.parametrize(
    ("needed", "expected"),
    [(0, ""), (1, "0"), (4, "0-3"), (5, "0-2,4-5"), (6, "0-2,4-6"), (7, "0-3,4-6"), (8, "0-7")],
)
def test_a_request_is_divided_over_as_few_nodes_as_can_serve_it(needed: int, expected: str) -> None:
    found = take_by_topology_numa_distributed(TWO, range(8), needed, 1)
    assert found == parse_cpus(expected)


@pytest.mark.parametrize(
    ("needed", "expected"),
    [(2, "0,8"), (8, "0-3,8-11"), (10, "0-2,4-5,8-10,12-13"), (12, "0-2,4-6,8-10,12-14"), (16, "0-15")],
)
def test_whole_cores_stay_whole_and_the_rest_of_the_division_goes_core_by_core(needed: int, expected: str) -> None:
    assert take_by_topology_numa_distributed(THREADS, range(16), needed, 2) == parse_cpus(expected)


@pytest.mark.parametrize("needed", [1, 9, 11, 15])
def test_a_request_that_whole_cores_cannot_serve_is_packed(needed: int) -> None:
    expected = take_by_topology_numa_packed(THREADS, range(16), needed)
    assert take_by_topology_numa_distributed(THREADS, range(16), needed, 2) == expected


@pytest.mark.parametrize(
    ("available", "needed", "expected"),
    [
        ("0-3,4-5", 4, "0-3"),
        ("0-3,4-5", 5, "0-2,4-5"),
        ("0-2,4-6", 4, "0-1,4-5"),
        ("0-3,4", 5, "0-4"),
        ("1-3,4-5", 5, "1-5"),
        ("0-1,4-6", 1, "4"),
    ],
    ids=["one node suffices", "the rest goes to the node that keeps more", "no node suffices",
         "a share exceeds a node", "nothing is left", "the fuller node gives"],
)  # fmt: skip
def test_processors_that_are_taken_count(available: str, needed: int, expected: str) -> None:
    assert format_cpus(take_by_topology_numa_distributed(TWO, parse_cpus(available), needed, 1)) == expected


@pytest.mark.parametrize(
    ("available", "needed", "nodes"),
    [
        ("0-15", 6, [0, 1]),
        ("0-3,5-15", 6, [0, 2]),
        ("0-1,4-5,8-15", 6, [2, 3]),
        ("0-15", 9, [0, 1, 2]),
        ("0-1,4-15", 9, [1, 2, 3]),
        ("0-15", 16, [0, 1, 2, 3]),
        ("0-1,4-5,8-9,12-13", 7, [0, 1, 2, 3]),
    ],
    ids=["equal nodes", "one is busy", "two are busy", "three nodes", "three of four", "all", "small nodes"],
)
def test_the_set_of_nodes_leaves_the_free_processors_distributed_most_evenly(
    available: str, needed: int, nodes: list[int]
) -> None:
    found = take_by_topology_numa_distributed(FOUR, parse_cpus(available), needed, 1)
    by_node = FOUR.split("numa", found)
    assert (len(found), sorted(by_node)) == (needed, nodes)
    shares = [len(cpus) for cpus in by_node.values()]
    assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize(
    ("available", "needed", "shares"),
    [("0-15", 13, [4, 3, 3, 3]), ("0-15", 14, [4, 4, 3, 3]), ("1-15", 13, [3, 4, 3, 3]), ("1-15", 14, [3, 4, 4, 3])],
)
def test_the_rest_goes_to_the_nodes_that_keep_the_balance(available: str, needed: int, shares: list[int]) -> None:
    found = take_by_topology_numa_distributed(FOUR, parse_cpus(available), needed, 1)
    assert [len(FOUR.split("numa", found)[node]) for node in range(4)] == shares


@pytest.mark.parametrize("group", [1, 2])
def test_every_request_gets_its_number_of_free_processors(group: int) -> None:
    available = parse_cpus("0-2,4-7,8-10,12-15")
    for needed in range(0, len(available) + 1, group):
        found = take_by_topology_numa_distributed(THREADS, available, needed, group)
        assert len(found) == needed
        assert found <= available


def test_more_than_is_free_is_refused_with_both_numbers() -> None:
    with pytest.raises(CPUManagerError, match="requested=6, available=5"):
        take_by_topology_numa_distributed(TWO, range(5), 6, 1)
    assert len(take_by_topology_numa_distributed(TWO, range(5), 5, 1)) == 5


def test_single_threads_are_taken_socket_by_socket_where_the_option_says_so() -> None:
    packed = take_by_topology_numa_distributed(THREADS, range(16), 10, 1)
    spread = take_by_topology_numa_distributed(THREADS, range(16), 10, 1, spread=True)
    assert (format_cpus(packed), format_cpus(spread)) == ("0-2,4-6,8-9,12-13", "0-8,12")


@pytest.mark.parametrize(
    ("available", "needed", "shares"),
    [
        ("0-3,4,8-11,12-15", 5, {0: 3, 2: 2}),
        ("0-2,4-7,8-10,12-15", 6, {1: 3, 3: 3}),
        ("0,4-7,8-9,12-15", 6, {1: 3, 3: 3}),
        ("0-3,4-5,8-9,12-13", 7, {0: 3, 1: 2, 2: 2}),
        ("0-3,4-7,8,12", 6, {0: 3, 1: 3}),
        ("0-3,4-6,8-10,12-14", 9, {0: 3, 1: 3, 2: 3}),
    ],
)
def test_uneven_machines(available: str, needed: int, shares: dict[int, int]) -> None:
    found = take_by_topology_numa_distributed(FOUR, parse_cpus(available), needed, 1)
    assert {node: len(cpus) for node, cpus in sorted(FOUR.split("numa", found).items())} == shares
