"""Policies about CONNECT decide on exec, attach and port-forward before the connection is upgraded.

Source: endpoints/handlers ConnectResource; the object is the options of the stream, and carries no pod.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster

GROUP = "admissionregistration.k8s.io"
EXPRESSIONS = {
    "attach": "request.subResource == 'attach' && object.kind == 'PodAttachOptions' && !has(object.tty)",
    "no metadata": "!has(object.metadata)",
    "request": "request.operation == 'CONNECT' && request.name == 'web' && request.namespace == 'default'",
    "who": "request.userInfo.username == 'kubernetes-admin'",
}


def policy(**more: Any) -> list[dict[str, Any]]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CONNECT"],
        "resources": ["pods/attach", "pods/exec", "pods/portforward"],
    }
    validations = [{"expression": text, "message": message} for message, text in EXPRESSIONS.items()]
    spec = {"matchConstraints": {"resourceRules": [rule], **more}, "validations": validations}
    made = {"apiVersion": f"{GROUP}/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    bound = {**made, "kind": "ValidatingAdmissionPolicyBinding"}
    return [made, {**bound, "spec": {"policyName": "p", "validationActions": ["Deny"]}}]


@pytest.fixture
def served() -> Iterator[tuple[Any, Any]]:
    spec = {"containers": [{"name": "c", "image": "x"}]}
    pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod)
        cluster.settle()
        with serve(cluster) as service:
            yield cluster, service


def refusal(service: Any, path: str, method: str = "GET") -> tuple[int, str]:
    """Return code and message of a request without an upgrade, the last thing that a stream asks for."""
    request = urllib.request.Request(
        f"{service.address}/api/v1/namespaces/default/pods/{path}",
        method=method,
        headers={"Authorization": f"Bearer {service.token}"},
    )
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, context=context, timeout=60)
    return refused.value.code, json.loads(refused.value.read())["message"]


DENIED = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: attach"
UPGRADE = (400, "Upgrade request required")


def test_a_policy_decides_by_the_options_of_a_stream(served: tuple[Any, Any]) -> None:
    cluster, service = served
    assert refusal(service, "web/exec?command=id") == UPGRADE
    cluster.apply(policy())
    denied = (422, f'pods "web" is forbidden: {DENIED}')
    assert refusal(service, "web/exec?command=id") == denied
    assert refusal(service, "web/exec?command=id", "POST") == denied
    assert refusal(service, "web/portforward?ports=80", "POST") == denied
    assert refusal(service, "web/attach?tty=true") == denied
    assert refusal(service, "web/attach?stdout=true") == UPGRADE
    assert refusal(service, "other/exec?command=id") == (422, f'pods "other" is forbidden: {DENIED}'), (
        "before it is found"
    )


@pytest.mark.parametrize(
    ("more", "decides"),
    [
        ({"objectSelector": {}}, True),
        ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, False),
    ],
)
def test_selectors_of_a_policy_see_the_namespace_and_no_labels(
    served: tuple[Any, Any], more: dict[str, Any], decides: bool
) -> None:
    """Source: object.Matcher.MatchObjectSelector: what has no metadata is selected by the empty selector only."""
    cluster, service = served
    cluster.apply(policy(**more))
    assert (refusal(service, "web/exec?command=id")[0] == 422) is decides


@pytest.mark.parametrize(
    ("protocols", "command", "ends"),
    [
        (["channel.k8s.io"], "exec?command=echo&command=hi&stdout=true", b""),
        ([], "exec?command=echo&command=hi&stdout=true", b""),
        (["base64.channel.k8s.io"], "exec?command=echo&command=hi&stdout=true", b""),
        (
            ["base64.channel.k8s.io"],
            "exec?command=sh&stdin=true",
            b"command terminated with non-zero exit code: error executing command, exit code 1",
        ),
        (
            ["channel.k8s.io"],
            "exec?command=false&stdout=true",
            b"command terminated with non-zero exit code: error executing command, exit code 1",
        ),
    ],
)
def test_the_first_version_of_the_channels_has_no_status(
    served: tuple[Any, Any], protocols: list[str], command: str, ends: bytes
) -> None:
    read: dict[int, bytes] = {1: b"", 3: b""}

    async def whole() -> None:
        request = HTTPRequest(
            f"{served[1].address.replace('https', 'wss')}/api/v1/namespaces/default/pods/web/{command}",
            headers={"Authorization": f"Bearer {served[1].token}"},
            validate_cert=False,
        )
        socket = await websocket_connect(request, subprotocols=protocols)
        if "stdin" in command:
            await socket.write_message(f"0{base64.b64encode(b'exit 1' + bytes([10])).decode()}")
        while (message := await socket.read_message()) is not None:
            assert isinstance(message, str) is (protocols == ["base64.channel.k8s.io"])
            if isinstance(message, str):
                message = bytes([int(message[0])]) + base64.b64decode(message[1:])
            read[message[0]] += message[1:]

    asyncio.run(whole())
    assert read == {1: b"hi\n" if "echo" in command else b"", 3: ends}
