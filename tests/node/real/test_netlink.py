"""Messages of rtnetlink, byte by byte, and the kernel's answers to them."""

from __future__ import annotations

import errno
import os
import socket
import struct

import pytest

from kitlib.node.real import netlink
from kitlib.node.real.netlink import Netlink, NetlinkError, NetlinkMessage

IFINFO, IFADDR, RTMSG = 16, 8, 12


def attributes(body: bytes) -> dict[int, bytes]:
    """The attributes of a message after its fixed part. Source: rtnetlink(3), struct rtattr."""
    found = {}
    while body:
        size, kind = struct.unpack_from("=HH", body)
        found[kind] = body[4:size]
        body = body[size + -size % 4 :]
    return found


@pytest.mark.parametrize(
    ("message", "kind", "fixed", "expected"),
    [
        (netlink.set_up(7), 16, struct.pack("=BxHiII", 0, 0, 7, 1, 1), {}),
        (
            netlink.add_address(2, "10.244.0.5", 24),
            20,
            struct.pack("=BBBBI", socket.AF_INET, 24, 0, 0, 2),
            {1: b"\x0a\xf4\0\5", 2: b"\x0a\xf4\0\5"},
        ),
        (
            netlink.add_default_route("10.244.0.1"),
            24,
            struct.pack("=8BI", socket.AF_INET, 0, 0, 0, 254, 3, 0, 1, 0),
            {5: b"\x0a\xf4\0\1"},
        ),
        (
            netlink.add_bridge("cni0", "10.244.0.1"),
            16,
            struct.pack("=BxHiII", 0, 0, 0, 1, 1),
            {3: b"cni0\0", 1: b"\x0a\x58\x0a\xf4\0\1", 18: struct.pack("=HH", 11, 1) + b"bridge\0\0"},
        ),
    ],
)
def test_a_message_has_the_fixed_part_and_attributes(
    message: NetlinkMessage, kind: int, fixed: bytes, expected: dict[int, bytes]
) -> None:
    assert message.kind == kind
    assert message.body.startswith(fixed)
    assert attributes(message.body[len(fixed) :]) == expected


def test_a_pair_names_its_bridge_and_the_namespace_of_its_other_end() -> None:
    body = netlink.add_veth("veth1", 5, "eth0", "10.244.0.2", 4711).body
    own = attributes(body[IFINFO:])
    assert (own[3], own[10]) == (b"veth1\0", struct.pack("=I", 5))
    info = attributes(own[18])
    assert info[1] == b"veth\0"
    other = attributes(info[2])[1]
    assert other[:IFINFO] == bytes(IFINFO), "a device is not up before its other end exists: ENOTCONN"
    assert attributes(other[IFINFO:]) == {3: b"eth0\0", 1: b"\x0a\x58\x0a\xf4\0\2", 19: struct.pack("=I", 4711)}


@pytest.mark.skipif(not hasattr(socket, "AF_NETLINK"), reason="a kernel other than Linux")
def test_the_kernels_refusal_names_what_was_asked() -> None:
    own = Netlink()
    try:
        with pytest.raises(NetlinkError, match=r"addr add 192\.0\.2\.1/32: ") as caught:
            own.ask(netlink.add_address(2**31 - 1, "192.0.2.1", 32))
    finally:
        own.close()
    assert caught.value.errno in {errno.ENODEV, errno.EPERM}
    assert os.strerror(caught.value.errno) in str(caught.value)
