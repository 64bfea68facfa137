"""A running cluster is read through the official client: an API server of our own answers as a real one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from kitlib import cli
from kitlib.advisor.live_cluster import read_cluster
from kitlib.api.errors import KitError
from kitlib.api.release import Release


def node(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}


def pod(name: str, cpu: str, on: str = "") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    status = {"phase": "Running" if on else "Pending"}
    return {"metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": spec, "status": status}


class Server(BaseHTTPRequestHandler):
    """Lists in pages of two, whatever was asked for."""

    objects: ClassVar[dict[str, list[dict[str, Any]]]] = {}
    forbidden: ClassVar[set[str]] = set()
    unavailable: ClassVar[set[str]] = set()
    seen: ClassVar[list[tuple[str, str]]] = []
    reported: ClassVar[dict[str, str]] = {"major": "1", "minor": "26+"}

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.seen.append((self.command, url.path))
        plural = url.path.rpartition("/")[2]
        if url.path == "/version":
            return self._answer(200, self.reported)
        if plural in self.forbidden or self.headers["Authorization"] != "Bearer secret":
            return self._answer(403, {"kind": "Status", "reason": "Forbidden"})
        if any(group in url.path for group in self.unavailable):
            return self._answer(503, {"kind": "Status", "reason": "ServiceUnavailable"})
        items = self.objects.get(plural, [])
        start = int(parse_qs(url.query).get("continue", ["0"])[0])
        more = {"continue": str(start + 2)} if start + 2 < len(items) else {}
        self._answer(200, {"kind": "List", "metadata": more, "items": items[start : start + 2]})

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    Server.objects = {
        "nodes": [node("a"), node("b"), node("c")],
        "pods": [pod("web", "1500m", "a"), pod("db", "1500m", "b"), pod("big", "3")],
    }
    Server.forbidden, Server.unavailable, Server.seen = set(), set(), []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "ours",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "ours", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    yield str(path)
    server.shutdown()
    server.server_close()


def test_objects_come_page_by_page_and_the_clusters_own_release_is_followed(kubeconfig: str) -> None:
    dump = read_cluster(kubeconfig)
    assert [n.name for n in dump.nodes] == ["a", "b", "c"]
    assert str(dump.release) == "1.26"
    assert dump.explain(dump.pod("big")).message.startswith("0/3 nodes are available: 3 Insufficient cpu.")
    assert {method for method, _ in Server.seen} == {"GET"}


def test_what_may_not_be_listed_is_left_out_and_named(kubeconfig: str) -> None:
    Server.forbidden = {"persistentvolumes", "csinodes"}
    dump = read_cluster(kubeconfig)
    assert dump.left_out == "persistentvolumes, csinodes: they cannot be listed"


def test_without_nodes_nothing_can_be_said(kubeconfig: str) -> None:
    Server.forbidden = {"nodes"}
    with pytest.raises(KitError, match="cannot list nodes: 403"):
        read_cluster(kubeconfig)


def test_a_context_that_there_is_not_and_a_server_that_does_not_answer_are_named(kubeconfig: str) -> None:
    with pytest.raises(KitError, match=r"config: not a kubeconfig .*nowhere"):
        read_cluster(kubeconfig, context="nowhere")
    path = Path(kubeconfig)
    path.write_text(path.read_text().replace("127.0.0.1:", "127.0.0.1:1#"))
    with pytest.raises(KitError, match=r"127\.0\.0\.1"):
        read_cluster(kubeconfig)


def test_the_command_explains_a_pod_of_the_running_cluster(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["explain", "--live", "--kubeconfig", kubeconfig, "shop/big"])
    out = capsys.readouterr().out
    assert code == 1
    assert "Insufficient cpu" in out and "request 2 cpu instead of 3: it goes to c" in out


def test_claims_and_devices_are_asked_for_only_where_a_pod_claims_some(kubeconfig: str) -> None:
    read_cluster(kubeconfig)
    assert not any("resource.k8s.io" in path for _, path in Server.seen)
    Server.objects["pods"][2]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "c"}]
    claim = {"metadata": {"name": "c", "namespace": "shop", "uid": "c"}, "spec": {}}
    Server.objects |= {"resourceclaims": [claim], "deviceclasses": [{"metadata": {"name": "gpu"}}]}
    dump = read_cluster(kubeconfig, release="1.36")
    asked = [path.rpartition("/")[2] for _, path in Server.seen if "resource.k8s.io/v1/" in path]
    assert asked == ["resourceclaims", "deviceclasses", "resourceslices"]
    assert dump.left_out == ""  # the cluster has answered: there are no slices, and so no devices


def test_a_server_of_a_release_that_the_kit_does_not_know_is_said(
    kubeconfig: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "reported", {"major": "1", "minor": "99", "gitVersion": "v1.99.2"})
    dump = read_cluster(kubeconfig)
    assert dump.unknown_release_text == f"the API server is of v1.99.2: not known here, decided as {Release.latest()}"


def test_an_aggregated_api_without_its_server_is_left_out_and_named(kubeconfig: str) -> None:
    Server.unavailable = {"metrics.k8s.io"}
    assert read_cluster(kubeconfig).left_out == "pods.metrics.k8s.io: they cannot be listed"
