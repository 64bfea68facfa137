"""The machine's counters as a node reads them: busy time of its own processors, and the time in which tasks waited."""

from __future__ import annotations

import os

import pytest

from kitlib.node.real.host_time import busy_seconds, host_time, waited_seconds

STAT = """\
cpu  400 40 80 1000 50 7 13 30 5 1
cpu0 200 10 40 500 25 3 7 20 5 1
cpu1 100 20 30 400 15 2 4 5 0 0
cpu10 100 10 10 100 10 2 2 5 0 0
intr 5 0 0
"""


@pytest.mark.parametrize(
    ("processors", "busy"),
    [
        ([0], {"0": 2.80}),  # user, nice, system, irq, softirq, steal; idle, iowait and guest (part of user) are not
        ([0, 1], {"0": 2.80, "1": 1.61}),
        ([10], {"10": 1.29}),
        ([], {}),
    ],
)
def test_the_busy_time_of_the_nodes_processors_counts(processors: list[int], busy: dict[str, float]) -> None:
    assert busy_seconds(STAT, processors, 100) == pytest.approx(busy)


def test_a_kernel_without_steal_time_is_read_too() -> None:
    assert busy_seconds("cpu0 10 0 20 400\n", [0], 100) == {"0": 0.3}


def test_the_pressure_file_says_how_long_tasks_waited() -> None:
    text = "some avg10=1.00 avg60=0.50 avg300=0.10 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    assert waited_seconds(text) == 2.5


def test_this_machine_is_read() -> None:
    found = host_time(1.5, 3.0)
    assert (found["own"], found["at"]) == (1.5, 3.0)
    assert {int(cpu) for cpu in found["busy"]} == os.sched_getaffinity(0)
    assert all(seconds > 0 for seconds in found["busy"].values())
