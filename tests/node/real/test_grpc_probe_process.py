"""The process that asks a gRPC server for its health: what it sends, and what it writes for each kind of answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from kitlib.node.real.grpc_probe_process import decoded, main, unpacked

Server = Callable[..., tuple[int, list[bytes]]]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name: str, value: str) -> bytes:
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


HEADERS = b"\x88" + b"\x0f\x10" + bytes([16]) + b"application/grpc"
TRAILERS = literal("grpc-status", "0")
SETTINGS = frame(4, 0, 0, b"\x00\x03\x00\x00\x00\x64")


def told(code: int, message: str) -> bytes:
    """An answer that is an error alone: one block of headers that ends the stream."""
    return frame(1, 5, 1, HEADERS + literal("grpc-status", str(code)) + literal("grpc-message", message))


def status(number: int) -> bytes:
    body = bytes([8, number]) if number else b""
    message = b"\0" + len(body).to_bytes(4, "big") + body
    return frame(1, 4, 1, HEADERS) + frame(0, 0, 1, message) + frame(1, 5, 1, TRAILERS)


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a function: what is answered to the first frames, and to the call -> (port, what was asked)."""
    doors: list[socket.socket] = []

    def server(first: bytes, answer: bytes = b"") -> tuple[int, list[bytes]]:
        door = socket.create_server(("127.0.0.1", 0))
        doors.append(door)
        asked: list[bytes] = [b""]

        def serve() -> None:
            try:
                line, _ = door.accept()
            except OSError:  # the test has ended
                return
            with line:
                line.sendall(first)
                while b"Check" not in asked[0] and (piece := line.recv(4096)):
                    asked[0] += piece
                if answer:
                    line.sendall(answer)
                    line.shutdown(socket.SHUT_WR)
                while line.recv(4096):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        return door.getsockname()[1], asked

    yield server
    for door in doors:
        door.close()


PADDED = bytes([2]) + HEADERS + b"\0\0"
SPLIT = frame(1, 0, 1, HEADERS[:5]) + frame(9, 4, 1, HEADERS[5:])
PING = frame(6, 0, 0, b"12345678")
ANSWERS = {
    "serving": (status(1), 0, "status 1"),
    "not serving": (status(2), 0, "status 2"),
    "unknown": (status(0), 0, "status 0"),
    "with a ping, settings and padding": (
        PING + SETTINGS + frame(1, 12, 1, PADDED) + status(1)[9 + len(HEADERS) :],
        0,
        "status 1",
    ),
    "with headers in two frames": (SPLIT + status(1)[9 + len(HEADERS) :], 0, "status 1"),
    "an error": (told(5, "unknown%20service"), 0, "error 5 unknown service"),
    "not the protocol": (
        told(12, "unknown service grpc.health.v1.Health"),
        0,
        "error 12 unknown service grpc.health.v1.Health",
    ),
    "reset": (frame(3, 0, 1, b"\0\0\0\x07"), 0, "error 14 stream terminated by RST_STREAM with error code: 7"),
    "a web server": (
        frame(1, 5, 1, b"\x8d" + b"\x0f\x10" + bytes([9]) + b"text/html"),
        0,
        "error 12 unexpected HTTP status code received from server: 404; "
        'transport: received unexpected content-type "text/html"',
    ),
    "an end": (frame(1, 4, 1, HEADERS), 0, "error 14 error reading from server: EOF"),
}


@pytest.mark.parametrize(("answer", "code", "said"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_server_is_asked_for_its_health(
    server: Server, capsys: pytest.CaptureFixture[str], answer: bytes, code: int, said: str
) -> None:
    port, asked = server(SETTINGS, answer)
    assert main("5", "127.0.0.1", str(port), f"10.0.0.5:{port}", "kube-probe/1.35", "mine") == code
    assert capsys.readouterr().out.strip() == said
    assert asked[0].startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert b"kube-probe/1.35" in asked[0]
    assert b"/grpc.health.v1.Health/Check" in asked[0] and f"10.0.0.5:{port}".encode() in asked[0]


@pytest.mark.parametrize(
    ("first", "said"), [(b"", "connect"), (b"SSH-2.0-OpenSSH\r\n", "connect"), (SETTINGS, "timeout")]
)
def test_a_server_that_does_not_answer_is_given_up(
    server: Server, capsys: pytest.CaptureFixture[str], first: bytes, said: str
) -> None:
    port, _ = server(first)
    assert main("0.3", "127.0.0.1", str(port), "here", "kube-probe/1.35") == 1
    assert capsys.readouterr().out.strip() == said


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
        ("a8eb10649cbf", "no-cache"),
        ("25a849e95bb8e8b4bf", "custom-value"),
        ("d07abe941054d444a8200595040b8166e082a62d1bff", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("9d29ad171863c78f0b97c8e9ae82ae43d3", "https://www.example.com"),
    ],
)
def test_packed_text_is_read(packed: str, text: str) -> None:
    """The examples of RFC 7541, appendix C."""
    assert unpacked(bytes.fromhex(packed)).decode() == text


def test_headers_are_read_in_every_form() -> None:
    packed = b"\x40" + bytes([7]) + b"grpc-st" + bytes([0x80 + 6]) + bytes.fromhex("a8eb10649cbf")
    block = b"\x20" + b"\x48\x03204" + b"\x82" + packed + literal("a", "b")
    assert decoded(block) == {":status": "204", "grpc-st": "no-cache", "a": "b"}
