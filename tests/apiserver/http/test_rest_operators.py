"""Requests of operators and schedulers: scale by the definition's paths, bindings, discovery, field selectors."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.resources import version_rank
from tests.apiserver.admission.custom.definitions import OPEN, custom, definition

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LAKES = "/apis/example.com/v1/namespaces/default/lakes"
MERGE = {"content_type": "application/merge-patch+json"}
POD = {"metadata": {"name": "p"}, "spec": {"schedulerName": "mine", "containers": [{"name": "c", "image": "i"}]}}
PODS = "/api/v1/namespaces/default/pods"


def test_a_custom_object_is_scaled_where_its_definition_says(call: Any) -> None:
    paths = {"specReplicasPath": ".spec.worker.replicas", "statusReplicasPath": ".status.ready"}
    paths["labelSelectorPath"] = ".status.selector"
    more = {"subresources": {"scale": paths, "status": {}}}
    call("POST", CRDS, definition("lakes", "Lake", "example.com", **more))
    call("POST", LAKES, custom("Lake", "example.com", spec={"worker": {"replicas": 2, "image": "i"}}))
    call("PATCH", f"{LAKES}/x/status", {"status": {"ready": 1, "selector": "a=b"}}, **MERGE)
    _, scale = call("GET", f"{LAKES}/x/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 1, "selector": "a=b"},
    )
    code, scale = call("PATCH", f"{LAKES}/x/scale", {"spec": {"replicas": 4}}, **MERGE)
    assert (code, scale["spec"]["replicas"]) == (200, 4)
    changed = call("GET", f"{LAKES}/x")[1]
    assert changed["spec"] == {"worker": {"replicas": 4, "image": "i"}}
    assert changed["metadata"]["generation"] == 2
    call("POST", LAKES, custom("Lake", "example.com", "none"))
    code, answer = call("GET", f"{LAKES}/none/scale")
    assert (code, answer["reason"]) == (500, "InternalError")
    assert 'the spec replicas field ".spec.worker.replicas" does not exist' in answer["message"]


def test_a_custom_object_is_selected_by_the_fields_that_its_definition_names(call: Any) -> None:
    more = {"selectableFields": [{"jsonPath": ".spec.color"}]}
    color = {"spec": {"type": "object", "properties": {"color": {"type": "string"}}}}
    schema = {"openAPIV3Schema": {**OPEN["openAPIV3Schema"], "properties": color}}
    call("POST", CRDS, definition("lakes", "Lake", "example.com", schema=schema, **more))
    for name, shade in (("a", "blue"), ("b", "green")):
        call("POST", LAKES, custom("Lake", "example.com", name, spec={"color": shade}))
    _, found = call("GET", f"{LAKES}?fieldSelector=spec.color%3Dblue".replace("%3D", "="))
    assert [one["metadata"]["name"] for one in found["items"]] == ["a"]
    assert call("GET", f"{LAKES}?fieldSelector=spec.size=1")[0] == 400


def test_a_pod_is_bound_by_a_post_to_bindings(call: Any) -> None:
    binding = {"metadata": {"name": "p"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "node-2"}}
    assert call("POST", "/api/v1/namespaces/default/bindings", binding)[0] == 404  # there is no such pod
    call("POST", PODS, POD)
    code, answer = call("POST", "/api/v1/namespaces/default/bindings", binding)
    assert (code, answer["kind"], answer["status"]) == (201, "Status", "Success")
    assert call("GET", f"{PODS}/p")[1]["spec"]["nodeName"] == "node-2"
    bound = call("GET", f"{PODS}/p")[1]
    assert ("PodScheduled", "True") in [(one["type"], one["status"]) for one in bound["status"]["conditions"]]
    code, answer = call("POST", "/api/v1/namespaces/default/bindings", binding)
    said = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "node-2"'
    assert (code, answer["message"]) == (409, said)
    rows = {one["name"]: one for one in call("GET", "/api/v1")[1]["resources"]}
    assert (rows["bindings"]["kind"], rows["bindings"]["verbs"]) == ("Binding", ["create"])
    assert call("GET", "/api/v1/namespaces/default/bindings")[0] == 405


def test_services_are_listed_by_their_address_and_type(call: Any) -> None:
    """A kubelet lists Services so, before it starts a container."""
    spec = {"clusterIP": "None", "ports": [{"port": 80}]}
    call("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "headless"}, "spec": spec})
    call(
        "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    )
    _, found = call("GET", "/api/v1/services?fieldSelector=spec.clusterIP!=None")
    assert "headless" not in [one["metadata"]["name"] for one in found["items"]]
    _, found = call("GET", "/api/v1/services?fieldSelector=spec.type=ExternalName")
    assert found["items"] == []


@pytest.mark.parametrize(
    "order", [["v1beta1", "v1", "v2alpha1", "v10", "v11beta2", "foo1"], ["foo1", "v11beta2", "v1", "v10", "v1beta1"]]
)
def test_versions_of_a_group_are_preferred_by_their_stability(call: Any, order: list[str]) -> None:
    made = definition("lakes", "Lake", "example.com")
    one = made["spec"]["versions"][0]
    made["spec"]["versions"] = [{**one, "name": name, "storage": name == "v1"} for name in order]
    assert call("POST", CRDS, made)[0] == 201
    _, group = call("GET", "/apis/example.com")
    wanted = sorted(order, key=["v10", "v1", "v11beta2", "v1beta1", "v2alpha1", "foo1"].index)
    assert [one["version"] for one in group["versions"]] == wanted
    assert group["preferredVersion"]["version"] == "v10"
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    _, found = call("GET", "/apis", accept=aggregated)
    mine = next(one for one in found["items"] if one["metadata"]["name"] == "example.com")
    assert [one["version"] for one in mine["versions"]] == wanted


def test_the_rank_of_versions_is_the_documented_one() -> None:
    """The example of Kubernetes' documentation on versions in CustomResourceDefinitions."""
    wanted = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    assert sorted(wanted, key=version_rank) == wanted


def test_a_write_to_the_status_of_a_built_in_kind_may_change_labels_and_annotations(call: Any) -> None:
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
    url = "/apis/batch/v1/namespaces/default/cronjobs"
    call("POST", url, {"metadata": {"name": "c"}, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": template}})
    patch = {"metadata": {"annotations": {"a": "b"}}, "spec": {"schedule": "* * * * *"}, "status": {"active": []}}
    code, made = call("PATCH", f"{url}/c/status", patch, **MERGE)
    assert (code, made["metadata"]["annotations"], made["spec"]["schedule"]) == (200, {"a": "b"}, "0 0 1 1 *")


def test_events_are_selected_by_their_source_or_controller(call: Any) -> None:
    event = {
        "metadata": {"name": "e"},
        "regarding": {"namespace": "default"},
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "reportingController": "mine",
        "reportingInstance": "mine-1",
        "action": "Do",
        "reason": "Test",
        "type": "Normal",
    }
    code, answer = call("POST", "/apis/events.k8s.io/v1/namespaces/default/events", event)
    assert code == 201, answer
    for url in (
        "/api/v1/namespaces/default/events?fieldSelector=source=mine",
        "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=reportingController=mine",
    ):
        assert [one["metadata"]["name"] for one in call("GET", url)[1]["items"]] == ["e"], url


@pytest.mark.parametrize(
    ("path", "kind", "subresources"),
    [
        ("flowcontrol.apiserver.k8s.io/v1", "flowschemas", {"status"}),
        ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations", {"status"}),
        ("certificates.k8s.io/v1", "certificatesigningrequests", {"status", "approval"}),
        ("apiregistration.k8s.io/v1", "apiservices", {"status"}),
    ],
)
def test_stored_kinds_have_the_subresources_of_an_api_server(
    call: Any, path: str, kind: str, subresources: set[str]
) -> None:
    rows = {one["name"] for one in call("GET", f"/apis/{path}")[1]["resources"]}
    assert {name.partition("/")[2] for name in rows if name.startswith(f"{kind}/")} == subresources


REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_a_review_is_no_table(call: Any) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    only = "application/json;as=Table;v=v1;g=meta.k8s.io"
    code, status = call("POST", REVIEWS, review, accept=only)
    assert (code, status["reason"]) == (406, "NotAcceptable")
    assert call("POST", REVIEWS, review, accept=f"{only},application/json")[1]["status"]["allowed"] is True
