"""pods/proxy and services/proxy: which pod and port is asked, what it receives, and what the client gets.

The node is a stand-in that connects to a server of this test; `tests/engine` has real pods.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster
from tests.apiserver.http.pods import SECONDS, Node

PODS, SERVICES = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services"


class Backend:
    """A server that answers with the request it got, or as the path says."""

    def __init__(self) -> None:
        self.may_end, self.ended = threading.Event(), threading.Event()
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                seen = {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": self.rfile.read(size).decode(),
                }
                path = urlsplit(self.path).path
                if path == "/moved":
                    self.reply(302, b"", Location="/there/")
                elif path == "/slow":
                    self.stream()
                elif path == "/socket":
                    self.upgrade()
                elif path == "/cut":
                    self.send_response(200)
                    self.send_header("Content-Length", "100")
                    self.end_headers()
                    self.wfile.write(b"half")
                    self.close_connection = True
                else:
                    self.reply(418 if path == "/teapot" else 200, json.dumps(seen).encode(), **{"X-From": "pod"})

            def reply(self, code: int, body: bytes, **headers: str) -> None:
                self.send_response(code)
                for name, value in {**headers, "Content-Length": str(len(body)), "Connection": "close"}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def upgrade(self) -> None:
                """Accept the upgrade, and answer each word in capitals until the word "end"."""
                self.connection.sendall(b"HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly ")
                while (word := self.connection.recv(1024)) not in (b"end", b""):
                    self.connection.sendall(word.upper())
                self.close_connection = True
                backend.ended.set()

            def stream(self) -> None:
                """Send one piece, and the next when the client has read it."""
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"5\r\nfirst\r\n")
                self.wfile.flush()
                try:
                    backend.may_end.wait(SECONDS)
                    if self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
                        raise BrokenPipeError
                except BlockingIOError:
                    self.wfile.write(b"6\r\nsecond\r\n0\r\n\r\n")
                except OSError:
                    pass
                backend.ended.set()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.node: Any = Node(self.server.server_address[1])


def pod(name: str, **labels: str) -> dict[str, Any]:
    containers = [
        {"name": "side", "image": "x"},
        {"name": "web", "image": "x", "ports": [{"name": "http", "containerPort": 8080}]},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": containers},
    }


def service(name: str, *ports: dict[str, Any], **selector: str) -> dict[str, Any]:
    spec = {"selector": selector, "ports": list(ports)}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    """A served cluster with a pod whose node connects to a server of this test."""
    backend = Backend()
    plain = {"port": 80, "targetPort": "http"}
    named = [{"name": "a", "port": 81, "targetPort": 9000}, {"name": "b", "port": 82, "targetPort": 9001}]
    with Cluster.simulated(1) as cluster, serve(cluster, service_accounts=False) as made:
        objects = [pod("web", app="web"), service("plain", plain, app="web"), service("named", *named, app="web")]
        cluster.apply([*objects, service("empty", plain, app="none")])
        cluster.run_for(10)
        cluster.node = lambda name=None: backend.node
        yield made, backend
    backend.server.shutdown()
    backend.server.server_close()


def ask(served: Any, method: str, path: str, body: str = "", **headers: str) -> tuple[int, Any, dict[str, str]]:
    with_token = {"Authorization": f"Bearer {served[0].token}", **headers}
    connection = http.client.HTTPSConnection("127.0.0.1", served[0].port, context=_trusting(), timeout=SECONDS)
    try:
        connection.request(method, path, body or None, with_token)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None, dict(answer.getheaders())
    finally:
        connection.close()


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


TARGETS = [
    ("a pod's first declared port", f"{PODS}/web/proxy/", 8080),
    ("a pod's port by number", f"{PODS}/web:9090/proxy/", 9090),
    ("a scheme", f"{PODS}/http:web:9090/proxy/", 9090),
    ("an escaped colon", f"{PODS}/web%3A9090/proxy/", 9090),
    ("a Service's only port, whose target has a name", f"{SERVICES}/plain/proxy/", 8080),
    ("a Service's port by number", f"{SERVICES}/named:82/proxy/", 9001),
    ("a Service's port by name", f"{SERVICES}/named:a/proxy/", 9000),
]


@pytest.mark.parametrize(("path", "port"), [row[1:] for row in TARGETS], ids=[row[0] for row in TARGETS])
def test_the_port_of_a_pod_is_asked(served: Any, path: str, port: int) -> None:
    assert ask(served, "GET", path)[:2][0] == 200
    assert served[1].node.asked[-1] == ("default", "web", port)


REFUSALS = [
    ("an unknown pod", f"{PODS}/none/proxy/", 404, 'pods "none" not found'),
    ("an unknown Service", f"{SERVICES}/none/proxy/", 404, 'services "none" not found'),
    ("no ready pod", f"{SERVICES}/empty/proxy/", 503, 'no endpoints available for service "empty"'),
    ("an unknown port", f"{SERVICES}/plain:99/proxy/", 503, 'no service port 99 found for service "plain"'),
    ("ports with names, none asked for", f"{SERVICES}/named/proxy/", 503, "no endpoints available"),
    ("an unknown scheme", f"{SERVICES}/ftp:plain:80/proxy/", 400, "invalid service request"),
    ("too many parts", f"{PODS}/a:b:c:d/proxy/", 400, "invalid pod request"),
    ("a port that is not a number", f"{PODS}/web:http/proxy/", 400, "the port must be a number"),
]


@pytest.mark.parametrize(("path", "code", "message"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_what_cannot_be_asked_says_why(served: Any, path: str, code: int, message: str) -> None:
    found, status, _ = ask(served, "GET", path)
    assert (found, status["code"]) == (code, code) and message in status["message"]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_the_pod_gets_the_request_without_the_credentials(served: Any, method: str) -> None:
    sent = {"X-Mine": "1", "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Content-Type": "text/x"}
    sent |= {"Impersonate-User": "kubernetes-admin", "Impersonate-Group": "system:masters"}
    body = "" if method == "GET" else "hello"
    code, seen, headers = ask(served, method, f"{PODS}/web/proxy/a%20b/c?x=1&y=%2F", body, **sent)
    assert (code, headers["X-From"]) == (200, "pod")
    assert (seen["method"], seen["path"], seen["body"]) == (method, "/a%20b/c?x=1&y=%2F", body)
    assert seen["headers"]["x-mine"] == "1"
    assert not {"authorization", "x-hop", "impersonate-user", "impersonate-group"} & set(seen["headers"])
    assert seen["headers"]["x-forwarded-uri"] == f"{PODS}/web/proxy/a%20b/c"
    assert seen["headers"]["x-forwarded-host"] == f"127.0.0.1:{served[0].port}"


def test_the_pods_answer_is_the_clients(served: Any) -> None:
    assert ask(served, "GET", f"{PODS}/web/proxy/teapot")[0] == 418
    assert ask(served, "HEAD", f"{PODS}/web/proxy/teapot")[:2] == (418, None)
    code, _, headers = ask(served, "GET", f"{PODS}/web/proxy/moved")
    assert (code, headers["Location"]) == (302, f"{PODS}/web/proxy/there/"), "the way back leads through the proxy"


def test_the_root_ends_with_a_slash(served: Any) -> None:
    code, _, headers = ask(served, "GET", f"{PODS}/web/proxy?x=1")
    assert (code, headers["Location"]) == (301, f"{PODS}/web/proxy/?x=1")
    assert ask(served, "POST", f"{PODS}/web/proxy", "b")[1]["path"] == "/"


def test_a_webhook_of_a_policy_sees_the_options(served: Any) -> None:
    """ValidatingAdmissionPolicies see PodProxyOptions of a CONNECT request."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/proxy"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.kind == 'PodProxyOptions' && object.path != '/secret'"}],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    bound = {**kind, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "p"}}
    bound["spec"] = {"policyName": "p", "validationActions": ["Deny"]}
    with served[0].lock:
        served[0].cluster.apply([{**kind, "metadata": {"name": "p"}, "spec": spec}, bound])
    try:
        assert ask(served, "GET", f"{PODS}/web/proxy/open")[0] == 200
        assert ask(served, "GET", f"{PODS}/web/proxy/secret")[0] == 422
    finally:
        with served[0].lock:
            served[0].cluster.delete("ValidatingAdmissionPolicyBinding", "p")


def test_an_answer_arrives_as_it_is_sent_and_the_other_side_of_a_broken_one_notices(served: Any) -> None:
    backend = served[1]
    for whole in (True, False):
        backend.may_end.clear()
        backend.ended.clear()
        connection = http.client.HTTPSConnection("127.0.0.1", served[0].port, context=_trusting(), timeout=SECONDS)
        connection.request("GET", f"{PODS}/web/proxy/slow", headers={"Authorization": f"Bearer {served[0].token}"})
        answer = connection.getresponse()
        assert answer.read(5) == b"first", "the pod has not ended"
        if not whole:
            answer.close()
            connection.close()
            assert backend.node.sides[-1].closed.wait(SECONDS), "the connection to the pod ends with the client's"
        backend.may_end.set()
        if whole:
            assert answer.read() == b"second"
            connection.close()
        assert backend.ended.wait(SECONDS)
    with pytest.raises(http.client.IncompleteRead):
        ask(served, "GET", f"{PODS}/web/proxy/cut")


@pytest.mark.parametrize("ends", ["pod", "client"])
def test_an_upgraded_connection_passes_the_bytes_of_both_sides(served: Any, ends: str) -> None:
    backend = served[1]
    backend.ended.clear()
    upgrade = {"Upgrade": "x", "Connection": "keep-alive, Upgrade"}
    assert ask(served, "GET", f"{PODS}/web/proxy/teapot", **upgrade)[0] == 418, "the pod may refuse"
    lines = [f"GET {SERVICES}/plain/proxy/socket HTTP/1.1", "Host: x", f"Authorization: Bearer {served[0].token}"]
    lines += [*(f"{name}: {value}" for name, value in upgrade.items()), "", ""]
    raw = socket.create_connection(("127.0.0.1", served[0].port), timeout=SECONDS)
    with _trusting().wrap_socket(raw, server_hostname="x") as client:
        client.sendall("\r\n".join(lines).encode())
        head = b""
        while not head.endswith(b"early "):
            head += client.recv(1024)
        assert head.startswith(b"HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
        client.sendall(b"hello")
        assert client.recv(1024) == b"HELLO"
        if ends == "pod":
            client.sendall(b"end")
            assert client.recv(1024) == b""
    assert backend.ended.wait(SECONDS)


def test_simulated_pods_say_that_nothing_listens() -> None:
    with Cluster.simulated(1) as cluster, serve(cluster, service_accounts=False) as made:
        cluster.apply([pod("web")])
        cluster.run_for(10)
        code, status, _ = ask((made,), "GET", f"{PODS}/web/proxy/")
    assert code == 503 and status["message"].startswith("error trying to reach service: pod default/web, port 8080:")
    assert "a simulated container runs no programs" in status["message"]
