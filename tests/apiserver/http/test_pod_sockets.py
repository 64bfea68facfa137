"""Sockets over streams to pods, and webhooks that are called in a pod through its node.

The node's side is a stand-in that connects to a real port of this machine; `tests/engine` has the real one.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.api.streams import WINDOW, Heard
from kitlib.apiserver.http import pod_sockets
from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.admission.webhook.servers import certificate_for, webhook_server
from tests.apiserver.http.conftest import call_of
from tests.apiserver.http.pods import SECONDS, Node, PodSide


@pytest.fixture
def echo() -> Iterator[int]:
    """Yield a port that sends back what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                while data := peer.recv(4096):
                    peer.sendall(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(SECONDS)


def test_a_socket_passes_more_than_the_window_both_ways_and_ends_with_its_stream(echo: int) -> None:
    node: Any = Node(echo)
    sent = bytes(range(256)) * (4 * WINDOW // 256)
    with pod_sockets.connect(node, "default", "web", 80, SECONDS) as made:
        writer = threading.Thread(target=made.sendall, args=(sent,), daemon=True)
        writer.start()
        got = b""
        while len(got) < len(sent):
            got += made.recv(65536)
        writer.join(SECONDS)
        assert got == sent
    assert node.asked == [("default", "web", 80)]
    assert node.sides[0].closed.wait(SECONDS)


def test_the_end_of_the_pod_is_the_end_of_the_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        node: Any = Node(listener.getsockname()[1])
        with pod_sockets.connect(node, "default", "web", 80, SECONDS) as made:
            peer, _ = listener.accept()
            peer.sendall(b"bye")
            peer.close()
            said = b""
            while piece := made.recv(10):
                said += piece
        assert said == b"bye" and node.sides[0].closed.wait(SECONDS)


def test_a_refused_connection_leaves_no_socket() -> None:
    class Refusing(Node):
        def connect(self, namespace: str, pod: str, port: int, heard: Heard, localhost: bool = False) -> PodSide:
            raise KitError("connection refused")

    node: Any = Refusing(0)
    with pytest.raises(KitError, match="connection refused"):
        pod_sockets.connect(node, "default", "web", 80, SECONDS)


def test_a_webhook_is_called_in_a_ready_pod_of_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [{"name": "https", "containerPort": 8443}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "hooks", "labels": {"app": "hooks"}},
        "spec": {"containers": [{"name": "c", "image": "x", "ports": ports}]},
    }
    spec = {"selector": {"app": "hooks"}, "ports": [{"port": 443, "targetPort": "https"}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": spec}
    with Cluster.simulated(1) as cluster, webhook_server(certificate_for("hook.default.svc")) as server:
        call = call_of(Dispatcher(cluster))
        hook = server.hook("/see", lambda request: {"allowed": False}, ["configmaps"])
        reference = {"name": "hook", "namespace": "default", "path": "/see"}
        hook["clientConfig"] = {"service": reference, "caBundle": hook["clientConfig"]["caBundle"]}
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        cluster.apply([service, {**kind, "metadata": {"name": "v"}, "webhooks": [hook]}])

        def refusal() -> tuple[int, str]:
            code, answer = call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})
            return code, answer["message"]

        failed = 'Internal error occurred: failed calling webhook "see.example.com": failed to call webhook: '
        assert refusal() == (500, failed + 'no endpoints available for service "hook"')
        cluster.apply(pod)
        cluster.advance(10)
        code, said = refusal()
        assert code == 500 and "a simulated container runs no programs" in said and "clientConfig.url" in said
        name, node = cluster.nodes[0].name, Node(server.port)
        monkeypatch.setattr(cluster, "node", lambda asked: {name: node}[asked])
        assert refusal() == (400, 'admission webhook "see.example.com" denied the request without explanation')
        assert node.asked == [("default", "hooks", 8443)]
