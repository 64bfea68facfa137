"""The groups of a machine's processors."""

from __future__ import annotations

from tests.kubelet.cm.cpumanager.machines import machine


def test_processors_by_group() -> None:
    found = machine(sockets=2, nodes=1, cores=2, threads=2)
    assert found.ids == set(range(8))
    assert found.groups("core") == {0: {0, 4}, 1: {1, 5}, 2: {2, 6}, 3: {3, 7}}
    assert found.groups("numa") == found.groups("socket") == {0: {0, 1, 4, 5}, 1: {2, 3, 6, 7}}
    assert found.split("core", [4, 1, 0]) == {0: [4, 0], 1: [1]}
    assert found.split("socket", []) == {}
    assert found.of("core", [1, 3, 99]) == {1, 5, 3, 7}
    assert found.of("core", []) == frozenset()
    assert found.above([0, 4, 3], "core") == {0, 3}
    assert (found.size("core"), found.size("socket")) == (2, 4)


def test_the_size_of_a_group_is_an_average_rounded_down() -> None:
    """Source: CPUTopology.CPUsPerCore; upstream assumes equal groups."""
    whole = machine(cores=3, threads=2)
    part = type(whole)(cpu for cpu in whole.cpus.values() if cpu.id != 5)
    assert part.size("core") == 1
