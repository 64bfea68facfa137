"""Addresses of a node and of its pods: their allocation and release, without any traffic.

Source: nodeipam rangeAllocator (a range of pods a node); CNI's host-local plugin (one address after the other).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from kitlib.api.errors import KitError

_NODES = IPv4Address("172.18.0.2")
_RANGES = ((IPv4Network("10.244.0.0/14"), 24), (IPv4Network("10.128.0.0/10"), 24))
_LARGE = IPv4Network("100.64.0.0/10")
"""The range for nodes whose maximum of pods exceeds a usual range."""
_USUAL_PODS, _OTHERS = 250, 3
"""Maximum pods of a usual range; number of addresses that pods do not get (network, bridge, broadcast)."""


@dataclass(frozen=True)
class NodeNetwork:
    """The addresses of one node.

    Attributes:
        address: the node's address.
        pods: the range of its pods' addresses, such as `10.244.0.0/24`; "" = no range was left.
    """

    address: str
    pods: str


def node_network(number: int, max_pods: int) -> NodeNetwork:
    """Return the addresses of a node.

    Args:
        number: number of the node in its cluster, from 0.
        max_pods: maximum number of pods; the range has an address for each.
    """
    address = str(_NODES + number)
    ranges: tuple[tuple[IPv4Network, int], ...] = _RANGES
    if max_pods > _USUAL_PODS:
        ranges = ((_LARGE, max(_LARGE.prefixlen, 32 - (max_pods + _OTHERS - 1).bit_length())),)
    for whole, prefix in ranges:
        size = 2 ** (prefix - whole.prefixlen)
        if number < size:
            start = int(whole.network_address) + (number << (32 - prefix))
            return NodeNetwork(address, str(IPv4Network((start, prefix))))
        number -= size
    return NodeNetwork(address, "")


class PodNetwork:
    """The allocation of addresses to the pods of one node.

    Args:
        pods: the node's range, whose first address is the bridge's; "" = no range, so pods get no address.
    """

    def __init__(self, pods: str) -> None:
        self._is_there = bool(pods)
        whole = IPv4Network(pods or "0.0.0.0/32")
        self._first, self._last = int(whole.network_address) + 2, int(whole.broadcast_address) - 1
        self._next = self._first
        self._given: dict[str, int] = {}
        self._used: set[int] = set()

    def take(self, owner: str) -> str:
        """Return the address of a pod, allocating the next free one if it has none; "" without a range.

        Raises:
            KitError: no address is free.
        """
        if not self._is_there:
            return ""
        found = self._given.get(owner)
        if found is None:
            found = self._given[owner] = self._free()
            self._used.add(found)
            self._next = found + 1
        return str(IPv4Address(found))

    def _free(self) -> int:
        for start, end in ((self._next, self._last), (self._first, self._next - 1)):
            for address in range(start, end + 1):
                if address not in self._used:
                    return address
        first, last = IPv4Address(self._first - 1), IPv4Address(self._last)
        raise KitError(f"failed to allocate for range 0: no IP addresses available in range set: {first}-{last}")

    def give_back(self, owner: str) -> None:
        """Release a pod's address."""
        self._used.discard(self._given.pop(owner, 0))

    def keep(self, owners: Collection[str]) -> None:
        """Release the addresses of all other pods."""
        for owner in [one for one in self._given if one not in owners]:
            self.give_back(owner)
