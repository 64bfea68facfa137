"""Webhooks and policies about Bindings and Evictions change them; the options of a write have their contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.admission.webhook.servers import Webhooks, patch_of, webhook_server
from tests.apiserver.http.conftest import Call, call_of

GROUP = "admissionregistration.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server() -> Iterator[Webhooks]:
    with webhook_server() as made:
        yield made


@pytest.fixture
def served(server: Webhooks) -> Iterator[tuple[Any, Call, Webhooks]]:
    """Yield a cluster of two nodes with a pod that waits for its scheduler."""
    server.asked.clear()
    containers = [{"name": "c", "image": "busybox", "command": ["sleep", "9999"]}]
    spec = {"schedulerName": "mine", "terminationGracePeriodSeconds": 100, "containers": containers}
    with Cluster.simulated(2) as cluster:
        call = call_of(Dispatcher(cluster))
        cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec})
        yield cluster, call, server


def configure(cluster: Any, kind: str, *hooks: dict[str, Any]) -> None:
    made = {"apiVersion": GROUP, "kind": f"{kind}WebhookConfiguration", "metadata": {"name": kind.lower()}}
    cluster.apply({**made, "webhooks": list(hooks)})


def binding(node: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web", **metadata},
        "target": {"kind": "Node", "name": node},
    }


def eviction(**options: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
    return {**made, "deleteOptions": options} if options else made


def warned(answer: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True, "warnings": ["be careful"], **answer}


@pytest.mark.parametrize("path", [f"{PODS}/web/binding", "/api/v1/namespaces/default/bindings"])
def test_a_webhook_changes_the_node_and_the_labels_of_a_binding(served: Any, path: str) -> None:
    cluster, call, server = served
    first, second = (one.name for one in cluster.nodes)
    changes = [
        {"op": "replace", "path": "/target/name", "value": second},
        {"op": "add", "path": "/metadata/labels/added", "value": "here"},
    ]
    configure(cluster, "Mutating", server.hook("/change", lambda r: patch_of(*changes), ["pods/binding", "bindings"]))
    assert call("POST", path, binding(first, labels={"sent": "yes"}))[0] == 201
    pod = cluster.get("Pod", "web")
    assert pod.spec.node_name == second and {"sent": "yes", "added": "here"}.items() <= pod.metadata.labels.items()
    (asked,) = (request for name, request in server.asked if name == "/change")
    assert asked["object"]["metadata"]["labels"] == {"sent": "yes"} and asked["object"]["target"]["name"] == first


def test_a_binding_has_the_versions_of_the_pod_as_preconditions(served: Any) -> None:
    cluster, call, _ = served
    node, meta = cluster.nodes[0].name, cluster.get("Pod", "web").metadata
    code, answer = call("POST", f"{PODS}/web/binding", binding(node, resourceVersion="1"))
    assert code == 409 and "ResourceVersion in precondition: 1, ResourceVersion in object meta" in answer["message"]
    assert call("POST", f"{PODS}/web/binding", binding(node, resourceVersion=meta.resource_version))[0] == 201


def test_a_webhook_changes_the_options_of_an_eviction(served: Any) -> None:
    cluster, call, server = served
    cluster.bind("web", cluster.nodes[0].name)
    cluster.run_for(5)
    change = {"op": "add", "path": "/deleteOptions/gracePeriodSeconds", "value": 7}
    configure(cluster, "Mutating", server.hook("/change", lambda r: patch_of(change), ["pods/eviction"]))
    assert call("POST", f"{PODS}/web/eviction", eviction(gracePeriodSeconds=50))[0] == 201
    assert cluster.get("Pod", "web").metadata.deletion_grace_period_seconds == 7


def test_a_webhook_makes_an_eviction_a_dry_run(served: Any) -> None:
    cluster, call, server = served
    change = {"op": "add", "path": "/deleteOptions", "value": {"dryRun": ["All"]}}
    configure(cluster, "Mutating", server.hook("/change", lambda r: patch_of(change), ["pods/eviction"]))
    assert call("POST", f"{PODS}/web/eviction", eviction())[0] == 201
    assert cluster.get("Pod", "web").metadata.deletion_timestamp is None


def test_the_warnings_about_bindings_and_evictions_reach_the_client(served: Any) -> None:
    cluster, _, server = served
    dispatcher = Dispatcher(cluster)
    resources = ["pods/binding", "pods/eviction"]
    configure(cluster, "Validating", server.hook("/warn", lambda r: warned({}), resources))
    node = cluster.nodes[0].name
    for path, body in ((f"{PODS}/web/binding", binding(node)), (f"{PODS}/web/eviction", eviction())):
        answer = dispatcher.handle(request("POST", path, body))
        assert getattr(answer, "code", 0) == 201 and getattr(answer, "warnings", ()) == ("be careful",)


def request(method: str, path: str, body: dict[str, Any]) -> Any:
    import json

    from kitlib.apiserver.http.request import Request

    return Request(method, path, {}, {}, json.dumps(body).encode())


WRITES: list[tuple[str, str, str, dict[str, Any], str, dict[str, Any]]] = [
    (
        "a creation",
        "POST",
        f"{MAPS}?fieldManager=me&fieldValidation=Strict",
        {},
        "CreateOptions",
        {"fieldManager": "me", "fieldValidation": "Strict"},
    ),
    ("a dry run", "POST", f"{MAPS}?dryRun=All", {}, "CreateOptions", {"dryRun": ["All"]}),
    ("an update without options", "PUT", f"{MAPS}/old", {}, "UpdateOptions", {}),
    (
        "an apply patch, whose force is left out",
        "PATCH",
        f"{MAPS}/old?fieldManager=me&force=true",
        {"content_type": "application/apply-patch+yaml"},
        "UpdateOptions",
        {"fieldManager": "me"},
    ),
    (
        "an apply patch that creates",
        "PATCH",
        f"{MAPS}/new?fieldManager=me",
        {"content_type": "application/apply-patch+yaml"},
        "CreateOptions",
        {"fieldManager": "me"},
    ),
]


@pytest.mark.parametrize(
    ("method", "url", "headers", "kind", "fields"), [row[1:] for row in WRITES], ids=[row[0] for row in WRITES]
)
def test_the_options_of_a_write_have_their_contents(
    served: Any, method: str, url: str, headers: dict[str, str], kind: str, fields: dict[str, Any]
) -> None:
    """Source: handlers patchToUpdateOptions, patchToCreateOptions."""
    cluster, call, server = served
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old"}})
    hook = server.hook("/see", lambda r: {"allowed": True}, ["configmaps"], sideEffects="None")
    configure(cluster, "Validating", hook)
    name = url.partition("?")[0].rpartition("/")[2]
    meta = {"name": "made" if name == "configmaps" else name}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}
    assert call(method, url, body, **headers)[0] in (200, 201)
    (asked,) = (request for name, request in server.asked if name == "/see")
    assert asked["options"] == {"kind": kind, "apiVersion": "meta.k8s.io/v1", **fields}


def test_a_controllers_write_has_no_options_of_the_request_before_it(served: Any) -> None:
    cluster, call, server = served
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    configure(cluster, "Validating", server.hook("/see", lambda r: {"allowed": True}, ["replicasets"]))
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    hook = server.hook("/see", lambda r: {"allowed": True}, ["replicasets"])
    hook["rules"][0]["apiGroups"] = ["apps"]
    configure(cluster, "Validating", hook)
    assert call("POST", "/apis/apps/v1/namespaces/default/deployments?fieldManager=me", body)[0] == 201
    found = [request["options"] for name, request in server.asked if request["operation"] == "CREATE"]
    assert found == [{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}]
