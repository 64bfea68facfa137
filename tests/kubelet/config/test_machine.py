"""The kubelet's information about its machine: groups of processors, sizes, capacity."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.resource import Quantity
from kitlib.kubelet.config.machine import (
    CPU,
    HugePages,
    MachineError,
    MachineInfo,
    default_max_pid,
    grouped,
    huge_page_limits,
    huge_page_unit,
)


def test_processors_in_groups_of_one_size() -> None:
    made = grouped(sockets=2, numa=1, cores=2, threads=2)
    assert [(cpu.id, cpu.core, cpu.socket, cpu.numa) for cpu in made] == [
        (0, 0, 0, 0), (1, 1, 0, 0), (2, 2, 1, 1), (3, 3, 1, 1), (4, 0, 0, 0), (5, 1, 0, 0), (6, 2, 1, 1), (7, 3, 1, 1),
    ]  # fmt: skip
    beside = grouped(cores=2, threads=2, siblings="next")
    assert [(cpu.id, cpu.core) for cpu in beside] == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert [cpu.numa for cpu in grouped(sockets=1, numa=2, cores=1, threads=1)] == [0, 1]
    assert [cpu.uncore_cache for cpu in grouped(numa=2, cores=4, threads=1, caches=2)] == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cores": 0, "memory": 1}, "cores: 0 must be at least 1"),
        ({"cores": 1, "memory": 0}, "memory: 0 must be greater than 0"),
        ({"cores": 2, "memory": 1, "topology": (CPU(0, 0, 0, 0, 0),)}, "1 processors listed, but cores is 2"),
        ({"cores": 2, "memory": 1, "topology": (CPU(0, 0, 0, 0, 0),) * 2}, "listed twice"),
    ],
)
def test_a_machine_that_cannot_be(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(MachineError, match=words):
        MachineInfo(**fields)
    assert MachineInfo(cores=1, memory=1).cpus == (CPU(0, 0, 0, 0, 0),)


def test_capacity_by_its_readers() -> None:
    made = MachineInfo.declare(4, "1Gi", huge_pages={"2Mi": 3}, ephemeral_storage="5Gi", max_pid=100)
    plain = {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "6Mi"}
    assert {name: str(amount) for name, amount in made.capacity().items()} == plain
    measured = made.container_manager_capacity()
    assert {name: str(amount) for name, amount in measured.items()} == {**plain, "ephemeral-storage": "5Gi"}
    assert {name: str(amount) for name, amount in made.internal_capacity().items()} == {**plain, "pid": "100"}
    bare = MachineInfo(cores=1, memory=1)
    assert set(bare.container_manager_capacity()) == set(bare.internal_capacity()) == {"cpu", "memory"}
    assert (made.huge_page_memory, made.huge_page_sizes) == (6 * 2**20, (2**21,))
    assert HugePages(2**30, 1).resource_name == "hugepages-1Gi"


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(1, 20), (20 * 2**17, 20), (21 * 2**17, 21), (2**30, 2**13), (2**39, 2**22), (2**45, 4 * 1024 * 1024)],
)
def test_process_ids_by_the_kernels_default(memory: int, expected: int) -> None:
    """Source: kernel/fork.c set_max_threads."""
    assert default_max_pid(memory) == expected


@pytest.mark.parametrize(
    ("size", "unit"),
    [
        (1, "1"),
        (1023, "1023"),
        (1024, "1KB"),
        (2**21, "2MB"),
        (2**30, "1GB"),
        (1536, "1536"),
        (2**50, "1PB"),
        (2**60, "1024PB"),
    ],
)
def test_page_sizes_as_the_kernel_writes_them(size: int, unit: str) -> None:
    assert huge_page_unit(size) == unit


def test_limits_of_huge_pages_by_size() -> None:
    names = {"hugepages-2Mi": "4Mi", "hugepages-2048Ki": "2Mi", "hugepages-1Gi": "0", "memory": "1Gi"}
    limits = huge_page_limits({name: Quantity(amount) for name, amount in names.items()})
    assert limits == {2**21: 6 * 2**20, 2**30: 0}
