"""Sets of NUMA nodes: their order and which of two is narrower."""

from __future__ import annotations

import pytest

from kitlib.kubelet.cm.topologymanager.hints import TopologyHint, narrower, node_sets


def test_sets_of_nodes_come_small_ones_first() -> None:
    assert [sorted(one) for one in node_sets([2, 0, 1])] == [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    assert list(node_sets([])) == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({0}, {1}, True),
        ({1}, {0}, False),
        ({0}, {0}, False),
        ({3}, {0, 1}, True),
        ({0, 1}, {3}, False),
        ({0, 2}, {1, 2}, True),
        ({1, 2}, {0, 3}, True),
        ({0, 3}, {1, 2}, False),
    ],
)
def test_the_narrower_set_has_fewer_nodes_or_lower_numbers(one: set[int], other: set[int], expected: bool) -> None:
    """Source: bitmask.IsNarrowerThan, which compares the masks as numbers."""
    assert narrower(frozenset(one), frozenset(other)) is expected


def test_a_hint_in_words() -> None:
    assert str(TopologyHint(frozenset({1, 0}), True)) == "[0 1] true"
    assert str(TopologyHint(None, False)) == "[] false"
