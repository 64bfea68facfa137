"""A container's log over a WebSocket: subprotocols, messages, errors before the handshake, and the client's end."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from kitlib.api.streams import StreamEvent
from kitlib.apiserver.http import serve
from kitlib.apiserver.http.log_stream import LogReader
from kitlib.cluster import Cluster

COMMAND = ["sh", "-c", "echo container is alive; sleep 10000"]
SPEC = {"containers": [{"name": "main", "image": "busybox", "command": COMMAND}]}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": SPEC}
LINE = b"container is alive\n"


@pytest.fixture(scope="module")
def service() -> Iterator[Any]:
    with Cluster.simulated(1) as cluster:
        cluster.apply(POD)
        cluster.advance(5)
        assert cluster.pod("web").status.phase == "Running"
        with serve(cluster) as made:
            yield made


def connected(
    service: Any, path: str, protocols: list[str], work: Callable[[WebSocketClientConnection], Awaitable[None]]
) -> None:
    async def whole() -> None:
        address = service.address.replace("https", "wss")
        headers = {"Authorization": f"Bearer {service.token}"}
        request = HTTPRequest(f"{address}/api/v1/namespaces/default/pods/{path}", headers=headers, validate_cert=False)
        await work(await websocket_connect(request, subprotocols=protocols))

    asyncio.run(whole())


@pytest.mark.parametrize("protocols", [[], ["binary.k8s.io"], ["base64.binary.k8s.io"]])
def test_an_empty_message_precedes_the_log_and_the_server_closes_at_its_end(service: Any, protocols: list[str]) -> None:
    read: list[str | bytes] = []

    async def work(socket: WebSocketClientConnection) -> None:
        assert socket.selected_subprotocol == (protocols[0] if protocols else None)
        while (message := await socket.read_message()) is not None:
            read.append(message)
        assert socket.close_code == 1000

    connected(service, "web/log?container=main", protocols, work)
    if "base64.binary.k8s.io" in protocols:
        assert (read[0], b"".join(base64.b64decode(one) for one in read)) == ("", LINE)
    else:
        assert (read[0], b"".join(one for one in read if isinstance(one, bytes))) == (b"", LINE)


def test_a_followed_log_ends_with_its_client(service: Any) -> None:
    async def work(socket: WebSocketClientConnection) -> None:
        while await socket.read_message() != LINE:
            pass
        assert service.watches == 1
        socket.close()
        while service.watches:
            await asyncio.sleep(0.01)

    connected(service, "web/log?follow=true", ["binary.k8s.io"], work)


@pytest.mark.parametrize(
    ("path", "protocols", "code"),
    [
        ("web/log?container=other", ["binary.k8s.io"], 400),
        ("other/log", ["binary.k8s.io"], 404),
        ("web/log", ["v5.channel.k8s.io"], 403),
    ],
)
def test_errors_precede_the_handshake(service: Any, path: str, protocols: list[str], code: int) -> None:
    async def work(socket: WebSocketClientConnection) -> None:
        raise AssertionError("the connection was upgraded")

    with pytest.raises(HTTPClientError) as refused:
        connected(service, path, protocols, work)
    assert refused.value.code == code


def test_a_reader_asks_for_more_after_the_client_has_taken_what_was_sent() -> None:
    done: list[str] = []

    class Source:
        def more(self, size: int) -> None:
            done.append(f"more {size}")

        def close(self) -> None:
            done.append("close")

    async def write(data: bytes) -> None:
        done.append(data.decode())

    async def whole() -> None:
        events = asyncio.Queue[StreamEvent]()
        for event in (StreamEvent(1, b"ab"), StreamEvent(1, b"c"), StreamEvent(0, b"", ended=True)):
            events.put_nowait(event)
        await LogReader(Source(), events).copy(write, lambda: False)  # type: ignore[arg-type]

    asyncio.run(whole())
    assert done == ["ab", "more 2", "c", "more 1", "close"]
