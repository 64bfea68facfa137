"""Conversion of custom objects: relabelled or by a webhook, on every read and write, and what a failure answers."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.admission.custom.definitions import custom, definition
from tests.apiserver.admission.webhook.servers import Webhooks, webhook_server
from tests.apiserver.http.conftest import call_of

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OLD = "/apis/example.com/v1/namespaces/default/lakes"
NEW = OLD.replace("/v1/", "/v2/")
MERGE = {"content_type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Webhooks]:
    with webhook_server() as made:
        yield made


@pytest.fixture
def lakes(server: Webhooks) -> Iterator[tuple[Any, Webhooks, Cluster]]:
    """Yield a call to a cluster with two versions of a kind, of which v1 is stored, its webhook and the cluster."""
    server.asked.clear()
    server.answers["/convert"] = convert
    with Cluster.simulated(1) as cluster:
        call = call_of(Dispatcher(cluster))
        assert call("POST", CRDS, two_versions(server))[0] == 201
        yield call, server, cluster


def two_versions(server: Webhooks | None) -> dict[str, Any]:
    made = definition("lakes", "Lake", "example.com", subresources={"status": {}})
    one = made["spec"]["versions"][0]
    made["spec"]["versions"] = [one, {**one, "name": "v2", "storage": False}]
    if server is not None:
        client = {"url": f"https://127.0.0.1:{server.port}/convert", "caBundle": server.authority}
        webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
        made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return made


def convert(request: dict[str, Any]) -> dict[str, Any]:
    """Convert between v1, whose spec has `size`, and v2, whose spec has `area`."""
    wanted = request["desiredAPIVersion"]
    names = ("size", "area") if wanted.endswith("/v2") else ("area", "size")
    found = []
    for one in request["objects"]:
        spec = {names[1] if name == names[0] else name: value for name, value in one.get("spec", {}).items()}
        found.append({**one, "apiVersion": wanted, "spec": spec})
    return {"convertedObjects": found, "result": {"status": "Success"}}


def lake(version: str, name: str = "x", **spec: Any) -> dict[str, Any]:
    return {**custom("Lake", "example.com", name), "apiVersion": f"example.com/{version}", "spec": spec}


def test_an_object_is_stored_in_the_storage_version_and_read_in_each(lakes: Any) -> None:
    call, server, cluster = lakes
    code, made = call("POST", NEW, lake("v2", area=7))
    assert (code, made["apiVersion"], made["spec"]) == (201, "example.com/v2", {"area": 7})
    stored = cluster.api.store.get("Lake", "x", "default")
    assert (stored.api_version, stored.unknown_fields["spec"]) == ("example.com/v1", {"size": 7})
    assert call("GET", f"{OLD}/x")[1]["spec"] == {"size": 7}
    assert [one["spec"] for one in call("GET", NEW)[1]["items"]] == [{"area": 7}]
    assert {request["desiredAPIVersion"] for _, request in server.asked} == {"example.com/v1", "example.com/v2"}


def test_updates_patches_and_statuses_are_in_the_version_of_the_request(lakes: Any) -> None:
    call, _, cluster = lakes
    call("POST", OLD, lake("v1", size=1))
    _, made = call("GET", f"{NEW}/x")
    code, made = call("PUT", f"{NEW}/x", {**made, "spec": {"area": 2}})
    assert (code, made["spec"], made["metadata"]["generation"]) == (200, {"area": 2}, 2)
    code, made = call("PATCH", f"{NEW}/x", {"spec": {"deep": True}}, **MERGE)
    assert (code, made["spec"], made["metadata"]["generation"]) == (200, {"area": 2, "deep": True}, 3)
    code, made = call("PATCH", f"{NEW}/x/status", {"status": {"full": True}, "spec": {"area": 9}}, **MERGE)
    assert (code, made["spec"], made["status"]) == (200, {"area": 2, "deep": True}, {"full": True})
    stored = cluster.api.store.get("Lake", "x", "default")
    assert stored.api_version == "example.com/v1"
    assert stored.unknown_fields == {"spec": {"size": 2, "deep": True}, "status": {"full": True}}
    assert call("PATCH", f"{NEW}/x", {"spec": {"area": 2}}, **MERGE)[1]["metadata"]["generation"] == 3


def test_metadata_is_restored_except_labels_and_annotations(lakes: Any) -> None:
    call, server, _ = lakes
    call(
        "POST", OLD, {**lake("v1", size=1), "metadata": {"name": "x", "labels": {"a": "b"}, "finalizers": ["e.com/f"]}}
    )

    def changing(request: dict[str, Any]) -> dict[str, Any]:
        made = convert(request)
        one = made["convertedObjects"][0]
        one["metadata"] = {**one["metadata"], "finalizers": [], "labels": {"a": "c"}, "generation": 99}
        return made

    server.answers["/convert"] = changing
    meta = call("GET", f"{NEW}/x")[1]["metadata"]
    assert (meta["finalizers"], meta["labels"], meta["generation"]) == (["e.com/f"], {"a": "c"}, 1)


def test_a_watch_receives_its_own_version(lakes: Any) -> None:
    call, _, _ = lakes
    _, stream = call("GET", f"{NEW}?watch=true&resourceVersion={call('GET', OLD)[1]['metadata']['resourceVersion']}")
    call("POST", OLD, lake("v1", size=1))
    call("DELETE", f"{OLD}/x")
    events = [json.loads(line) for line in stream.poll()]
    assert [(one["type"], one["object"]["spec"]) for one in events] == [
        ("ADDED", {"area": 1}),
        ("DELETED", {"area": 1}),
    ]


def renamed(request: dict[str, Any]) -> dict[str, Any]:
    made = convert(request)
    made["convertedObjects"][0]["metadata"] = {"name": "other"}
    return made


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda r: {"result": {"status": "Failure", "message": "no"}}, " failed: no"),
        (lambda r: {"uid": "1", **convert(r)}, " failed: expected response.uid="),
        (lambda r: {"result": {"status": "Success"}}, " returned 0 objects, expected 1"),
        (
            lambda r: {"result": {"status": "Success"}, "convertedObjects": r["objects"]},
            " returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.c",
        ),
        (renamed, " returned invalid object: must have the same name: x != other"),
    ],
)
def test_an_answer_that_does_not_convert_is_an_error(lakes: Any, answer: Any, said: str) -> None:
    call, server, _ = lakes
    call("POST", OLD, lake("v1", size=1))
    server.answers["/convert"] = answer
    for url in (f"{NEW}/x", NEW):
        code, status = call("GET", url)
        assert (code, status.get("reason", "")) == (500, "")
        assert f"conversion webhook for example.com/v1, Kind=Lake{said}" in status["message"]
    assert call("GET", f"{OLD}/x")[0] == 200, "the stored version needs no webhook"


def test_nothing_is_stored_that_cannot_be_converted(lakes: Any) -> None:
    call, server, _ = lakes
    server.answers["/convert"] = lambda r: {"result": {"status": "Failure", "message": "no"}}
    code, answer = call("POST", NEW, lake("v2", area=7))
    assert (code, answer["message"]) == (500, "conversion webhook for example.com/v2, Kind=Lake failed: no")
    assert call("GET", OLD)[1]["items"] == []


def test_without_a_webhook_only_the_version_changes() -> None:
    with Cluster.simulated(1) as cluster:
        call = call_of(Dispatcher(cluster))
        assert call("POST", CRDS, two_versions(None))[0] == 201
        assert call("POST", NEW, lake("v2", area=7))[1]["apiVersion"] == "example.com/v2"
        assert cluster.api.store.get("Lake", "x", "default").api_version == "example.com/v1"
        assert call("GET", f"{OLD}/x")[1]["spec"] == {"area": 7}


def test_a_served_cluster_calls_the_webhook_without_its_lock(server: Webhooks) -> None:
    """The webhook itself reads from the API while each kind of request waits for it: nothing is written twice."""
    server.asked.clear()
    with Cluster.simulated(1) as cluster, cluster.serve() as service:
        context = ssl._create_unverified_context()

        def ask(method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
            headers = {"Authorization": f"Bearer {service.token}", "Content-Type": kind}
            data = None if body is None else json.dumps(body).encode()
            asked = urllib.request.Request(service.address + path, data, headers, method=method)
            with urllib.request.urlopen(asked, context=context, timeout=60) as answer:
                return json.load(answer)

        def reading(request: dict[str, Any]) -> dict[str, Any]:
            ask("GET", "/api/v1/namespaces/default")
            return convert(request)

        server.answers["/convert"] = reading
        ask("POST", CRDS, two_versions(server))
        for i in range(3):
            assert ask("POST", NEW, lake("v2", f"l{i}", area=i))["spec"] == {"area": i}
        patched = ask("PATCH", f"{NEW}/l0", {"spec": {"area": 9}}, "application/merge-patch+json")
        assert (patched["spec"], patched["metadata"]["generation"]) == ({"area": 9}, 2)
        listed = ask("GET", NEW)["items"]
        assert [(one["metadata"]["name"], one["spec"]["area"]) for one in listed] == [("l0", 9), ("l1", 1), ("l2", 2)]
        asked = urllib.request.Request(
            f"{service.address}{NEW}?watch=true", headers={"Authorization": f"Bearer {service.token}"}
        )
        with urllib.request.urlopen(asked, context=context, timeout=60) as answer:
            assert [json.loads(answer.readline())["object"]["spec"]["area"] for _ in range(3)] == [9, 1, 2]
            ask("PATCH", f"{OLD}/l1", {"spec": {"size": 5}}, "application/merge-patch+json")
            assert json.loads(answer.readline())["object"]["spec"] == {"area": 5}
