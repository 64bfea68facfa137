"""A minimal D-Bus client: enough to request a unit from systemd and to wait for its job.

It connects to systemd's own socket, as `systemctl` does for root, without a bus daemon. Values are packed by the type
string of each message: little-endian, each value aligned to its own size from the start of the message.

Source: D-Bus Specification (Type System, Marshaling, Message Format, Authentication Protocol); systemd
org.freedesktop.systemd1(5); go-systemd dbus.NewSystemdConnection.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from kitlib.api.errors import KitError

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
_FIXED = {"y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "b": "I"}
_PATH, _INTERFACE, _MEMBER, _ERROR_NAME, _REPLY_TO, _DESTINATION, _SIGNATURE = 1, 2, 3, 4, 5, 6, 8
_FIELDS = {_PATH: "o", _INTERFACE: "s", _MEMBER: "s", _ERROR_NAME: "s", _REPLY_TO: "u", _DESTINATION: "s"}
_FIXED_HEADER = 16
_LARGEST = 1 << 24


class BusError(KitError):
    """An error reply to a call.

    Args:
        name: name of the error, such as `org.freedesktop.systemd1.UnitExists`.
        message: the error's message.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name.rpartition('.')[2]}: {message}" if message else name)
        self.name = name


class Message(NamedTuple):
    """A D-Bus message.

    Attributes:
        kind: CALL, RETURN, ERROR or SIGNAL.
        serial: serial number of the message.
        fields: values of the header's fields, by their codes.
        body: the arguments.
    """

    kind: int
    serial: int
    fields: dict[int, Any]
    body: list[Any]

    @property
    def member(self) -> str:
        """The name of the method or signal."""
        return str(self.fields.get(_MEMBER, ""))


def types(signature: str) -> Iterator[str]:
    """Yield the complete types of a signature: `sa(sv)u` is `s`, `a(sv)`, `u`."""
    at = 0
    while at < len(signature):
        begin = at
        while signature[at] == "a":
            at += 1
        if signature[at] in "({":
            depth = 0
            while True:
                depth += (signature[at] in "({") - (signature[at] in ")}")
                if not depth:
                    break
                at += 1
        at += 1
        yield signature[begin:at]


def _alignment(kind: str) -> int:
    if kind[0] in _FIXED:
        return struct.calcsize("<" + _FIXED[kind[0]])
    return {"s": 4, "o": 4, "a": 4, "(": 8, "{": 8}.get(kind[0], 1)


def pack(kind: str, value: Any, out: bytearray) -> None:
    """Append a value of a complete type; the value of a variant is (type, value).

    Args:
        kind: the complete type.
        value: the value.
        out: the message so far; its start is an 8-byte boundary.
    """
    out += bytes(-len(out) % _alignment(kind))
    first = kind[0]
    if first in _FIXED:
        out += struct.pack("<" + _FIXED[first], value)
    elif first in "so":
        raw = value.encode()
        out += struct.pack("<I", len(raw)) + raw + b"\0"
    elif first == "g":
        out += bytes([len(value)]) + value.encode() + b"\0"
    elif first == "v":
        inner, what = value
        pack("g", inner, out)
        pack(inner, what, out)
    elif first == "a":
        at = len(out)
        out += bytes(4)
        out += bytes(-len(out) % _alignment(kind[1:]))
        begin = len(out)
        for one in value:
            pack(kind[1:], one, out)
        struct.pack_into("<I", out, at, len(out) - begin)
    else:
        for inner, one in zip(types(kind[1:-1]), value, strict=True):
            pack(inner, one, out)


def unpack(kind: str, raw: bytes, at: int) -> tuple[Any, int]:
    """Read a value of a complete type, and return it and the offset of the next value; a variant gives its value."""
    at += -at % _alignment(kind)
    first = kind[0]
    if first in _FIXED:
        value = struct.unpack_from("<" + _FIXED[first], raw, at)[0]
        return (bool(value) if first == "b" else value), at + _alignment(kind)
    if first in "so":
        size = struct.unpack_from("<I", raw, at)[0]
        return raw[at + 4 : at + 4 + size].decode(errors="replace"), at + 5 + size
    if first == "g":
        return raw[at + 1 : at + 1 + raw[at]].decode(), at + 2 + raw[at]
    if first == "v":
        inner, at = unpack("g", raw, at)
        return unpack(inner, raw, at)
    if first == "a":
        size = struct.unpack_from("<I", raw, at)[0]
        at += 4
        at += -at % _alignment(kind[1:])
        found, end = [], at + size
        while at < end:
            value, at = unpack(kind[1:], raw, at)
            found.append(value)
        return found, end
    parts = []
    for inner in types(kind[1:-1]):
        value, at = unpack(inner, raw, at)
        parts.append(value)
    return tuple(parts), at


def call_bytes(
    serial: int, destination: str, path: str, interface: str, member: str, signature: str, arguments: tuple[Any, ...]
) -> bytes:
    """Return the bytes of a method call."""
    body = bytearray()
    for kind, value in zip(types(signature), arguments, strict=True):
        pack(kind, value, body)
    fields: list[tuple[int, tuple[str, Any]]] = [
        (_PATH, ("o", path)),
        (_INTERFACE, ("s", interface)),
        (_MEMBER, ("s", member)),
        (_DESTINATION, ("s", destination)),
    ]
    if signature:
        fields.append((_SIGNATURE, ("g", signature)))
    head = bytearray()
    pack("(yyyyuu)", (ord("l"), CALL, 0, 1, len(body), serial), head)
    pack("a(yv)", fields, head)
    head += bytes(-len(head) % 8)
    return bytes(head + body)


def message(raw: bytes) -> Message:
    """Parse a complete message."""
    _, kind, _, _, _, serial = unpack("(yyyyuu)", raw, 0)[0]
    listed, at = unpack("a(yv)", raw, 12)
    fields = dict(listed)
    at += -at % 8
    body = []
    for type_ in types(fields.get(_SIGNATURE, "")):
        value, at = unpack(type_, raw, at)
        body.append(value)
    return Message(kind, serial, fields, body)


class Bus:
    """A connection to a D-Bus peer on its own socket; a context manager.

    Args:
        place: path of the socket.
        timeout: maximum seconds to wait for an answer.

    Raises:
        OSError: no process listens on the socket.
        KitError: the authentication failed.
    """

    def __init__(self, place: str, timeout: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(timeout)
        self._rest, self._serial, self._asked = bytearray(), 0, "the greeting"
        self._signals: list[Message] = []
        try:
            self._socket.connect(place)
            self._authenticate()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Bus:
        return self

    def __exit__(self, *why: object) -> None:
        self._socket.close()

    def _authenticate(self) -> None:
        """Authenticate with EXTERNAL: the kernel tells the peer this process's user, and the request repeats it.

        BEGIN is sent in the same write, as sd-bus does: a peer may ignore a first call that arrives in the same read as
        BEGIN.
        """
        self._socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\nBEGIN\r\n")
        while b"\r\n" not in self._rest:
            self._rest += self._more()
        line, _, rest = bytes(self._rest).partition(b"\r\n")
        if not line.startswith(b"OK "):
            raise KitError(f"D-Bus: authentication failed: {line.decode(errors='replace')}")
        self._rest = bytearray(rest)

    def _more(self) -> bytes:
        try:
            piece = self._socket.recv(1 << 16)
        except TimeoutError:
            raise KitError(f"D-Bus: no answer to {self._asked} within {self._socket.gettimeout():g} s") from None
        if not piece:
            raise KitError("D-Bus: the connection was closed by the other side")
        return piece

    def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *arguments: Any
    ) -> list[Any]:
        """Call a method and return its result; signals that arrive before are kept for `signals`.

        Raises:
            BusError: the reply is an error.
            KitError: no reply arrives in time.
        """
        self._serial, self._asked = self._serial + 1, member
        self._socket.sendall(
            call_bytes(self._serial, destination, path, interface, member, signature, arguments),
        )
        while True:
            found = self._next()
            if found.kind == SIGNAL:
                self._signals.append(found)
            elif found.fields.get(_REPLY_TO) == self._serial:
                if found.kind == ERROR:
                    raise BusError(str(found.fields.get(_ERROR_NAME, "")), str(found.body[0]) if found.body else "")
                return found.body

    def signals(self) -> Iterator[Message]:
        """Yield signals as they arrive, the kept ones first.

        Raises:
            KitError: no signal arrives in time.
        """
        self._asked += " (its signal)"
        while True:
            if self._signals:
                yield self._signals.pop(0)
                continue
            found = self._next()
            if found.kind == SIGNAL:
                yield found

    def _next(self) -> Message:
        while len(self._rest) < _FIXED_HEADER:
            self._rest += self._more()
        body, fields = struct.unpack_from("<I", self._rest, 4)[0], struct.unpack_from("<I", self._rest, 12)[0]
        if self._rest[0] != ord("l") or body + fields > _LARGEST:
            raise KitError("D-Bus: received an invalid message")
        # The body starts at a multiple of 8 bytes; the length of the fields does not include that padding.
        whole = _FIXED_HEADER + fields + -fields % 8 + body
        while len(self._rest) < whole:
            self._rest += self._more()
        raw = bytes(self._rest[:whole])
        del self._rest[:whole]
        return message(raw)
