"""Addresses of simulated nodes and their pods."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from kitlib.api.errors import KitError
from kitlib.node.common.network import PodNetwork, node_network

SERVICES = ip_network("10.96.0.0/12")


def test_every_node_has_a_range_of_its_own_with_room_for_its_pods() -> None:
    for max_pods, most in ((110, 6000), (250, 2000), (1000, 4000), (5000, 500)):
        ranges = [ip_network(node_network(number, max_pods).pods) for number in range(most)]
        assert len(set(ranges)) == most and not ranges[0].overlaps(ranges[1])
        assert all(one.num_addresses - 3 >= max_pods and not one.overlaps(SERVICES) for one in ranges)
    assert len({node_network(number, 110).address for number in range(6000)}) == 6000


def test_where_no_range_is_left_pods_get_no_address() -> None:
    """As a node whose range nodeipam could not give."""
    left = node_network(10_000, 5_000)
    assert (left.pods, PodNetwork(left.pods).take("a")) == ("", "")


def test_addresses_are_given_one_after_the_other_and_a_free_one_only_after_all_others() -> None:
    """As CNI's host-local plugin does, so that a new pod is not taken for the one before it."""
    network = PodNetwork("10.244.0.0/29")
    assert [network.take(name) for name in "abc"] == ["10.244.0.2", "10.244.0.3", "10.244.0.4"]
    assert network.take("b") == "10.244.0.3"
    network.give_back("b")
    assert [network.take(name) for name in "def"] == ["10.244.0.5", "10.244.0.6", "10.244.0.3"]
    with pytest.raises(KitError, match=r"no IP addresses available in range set: 10\.244\.0\.1-10\.244\.0\.6"):
        network.take("g")
    network.keep({"a", "g"})
    assert network.take("g") == "10.244.0.4"
