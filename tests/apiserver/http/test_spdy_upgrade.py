"""exec and port-forward over an upgraded connection, as kubectl before 1.30 asks for them."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import subprocess
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitlib.api.streams import StreamEvent
from kitlib.apiserver.http import spdy, streams
from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_port_forward import Pods, served, wait_for
from tests.apiserver.http.test_spdy import opened

PATH = "/api/v1/namespaces/default/pods/web"
EXEC, FORWARD = "v4.channel.k8s.io", "portforward.k8s.io"
ALL = "&".join(f"{name}=true" for name in ("stdin", "stdout", "stderr"))


class Client:
    """One upgraded connection, from the client's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer, self._next = reader, writer, 1
        self._compressor = zlib.compressobj(zdict=spdy.DICTIONARY)

    async def open(self, **headers: str) -> int:
        """The number of a new stream."""
        number, self._next = self._next, self._next + 2
        self.writer.write(opened(self._compressor, number, **headers))
        await self.writer.drain()
        return number

    async def send(self, number: int, data: bytes, *, last: bool = False) -> None:
        self.writer.write(spdy.Framer().data(number, data, last=last))
        await self.writer.drain()

    async def frame(self) -> tuple[int, int, int, bytes]:
        """Kind (0 = data), stream, flags and body of the next frame; EOFError once the server has closed."""
        first, second = struct.unpack(">II", await asyncio.wait_for(self._reader.readexactly(8), 20))
        body = await self._reader.readexactly(second & 0xFFFFFF)
        if first >> 31:
            return first & 0xFFFF, struct.unpack(">I", body[:4])[0], second >> 24, body
        return 0, first, second >> 24, body

    async def until_goaway(self) -> tuple[dict[int, bytes], set[int]]:
        """What came on each stream, and the streams that were ended."""
        data: dict[int, bytes] = {}
        ended = set()
        while True:
            kind, number, flags, body = await self.frame()
            if kind == spdy.GOAWAY:
                return data, ended
            if kind == 0:
                data[number] = data.get(number, b"") + body
                ended |= {number} if flags & spdy.FIN else set()

    async def closed(self) -> bool:
        """Whether the server closes the connection."""
        try:
            while True:
                await self.frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            return True


@pytest.fixture
def pods() -> Pods:
    return Pods()


@pytest.fixture
def service(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with served(pods, monkeypatch) as made:
        yield made
    assert (made.watches, made.forwarded) == (0, 0)


async def asked(service: Any, target: str, *headers: str) -> tuple[int, str, Client]:
    """A request for an upgrade: the answer's code, its head and body, and the connection."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port, ssl=trusting)
    lines = [
        f"POST {PATH}/{target} HTTP/1.1",
        "Host: kit",
        f"Authorization: Bearer {service.token}",
        "Content-Length: 0",
    ]
    writer.write("\r\n".join([*lines, *headers, "", ""]).encode())
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)).decode()
    code = int(head.split()[1])
    if code != 101:
        size = next(int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length"))
        head += (await reader.readexactly(size)).decode()
    return code, head, Client(reader, writer)


def speaking(service: Any, target: str, protocol: str, work: Callable[[Client], Awaitable[None]]) -> None:
    """Do something with an upgraded connection; it is closed afterwards, and nothing of it is left."""

    async def whole() -> None:
        names = ("Connection: Upgrade", "Upgrade: SPDY/3.1", f"X-Stream-Protocol-Version: {protocol}")
        code, head, client = await asked(service, target, *names, "X-Stream-Protocol-Version: channel.k8s.io")
        assert (code, f"X-Stream-Protocol-Version: {protocol}" in head) == (101, True), head
        try:
            await work(client)
        finally:
            client.writer.close()

    asyncio.run(asyncio.wait_for(whole(), 60))
    wait_for(lambda: (service.watches, service.forwarded) == (0, 0))


def test_a_command_answers_on_its_streams_and_ends_them(service: Any) -> None:
    async def work(client: Client) -> None:
        error, out = await client.open(streamtype="error"), await client.open(streamtype="stdout")
        errors = await client.open(streamtype="stderr")
        data, ended = await client.until_goaway()
        assert data[out] == b"web\n"
        assert json.loads(data[error])["status"] == "Success"
        assert ended == {error, out, errors}

    speaking(service, "exec?command=hostname&stdout=true&stderr=true", EXEC, work)


def test_input_is_read_however_it_is_cut_and_its_end_ends_a_shell(service: Any) -> None:
    async def work(client: Client) -> None:
        error, given = await client.open(streamtype="error"), await client.open(streamtype="stdin")
        out = await client.open(streamtype="stdout")
        await client.open(streamtype="stderr")
        await client.send(given, b"hostname\nhost")
        await client.send(given, b"name\n", last=True)
        data, _ = await client.until_goaway()
        assert data[out] == b"web\nweb\n"
        assert json.loads(data[error])["status"] == "Success"

    speaking(service, f"exec?command=sh&{ALL}", EXEC, work)


def test_a_terminal_has_a_stream_for_its_size_and_none_for_errors(service: Any) -> None:
    async def work(client: Client) -> None:
        await client.open(streamtype="error")
        given, out = await client.open(streamtype="stdin"), await client.open(streamtype="stdout")
        size = await client.open(streamtype="resize")
        await client.send(size, b'{"Width":100,"Hei')
        await client.send(size, b'ght":40}\n{"Width":120,"Height":50}\n')
        await client.send(given, b"exit\n")
        data, _ = await client.until_goaway()
        assert b"exit" in data[out]

    speaking(service, f"exec?command=sh&tty=true&{ALL}", EXEC, work)


@pytest.mark.parametrize(
    ("headers", "code", "words"),
    [
        ((), 400, "Upgrade request required"),
        (("Connection: Upgrade", "Upgrade: SPDY/3.1"), 400, "unable to upgrade: X-Stream-Protocol-Version is required"),
        (
            (
                "Connection: Upgrade",
                "Upgrade: SPDY/3.1",
                "X-Stream-Protocol-Version: channel.k8s.io, v2.c",
            ),
            403,
            "unable to upgrade: unable to negotiate protocol: client supports [channel.k8s.io v2.c], server accepts "
            "[v4.channel.k8s.io]",
        ),
        (("Connection: Upgrade", "Upgrade: websocket"), 405, "a WebSocket begins with a GET"),
    ],
    ids=["no upgrade", "no protocol", "other protocols", "a WebSocket by POST"],
)
def test_what_cannot_be_upgraded_is_refused(service: Any, headers: tuple[str, ...], code: int, words: str) -> None:
    async def whole() -> tuple[int, str]:
        found, text, client = await asked(service, "exec?command=hostname&stdout=true", *headers)
        client.writer.close()
        return found, text

    found, text = asyncio.run(whole())
    assert (found, json.loads(text.partition("\r\n\r\n")[2])["message"]) == (code, words)


def test_streams_that_were_not_asked_for_are_refused(service: Any) -> None:
    async def work(client: Client) -> None:
        await client.open(streamtype="error")
        for kind in ("stdin", "error", "nothing"):
            number = await client.open(streamtype=kind)
            while True:
                found = await client.frame()
                if found[0] == spdy.RST_STREAM:
                    break
            assert found[1] == number
        assert service.watches == 0  # the command waits for the stream that it writes to

    speaking(service, "exec?command=hostname&stdout=true", EXEC, work)


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        struct.pack(">II", 1, 0xFFFFFF),
        struct.pack(">HHI", 0x8003, spdy.SYN_STREAM, 2) + b"xx",
    ],
    ids=["another protocol", "a frame without end", "a short frame"],
)
@pytest.mark.parametrize(("target", "protocol"), [("exec?command=sh&stdin=true", EXEC), ("portforward", FORWARD)])
def test_what_is_no_spdy_closes_the_connection(service: Any, target: str, protocol: str, raw: bytes) -> None:
    async def work(client: Client) -> None:
        client.writer.write(raw)
        assert await client.closed()

    speaking(service, target, protocol, work)


def test_a_size_without_end_closes_the_connection(service: Any) -> None:
    async def work(client: Client) -> None:
        for kind in ("error", "stdout"):
            await client.open(streamtype=kind)
        await client.send(await client.open(streamtype="resize"), b"{" * 1000)
        assert await client.closed()

    speaking(service, "exec?command=sh&tty=true&stdout=true", EXEC, work)


def test_streams_that_are_never_opened_are_not_waited_for(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAMS", 0.1)

    async def work(client: Client) -> None:
        await client.open(streamtype="error")
        assert await client.closed()

    speaking(service, "exec?command=hostname&stdout=true", EXEC, work)


def test_a_client_that_goes_takes_its_command_with_it(service: Any) -> None:
    async def work(client: Client) -> None:
        for kind in ("error", "stdin", "stdout", "stderr"):
            await client.open(streamtype=kind)
        while service.watches == 0:
            await asyncio.sleep(0.01)

    speaking(service, f"exec?command=sh&{ALL}", EXEC, work)


def test_a_port_is_forwarded_in_both_directions(service: Any, pods: Pods) -> None:
    async def work(client: Client) -> None:
        named = {"port": "80", "requestid": "0"}
        await client.open(streamtype="error", **named)
        data = await client.open(streamtype="data", **named)
        await client.send(data, b"hello")
        while not pods.sides or pods.sides[0].got < 5:
            await asyncio.sleep(0.01)
        pods.sides[0].heard(StreamEvent(data=b"answer"))
        while (found := await client.frame())[0] != 0:
            pass
        assert (found[1], found[3]) == (data, b"answer")

    speaking(service, "portforward", FORWARD, work)
    assert pods.sides[0].closed.wait(10)


@pytest.mark.kubectl
def test_kubectl_forwards_a_port_without_a_websocket(service: Any, pods: Pods, tmp_path: Path) -> None:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    config = tmp_path / "config"
    config.write_text(yaml.safe_dump(service.config))
    process = subprocess.Popen(
        [str(programs / "kubectl"), "port-forward", "pod/web", ":80"],
        env={"KUBECONFIG": str(config), "HOME": str(tmp_path), "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()  # Forwarding from 127.0.0.1:PORT -> 80
        with socket.create_connection(("127.0.0.1", int(line.split(":")[1].split()[0])), 20) as own:
            own.settimeout(20)
            own.sendall(b"x" * 100_000)
            wait_for(lambda: bool(pods.sides) and pods.sides[0].got == 100_000)
            pods.sides[0].heard(StreamEvent(taken=100_000, data=b"answer"))
            assert own.recv(100) == b"answer"
    finally:
        process.kill()
        process.communicate()
    wait_for(lambda: service.forwarded == 0)
