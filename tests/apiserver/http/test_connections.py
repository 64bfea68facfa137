"""Connections to the served API are bounded; who shows no token gives way, and is not listened to for long."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

import pytest

from kitlib.apiserver.http import connections, serve
from kitlib.cluster import Cluster
from tests.apiserver.http.test_server import fetch

MAX_CONNECTIONS = 6


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(connections, "most_connections", lambda: MAX_CONNECTIONS)
    with Cluster.simulated(1) as cluster, serve(cluster) as made:
        yield made


def connect(service: Any) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=20)


def connect_tls(service: Any) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connect(service))


def whole(connection: socket.socket) -> bytes:
    """What comes until the other side closes."""
    found = b""
    with suppress(OSError):  # reset, since something stood unread
        while piece := connection.recv(1 << 16):
            found += piece
    return found


def test_strangers_give_way_to_who_comes(service: Any) -> None:
    """Half-open connections, handshakes that never end, requests that begin and stop."""
    watch = fetch(service, "/api/v1/nodes?watch=true&timeoutSeconds=60")
    silent = [connect(service) for _ in range(3 * MAX_CONNECTIONS)]
    slow = [connect_tls(service) for _ in range(3 * MAX_CONNECTIONS)]
    for one in slow:
        with suppress(OSError):  # it gave way
            one.sendall(b"GET / HTTP/1.1\r\nX")
    assert json.load(fetch(service, "/api/v1/nodes/node-1"))["kind"] == "Node"
    assert all(whole(one) == b"" for one in silent)  # the other side has closed them
    assert json.loads(watch.readline())["type"] == "ADDED"
    for one in (*silent, *slow):
        one.close()


def test_where_all_are_known_clients_no_more_are_taken(service: Any) -> None:
    watches = [fetch(service, "/api/v1/nodes?watch=true&timeoutSeconds=60") for _ in range(MAX_CONNECTIONS)]
    with pytest.raises(OSError):
        connect_tls(service)
    assert json.loads(watches[0].readline())["type"] == "ADDED"
    for one in watches:
        one.close()
    answer = None
    while answer is None:  # the server notices that they have gone
        try:
            answer = fetch(service, "/api/v1/nodes/node-1")
        except OSError:
            continue
    assert json.load(answer)["kind"] == "Node"


def test_handshakes_are_made_while_a_request_takes_its_time(service: Any) -> None:
    """Requests, time and the event loop are one thread; Go's clients give up a handshake after ten seconds."""
    goes_on = threading.Event()
    service._call_soon(lambda: goes_on.wait(30))
    clients = [connect_tls(service) for _ in range(MAX_CONNECTIONS - 1)]
    assert not goes_on.is_set()
    clients[0].sendall(f"GET /readyz HTTP/1.0\r\nAuthorization: Bearer {service.token}\r\n\r\n".encode())
    goes_on.set()
    assert whole(clients[0]).endswith(b"ok")


def test_a_handshake_that_does_not_end_is_given_up(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HANDSHAKE", 0.05)
    assert whole(connect(service)) == b""


@pytest.mark.parametrize("path", ["/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/a/exec"])
def test_a_strangers_body_is_not_read(service: Any, path: str) -> None:
    connection = connect_tls(service)
    connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n".encode())
    assert whole(connection).split(b" ")[1] in (b"400", b"401")


def test_most_connections_leave_the_process_half_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((1024, 512), (20, 64), (1 << 20, 4096), (-1, 4096)):
        monkeypatch.setattr("resource.getrlimit", lambda _, soft=soft: (soft, soft))
        assert connections.most_connections() == most
