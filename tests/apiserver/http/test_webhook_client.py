"""Calls of webhooks over TLS: the request as it arrives, answers that are none, servers that cannot be reached."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.apiserver.admission.service_pods import PodPort
from kitlib.apiserver.admission.webhook_calls import Answer, Attempts, WebhookCall, WebhookError, WebhookServer
from kitlib.apiserver.http import webhook_client
from kitlib.apiserver.http.credentials import new_certificate, tls_context
from kitlib.apiserver.http.webhook_client import BackgroundClient, WebhookClient

REVIEW = {"request": {"uid": "1"}}
CERTIFICATE = new_certificate()
REPLIES = {
    "/ok": (200, b'{"response": {"allowed": true}}'),
    "/created": (399, b"{}"),
    "/list": (200, b"[]"),
    "/text": (200, b"yes"),
    "/bad": (400, b"no \xff" + b"a" * 300),
}


class Served:
    """A TLS server on a free port of the loopback interface.

    Attributes:
        port: the port.
        asked: path with query, headers and body of each request.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    def target(self, path: str = "/ok", **fields: Any) -> WebhookServer:
        host, url = "127.0.0.1", f"https://127.0.0.1:{self.port}{path}"
        return WebhookServer(url, host, self.port, host, CERTIFICATE.certificate, 30.0)._replace(**fields)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.asked.append((self.path, dict(self.headers), body))
            code, text = REPLIES[self.path.partition("?")[0]]
            self.send_response(code)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Print nothing of clients that end a handshake."""

    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = tls_context(CERTIFICATE).wrap_socket(server.socket, server_side=True)
    made = Served(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def call(target: WebhookServer, cluster: Any = None) -> Answer:
    return WebhookClient(cluster).perform(WebhookCall(target, REVIEW, "key"))


def refused(target: WebhookServer, cluster: Any = None) -> str:
    found = call(target, cluster=cluster)
    assert isinstance(found, WebhookError)
    return str(found)


@pytest.mark.parametrize(
    ("url", "timeout", "path"),
    [
        ("/ok", 30.0, "/ok?timeout=30s"),
        ("/ok?a=b", 60.0, "/ok?a=b&timeout=60s"),
        ("/ok?", 45.0, "/ok?timeout=45s"),
    ],
)
def test_a_call_as_the_webhook_receives_it(served: Served, url: str, timeout: float, path: str) -> None:
    """The timeout of the call is a parameter of the URL. Source: webhook dispatchers, `Param("timeout", …)`."""
    served.asked.clear()
    assert call(served.target(url, timeout=timeout)) == {"response": {"allowed": True}}
    [(asked, headers, body)] = served.asked
    assert (asked, json.loads(body)) == (path, REVIEW)
    assert headers["Content-Type"] == headers["Accept"] == "application/json"
    assert headers["Host"] == f"127.0.0.1:{served.port}"


def test_the_host_of_the_url_is_sent_wherever_the_server_is(served: Served) -> None:
    served.asked.clear()
    target = served.target(url="https://hook.example.svc:8443/ok", server_name="localhost")
    assert call(target) == {"response": {"allowed": True}}
    assert served.asked[0][1]["Host"] == "hook.example.svc:8443"


def test_answers_that_are_none(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(served.target("/created")) == {}
    assert refused(served.target("/list")) == refused(served.target("/text")) == "the answer is no JSON object"
    text = refused(served.target("/bad"))
    assert text == "the server returned the status 400: no \ufffd" + "a" * 196, "the first 200 bytes"
    monkeypatch.setattr(webhook_client, "MAX_ANSWER", len(REPLIES["/ok"][1]))
    assert call(served.target()) == {"response": {"allowed": True}}
    monkeypatch.setattr(webhook_client, "MAX_ANSWER", len(REPLIES["/ok"][1]) - 1)
    assert refused(served.target()) == "the answer is no JSON object"


def test_the_certificate_is_verified(served: Served) -> None:
    served.asked.clear()
    for wrong in ({"server_name": "other"}, {"authority": new_certificate().certificate}, {"authority": b""}):
        text = refused(served.target(**wrong))
        assert text.startswith(f'Post "https://127.0.0.1:{served.port}/ok?timeout=30s": ')
        assert "certificate verify failed" in text
    assert refused(served.target(authority=b"no certificate")).startswith('Post "https://')
    assert served.asked == []


def test_a_port_without_a_server() -> None:
    """Source: net/http url.Error of a refused connection."""
    with socket.socket() as bound:  # bound, but not listening
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        target = Served(port).target("")
        expected = f'Post "https://127.0.0.1:{port}/?timeout=30s": dial tcp 127.0.0.1:{port}: connect: '
        assert refused(target) == f"{expected}connection refused"


@pytest.mark.parametrize(
    ("raised", "text"),
    [(TimeoutError("x"), "context deadline exceeded"), (OSError("no route"), "no route")],
)
def test_errors_of_the_connection(monkeypatch: pytest.MonkeyPatch, raised: OSError, text: str) -> None:
    asked: list[Any] = []

    def connect(place: Any, timeout: float) -> socket.socket:
        asked.append((place, timeout))
        raise raised

    monkeypatch.setattr(socket, "create_connection", connect)
    target = WebhookServer("https://h:8443/a", "h", 8443, "h", b"", 7.0)
    assert refused(target) == f'Post "https://h:8443/a?timeout=7s": {text}'
    assert asked == [(("h", 8443), 7.0)]


def test_a_pod_that_cannot_be_reached() -> None:
    cluster = SimpleNamespace(lock=threading.Lock(), node={"n": object()}.__getitem__)
    target = WebhookServer("https://web.x.svc/", "web", 443, "web.x.svc", b"", 1.0, PodPort("n", "x", "web-1", 8443))
    assert refused(target, cluster) == (
        "pod x/web-1 on node n, port 8443: no containers run on a hollow node "
        "(name the webhook's server by clientConfig.url, or by a Service of type ExternalName)"
    )
    assert not cluster.lock.locked()


def calls() -> list[WebhookCall]:
    return [WebhookCall(WebhookServer(f"https://{name}/", name, 1, name, b"", 1.0), {}, name) for name in "ab"]


def test_a_synchronous_caller_answers_before_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    client, attempts, seen = WebhookClient(None), Attempts(), list[dict[str, Answer]]()
    monkeypatch.setattr(client, "perform", lambda one: {"of": one.key})
    attempts.answers["old"] = {}
    client.start(calls(), attempts, lambda: seen.append(dict(attempts.answers)))
    assert seen == [{"old": {}, "a": {"of": "a"}, "b": {"of": "b"}}]
    assert client.defers is False


def test_a_background_caller_holds_the_lock_only_to_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    told, settled, go, lock = list[tuple[str, bool]](), threading.Event(), threading.Event(), threading.Lock()

    def settle() -> None:
        told.append(("settle", lock.locked()))
        settled.set()

    def perform(one: WebhookCall) -> Answer:
        assert go.wait(60) and threading.current_thread().daemon, "a call does not keep the process alive"
        told.append((one.key, lock.locked()))
        return {"of": one.key}

    client, attempts = BackgroundClient(SimpleNamespace(lock=lock, settle=settle)), Attempts()
    monkeypatch.setattr(client, "perform", perform)
    client.start(calls(), attempts, lambda: told.append((",".join(attempts.answers), lock.locked())))
    assert told == []
    go.set()
    assert settled.wait(60)
    assert told == [("a", False), ("b", False), ("a,b", True), ("settle", True)]
    assert attempts.answers == {"a": {"of": "a"}, "b": {"of": "b"}}
    assert client.defers is True
