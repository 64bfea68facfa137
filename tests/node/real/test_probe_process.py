"""The process that asks a port: what it writes for each kind of answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from kitlib.node.real.probe_process import main

Server = Callable[[bytes], tuple[int, list[bytes]]]


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a function: what is answered to one request -> (port, what was asked)."""
    doors: list[socket.socket] = []

    def server(answer: bytes) -> tuple[int, list[bytes]]:
        door = socket.create_server(("127.0.0.1", 0))
        doors.append(door)
        asked: list[bytes] = []

        def serve() -> None:
            try:
                line, _ = door.accept()
            except OSError:  # the test has ended
                return
            with line:
                if answer:
                    asked.append(line.recv(4096))
                    line.sendall(answer)
                else:
                    line.recv(4096)
                    threading.Event().wait(0.5)

        threading.Thread(target=serve, daemon=True).start()
        return door.getsockname()[1], asked

    yield server
    for door in doors:
        door.close()


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 0, "204"),
        (b"HTTP/1.0 503 Busy\r\n\r\n", 0, "503"),
        (b"SSH-2.0-OpenSSH\r\n", 1, "malformed HTTP response"),
        (b"", 1, "timeout"),
    ],
)
def test_a_server_is_asked_by_http(
    server: Callable[[bytes], tuple[int, list[bytes]]],
    capsys: pytest.CaptureFixture[str],
    answer: bytes,
    code: int,
    said: str,
) -> None:
    port, asked = server(answer)
    assert main("0.3", "127.0.0.1", str(port), "HTTP", "/healthz", "Host: web", "X-A: b") == code
    assert capsys.readouterr().out == f"{said}\n"
    if answer:
        assert asked == [b"GET /healthz HTTP/1.1\r\nHost: web\r\nX-A: b\r\nConnection: close\r\n\r\n"]


def test_a_connection_is_enough_without_a_scheme(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    port, _ = server(b"x")
    assert main("1", "127.0.0.1", str(port)) == 0
    assert capsys.readouterr().out == ""


def test_a_closed_port_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    assert main("1", "127.0.0.1", str(port)) == 1
    assert capsys.readouterr().out == "connection refused\n"
