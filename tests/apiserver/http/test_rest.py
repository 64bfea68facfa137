"""Objects over the API: verbs, patches, lists in pages, refusals in the server's words."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def pod(name: str, **labels: str) -> dict[str, Any]:
    containers = [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "100m"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": containers},
    }


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_a_pod_is_created_scheduled_and_read_back(call: Any) -> None:
    code, made = call("POST", PODS, pod("a"))
    assert (code, made["kind"], made["metadata"]["namespace"]) == (201, "Pod", "default")
    code, found = call("GET", f"{PODS}/a")
    assert (code, found["status"]["phase"]) == (200, "Running")
    assert found["spec"]["nodeName"] in ("node-1", "node-2")


def test_what_does_not_exist_is_not_found_in_the_servers_words(call: Any) -> None:
    code, status = call("GET", f"{PODS}/nope")
    assert code == 404
    assert status["message"] == 'pods "nope" not found'
    assert (status["reason"], status["details"]) == ("NotFound", {"name": "nope", "kind": "pods"})
    assert call("GET", "/apis/apps/v1/nothings")[0] == 404
    assert call("GET", "/nothing")[0] == 404


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"apiVersion": "v2"}, 400, "does not match the expected API version (v1)"),
        ({"kind": "Node"}, 400, "the kind in the data (Node) does not match the expected kind (Pod)"),
        ({"metadata": {"name": "a", "namespace": "other"}}, 400, "does not match the namespace sent on the request"),
        ({"metadata": []}, 400, "metadata: expected an object"),
        ({"spec": {"containers": []}}, 422, "spec.containers: Required value"),
    ],
)
def test_a_body_that_does_not_fit_the_path_is_refused(call: Any, change: Any, code: int, words: str) -> None:
    answered, status = call("POST", PODS, {**pod("a"), **change})
    assert answered == code
    assert words in status["message"]
    assert call("GET", f"{PODS}/a")[0] == 404


def test_invalid_objects_carry_a_cause_for_each_field(call: Any) -> None:
    _, status = call("POST", PODS, {**pod("a"), "spec": {"containers": []}})
    assert status["reason"] == "Invalid"
    assert status["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}
    ]


def test_a_list_comes_in_pages_of_one_version(call: Any) -> None:
    for name in "cab":
        call("POST", MAPS, config(name))
    _, first = call("GET", f"{MAPS}?limit=2")
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    _, second = call("GET", f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert call("GET", f"{MAPS}?continue=x")[0] == 400
    assert call("GET", f"{MAPS}?limit=x")[0] == 400


def test_selectors_choose(call: Any) -> None:
    call("POST", PODS, pod("a", app="web"))
    call("POST", PODS, pod("b", app="db"))
    _, found = call("GET", f"{PODS}?labelSelector=app=web")
    assert [item["metadata"]["name"] for item in found["items"]] == ["a"]
    _, found = call("GET", f"{PODS}?fieldSelector=metadata.name=b")
    assert [item["metadata"]["name"] for item in found["items"]] == ["b"]
    assert call("GET", f"{PODS}?fieldSelector=spec.x=b")[1]["message"] == "field label not supported: spec.x"


def test_a_dry_run_leaves_nothing(call: Any) -> None:
    before = call("GET", PODS)[1]["metadata"]["resourceVersion"]
    assert call("POST", f"{PODS}?dryRun=All", pod("a"))[0] == 201
    assert call("GET", f"{PODS}/a")[0] == 404
    assert call("GET", PODS)[1]["metadata"]["resourceVersion"] == before
    call("POST", PODS, pod("a"))
    assert call("DELETE", f"{PODS}/a?dryRun=All&gracePeriodSeconds=0")[0] == 200
    assert call("GET", f"{PODS}/a")[0] == 200
    assert call("POST", f"{PODS}?dryRun=Some", pod("b"))[0] == 400


def test_an_update_of_an_old_version_is_a_conflict(call: Any) -> None:
    call("POST", MAPS, config("m", a="1"))
    _, old = call("GET", f"{MAPS}/m")
    assert call("PUT", f"{MAPS}/m", {**old, "data": {"a": "2"}})[0] == 200
    code, status = call("PUT", f"{MAPS}/m", {**old, "data": {"a": "3"}})
    assert (code, status["reason"]) == (409, "Conflict")
    assert status["message"].startswith('Operation cannot be fulfilled on configmaps "m": the object has been modified')


def test_the_kinds_of_patch(call: Any) -> None:
    call("POST", MAPS, config("m", a="1", b="2"))
    assert call("PATCH", f"{MAPS}/m", {"data": {"a": None, "c": "3"}}, content_type=MERGE)[1]["data"] == {
        "b": "2",
        "c": "3",
    }
    operations = [{"op": "replace", "path": "/data/b", "value": "9"}]
    assert call("PATCH", f"{MAPS}/m", operations, content_type=JSON_PATCH)[1]["data"]["b"] == "9"
    code, status = call(
        "PATCH", f"{MAPS}/m", [{"op": "replace", "path": "/data/x/y", "value": "9"}], content_type=JSON_PATCH
    )
    assert (code, status["reason"]) == (422, "Invalid")
    assert call("PATCH", f"{MAPS}/m", {"op": "x"}, content_type=JSON_PATCH)[0] == 400
    assert call("PATCH", f"{MAPS}/m", b"{", content_type=MERGE)[0] == 400
    assert call("PATCH", f"{MAPS}/m", {}, content_type="text/plain")[0] == 415


def test_a_strategic_patch_merges_containers_by_name(call: Any) -> None:
    call("POST", DEPLOYMENTS, deployment("web"))
    patch = {
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x:2"}, {"name": "d", "image": "y"}]}}}
    }
    _, made = call("PATCH", f"{DEPLOYMENTS}/web", patch, content_type=STRATEGIC)
    containers = made["spec"]["template"]["spec"]["containers"]
    assert [(c["name"], c["image"]) for c in containers] == [("c", "x:2"), ("d", "y")]
    assert containers[0]["resources"]["requests"] == {"cpu": "100m"}
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "d", "$patch": "delete"}]}}}}
    _, made = call("PATCH", f"{DEPLOYMENTS}/web", patch, content_type=STRATEGIC)
    assert [c["name"] for c in made["spec"]["template"]["spec"]["containers"]] == ["c"]


def test_server_side_apply_creates_merges_and_conflicts(call: Any) -> None:
    one, two = (f"{MAPS}/m?fieldManager={name}" for name in ("one", "two"))
    assert call("PATCH", one, config("m", a="1"), content_type=APPLY)[0] in (200, 201)
    assert call("PATCH", two, config("m", b="2"), content_type=APPLY)[1]["data"] == {"a": "1", "b": "2"}
    code, status = call("PATCH", two, config("m", a="9", b="2"), content_type=APPLY)
    assert (code, status["message"]) == (409, 'Apply failed with 1 conflict: conflict with "one": .data.a')
    assert call("PATCH", f"{two}&force=true", config("m", a="9", b="2"), content_type=APPLY)[1]["data"]["a"] == "9"
    assert call("PATCH", f"{MAPS}/m", config("m"), content_type=APPLY)[0] == 422


def test_deletion_checks_its_preconditions(call: Any) -> None:
    call("POST", MAPS, config("m"))
    code, status = call("DELETE", f"{MAPS}/m", {"preconditions": {"uid": "another"}})
    assert (code, status["reason"]) == (409, "Conflict")
    code, status = call("DELETE", f"{MAPS}/m")
    assert (code, status["status"], status["details"]["name"]) == (200, "Success", "m")
    assert call("GET", f"{MAPS}/m")[0] == 404


def test_a_collection_is_deleted_by_selector(call: Any) -> None:
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        call("POST", PODS, pod(name, app=app))
    call("DELETE", f"{PODS}?labelSelector=app=web", {"gracePeriodSeconds": 0})
    assert [item["metadata"]["name"] for item in call("GET", PODS)[1]["items"]] == ["c"]


def test_scale_changes_the_number_of_pods(call: Any) -> None:
    call("POST", DEPLOYMENTS, deployment("web"))
    code, scale = call("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 3}}, content_type=MERGE)
    assert (code, scale["kind"], scale["spec"]["replicas"], scale["status"]["selector"]) == (200, "Scale", 3, "app=web")
    assert len(call("GET", PODS)[1]["items"]) == 3
    assert call("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": -1}}, content_type=MERGE)[0] == 422


def test_a_binding_gives_a_pod_of_another_scheduler_its_node(call: Any) -> None:
    mine = pod("a")
    mine["spec"]["schedulerName"] = "mine"
    call("POST", PODS, mine)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "node-2"},
    }
    assert call("POST", f"{PODS}/a/binding", binding)[0] == 201
    assert call("GET", f"{PODS}/a")[1]["spec"]["nodeName"] == "node-2"
    assert call("POST", f"{PODS}/a/binding", binding)[0] in (403, 409)


def test_an_eviction_is_refused_by_a_budget_with_429(call: Any) -> None:
    call("POST", PODS, pod("a", app="web"))
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    budget["spec"] = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    call("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    code, status = call("POST", f"{PODS}/a/eviction", eviction)
    assert (code, status["reason"]) == (429, "TooManyRequests")
    assert status["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert "needs 1 healthy pods and has 1 currently" in status["details"]["causes"][0]["message"]


def test_an_evictions_options_are_those_of_a_deletion(call: Any, cluster: Any) -> None:
    call("POST", PODS, pod("a"))
    eviction: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    eviction["deleteOptions"] = {"preconditions": {"uid": "other"}}
    code, status = call("POST", f"{PODS}/a/eviction", eviction)
    assert code == 409 and "UID in precondition: other" in status["message"]
    eviction["deleteOptions"] = {"gracePeriodSeconds": 77}
    assert call("POST", f"{PODS}/a/eviction", eviction)[0] == 201
    assert [one["grace"] for one in cluster.journal if one["action"] == "evict"] == [77]


def test_a_defect_is_a_500_and_the_server_goes_on(call: Any, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    with monkeypatch.context() as patch:
        patch.setattr(cluster.api, "create", broken)
        code, status = call("POST", MAPS, config("m"))
        assert (code, status["message"]) == (500, "Internal error occurred: RuntimeError")
    assert call("POST", MAPS, config("m"))[0] == 201


def test_too_large_a_body_is_refused(call: Any) -> None:
    code, status = call("POST", MAPS, b" " * (3 * 1024 * 1024 + 1))
    assert (code, status["reason"]) == (413, "RequestEntityTooLarge")


def test_events_are_served_in_both_groups(call: Any) -> None:
    call("POST", PODS, pod("a"))
    core = call("GET", "/api/v1/namespaces/default/events")[1]["items"]
    other = call("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
    assert core and [e["involvedObject"]["name"] for e in core] == [e["regarding"]["name"] for e in other]
    assert [e["message"] for e in core] == [e["note"] for e in other]


@pytest.mark.parametrize("mode", ["Strict", "Warn", "Ignore", ""])
def test_unknown_fields_are_refused_warned_of_or_ignored(call: Any, cluster: Any, mode: str) -> None:
    made = pod("a")
    made["spec"]["containers"][0]["imaeg"] = "y"
    made["spec"]["nodeSelctor"] = {}
    code, status = call("POST", f"{PODS}?fieldValidation={mode}", made)
    if mode != "Strict":
        assert code == 201
        return
    assert code == 400
    assert status["message"] == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
        'unknown field "spec.containers[0].imaeg", unknown field "spec.nodeSelctor"'
    )
    assert call("GET", f"{PODS}/a")[0] == 404


def test_a_value_of_the_wrong_type_is_a_bad_request(call: Any) -> None:
    made = pod("a")
    made["spec"]["containers"][0]["ports"] = [{"containerPort": "eighty"}]
    code, status = call("POST", PODS, made)
    assert (code, status["reason"]) == (400, "BadRequest")
    assert status["message"].startswith('Pod in version "v1" cannot be handled as a Pod: ')


def test_what_an_object_owns_goes_with_it_or_is_orphaned(call: Any, cluster: Any) -> None:
    sets = "/apis/apps/v1/namespaces/default/replicasets"
    call("POST", DEPLOYMENTS, deployment("web"))
    (owned,) = call("GET", sets)[1]["items"]
    assert call("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Sideways"})[0] == 422
    call("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Orphan"})
    cluster.advance(5)
    (left,) = call("GET", sets)[1]["items"]
    assert (left["metadata"]["uid"], left["metadata"].get("ownerReferences")) == (owned["metadata"]["uid"], None)
    call("DELETE", f"{sets}/{left['metadata']['name']}", {"propagationPolicy": "Foreground"})
    cluster.advance(60)
    assert call("GET", sets)[1]["items"] == []
    assert call("GET", PODS)[1]["items"] == []


def test_an_object_with_a_finalizer_stays_until_it_is_removed(call: Any) -> None:
    made = config("m")
    made["metadata"]["finalizers"] = ["example.com/wait"]
    call("POST", MAPS, made)
    code, marked = call("DELETE", f"{MAPS}/m")
    assert code == 200 and marked["metadata"]["deletionTimestamp"]
    call("PATCH", f"{MAPS}/m", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert call("GET", f"{MAPS}/m")[0] == 404


def test_times_on_the_wire_have_whole_seconds_and_leases_keep_their_digits(call: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "x"}]}
    call("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec})
    lease = {"metadata": {"name": "l"}, "spec": {"renewTime": "2026-01-01T00:00:00.123456Z"}}
    call("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
    _, pod = call("GET", "/api/v1/namespaces/default/pods/p")
    times = [pod["metadata"]["creationTimestamp"], pod["status"]["startTime"]]
    times += [one["lastTransitionTime"] for one in pod["status"]["conditions"]]
    assert all(len(one) == len("2026-01-01T00:00:00Z") for one in times)
    _, found = call("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l")
    assert found["spec"]["renewTime"] == "2026-01-01T00:00:00.123456Z"


def test_a_dry_run_answers_with_the_version_that_stands(call: Any) -> None:
    _, made = call("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": "c"}})
    assert "resourceVersion" not in made["metadata"]
    _, before = call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    path = "/api/v1/namespaces/default/configmaps/c?dryRun=All"
    _, after = call("PATCH", path, {"data": {"a": "1"}}, content_type="application/merge-patch+json")
    assert after["data"] == {"a": "1"}
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_an_object_that_is_applied_for_the_first_time_is_created(call: Any) -> None:
    path = "/api/v1/namespaces/default/configmaps/c?fieldManager=m"
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    for code in (201, 200):
        assert call("PATCH", path, manifest, content_type="application/apply-patch+yaml")[0] == code


def test_taints_are_replaced_as_a_whole(call: Any) -> None:
    path, patch = "/api/v1/nodes/node-1", {"content_type": "application/strategic-merge-patch+json"}
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    call("PATCH", path, {"spec": {"taints": taints}}, **patch)
    call("PATCH", path, {"spec": {"taints": taints[:1]}}, **patch)
    assert [one["key"] for one in call("GET", path)[1]["spec"]["taints"]] == ["a"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("resourceVersion=%s" % ("9" * 5000), "value out of range"),
        ("resourceVersion=²", "invalid syntax"),
        ("resourceVersion=1_0", "invalid syntax"),
        ("resourceVersion=-1", "invalid syntax"),
        ("timeoutSeconds=%s" % ("9" * 5000), "value out of range"),
        ("timeoutSeconds=1_0", "invalid syntax"),
    ],
)
def test_a_number_of_a_query_is_read_as_go_reads_it(call: Any, query: str, why: str) -> None:
    code, status = call("GET", f"{PODS}?watch=true&{query}")
    assert (code, status["message"].endswith(why)) == (400, True), status


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC, JSON_PATCH, "application/json"])
def test_a_body_of_too_many_levels_is_refused(call: Any, kind: str) -> None:
    call("POST", PODS, pod("a"))
    deep = b'{"metadata":{"annotations":' + b'{"a":' * 900 + b"1" + b"}" * 902
    code, status = call(
        "PATCH" if "patch" in kind else "POST", f"{PODS}/a" if "patch" in kind else PODS, deep, content_type=kind
    )
    assert (code, "levels" in status["message"]) == (400, True), status


def test_a_new_object_gets_its_system_metadata_from_the_server(call: Any) -> None:
    """Source: rest.WipeObjectMetaSystemFields; podStrategy.PrepareForCreate."""
    old, own = "2020-01-01T00:00:00Z", "11111111-2222-3333-4444-555555555555"
    given: dict[str, Any] = {"uid": own, "creationTimestamp": old, "generation": 7, "selfLink": "/x"}
    given |= {"deletionTimestamp": old, "deletionGracePeriodSeconds": 5}
    made = [
        call("POST", PODS, {**pod("p"), "metadata": {"name": "p", **given}}),
        call("PATCH", f"{PODS}/q?fieldManager=m", {**pod("q"), "metadata": {"name": "q", **given}}, content_type=APPLY),
    ]
    for code, answer in made:
        meta = answer["metadata"]
        assert code == 201 and meta["uid"] != own and meta["creationTimestamp"] != old and meta["generation"] == 1
        assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & meta.keys()


def test_a_method_that_needs_a_namespace_is_not_allowed_for_all(call: Any) -> None:
    """Source: APIInstaller.registerResourceHandlers: only LIST and WATCH are registered across namespaces."""
    for method in ("POST", "DELETE", "PUT"):
        code, answer = call(method, "/api/v1/pods", {})
        assert (code, answer["reason"]) == (405, "MethodNotAllowed")
    assert call("GET", "/api/v1/pods/p")[0] == 404


def test_a_form_that_is_not_served_is_not_acceptable_and_nothing_is_written(call: Any) -> None:
    """Source: negotiation NegotiateMediaTypeOptions."""
    only = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    code, answer = call("POST", PODS, pod("p"), accept="text/html, image/png")
    assert (code, answer["reason"]) == (406, "NotAcceptable")
    assert answer["message"] == f"only the following media types are accepted: {only}"
    assert call("GET", f"{PODS}/p")[0] == 404
    assert call("GET", PODS, accept="text/html,application/xhtml+xml,*/*;q=0.8")[1]["kind"] == "PodList"
    assert call("GET", PODS, accept="text/*")[0] == 406
    assert call("GET", f"{PODS}?watch=1", accept="application/yaml")[0] == 406
    shown = call("GET", PODS, accept="application/json;q=0.5,application/yaml")[1]
    assert yaml.safe_load(shown)["kind"] == "PodList" and shown.startswith(b"apiVersion: v1\n")
    assert call("GET", PODS, accept="application/yaml;q=0.5,application/*")[1]["kind"] == "PodList"


def test_a_dry_run_of_a_binding_or_an_eviction_is_admitted_and_undone(call: Any, cluster: Any) -> None:
    made = call("POST", PODS, {**pod("p"), "spec": {**pod("p")["spec"], "schedulerName": "none"}})
    assert made[0] == 201
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": cluster.nodes[0].name}}
    for target, body in ((f"{PODS}/p/binding", binding), (f"{PODS}/p/eviction", {"metadata": {"name": "p"}})):
        assert call("POST", f"{target}?dryRun=All", body)[0] == 201
        assert call("GET", f"{PODS}/p")[1]["spec"].get("nodeName") is None
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    rule["resources"] = ["pods/binding", "pods/eviction"]
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "!request.dryRun"}]}
    policy = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "v"}, "spec": spec}
    bound = {"policyName": "v", "validationActions": ["Deny"]}
    cluster.apply([policy, {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound}])
    assert call("POST", f"{PODS}/p/binding?dryRun=All", binding)[0] == 422
    assert call("POST", f"{PODS}/p/eviction", {"deleteOptions": {"dryRun": ["All"]}})[0] == 422
    assert call("POST", f"{PODS}/p/binding", binding)[0] == 201
