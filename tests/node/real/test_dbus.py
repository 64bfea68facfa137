"""The client of D-Bus against a server of our own on a socket, and its bytes against the specification's rules."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.node.real import dbus
from kitlib.node.real.dbus import Bus, BusError

VALUES: list[tuple[str, Any]] = [
    ("y", 7),
    ("b", True),
    ("q", 65_535),
    ("i", -5),
    ("u", 2**32 - 1),
    ("x", -(2**63)),
    ("t", 2**64 - 1),
    ("d", 0.5),
    ("s", "käse"),
    ("o", "/a/b"),
    ("g", "a(sv)"),
    ("as", []),
    ("at", []),
    ("au", [1, 2]),
    ("ay", [1, 255]),
    ("(yst)", (1, "a", 2)),
    ("a{su}", [("a", 1), ("bc", 2)]),
    ("a(sa(sv))", [("x", [])]),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[kind for kind, _ in VALUES])
@pytest.mark.parametrize("before", range(8))
def test_what_is_packed_is_read_again_wherever_it_stands(kind: str, value: Any, before: int) -> None:
    out = bytearray(before)
    dbus.pack(kind, value, out)
    dbus.pack("y", 99, out)
    found, at = dbus.unpack(kind, bytes(out), before)
    assert found == value
    assert out[at] == 99


def test_the_bytes_are_those_of_the_specification() -> None:
    out = bytearray()
    dbus.pack("(sv)", ("CPUWeight", ("t", 20)), out)
    text = b"\x09\0\0\0CPUWeight\0"
    assert bytes(out) == text + b"\x01t\0" + b"\0" * 7 + b"\x14" + b"\0" * 7
    assert len(text + b"\x01t\0" + b"\0" * 7) % 8 == 0
    array = bytearray()
    dbus.pack("at", [1], array)
    assert bytes(array) == b"\x08\0\0\0" + b"\0" * 4 + b"\x01" + b"\0" * 7


def test_a_signature_is_a_list_of_complete_types() -> None:
    assert list(dbus.types("ssa(sv)a(sa(sv))a{sv}u")) == ["s", "s", "a(sv)", "a(sa(sv))", "a{sv}", "u"]


def test_a_variant_gives_its_value() -> None:
    out = bytearray()
    dbus.pack("a{sv}", [("a", ("t", 1)), ("b", ("as", ["x"]))], out)
    assert dbus.unpack("a{sv}", bytes(out), 0)[0] == [("a", 1), ("b", ["x"])]


def answer(kind: int, serial: int, to: int, signature: str = "", *body: Any, **fields: str) -> bytes:
    """A message of the other side: an answer to a call, or (to = 0) a signal."""
    packed, head = bytearray(), bytearray()
    for one, value in zip(dbus.types(signature), body, strict=True):
        dbus.pack(one, value, packed)
    listed: list[Any] = [(5, ("u", to))] if to else []
    listed += [(3, ("s", fields["member"]))] if "member" in fields else []
    listed += [(4, ("s", fields["error"]))] if "error" in fields else []
    listed += [(8, ("g", signature))] if signature else []
    dbus.pack("(yyyyuu)", (ord("l"), kind, 0, 1, len(packed), serial), head)
    dbus.pack("a(yv)", listed, head)
    return bytes(head + bytes(-len(head) % 8) + packed)


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., str]:
    """A server that lets one client in and answers its first call with some bytes, a few at a time."""

    def begin(*messages: bytes, greeting: bytes = b"OK 1234\r\n", step: int = 7) -> str:
        place = str(tmp_path / "bus")
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(place)
        listening.listen()

        def run() -> None:
            client, _ = listening.accept()
            with client, listening:
                heard = b""
                while b"BEGIN\r\n" not in heard:
                    heard += client.recv(4096)
                client.sendall(greeting)
                if client.recv(4096):
                    raw = b"".join(messages)
                    for at in range(0, len(raw), step):
                        client.sendall(raw[at : at + step])
                    client.recv(4096)

        threading.Thread(target=run, daemon=True).start()
        return place

    return begin


def test_a_call_gets_its_answer_and_signals_wait(serve: Callable[..., str]) -> None:
    signal = answer(dbus.SIGNAL, 1, 0, "uoss", 3, "/job/3", "a.slice", "done", member="JobRemoved")
    other = answer(dbus.RETURN, 2, 77, "s", "of another call")
    with Bus(serve(signal, other, answer(dbus.RETURN, 3, 1, "o", "/job/3")), timeout=5) as bus:
        assert bus.call("a.b", "/a", "a.b.C", "Do", "ss", "x", "y") == ["/job/3"]
        heard = next(bus.signals())
    assert (heard.member, heard.body) == ("JobRemoved", [3, "/job/3", "a.slice", "done"])


def test_an_error_has_its_name_and_its_words(serve: Callable[..., str]) -> None:
    place = serve(answer(dbus.ERROR, 1, 1, "s", "it is there", error="org.freedesktop.systemd1.UnitExists"))
    with Bus(place, timeout=5) as bus, pytest.raises(BusError, match=r"^UnitExists: it is there$") as caught:
        bus.call("a.b", "/a", "a.b.C", "Do")
    assert caught.value.name == "org.freedesktop.systemd1.UnitExists"


def test_who_is_not_let_in_hears_so(serve: Callable[..., str]) -> None:
    with pytest.raises(KitError, match="authentication failed: REJECTED EXTERNAL"):
        Bus(serve(greeting=b"REJECTED EXTERNAL\r\n"), timeout=5)


def test_no_answer_is_an_error_that_names_the_question(serve: Callable[..., str]) -> None:
    with Bus(serve(), timeout=0.2) as bus, pytest.raises(KitError, match=r"no answer to Do within 0\.2 s"):
        bus.call("a.b", "/a", "a.b.C", "Do")


def test_nobody_at_the_socket(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Bus(str(tmp_path / "nothing"))
