"""The API behind TLS: token, certificate, kubeconfig, a watch over the socket, the end."""

from __future__ import annotations

import json
import socket
import ssl
import stat
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitlib.api.errors import KitError
from kitlib.apiserver.http import serve
from kitlib.apiserver.http.credentials import merge_kubeconfig, remove_from_kubeconfig
from kitlib.cluster import Cluster


@pytest.fixture
def service(tmp_path: Path) -> Any:
    with Cluster.simulated(1) as cluster, serve(cluster, kubeconfig_path=tmp_path / "config") as made:
        yield made


def fetch(
    service: Any,
    path: str,
    token: str | None = None,
    method: str = "GET",
    body: Any = None,
    headers: Mapping[str, str] = {},
) -> Any:
    authority = service.config["clusters"][0]["cluster"]["certificate-authority-data"]
    import base64

    context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{service.address}{path}", data, method=method)
    request.add_header("Authorization", f"Bearer {service.token if token is None else token}")
    request.add_header("Content-Type", "application/json")
    for name, value in headers.items():
        request.add_header(name, value)
    return urllib.request.urlopen(request, context=context, timeout=10)


def test_who_has_the_token_is_answered_and_nobody_else(service: Any) -> None:
    assert json.load(fetch(service, "/api/v1/nodes"))["items"][0]["metadata"]["name"] == "node-1"
    for token in ("", "x", service.token[:-1], service.token + "x"):
        with pytest.raises(urllib.error.HTTPError) as raised:
            fetch(service, "/api/v1/nodes", token)
        assert raised.value.code == 401
        assert json.load(raised.value)["reason"] == "Unauthorized"


def test_it_listens_on_loopback_only(service: Any) -> None:
    with socket.socket() as probe:
        probe.settimeout(5)
        probe.connect(("127.0.0.1", service.port))
    assert {address[0] for address in (s.getsockname() for s in service.sockets)} == {"127.0.0.1"}


def test_the_kubeconfig_is_its_owners_and_goes_with_the_service(service: Any, tmp_path: Path) -> None:
    path = tmp_path / "config"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] == service.address
    service.close()
    assert not path.exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", service.port)) != 0


def test_closing_and_changes_are_harmless_whenever_the_loop_ends(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service.close()
    monkeypatch.setattr(service._thread, "is_alive", lambda: True)  # as seen a moment before the loop ended
    service.close()
    service._on_change(None)
    service.close()


def test_a_watch_is_told_of_what_another_client_does(service: Any) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    version = json.load(fetch(service, maps))["metadata"]["resourceVersion"]
    stream = fetch(service, f"{maps}?watch=true&resourceVersion={version}&timeoutSeconds=10")
    fetch(service, maps, method="POST", body={"metadata": {"name": "a"}})
    line = json.loads(stream.readline())
    assert (line["type"], line["object"]["metadata"]["name"]) == ("ADDED", "a")


def test_a_cluster_serves_itself_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "config"
    with Cluster.simulated(1) as cluster:
        server = cluster.serve(kubeconfig_path=path, pace=0)
        pod = {"containers": [{"name": "c", "image": "x"}]}
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod})
        found = json.load(fetch(server, "/api/v1/namespaces/default/pods/p"))
        assert found["status"]["phase"] == "Running"
        assert path.exists() and server.config["clusters"][0]["cluster"]["server"] == server.address
    assert not path.exists()
    with pytest.raises(OSError):
        fetch(server, "/version")
    with pytest.raises(KitError, match="the cluster is closed"):
        cluster.serve()


def test_time_passes_while_a_simulated_cluster_is_served(service: Any) -> None:
    with service.lock:
        before = service.cluster.now()
    fetch(service, "/api/v1/nodes?watch=true&timeoutSeconds=1").read()  # ends after a second
    with service.lock:
        assert service.cluster.now() > before


def test_a_users_own_kubeconfig_keeps_what_it_holds(service: Any, tmp_path: Path) -> None:
    path = tmp_path / "own"
    own = {"clusters": [{"name": "work"}], "users": [], "contexts": [{"name": "work"}], "current-context": "work"}
    path.write_text(yaml.safe_dump(own))
    merge_kubeconfig(path, service.config)
    merged = yaml.safe_load(path.read_text())
    assert [c["name"] for c in merged["clusters"]] == ["work", "kitlib"]
    assert merged["current-context"] == "kitlib"
    remove_from_kubeconfig(path, "kitlib")
    after = yaml.safe_load(path.read_text())
    assert {field: after[field] for field in own} == own


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "words"),
    [
        ("GET", "/api/v1/nothing", None, 404, "the server could not find the requested resource"),
        ("GET", "/nothing", None, 404, "the server could not find the requested resource"),
        ("POST", "/api/v1/namespaces/default/pods", {"a": "x" * 4_000_000}, 413, "Request entity too large: limit is"),
        ("POST", "/api/v1/namespaces/default/pods", [], 400, "the object provided is unrecognized"),
        ("PATCH", "/api/v1/nodes/node-1", {}, 415, "the body of the request was in an unknown format"),
    ],
    ids=["no such resource", "no such path", "too large", "not an object", "not a patch"],
)
def test_bad_input_is_answered_with_a_status(
    service: Any, method: str, path: str, body: Any, code: int, words: str
) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(service, path, method=method, body=body)
    status = json.load(raised.value)
    assert (raised.value.code, status["kind"], status["code"]) == (code, "Status", code)
    assert words in status["message"]


def test_another_user_has_a_context_and_the_rights_of_its_roles(service: Any) -> None:
    token = service.add_user("guest")
    assert "kitlib-guest" in [one["name"] for one in service.config["contexts"]]
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(service, "/api/v1/nodes", token)
    assert raised.value.code == 403
    assert fetch(service, "/version", token).status == 200


def test_a_request_in_the_name_of_another_user_has_that_users_rights(service: Any) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(service, "/api/v1/nodes", headers={"Impersonate-User": "bob"})
    assert 'User "bob" cannot list resource "nodes"' in json.load(raised.value)["message"]
    with pytest.raises(urllib.error.HTTPError) as raised:
        fetch(service, "/api/v1/nodes", service.add_user("guest"), headers={"Impersonate-User": "kubernetes-admin"})
    assert 'User "guest" cannot impersonate resource "users"' in json.load(raised.value)["message"]
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    asked = fetch(service, path, method="POST", body=review, headers={"Impersonate-User": "bob"})
    assert json.load(asked)["status"] == {"allowed": False}
    assert list(service.audit)[-1].user == "kubernetes-admin"


def test_time_stands_still_while_nobody_waits() -> None:
    with Cluster.simulated(1) as cluster, serve(cluster, only_while_waited=True) as made:
        before = cluster.clock.seconds
        assert fetch(made, "/api/v1/nodes").status == 200
        assert cluster.clock.seconds == before
        stream = fetch(made, "/api/v1/nodes?watch=true&timeoutSeconds=2")
        assert stream.readline() and stream.read() == b""
        assert cluster.clock.seconds > before


def test_a_pods_token_opens_the_api_until_the_pod_is_gone(service: Any) -> None:
    account = "/api/v1/namespaces/default/serviceaccounts/default/token"
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    fetch(service, "/api/v1/namespaces/default/pods", method="POST", body=pod)
    (mounted,) = [f for p, f in service.cluster.node().volume_files("a").items() if p.endswith("/token")]
    spec = {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a"}, "expirationSeconds": 600}
    asked = json.load(fetch(service, account, method="POST", body={"spec": spec}))["status"]["token"]
    unbound = json.load(fetch(service, account, method="POST", body={"spec": {}}))["status"]["token"]
    tokens = [mounted.data.decode(), asked, unbound]
    for token in tokens:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            fetch(service, "/api/v1/secrets", token)
    fetch(service, "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0", method="DELETE")
    for token, code in zip(tokens, ("401", "401", "403"), strict=True):
        with pytest.raises(urllib.error.HTTPError, match=code):
            fetch(service, "/api/v1/secrets", token)
