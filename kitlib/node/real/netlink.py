"""Devices, addresses and routes of a network namespace, set over rtnetlink: the image of a node has no program `ip`.

Messages are made by pure functions; a `Netlink` sends them to the namespace in which it was opened.

Source: netlink(7), rtnetlink(7), veth(4); kernel uapi linux/rtnetlink.h, linux/if_link.h, linux/veth.h.
"""

from __future__ import annotations

import _socket  # `socket` would cost every node time and memory at its start
import os
import struct
from typing import NamedTuple

from kitlib.api.errors import KitError

LOOPBACK = 1
"""Index of the loopback device, the first of every namespace."""
_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _ERROR = 16, 20, 24, 2
_REQUEST, _ACK, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_UP = 1
_LINK_ADDRESS, _NAME, _MASTER, _INFO, _NAMESPACE_OF_PID = 1, 3, 10, 18, 19
_KIND, _DATA, _PEER = 1, 2, 1
_ADDRESS, _LOCAL, _GATEWAY = 1, 2, 5
_MAIN_TABLE, _BOOT_PROTOCOL, _UNICAST = 254, 3, 1
_SIZE = 1 << 16


class NetlinkMessage(NamedTuple):
    """A request.

    Attributes:
        kind: type of the message.
        flags: flags in addition to those of every request.
        body: the message without its header.
        what: its description in errors.
    """

    kind: int
    flags: int
    body: bytes
    what: str


def _attribute(kind: int, value: bytes) -> bytes:
    size = 4 + len(value)
    return struct.pack("=HH", size, kind) + value + bytes(-size % 4)


def _text(kind: int, value: str) -> bytes:
    return _attribute(kind, value.encode() + b"\0")


def _link(index: int = 0, up: bool = True) -> bytes:
    return struct.pack("=BxHiII", _socket.AF_UNSPEC, 0, index, _UP if up else 0, _UP if up else 0)


def _packed(address: str) -> bytes:
    return _socket.inet_aton(address)


def hardware_address(address: str) -> bytes:
    """Return the hardware address of an IPv4 address, so that a reused address leaves no wrong neighbour entries.

    Source: containernetworking utils/hwaddr GenerateHardwareAddr4.
    """
    return b"\x0a\x58" + _packed(address)


def set_up(index: int) -> NetlinkMessage:
    """Return the message that brings up a device."""
    return NetlinkMessage(_NEW_LINK, 0, _link(index), f"link set {index} up")


def add_bridge(name: str, address: str) -> NetlinkMessage:
    """Return the message that makes a bridge, which is up and has the hardware address of this IPv4 address."""
    info = _attribute(_INFO, _text(_KIND, "bridge"))
    body = _link() + _text(_NAME, name) + _attribute(_LINK_ADDRESS, hardware_address(address)) + info
    return NetlinkMessage(_NEW_LINK, _CREATE | _EXCLUSIVE, body, f"link add {name} type bridge")


def add_veth(name: str, bridge: int, peer: str, address: str, pid: int) -> NetlinkMessage:
    """Return the message that makes a pair of devices: one in a bridge, up, and one in a process's namespace, down.

    Args:
        name: name of the first device.
        bridge: index of its bridge.
        peer: name of the second device.
        address: IPv4 address that determines the second device's hardware address.
        pid: the process whose namespace holds the second device.
    """
    other = _link(up=False) + _text(_NAME, peer) + _attribute(_LINK_ADDRESS, hardware_address(address))
    other += _attribute(_NAMESPACE_OF_PID, struct.pack("=I", pid))
    info = _text(_KIND, "veth") + _attribute(_DATA, _attribute(_PEER, other))
    body = _link() + _text(_NAME, name) + _attribute(_MASTER, struct.pack("=I", bridge)) + _attribute(_INFO, info)
    return NetlinkMessage(_NEW_LINK, _CREATE | _EXCLUSIVE, body, f"link add {name} type veth")


def add_address(index: int, address: str, prefix: int) -> NetlinkMessage:
    """Return the message that gives a device an IPv4 address."""
    body = struct.pack("=BBBBI", _socket.AF_INET, prefix, 0, 0, index)
    body += _attribute(_LOCAL, _packed(address)) + _attribute(_ADDRESS, _packed(address))
    return NetlinkMessage(_NEW_ADDRESS, _CREATE | _EXCLUSIVE, body, f"addr add {address}/{prefix}")


def add_default_route(gateway: str) -> NetlinkMessage:
    """Return the message that makes the default route over a gateway."""
    body = struct.pack("=8BI", _socket.AF_INET, 0, 0, 0, _MAIN_TABLE, _BOOT_PROTOCOL, 0, _UNICAST, 0)
    body += _attribute(_GATEWAY, _packed(gateway))
    return NetlinkMessage(_NEW_ROUTE, _CREATE | _EXCLUSIVE, body, f"route add default via {gateway}")


class NetlinkError(KitError):
    """A request that the kernel refuses.

    Attributes:
        errno: the kernel's error number.
    """

    def __init__(self, what: str, errno: int) -> None:
        super().__init__(f"{what}: {os.strerror(errno)}")
        self.errno = errno


class Netlink:
    """A connection to the network namespace of its opener; it remains there when the opener leaves the namespace.

    Raises:
        OSError: the kernel refuses the socket.
    """

    def __init__(self) -> None:
        self._socket = _socket.socket(
            _socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, _socket.NETLINK_ROUTE
        )
        self._count = 0

    def ask(self, message: NetlinkMessage) -> None:
        """Send a request and wait for its acknowledgement.

        Raises:
            NetlinkError: the kernel refuses.
        """
        self._count += 1
        flags = _REQUEST | _ACK | message.flags
        header = struct.pack("=IHHII", 16 + len(message.body), message.kind, flags, self._count, 0)
        self._socket.send(header + message.body)
        answer = self._socket.recv(_SIZE)
        _, kind, _, number, _ = struct.unpack_from("=IHHII", answer)
        code = struct.unpack_from("=i", answer, 16)[0] if kind == _ERROR else 0
        if code or number != self._count:
            raise NetlinkError(message.what, -code)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def index_of(name: str) -> int:
    """Return the index of a device of this process's current namespace.

    Raises:
        OSError: there is none of this name.
    """
    return _socket.if_nametoindex(name)
