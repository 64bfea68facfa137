"""Calls of webhooks: requests that are handled again without holding the lock."""

from __future__ import annotations

import json
import ssl
import urllib.request
from typing import Any

import pytest

from kitlib.api.errors import InternalError
from kitlib.apiserver.admission.webhook_calls import Attempts, Pending, ask
from kitlib.apiserver.admission.webhook_servers import call_of
from kitlib.apiserver.http.server import GenericAPIServer
from kitlib.apiserver.http.webhook_client import WebhookClient
from kitlib.apiserver.store.names import Names
from kitlib.cluster import Cluster
from tests.apiserver.admission.webhook.servers import patch_of, webhook_server

REVIEW: dict[str, Any] = {
    "operation": "CREATE",
    "uid": "1",
    "name": "p-abcde",
    "object": {"metadata": {"generateName": "p-", "name": "p-abcde", "uid": "1"}, "spec": {}},
}


def test_a_request_that_is_handled_again_finds_its_answer_and_its_names() -> None:
    target: Any = None
    attempts, names, client = Attempts(), Names(0), WebhookClient(None)
    with attempts.attempt(names):
        first = names.new_uid(), names.new_suffix()
    between = names.new_uid()
    with attempts.attempt(names):
        assert (names.new_uid(), names.new_suffix()) == first
        assert names.new_uid() not in (between, *first)
    call = call_of("hook", target, {"request": REVIEW})
    metadata = {**REVIEW["object"]["metadata"], "managedFields": [{"time": "now"}]}
    again = call_of("hook", target, {"request": {**REVIEW, "object": {"metadata": metadata, "spec": {}}}})
    other = call_of("hook", target, {"request": {**REVIEW, "name": "p-other"}})
    assert call.key == again.key != other.key
    assert call.review["request"]["uid"] == again.review["request"]["uid"] != other.review["request"]["uid"]
    attempts.answers[call.key] = {"response": {}}
    with attempts.attempt(names):
        assert ask(client, [again]) == [{"response": {}}]
        with pytest.raises(Pending) as pending:
            ask(client, [call, other])
        assert [one.key for one in pending.value.calls] == [other.key]


def test_a_webhook_may_ask_the_api_while_it_is_asked() -> None:
    """An API server allows it; with the cluster's lock held it would wait for itself."""
    with Cluster.simulated(0) as cluster, webhook_server() as server, GenericAPIServer(cluster, pace=0) as service:
        context = ssl._create_unverified_context()

        def request(method: str, path: str, body: Any = None) -> Any:
            headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
            data = None if body is None else json.dumps(body).encode()
            sent = urllib.request.Request(f"{service.address}{path}", data, headers, method=method)
            with urllib.request.urlopen(sent, context=context, timeout=30) as answer:
                return json.loads(answer.read())

        def answer(asked: dict[str, Any]) -> dict[str, Any]:
            found = request("GET", "/api/v1/namespaces/default")
            with service.lock:  # the times in managedFields are other ones when the request is handled again
                cluster.advance(5)
            return patch_of({"op": "add", "path": "/data/space", "value": found["metadata"]["name"]})

        hook = server.hook("/asks", answer, ["configmaps"])
        body = {"metadata": {"name": "m"}, "webhooks": [hook]}
        request("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", body)
        sent = {"metadata": {"generateName": "c-"}, "data": {"a": "b"}}
        made = request("POST", "/api/v1/namespaces/default/configmaps", sent)
        assert made["data"] == {"a": "b", "space": "default"}
        assert len(server.asked) == 1
        for kind in ("Mutating", "Validating"):
            hook = server.hook(f"/{kind.lower()}", lambda asked: {"allowed": bool(request("GET", "/api"))}, ["*"])
            body = {"metadata": {"name": "all"}, "webhooks": [hook]}
            request("POST", f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations", body)
        server.asked.clear()
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        job = {"metadata": {"name": "j"}, "spec": {"parallelism": 2, "completions": 2, "template": template}}
        request("POST", "/apis/batch/v1/namespaces/default/jobs", job)  # labels hold the Job's UID
        for _ in range(100):
            pods = request("GET", "/api/v1/namespaces/default/pods?labelSelector=job-name=j")["items"]
            if len(pods) == 2:
                break
            with service.lock:
                cluster.advance(1)
        assert len(pods) == 2
        made_jobs = [
            path for path, asked in server.asked if (asked["kind"]["kind"], asked["operation"]) == ("Job", "CREATE")
        ]
        assert made_jobs == ["/mutating", "/validating"]


def test_a_collection_whose_webhooks_are_waited_for_is_deleted_and_listed_once() -> None:
    """Each object's webhook is called with the lock free, and the objects before it are deleted by then."""
    with Cluster.simulated(0) as cluster, webhook_server() as server, GenericAPIServer(cluster, pace=0) as service:
        names = ["a", "b", "c"]
        for name in names:
            meta = {"name": name, "labels": {"of": "it"}}
            cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        seen: list[list[str]] = []

        def answer(asked: dict[str, Any]) -> dict[str, Any]:
            with service.lock:
                standing = cluster.api.store.list("ConfigMap", "default")
            seen.append([one.name for one in standing if one.metadata.labels])
            return {"allowed": True, "warnings": [asked["oldObject"]["metadata"]["name"]]}

        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        hook = server.hook("/see", answer, ["configmaps"])
        cluster.apply({**kind, "metadata": {"name": "v"}, "webhooks": [hook]})
        sent = urllib.request.Request(
            f"{service.address}/api/v1/namespaces/default/configmaps?labelSelector=of%3Dit",
            headers={"Authorization": f"Bearer {service.token}"},
            method="DELETE",
        )
        with urllib.request.urlopen(sent, context=ssl._create_unverified_context(), timeout=60) as response:
            found = json.loads(response.read())
            warnings = [text.split('"')[1] for text in response.headers.get_all("Warning")]
        assert [one["metadata"]["name"] for one in found["items"]] == names == warnings
        assert seen == [names, names[1:], names[2:]]
        assert [one for one in cluster.api.store.list("ConfigMap", "default") if one.metadata.labels] == []


def test_a_cluster_that_is_not_served_reaches_no_webhook() -> None:
    with Cluster.simulated(0) as cluster:
        hook = {"name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
        hook["rules"] = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]
        hook["clientConfig"] = {"url": "https://127.0.0.1:1/x"}
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        cluster.apply({**kind, "metadata": {"name": "v"}, "webhooks": [hook]})
        with pytest.raises(InternalError, match="nothing calls webhooks while the cluster is not served"):
            cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})
