"""Port-forwards are bounded in number and in what waits, and nothing of them is left when their client has gone.

The pod's side is a stand-in that a test holds; the client's side is a WebSocket that speaks SPDY.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from kitlib.api.streams import WINDOW, StreamEvent
from kitlib.apiserver.http import (
    port_forward,
    serve,
    spdy,
    streams,
)
from kitlib.cluster import Cluster
from tests.apiserver.http.test_spdy import opened

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}


class PodSide:
    """A connection to a pod, which takes what it is told to."""

    def __init__(self, heard: Callable[[StreamEvent], None]) -> None:
        self.heard, self.got, self.granted, self.closed = heard, 0, 0, threading.Event()

    def write(self, data: bytes) -> None:
        self.got += len(data)

    def end_input(self) -> None: ...

    def more(self, size: int) -> None:
        self.granted += size

    def close(self) -> None:
        self.closed.set()


class Pods:
    """All connections to pods; while `held` is not set, none is completed."""

    def __init__(self) -> None:
        self.sides: list[PodSide] = []
        self.asked, self.held = threading.Event(), threading.Event()
        self.held.set()

    def connect(
        self, namespace: str, pod: str, port: int, heard: Callable[[StreamEvent], None], localhost: bool = False
    ) -> PodSide:
        self.asked.set()
        assert self.held.wait(30)
        self.sides.append(PodSide(heard))
        return self.sides[-1]


class Client:
    """One port-forward."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket, self._framer, self._next = socket, spdy.Framer(), 1
        self._compressor = zlib.compressobj(zdict=spdy.DICTIONARY)

    async def open(self, request: int, kinds: tuple[str, ...] = ("error", "data")) -> int:
        """The number of the last stream."""
        for kind in kinds:
            number, self._next = self._next, self._next + 2
            await self.send(opened(self._compressor, number, streamtype=kind, port="80", requestid=str(request)))
        return number

    async def send(self, data: bytes) -> None:
        await self.socket.write_message(data, binary=True)

    async def next(self, kind: int) -> int:
        """The stream of the next control frame of a kind."""
        while True:
            message = await asyncio.wait_for(self.socket.read_message(), 30)
            assert isinstance(message, bytes), "the server has closed the connection"
            first, _ = struct.unpack(">II", message[:8])
            if first == (0x8003 << 16 | kind):
                return int(struct.unpack(">I", message[8:12])[0])


@pytest.fixture
def pods() -> Pods:
    return Pods()


@contextmanager
def served(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A served cluster with one pod, whose ports lead to `pods`."""
    with Cluster.simulated(1) as cluster:
        cluster.apply(POD)
        monkeypatch.setattr(cluster.node("node-1"), "connect", pods.connect)
        with serve(cluster) as made:
            yield made


@pytest.fixture
def service(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with served(pods, monkeypatch) as made:
        yield made
        pods.held.set()


def forwarding(service: Any, work: Callable[[Client], Awaitable[None]]) -> None:
    """Do something with a port-forward; it is closed afterwards."""

    async def whole() -> None:
        request = HTTPRequest(
            f"{service.address}/api/v1/namespaces/default/pods/web/portforward".replace("https", "wss"),
            headers={"Authorization": f"Bearer {service.token}"},
            validate_cert=False,
        )
        socket = await websocket_connect(request, subprotocols=[port_forward.PROTOCOL])
        try:
            await work(Client(socket))
        finally:
            socket.close()

    asyncio.run(asyncio.wait_for(whole(), 60))


async def by_channels(service: Any, protocol: str, query: str) -> WebSocketClientConnection:
    request = HTTPRequest(
        f"{service.address}/api/v1/namespaces/default/pods/web/portforward?{query}".replace("https", "wss"),
        headers={"Authorization": f"Bearer {service.token}"},
        validate_cert=False,
    )
    return await websocket_connect(request, subprotocols=[protocol] if protocol else None)


def wait_for(true: Callable[[], bool]) -> None:
    """Until something is true; the test's own time limit ends it where it never is."""
    for _ in range(6000):
        if true():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not become true")


def test_connections_that_are_never_closed_go_with_their_client(service: Any, pods: Pods) -> None:
    async def work(client: Client) -> None:
        for number in range(20):
            await client.open(number)
        for _ in range(40):
            await client.next(spdy.SYN_REPLY)

    forwarding(service, work)
    wait_for(lambda: len(pods.sides) == 20)
    assert all(side.closed.wait(30) for side in pods.sides)
    wait_for(lambda: service.forwarded == 0)


@pytest.mark.parametrize("bound", ["MAX_CONNECTIONS", "MAX_FORWARDED"])
def test_more_connections_than_there_may_be_are_refused(
    service: Any, pods: Pods, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(port_forward, bound, 3)

    async def work(client: Client) -> None:
        for number in range(3):
            await client.open(number)
        refused = await client.open(3, ("data",))
        assert await client.next(spdy.RST_STREAM) == refused

    forwarding(service, work)
    assert len(pods.sides) == 3


def test_a_connection_that_comes_after_its_client_has_gone_is_closed(service: Any, pods: Pods) -> None:
    pods.held.clear()

    async def work(client: Client) -> None:
        await client.open(0)
        await client.next(spdy.SYN_REPLY)

    forwarding(service, work)
    assert pods.asked.wait(30)
    wait_for(lambda: service.forwarded == 0)
    pods.held.set()
    wait_for(lambda: bool(pods.sides))
    assert pods.sides[0].closed.wait(30)


def test_a_connection_of_one_stream_is_given_up(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_forward, "PAIR", 0.05)

    async def work(client: Client) -> None:
        half = await client.open(0, ("error",))
        assert await client.next(spdy.RST_STREAM) == half
        wait_for(lambda: service.forwarded == 0)

    forwarding(service, work)


async def connected(client: Client, pods: Pods) -> tuple[int, spdy.Framer]:
    """The data stream of a connection that has reached its pod, and a framer for what is sent."""
    stream = await client.open(0)
    while not pods.sides:
        await client.next(spdy.SYN_REPLY)
        await asyncio.sleep(0.01)
    return stream, spdy.Framer()


def test_a_pod_that_takes_nothing_is_sent_a_window_and_loses_its_connection(
    service: Any, pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_forward, "STALLED", 0.05)

    async def work(client: Client) -> None:
        stream, framer = await connected(client, pods)
        for _ in range(20):
            await client.send(framer.data(stream, bytes(WINDOW // 4)))
        assert await client.next(spdy.RST_STREAM) == stream

    forwarding(service, work)
    assert pods.sides[0].closed.wait(30)  # by a thread of its own, which may come later than the client's word
    assert pods.sides[0].got == WINDOW


def test_a_pod_that_takes_all_is_sent_all(service: Any, pods: Pods) -> None:
    async def work(client: Client) -> None:
        stream, framer = await connected(client, pods)
        side = pods.sides[0]
        for number in range(20):
            await client.send(framer.data(stream, bytes(WINDOW // 4)))
            while side.got < (number + 1) * (WINDOW // 4):
                await asyncio.sleep(0.001)
            side.heard(StreamEvent(taken=WINDOW // 4))

    forwarding(service, work)
    assert pods.sides[0].got == 5 * WINDOW


def test_a_client_that_never_reads_is_granted_no_more_than_a_window(service: Any, pods: Pods) -> None:
    async def work(client: Client) -> None:
        await client.open(0)
        while not pods.sides:
            await asyncio.sleep(0.01)
        ping = struct.pack(">HHII", 0x8003, spdy.PING, 4, 7) * 1000
        with pytest.raises((asyncio.TimeoutError, TimeoutError)):  # pongs are not heaped up: pings are not read
            await asyncio.wait_for(_without_end(client, ping), 1.0)
        assert pods.sides[0].granted == 0

    forwarding(service, work)


async def _without_end(client: Client, data: bytes) -> None:
    for _ in range(10_000):  # 120 MB
        await client.send(data)


def test_streams_over_which_nothing_goes_are_closed(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "IDLE", 0.05)

    async def work(client: Client) -> None:
        assert await asyncio.wait_for(client.socket.read_message(), 30) is None
        assert client.socket.close_code == 1001

    forwarding(service, work)


@pytest.mark.parametrize("protocol", ["v4.channel.k8s.io", "v4.base64.channel.k8s.io", ""])
def test_clients_with_channels_forward_the_ports_of_their_query(service: Any, pods: Pods, protocol: str) -> None:
    def framed(channel: int, data: bytes) -> bytes | str:
        text = f"{channel}{base64.b64encode(data).decode()}"
        return text if "base64" in protocol else bytes([channel]) + data

    async def whole() -> None:
        socket = await by_channels(service, protocol, "ports=80&ports=8080")
        ports = [await socket.read_message() for _ in range(4)]
        assert ports == [framed(n, port.to_bytes(2, "little")) for n, port in enumerate((80, 80, 8080, 8080))]
        while len(pods.sides) < 2:
            await asyncio.sleep(0.01)
        await socket.write_message(framed(2, b"hello"), binary="base64" not in protocol)
        while not sum(side.got for side in pods.sides):
            await asyncio.sleep(0.01)
        for side in pods.sides:
            side.heard(StreamEvent(data=b"bye"))
            side.heard(StreamEvent(ended=True))
        answers = {await socket.read_message() for _ in range(3)}
        assert answers == {framed(0, b"bye"), framed(2, b"bye"), None}

    asyncio.run(asyncio.wait_for(whole(), 60))
    wait_for(lambda: service.forwarded == 0)


def test_a_port_of_a_simulated_pod_refuses_connections() -> None:
    async def whole(service: Any) -> list[str | bytes | None]:
        socket = await by_channels(service, "v4.channel.k8s.io", "ports=8786")
        return [await socket.read_message() for _ in range(4)]

    with Cluster.simulated(1) as cluster:
        cluster.apply(POD)
        with serve(cluster) as service:
            *_, error, end = asyncio.run(asyncio.wait_for(whole(service), 60))
    assert isinstance(error, bytes) and error.startswith(b"\1error forwarding port 8786 to pod web: failed to connect")
    assert b"connection refused" in error and end is None
