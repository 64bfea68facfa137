"""The topology manager merges hints as its policy says."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.topologymanager.hints import Hints, TopologyHint
from kitlib.kubelet.cm.topologymanager.manager import TopologyManager


def hint(*nodes: int, preferred: bool = True) -> TopologyHint:
    return TopologyHint(frozenset(nodes), preferred)


@pytest.mark.parametrize(
    ("policy", "hints", "best", "admitted"),
    [
        # nobody cares: any node
        ("best-effort", [{}], hint(0, 1), True),
        ("restricted", [{}, {"gpu": None}], hint(0, 1), True),
        ("single-numa-node", [{}], TopologyHint(None, True), True),
        # both can be served by node 1
        ("restricted", [{"cpu": [hint(0), hint(1), hint(0, 1, preferred=False)]}, {"gpu": [hint(1)]}], hint(1), True),
        # the narrowest of two preferred ones is the one with the lower number
        ("restricted", [{"cpu": [hint(1), hint(0)]}], hint(0), True),
        # they do not meet: the best is not preferred
        ("best-effort", [{"cpu": [hint(0)]}, {"gpu": [hint(1)]}], hint(0, 1, preferred=False), True),
        ("restricted", [{"cpu": [hint(0)]}, {"gpu": [hint(1)]}], hint(0, 1, preferred=False), False),
        # what can be preferred on two nodes is refused by single-numa-node only
        ("restricted", [{"cpu": [hint(0, 1)]}], hint(0, 1), True),
        ("single-numa-node", [{"cpu": [hint(0, 1)]}], TopologyHint(None, False), False),
        # no place at all
        ("best-effort", [{"cpu": []}], hint(0, 1, preferred=False), True),
        ("restricted", [{"cpu": []}], hint(0, 1, preferred=False), False),
        # of hints that are not preferred the one that is as wide as the most demanding resource needs
        (
            "best-effort",
            [{"cpu": [hint(0, preferred=False), hint(0, 1, preferred=False)]}, {"gpu": [hint(0, 1, preferred=False)]}],
            hint(0, 1, preferred=False),
            True,
        ),
    ],
)
def test_hints_are_merged_as_the_policy_says(
    policy: str, hints: list[Hints], best: TopologyHint, admitted: bool
) -> None:
    assert TopologyManager(policy, "container", [0, 1], []).merge(hints) == (best, admitted)


def test_of_equally_many_nodes_the_closer_ones_are_preferred_where_the_option_says_so() -> None:
    hints: list[Hints] = [{"cpu": [hint(0, 1), hint(0, 2)]}]
    distances = {0: (10, 30, 12), 1: (30, 10, 30), 2: (12, 30, 10)}
    plain = TopologyManager("best-effort", "container", [0, 1, 2], [], {}, distances)
    closest = {"prefer-closest-numa-nodes": "true"}
    assert plain.merge(hints)[0] == hint(0, 1)
    assert TopologyManager("best-effort", "container", [0, 1, 2], [], closest, distances).merge(hints)[0] == hint(0, 2)


def test_a_machine_with_more_than_eight_numa_nodes_needs_the_option() -> None:
    with pytest.raises(KitError, match="more than 8 NUMA Nodes"):
        TopologyManager("restricted", "container", range(9), [])
    TopologyManager("restricted", "container", range(9), [], {"max-allowable-numa-nodes": "9"})
