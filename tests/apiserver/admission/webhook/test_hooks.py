"""Tests of webhooks: the writes and requests that they receive, their order, and the effect of answers and failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.admission.custom.definitions import custom, definition
from tests.apiserver.admission.custom.test_conversion import CRDS, NEW, convert, lake, two_versions
from tests.apiserver.admission.webhook.servers import Webhooks, patch_of, webhook_server
from tests.apiserver.http.conftest import call_of

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
ALLOW = {"allowed": True}
POD = {"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture(scope="module")
def server() -> Iterator[Webhooks]:
    with webhook_server() as made:
        yield made


@pytest.fixture
def hooks(server: Webhooks) -> Iterator[tuple[Any, Webhooks]]:
    """Yield a call to a cluster, and the webhooks' server, which has received no request yet."""
    server.asked.clear()
    with Cluster.simulated(1) as cluster:
        yield call_of(Dispatcher(cluster)), server


def configure(call: Any, kind: str, name: str, *webhooks: dict[str, Any]) -> None:
    body = {"metadata": {"name": name}, "webhooks": list(webhooks)}
    code, answer = call("POST", f"{ADMISSION}/{kind.lower()}webhookconfigurations", body)
    assert code == 201, answer


def config_map(name: str = "m", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def add(path: str, value: Any) -> Any:
    return lambda request: patch_of({"op": "add", "path": path, "value": value})


def test_a_webhook_is_sent_the_write_and_may_deny_it(hooks: Any) -> None:
    call, server = hooks
    status = {"message": "not today", "code": 418, "reason": "Teapot"}
    deny = server.hook("/deny", lambda request: {"allowed": False, "status": status}, ["configmaps"])
    configure(call, "Validating", "v", deny)
    code, answer = call("POST", MAPS, config_map(a="b"))
    said = 'admission webhook "deny.example.com" denied the request: not today'
    assert (code, answer["message"], answer["reason"]) == (418, said, "Teapot")
    assert call("GET", f"{MAPS}/m")[0] == 404
    (_, request), *_ = server.asked
    assert request["kind"] == request["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "m", "default")
    assert request["object"]["data"] == {"a": "b"} and request["oldObject"] is None
    assert request["options"]["kind"] == "CreateOptions" and request["dryRun"] is False
    assert request["userInfo"]["username"] == "kubernetes-admin"


def test_updates_and_deletions_have_the_old_object(hooks: Any) -> None:
    call, server = hooks
    _, made = call("POST", MAPS, config_map(a="b"))
    configure(call, "Validating", "v", server.hook("/see", lambda request: {**ALLOW, "warnings": ["w"]}, ["*"]))
    assert call("PUT", f"{MAPS}/m", {**made, "data": {"a": "c"}})[0] == 200
    assert call("DELETE", f"{MAPS}/m")[0] == 200
    update, deletion = [request for _, request in server.asked if request["name"] == "m"]
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"a": "b"}, {"a": "c"})
    assert (deletion["operation"], deletion["object"], deletion["oldObject"]["data"]) == ("DELETE", None, {"a": "c"})


def test_mutating_webhooks_may_deny_a_deletion_but_not_patch_it(hooks: Any) -> None:
    call, server = hooks
    call("POST", PODS, {**POD, "metadata": {"name": "p"}})
    answers = [patch_of({"op": "add", "path": "/metadata/labels", "value": {}}), {"allowed": False}]
    by_user = lambda request: request["userInfo"]["username"] == "kubernetes-admin" and bool(answers)  # noqa: E731
    hook = server.hook("/del", lambda request: answers.pop(0) if by_user(request) else ALLOW, ["pods"])
    configure(call, "Mutating", "m", {**hook, "reinvocationPolicy": "IfNeeded"})
    denied = 'admission webhook "del.example.com" attempted to modify the object'
    options = {"gracePeriodSeconds": 7, "propagationPolicy": "Background", "preconditions": {}}
    code, answer = call("DELETE", f"{PODS}/p", options)
    assert (code, answer["message"]) == (
        500,
        f"Internal error occurred: {denied}, which is not supported for this operation",
    )
    assert call("DELETE", f"{PODS}/p")[0] == 400
    assert "deletionTimestamp" not in call("GET", f"{PODS}/p")[1]["metadata"]
    assert call("DELETE", f"{PODS}/p")[0] == 200 and not answers
    first, second, _, *_ = [request for _, request in server.asked if request["operation"] == "DELETE"]
    assert (first["object"], first["oldObject"]["metadata"]["name"], first["name"]) == (None, "p", "p")
    assert first["options"] == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options}
    assert second["options"]["gracePeriodSeconds"] == 30, "that of the pod"


def test_a_collection_is_deleted_one_by_one_until_a_webhook_denies(hooks: Any) -> None:
    """Source: registry.Store.DeleteCollection; the attributes of the request have no name."""
    call, server = hooks
    for name in "abc":
        call("POST", MAPS, {**config_map(name), "metadata": {"name": name, "labels": {"of": "it"}}})
    allowed = lambda request: {"allowed": request["oldObject"]["metadata"]["name"] != "b", "warnings": ["w"]}  # noqa: E731
    configure(call, "Validating", "v", server.hook("/all", allowed, ["configmaps"]))
    server.asked.clear()
    assert call("DELETE", f"{MAPS}?labelSelector=of=it&gracePeriodSeconds=5&dryRun=All")[0] == 400
    asked = [request for _, request in server.asked]
    assert not any("name" in one or not one["dryRun"] for one in asked)
    assert [one["oldObject"]["metadata"]["name"] for one in asked] == ["a", "b"]
    assert asked[0]["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "gracePeriodSeconds": 5,
        "dryRun": ["All"],
    }
    assert call("DELETE", f"{MAPS}?labelSelector=of=it")[0] == 400
    left = call("GET", f"{MAPS}?labelSelector=of=it")[1]["items"]
    assert [one["metadata"]["name"] for one in left] == ["b", "c"]


def test_a_deletion_is_sent_in_the_version_of_the_request(hooks: Any) -> None:
    call, server = hooks
    server.answers["/convert"] = convert
    call("POST", CRDS, two_versions(server))
    call("POST", NEW, lake("v2", area=7))
    configure(call, "Validating", "v", server.hook("/see", lambda r: ALLOW, ["lakes"]))
    assert call("DELETE", f"{NEW}/x")[0] == 200
    (request,) = [request for path, request in server.asked if path == "/see"]
    assert (request["oldObject"]["apiVersion"], request["oldObject"]["spec"]) == ("example.com/v2", {"area": 7})
    assert request["kind"]["version"] == request["resource"]["version"] == "v2"


def test_mutating_webhooks_are_asked_in_order_and_again_where_they_ask_for_it(hooks: Any) -> None:
    call, server = hooks
    count = lambda request: {"op": "add", "path": "/data/n", "value": str(len(request["object"]["data"]))}  # noqa: E731
    first = server.hook("/first", lambda request: patch_of(count(request)), ["configmaps"])
    second = server.hook("/second", add("/data/second", "x"), ["configmaps"])
    configure(call, "Mutating", "b", second)
    configure(call, "Mutating", "a", {**first, "reinvocationPolicy": "IfNeeded"})
    configure(call, "Validating", "v", server.hook("/last", lambda request: ALLOW, ["configmaps"]))
    code, made = call("POST", MAPS, config_map(a="b"))
    assert (code, made["data"]) == (201, {"a": "b", "n": "3", "second": "x"})
    assert server.paths() == ["/first", "/second", "/first", "/last"]
    assert server.asked[-1][1]["object"]["data"] == made["data"]


def test_each_mutating_webhook_is_matched_against_what_the_ones_before_it_made(hooks: Any) -> None:
    call, server = hooks
    labels = server.hook("/labels", add("/metadata/labels", {"seen": "yes"}), ["configmaps"])
    chosen = {"objectSelector": {"matchLabels": {"seen": "yes"}}, "reinvocationPolicy": "IfNeeded"}
    selected = server.hook("/selected", add("/data/selected", "x"), ["configmaps"], **chosen)
    large = [{"name": "c", "expression": "object.data.size() > 1"}]
    grown = server.hook("/grown", add("/data/grown", "x"), ["configmaps"], matchConditions=large)
    without = {"matchExpressions": [{"key": "seen", "operator": "DoesNotExist"}]}
    unlabelled = server.hook("/unlabelled", lambda r: ALLOW, ["configmaps"], objectSelector=without)
    configure(call, "Mutating", "a", labels, selected, grown, unlabelled)
    code, made = call("POST", MAPS, config_map(a="b"))
    assert (code, made["data"]) == (201, {"a": "b", "selected": "x", "grown": "x"})
    assert server.paths() == ["/labels", "/selected", "/grown", "/selected"]


def test_a_custom_object_is_sent_in_the_version_that_the_rules_name(hooks: Any) -> None:
    """With matchPolicy Equivalent; with Exact a write in another version is not sent."""
    call, server = hooks
    server.answers["/convert"] = convert
    call("POST", CRDS, two_versions(server))

    def rules(version: str) -> dict[str, Any]:
        everything = {"apiGroups": ["example.com"], "operations": ["CREATE", "UPDATE"], "resources": ["lakes"]}
        return {"rules": [{**everything, "apiVersions": [version]}]}

    grow = server.hook("/grow", lambda r: patch_of({"op": "replace", "path": "/spec/size", "value": 8}), [])
    seen = [{"name": "c", "expression": "object.spec.size == 7"}]
    configure(call, "Mutating", "a", {**grow, **rules("v1"), "matchConditions": seen})
    exact = server.hook("/exact", lambda r: ALLOW, [])
    see = server.hook("/see", lambda r: ALLOW, [])
    configure(call, "Validating", "v", {**exact, **rules("v1"), "matchPolicy": "Exact"}, {**see, **rules("v2")})
    code, made = call("POST", NEW, lake("v2", area=7))
    assert (code, made["apiVersion"], made["spec"]) == (201, "example.com/v2", {"area": 8})
    asked = {path: request for path, request in server.asked if path != "/convert"}
    assert list(asked) == ["/grow", "/see"]
    assert (asked["/grow"]["object"]["spec"], asked["/see"]["object"]["spec"]) == ({"size": 7}, {"area": 8})
    assert asked["/grow"]["kind"]["version"] == asked["/grow"]["resource"]["version"] == "v1"
    assert asked["/grow"]["requestKind"]["version"] == asked["/grow"]["requestResource"]["version"] == "v2"


def test_rules_selectors_and_conditions_say_which_writes_are_seen(hooks: Any) -> None:
    call, server = hooks
    one = {"operator": "In", "key": "seen", "values": ["yes"]}
    labelled = server.hook("/label", lambda r: ALLOW, ["configmaps"], objectSelector={"matchExpressions": [one]})
    space = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}
    system = server.hook("/system", lambda r: ALLOW, ["configmaps"], namespaceSelector=space)
    condition = {"name": "c", "expression": "object.data.size() > 1"}
    large = server.hook("/large", lambda r: ALLOW, ["configmaps"], matchConditions=[condition])
    configure(call, "Validating", "v", labelled, system, large)
    call("POST", MAPS, config_map(a="b"))
    assert server.paths() == []
    call("POST", MAPS, {**config_map("l", a="b"), "metadata": {"name": "l", "labels": {"seen": "yes"}}})
    call("POST", MAPS.replace("default", "kube-system"), config_map(a="b"))
    call("POST", MAPS, config_map("big", a="b", c="d"))
    assert server.paths() == ["/label", "/system", "/large"]


def test_a_condition_that_fails_counts_as_the_failure_policy_says(hooks: Any) -> None:
    call, server = hooks
    broken = [{"name": "c", "expression": "object.data.missing == 'x'"}]
    ignored = server.hook("/ignored", lambda r: ALLOW, ["configmaps"], matchConditions=broken, failurePolicy="Ignore")
    configure(call, "Validating", "v", ignored)
    assert call("POST", MAPS, config_map("x", a="b"))[0] == 201
    configure(call, "Validating", "w", server.hook("/fail", lambda r: ALLOW, ["configmaps"], matchConditions=broken))
    code, answer = call("POST", MAPS, config_map(a="b"))
    assert (code, server.paths()) == (403, [])
    assert "no such key: missing" in answer["message"]


def test_a_webhook_that_does_not_answer_refuses_or_is_ignored(hooks: Any) -> None:
    call, server = hooks
    gone = server.hook("/gone", lambda r: ALLOW, ["configmaps"])
    gone["clientConfig"]["url"] = "https://127.0.0.1:1/gone"
    configure(call, "Validating", "v", gone)
    code, answer = call("POST", MAPS, config_map(a="b"))
    said = (
        'failed calling webhook "gone.example.com": failed to call webhook: Post "https://127.0.0.1:1/gone?timeout=10s"'
    )
    refused = "dial tcp 127.0.0.1:1: connect: connection refused"
    assert (code, answer["message"]) == (500, f"Internal error occurred: {said}: {refused}")
    _, found = call("GET", f"{ADMISSION}/validatingwebhookconfigurations/v")
    found["webhooks"][0]["failurePolicy"] = "Ignore"
    assert call("PUT", f"{ADMISSION}/validatingwebhookconfigurations/v", found)[0] == 200
    assert call("POST", MAPS, config_map(a="b"))[0] == 201


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"uid": "other"}, 'expected response.uid="'),
        ({**ALLOW, "patch": "W3t9XQ==", "patchType": "Merge"}, 'unsupported patch type "Merge"'),
        ({**ALLOW, "patch": "W10=", "patchType": ""}, 'webhook returned invalid response.patchType of ""'),
        ({**ALLOW, "patch": "W10="}, "webhook returned response.patch but not response.patchType"),
        ({**ALLOW, "patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
        ({**ALLOW, "patch": "e30=", "patchType": "JSONPatch"}, "received undecodable patch in webhook response"),
    ],
)
def test_an_answer_that_is_none_counts_as_a_failure(hooks: Any, answer: dict[str, Any], said: str) -> None:
    call, server = hooks
    configure(call, "Mutating", "m", server.hook("/odd", lambda request: answer, ["configmaps"]))
    code, status = call("POST", MAPS, config_map(a="b"))
    assert code == 500 and said in status["message"]


def test_a_certificate_of_another_authority_is_not_trusted(hooks: Any) -> None:
    call, server = hooks
    odd = server.hook("/odd", lambda request: ALLOW, ["configmaps"])
    with webhook_server() as other:
        odd["clientConfig"]["caBundle"] = other.authority
        configure(call, "Validating", "v", odd)
        code, status = call("POST", MAPS, config_map(a="b"))
    assert code == 500 and "certificate verify failed" in status["message"]


def test_a_dry_run_asks_webhooks_without_side_effects_only(hooks: Any) -> None:
    call, server = hooks
    hook = server.hook("/dry", lambda request: ALLOW, ["configmaps"], sideEffects="None")
    configure(call, "Validating", "v", hook)
    assert call("POST", f"{MAPS}?dryRun=All", config_map(a="b"))[0] == 201
    assert server.asked[-1][1]["dryRun"] is True
    hook["sideEffects"], hook["name"] = "NoneOnDryRun", "other.example.com"
    _, found = call("GET", f"{ADMISSION}/validatingwebhookconfigurations/v")
    assert found["webhooks"][0]["timeoutSeconds"] == 10
    assert call("GET", f"{MAPS}/m")[0] == 404


def test_webhooks_see_what_controllers_and_schedulers_write(hooks: Any) -> None:
    call, server = hooks
    configure(call, "Mutating", "m", server.hook("/tag", add("/metadata/labels/seen", "yes"), ["pods"]))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    call("POST", "/apis/apps/v1/namespaces/default/replicasets", {"metadata": {"name": "r"}, "spec": spec})
    _, found = call("GET", f"{PODS}?labelSelector=seen=yes")
    assert len(found["items"]) == 2
    created = [request for _, request in server.asked if request["operation"] == "CREATE"]
    assert {one["userInfo"]["username"].rpartition(":")[2] for one in created} == {"replicaset-controller"}
    assert not any("name" in one["object"]["metadata"] for one in created)  # made from generateName later


def test_custom_objects_and_their_status_are_seen_and_configurations_never(hooks: Any) -> None:
    call, server = hooks
    configure(call, "Mutating", "m", server.hook("/all", lambda request: ALLOW, ["*/*"]))
    configure(call, "Mutating", "n", server.hook("/spec", add("/spec", {"size": 2}), ["lakes"]))
    assert server.paths() == []
    call(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        definition("lakes", "Lake", "example.com", subresources={"status": {}}),
    )
    url = "/apis/example.com/v1/namespaces/default/lakes"
    code, made = call("POST", url, custom("Lake", "example.com"))
    assert (code, made["spec"]) == (201, {"size": 2})
    code, made = call("PATCH", f"{url}/x/status", {"status": {"a": 1}}, content_type="application/merge-patch+json")
    assert (code, made["status"]) == (200, {"a": 1})
    assert server.asked[-1][1]["subResource"] == "status"
