"""A host that was busy with other work during a measurement is detected, and the nodes' own work is not counted."""

from __future__ import annotations

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.host_load import HostLoad, HostMeter, HostTime


class Played:
    """A node that reads these counters one after another."""

    def __init__(self, *times: HostTime | None) -> None:
        self._times = list(times)

    def host_time(self) -> HostTime | None:
        return self._times.pop(0)


def at(seconds: float, own: float, *busy: float, waited: float | None = None) -> HostTime:
    return HostTime(seconds, own, {str(i): one for i, one in enumerate(busy)}, waited)


@pytest.mark.parametrize(
    ("nodes", "others"),
    [
        ([(at(0, 0, 50, 50), at(10, 20, 60, 60))], 0.0),  # both processors busy, with the node's own pods
        ([(at(0, 0, 50, 50), at(10, 5, 60, 60))], 0.75),
        ([(at(0, 0, 50, 50), at(10, 0, 50, 50))], 0.0),
        ([(at(0, 0, 50), at(10, 11, 60))], 0.0),  # the two counters are not read at the same instant
        ([(at(0, 0, 50, 50), at(10, 5, 60, 60)), (at(0, 0, 50, 50), at(10, 5, 60, 60))], 0.5),  # the same processors
        ([(at(0, 0, 50), at(0, 0, 50))], 0.0),
    ],
)
def test_others_are_what_is_busy_and_not_the_nodes_own(nodes: list[tuple[HostTime, HostTime]], others: float) -> None:
    load = HostMeter([Played(*times) for times in nodes]).load()
    assert load is not None and load.others == pytest.approx(others)


def test_a_processor_that_only_one_reading_has_is_left_out() -> None:
    load = HostMeter([Played(at(0, 0, 50), at(10, 0, 55, 900))]).load()
    assert load is not None and load.others == pytest.approx(0.5)


def test_each_reading_is_since_the_one_before() -> None:
    meter = HostMeter([Played(at(0, 0, 0), at(1, 0, 1), at(2, 0, 1))])
    first, second = meter.load(), meter.load()
    assert first is not None and second is not None
    assert (first.others, second.others) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (HostLoad(4, 0.09), ""),
        (HostLoad(4, 0.83), "The host was busy: other processes used 83% of the CPU time. Run this again."),
        (
            HostLoad(4, 0.5, 0.7),
            "The host was busy: other processes used 50% of the CPU time (tasks waited for a processor 70% of the "
            "time). Run this again.",
        ),
    ],
)
def test_the_sentence_names_the_part_and_the_way_out(load: HostLoad, said: str) -> None:
    assert load.sentence == said


def test_pressure_is_the_part_of_the_time() -> None:
    load = HostMeter([Played(at(0, 0, 0, waited=1.0), at(4, 0, 2, waited=2.0))]).load()
    assert load is not None and load.waited == 0.25


def test_a_simulated_node_has_no_machine() -> None:
    with Cluster.simulated(1) as cluster:
        assert HostMeter([cluster.node()]).load() is None
