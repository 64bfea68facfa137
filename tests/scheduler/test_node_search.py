"""How many nodes are looked at, and in which order."""

from __future__ import annotations

import pytest

from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.node_search import num_feasible_nodes_to_find
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of


@pytest.mark.parametrize(
    ("percentage", "nodes", "found"),
    [
        (None, 5000, 5000),
        (0, 99, 99),
        (0, 100, 100),
        (0, 1000, 420),
        (0, 6000, 300),
        (40, 1000, 400),
        (5, 1000, 100),
        (100, 1000, 1000),
    ],
    ids=[
        "all where nothing else is asked for",
        "all below a hundred nodes",
        "a hundred of a hundred",
        "adaptive: 50 percent minus one for every 125 nodes",
        "adaptive: never below five percent",
        "the percentage that is set",
        "never below a hundred nodes",
        "a hundred percent",
    ],
)
def test_so_many_feasible_nodes_end_the_search(percentage: int | None, nodes: int, found: int) -> None:
    assert num_feasible_nodes_to_find(percentage, nodes) == found


def test_nodes_are_tried_zone_by_zone_in_turn() -> None:
    zones = ["z1", "z1", "z1", "z2", "", "z2"]
    nodes = [node_of({"name": f"n{i}", "zone": zone}) for i, zone in enumerate(zones)]
    snapshot = Snapshot(nodes)
    assert [snapshot.names[row] for row in snapshot.search_order()] == ["n0", "n3", "n4", "n1", "n5", "n2"]


def test_a_configuration_asks_for_the_adaptive_number_only_where_it_stands_for_a_cluster() -> None:
    document = {"kind": "KubeSchedulerConfiguration", "profiles": [{}]}
    nodes = [node_of({"name": f"n{i:04d}"}) for i in range(400)]
    (as_cluster,) = Profile.load(document, adaptive=True).values()
    (teaching,) = Profile.load(document).values()
    assert len(Scheduler(nodes, profile=as_cluster).explain(pod_of({"name": "p"})).feasible) == 188
    assert len(Scheduler(nodes, profile=teaching).explain(pod_of({"name": "p"})).feasible) == 400
