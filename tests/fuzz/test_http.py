"""Bodies and frames of the API: protobuf, patches, channels of exec, SPDY; and frames of an attach to a node's pod."""

from __future__ import annotations

import json
import socket
import struct
import zlib
from typing import Any

import pytest

from kitlib.apiserver.http import spdy
from kitlib.apiserver.http.patches import patched
from kitlib.apiserver.http.protobuf import MAGIC, decode_object
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.streams import terminal_size
from tests.fuzz import samples
from tests.fuzz.mutate import Mutator, fuzz, part, share

STRATEGIC, MERGE, JSON_PATCH = (
    f"application/{kind}+json" for kind in ("strategic-merge-patch", "merge-patch", "json-patch")
)
OPERATIONS = [
    {"op": "replace", "path": "/spec/replicas", "value": 3},
    {"op": "add", "path": "/metadata/labels/a", "value": "b"},
    {"op": "copy", "from": "/spec", "path": "/metadata/labels/c"},
    {"op": "move", "from": "/spec/containers/0", "path": "/spec/containers/-"},
    {"op": "test", "path": "/kind", "value": "Pod"},
    {"op": "remove", "path": "/spec/volumes/0"},
]
STRATEGIES = {
    "spec": {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "c", "$patch": "replace"}]}
}


def field(number: int, content: bytes | int) -> bytes:
    """A field of a protobuf message: a number, or bytes of fewer than 16,384."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    made = b""
    number &= (1 << 64) - 1
    while number > 127:
        made, number = made + bytes([number & 127 | 128]), number >> 7
    return made + bytes([number])


def body_of(version: bytes, kind: bytes, raw: bytes) -> bytes:
    return MAGIC + field(1, field(1, version) + field(2, kind)) + field(2, raw)


META = field(1, b"a") + field(3, b"default") + field(8, field(1, 1_700_000_000) + field(2, 5))
BODIES = (
    body_of(b"v1", b"Pod", field(1, META) + field(2, field(2, field(1, b"c") + field(2, b"x")))),
    body_of(b"v1", b"Secret", field(1, META) + field(2, field(1, b"k") + field(2, b"\x00\xff")) + field(3, b"Opaque")),
    body_of(b"apps/v1", b"Deployment", field(1, META) + field(2, field(1, 3))),
    body_of(b"v1", b"Namespace", field(1, META)),
)


def test_protobuf_bodies(note: Any) -> None:
    assert decode_object(BODIES[0])["metadata"]["creationTimestamp"].startswith("2023-11-14T22:13:20")

    def run(body: bytes) -> None:
        json.dumps(decode_object(body))

    note(fuzz(lambda m: m.text(share(BODIES, m)), run, StatusError, part(40)))


def test_a_zero_that_go_writes_for_no_generation_is_none() -> None:
    """A template with `generation: 0` would differ from the same one in JSON: `rollout undo` would make a third."""
    raw = field(1, field(1, b"a") + field(7, 0) + field(10, 0))
    assert decode_object(body_of(b"v1", b"Pod", raw))["metadata"] == {"name": "a", "deletionGracePeriodSeconds": 0}


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 10**12])
def test_a_time_that_no_calendar_has_is_refused(seconds: int) -> None:
    raw = field(1, field(1, b"a") + field(8, field(1, seconds)))
    with pytest.raises(StatusError, match="time"):
        decode_object(body_of(b"v1", b"Pod", raw))


def test_patches(note: Any) -> None:
    patches = (
        (JSON_PATCH, OPERATIONS),
        (MERGE, {"spec": {"replicas": None, "a": {"b": [1]}}, "metadata": {"labels": {"x": "y"}}}),
        (STRATEGIC, STRATEGIES),
    )

    def make(mutator: Mutator) -> tuple[str, bytes]:
        kind, patch = share(patches, mutator)
        text = json.dumps(mutator.value(patch), default=str).encode("utf-8", "surrogatepass")
        return kind, mutator.text(text) if mutator.random.random() < 0.2 else text

    def run(one: tuple[str, bytes]) -> None:
        kind, body = one
        json.dumps(
            patched(json.loads(json.dumps(samples.POD)), Request("PATCH", "/", {}, {"content-type": kind}, body))
        )

    note(fuzz(make, run, StatusError, part(40)))


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "/a", "value": ["x" * 1000]}] + [{"op": "copy", "from": "/a", "path": "/a/-"}] * 60,
        [{"op": "add", "path": "/a", "value": {}}] + [{"op": "copy", "from": "/a", "path": "/a/b"}] * 9000,
    ],
    ids=["each copy doubles", "each copy is deeper"],
)
def test_copies_of_a_json_patch_are_bounded(operations: list[dict[str, Any]]) -> None:
    body = json.dumps(operations).encode()
    with pytest.raises(StatusError) as refused:
        patched({"metadata": {}}, Request("PATCH", "/", {}, {"content-type": JSON_PATCH}, body))
    assert refused.value.code in (413, 422)


def test_sizes_of_a_terminal(note: Any) -> None:
    assert terminal_size(b'{"Width": 80, "Height": 24}') == (80, 24)

    def make(mutator: Mutator) -> bytes:
        text = json.dumps(mutator.value({"Width": 80, "Height": 24}), default=str).encode("utf-8", "surrogatepass")
        return mutator.text(text)

    def run(body: bytes) -> None:
        size = terminal_size(body)
        assert size is None or all(0 <= one < 1 << 16 for one in size)

    note(fuzz(make, run, (), part(10)))


def syn_stream(number: int, headers: dict[str, str], deflate: Any) -> bytes:
    texts = [text.encode() for pair in headers.items() for text in pair]
    plain = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(one)) + one for one in texts)
    block = deflate.compress(plain) + deflate.flush(zlib.Z_SYNC_FLUSH)
    return struct.pack(">HHI", 0x8003, spdy.SYN_STREAM, 10 + len(block)) + struct.pack(">IIH", number, 0, 0) + block


def test_spdy_frames(note: Any) -> None:
    def make(mutator: Mutator) -> list[bytes]:
        deflate = zlib.compressobj(zdict=spdy.DICTIONARY)
        headers = {"port": "8080", "streamType": "data", "requestID": "1"}
        ping = struct.pack(">HHII", 0x8003, spdy.PING, 4, 7)
        whole = (
            syn_stream(1, headers, deflate)
            + syn_stream(3, headers, deflate)
            + struct.pack(">II", 1, 5)
            + b"hello"
            + ping
        )
        text = mutator.text(whole)
        at = mutator.random.randrange(len(text) + 1)
        return [text[:at], text[at:]]

    def run(pieces: list[bytes]) -> None:
        framer = spdy.Framer()
        for piece in pieces:
            for frame in framer.feed(piece):
                assert spdy.port_of(frame.headers.get("port", "")) in range(1 << 16)

    note(fuzz(make, run, spdy.SpdyError, part(10)))


@pytest.mark.parametrize("text", ["", "0", "²", "٣", "65536", "9" * 5000, "-1", "80 "])
def test_what_is_no_port(text: str) -> None:
    assert spdy.port_of(text) == 0 and spdy.port_of("8080") == 8080


def frame(kind: int, data: bytes, *, last: bool = True, length: int | None = None) -> bytes:
    """A frame as a server sends it: without a mask."""
    size = len(data) if length is None else length
    return bytes([last << 7 | kind & 15, 127]) + size.to_bytes(8, "big") + data


def attached(text: bytes) -> Any:
    """A stream to which these bytes come; then the other side closes."""
    websocket = pytest.importorskip("websocket")
    from kitlib.node.kubernetes.attach import AttachStream

    ours, theirs = socket.socketpair()
    theirs.sendall(text)
    theirs.close()
    connection = websocket.WebSocket()
    connection.sock = ours
    return AttachStream(connection)


def frames_of(stream: Any) -> list[bytes]:
    found = []
    while one := stream.recv(1 << 16):
        found.append(one)
    stream.close()
    return found


def test_frames_of_an_attach(note: Any) -> None:
    bodies = (
        b'\x01{"id": 1}\n',
        b"\x02words",
        b'\x03{"status": "Failure", "message": "gone"}',
        b"\x03" + b"[" * 5000,
        b"\x00",
    )

    def make(mutator: Mutator) -> bytes:
        kinds = (0, 1, 2, 2, 2, 8, 9, 10, 3)
        parts = [
            frame(share(kinds, mutator), mutator.text(share(bodies, mutator)), last=mutator.random.random() < 0.8)
            for _ in range(3)
        ]
        whole = b"".join(parts)
        return mutator.text(whole) if mutator.random.random() < 0.3 else whole

    def run(text: bytes) -> None:
        for one in frames_of(attached(text)):
            assert one[0] in (1, 2) and int.from_bytes(one[4:8], "big") == len(one) - 8

    note(fuzz(make, run, (), part(10)))


def test_an_attach_hands_on_what_comes_and_takes_no_endless_frame() -> None:
    parts = [frame(2, b"\x01ab", last=False), frame(9, b"?"), frame(0, b"cd"), frame(2, b"\x02e")]
    told = [frame(2, b'\x03{"status": "Failure", ', last=False), frame(0, b'"message": "gone"}')]
    found = frames_of(attached(b"".join([*parts, *told, frame(2, b"\x01", length=1 << 40), frame(2, b"\x01never")])))
    assert [(one[0], one[8:]) for one in found] == [(1, b"ab"), (1, b"cd"), (2, b"e"), (2, b"gone")]
