"""The rounds of reclaim: how much page cache a limit below the usage costs, as Linux 6.1 does it."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.common.workload import declared_workload
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.scanning import scanned

PAGE = 4096
MI = 2**20
POD, MAIN = "/pods/a", "/pods/a/main"


@pytest.mark.parametrize(
    ("wanted", "lists", "freed"),
    [
        (8, [4096], 58),  # at least 32 pages are wanted: 1, 1, 3, 7, 15, 31
        (1600, [4096], 1726),  # 58 + 63 + 124 + 240 + 451 + 790
        (4096, [4096], 4096),
        (5000, [4096], 5000),  # the list has less: the rest comes from elsewhere
        (0, [], 0),
    ],
)
def test_rounds_double_until_they_have_freed_what_was_wanted(wanted: int, lists: list[int], freed: int) -> None:
    assert scanned(wanted * PAGE, [size * PAGE for size in lists]) == freed * PAGE


def test_each_cgroup_gives_its_part_of_a_round() -> None:
    assert scanned(400 * PAGE, [1024 * PAGE] * 4) == pytest.approx(scanned(400 * PAGE, [4096 * PAGE]), abs=16 * PAGE)


@pytest.mark.parametrize(
    ("version", "file", "left"),
    [(2, "memory.max", 23), (2, "memory.high", 23), (1, "memory.limit_in_bytes", 30)],
)
def test_a_limit_below_the_usage_costs_whole_rounds_of_page_cache_on_v2(version: Any, file: str, left: int) -> None:
    made = Kernel(MachineInfo.declare(2, "1Gi"), version)
    made.cgroups.makedirs(MAIN)
    made.spawn(declared_workload("memory=20Mi cache=40Mi"), MAIN)
    made.cgroups.write(POD, file, str(50 * MI))
    assert made.memory.cache(POD) // MI == left
    assert made.memory.anonymous(POD) == 20 * MI
