"""Webhooks and policies about CONNECT see the options of a connection, may change them, and may deny the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from kitlib.apiserver.http import serve
from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.admission.webhook.servers import Webhooks, patch_of, webhook_server
from tests.apiserver.http.conftest import call_of

GROUP = "admissionregistration.k8s.io"
PODS = "/api/v1/namespaces/default/pods"
CONTAINERS = [{"name": name, "image": "busybox", "command": ["sleep", "9999"]} for name in ("first", "second")]


@pytest.fixture(scope="module")
def server() -> Iterator[Webhooks]:
    with webhook_server() as made:
        yield made


@pytest.fixture
def served(server: Webhooks) -> Iterator[tuple[Any, Any, Webhooks]]:
    """Yield a cluster with a running pod, its service, and the webhooks' server."""
    server.asked.clear()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": CONTAINERS}}
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod)
        cluster.advance(5)
        with serve(cluster) as service:
            yield cluster, service, server


def configure(cluster: Any, kind: str, hook: dict[str, Any]) -> None:
    made = {"apiVersion": f"{GROUP}/v1", "kind": f"{kind}WebhookConfiguration", "metadata": {"name": kind.lower()}}
    cluster.apply({**made, "webhooks": [hook]})


def stream(service: Any, path: str) -> tuple[int, str]:
    """Open a stream: (101, standard output) at its end, or the code and the body of the refusal."""

    async def opened() -> tuple[int, str]:
        url = f"{service.address.replace('https', 'wss')}{PODS}/web/{path}"
        headers = {"Authorization": f"Bearer {service.token}"}
        request = HTTPRequest(url, headers=headers, validate_cert=False, request_timeout=60)
        try:
            socket = await websocket_connect(request, subprotocols=["v5.channel.k8s.io"])
        except HTTPClientError as error:
            return error.code, error.response.body.decode() if error.response is not None else ""
        said = b""
        while (message := await socket.read_message()) is not None:
            assert isinstance(message, bytes)
            said += message[1:] if message[0] == 1 else b""
        return 101, said.decode()

    return asyncio.run(asyncio.wait_for(opened(), 120))


def test_webhooks_see_and_change_the_options_of_an_exec(served: Any) -> None:
    cluster, service, server = served
    change = {"op": "replace", "path": "/command", "value": ["echo", "changed"]}
    configure(cluster, "Mutating", server.hook("/change", lambda r: patch_of(change), ["pods/exec"]))
    configure(cluster, "Validating", server.hook("/see", lambda r: {"allowed": True}, ["pods/*"]))
    assert stream(service, "exec?command=echo&command=sent&stdout=true&container=second") == (101, "changed\n")
    assert server.paths() == ["/change", "/see"]
    (_, sent), (_, seen) = server.asked
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "stdout": True, "container": "second"}
    assert sent["object"] == {**options, "command": ["echo", "sent"]}
    assert seen["object"] == {**options, "command": ["echo", "changed"]}
    assert (seen["operation"], seen["name"], seen["namespace"]) == ("CONNECT", "web", "default")
    assert (seen["oldObject"], seen["options"], seen["dryRun"]) == (None, None, False)
    assert seen["kind"] == seen["requestKind"] == {"group": "", "version": "v1", "kind": "PodExecOptions"}
    assert (seen["resource"]["resource"], seen["subResource"]) == ("pods", "exec")


def test_a_webhook_denies_a_stream_and_another_one_fails(served: Any) -> None:
    cluster, service, server = served
    deny = {"allowed": False, "status": {"message": "no shells", "code": 403}}
    configure(cluster, "Validating", server.hook("/deny", lambda r: deny, ["pods/exec", "pods/attach"]))
    for path in ("exec?command=id", "attach?stdout=true"):
        code, body = stream(service, path)
        assert code == 403 and 'admission webhook \\"deny.example.com\\" denied the request: no shells' in body
    assert stream(service, "exec?command=id&dryRun=All") == (400, stream(service, "exec?command=id&dryRun=")[1])
    hook = server.hook("/deny", lambda r: deny, ["pods/exec"])
    hook["clientConfig"]["url"] = "https://127.0.0.1:1/"
    configure(cluster, "Validating", hook)
    code, body = stream(service, "exec?command=id")
    assert code == 500 and "connection refused" in body


def test_admission_and_the_stream_read_the_same_container_of_several(served: Any) -> None:
    """Source: runtime Convert_Slice_string_To_string, which takes the first value."""
    cluster, service, server = served
    command = "command=sh&command=-c&command=echo+%24NAME&stdout=true"
    allow = lambda request: {"allowed": request["object"]["container"] == "first"}  # noqa: E731
    configure(cluster, "Validating", server.hook("/first", allow, ["pods/*"]))
    assert stream(service, f"exec?{command}&container=first&container=missing")[0] == 101
    assert stream(service, f"exec?{command}&container=missing&container=first")[0] == 400
    assert stream(service, "attach?container=missing&container=first")[0] == 400


def test_a_mutating_policy_changes_the_options_of_a_stream(served: Any) -> None:
    cluster, service, _ = served
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
    expression = '[JSONPatch{op: "replace", path: "/command", value: ["echo", namespaceObject.metadata.name]}]'
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    policy = {"apiVersion": f"{GROUP}/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    binding = {**policy, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "p"}}
    cluster.apply([policy, binding])
    assert stream(service, "exec?command=echo&command=sent&stdout=true") == (101, "default\n")


def test_a_webhook_decides_about_requests_that_are_proxied_to_a_node(server: Webhooks) -> None:
    server.asked.clear()
    with Cluster.simulated(1) as cluster:
        call, name = call_of(Dispatcher(cluster)), cluster.nodes[0].name
        allow = lambda request: {"allowed": request["object"]["path"] == "/healthz"}  # noqa: E731
        configure(cluster, "Validating", server.hook("/proxy", allow, ["nodes/proxy"]))
        assert call("GET", f"/api/v1/nodes/{name}/proxy/healthz")[0] == 200
        assert call("GET", f"/api/v1/nodes/{name}/proxy/pods")[0] == 400
    assert [request["object"]["kind"] for _, request in server.asked] == ["NodeProxyOptions"] * 2
    assert [request["name"] for _, request in server.asked] == [name] * 2
