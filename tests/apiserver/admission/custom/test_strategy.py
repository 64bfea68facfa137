"""Status and generation of custom objects, over HTTP: what each request leaves behind, with and without `/status`."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.admission.custom.definitions import custom, definition
from tests.apiserver.http.conftest import call_of

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALL = "/apis/example.com/v1/namespaces/default/lakes"
ONE = f"{ALL}/x"
MERGE = {"content_type": "application/merge-patch+json"}


@pytest.fixture(params=[True, False], ids=["status subresource", "no status subresource"])
def lakes(request: Any) -> Any:
    with Cluster.simulated(0) as cluster:
        call = call_of(Dispatcher(cluster))
        more = {"subresources": {"status": {}}} if request.param else {}
        assert call("POST", CRDS, definition("lakes", "Lake", "example.com", **more))[0] == 201
        yield call, request.param


def seen(obj: dict[str, Any]) -> tuple[int, Any, Any]:
    return obj["metadata"]["generation"], obj.get("spec"), obj.get("status")


def test_a_status_is_written_by_its_subresource_alone(lakes: Any) -> None:
    call, has_status = lakes
    code, made = call("POST", ALL, custom("Lake", "example.com", spec={"a": 1}, status={"x": 1}))
    assert (code, seen(made)) == (201, (1, {"a": 1}, None if has_status else {"x": 1}))
    made["status"], made["spec"] = {"x": 2}, {"a": 2}
    code, made = call("PUT", ONE, made)
    assert (code, seen(made)) == (200, (2, {"a": 2}, None if has_status else {"x": 2}))
    code, made = call("PATCH", f"{ONE}/status", {"status": {"x": 3}, "spec": {"a": 9}}, **MERGE)
    assert code == (200 if has_status else 404)
    if has_status:
        assert seen(made) == (2, {"a": 2}, {"x": 3})
        made["metadata"]["labels"] = {"left": "alone"}
        code, made = call("PUT", f"{ONE}/status", {**made, "status": {"x": 4}})
        assert (code, seen(made), made["metadata"].get("labels")) == (200, (2, {"a": 2}, {"x": 4}), None)
        managers = {(one["manager"], one.get("subresource", "")) for one in made["metadata"]["managedFields"]}
        assert len({below for _, below in managers}) == 2  # the status has managers of its own


def test_everything_outside_metadata_raises_the_generation(lakes: Any) -> None:
    call, has_status = lakes
    call("POST", ALL, custom("Lake", "example.com", spec={"a": 1}, metadata={"generation": 7}))
    steps = [
        ({"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/hold"]}}, 1),
        ({"spec": {"a": 2}}, 2),
        ({"other": 1}, 3),
        ({"status": {"x": 1}}, 3 if has_status else 4),
    ]
    for patch, generation in steps:
        code, made = call("PATCH", ONE, patch, **MERGE)
        assert (code, made["metadata"]["generation"]) == (200, generation), patch
    code, made = call("DELETE", ONE)
    assert made["metadata"]["generation"] == generation + 1
    assert call("DELETE", ONE)[1]["metadata"]["generation"] == generation + 1
    assert call("PATCH", ONE, {"metadata": {"finalizers": None}}, **MERGE)[0] == 200
    assert call("GET", ONE)[0] == 404


def test_an_outdated_status_and_an_update_without_a_version_are_refused(lakes: Any) -> None:
    call, has_status = lakes
    _, first = call("POST", ALL, custom("Lake", "example.com", spec={"a": 1}))
    assert call("PUT", ONE, {**first, "spec": {"a": 2}})[0] == 200
    if has_status:
        code, answer = call("PUT", f"{ONE}/status", {**first, "status": {"x": 1}})
        assert (code, answer["reason"]) == (409, "Conflict")
    del first["metadata"]["resourceVersion"]
    code, answer = call("PUT", ONE, first)
    assert (code, answer["message"]) == (
        422,
        'lakes.example.com "x" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )


def test_a_status_is_applied_from_the_servers_side(lakes: Any) -> None:
    call, has_status = lakes
    call("POST", ALL, custom("Lake", "example.com", spec={"a": 1}))
    sent = custom("Lake", "example.com", status={"admitted": True})
    url = f"{ONE}/status?fieldManager=queue&force=true"
    code, made = call("PATCH", url, sent, content_type="application/apply-patch+yaml")
    assert code == (200 if has_status else 404)
    if has_status:
        assert seen(made) == (1, {"a": 1}, {"admitted": True})
        mine = next(one for one in made["metadata"]["managedFields"] if one["manager"] == "queue")
        assert (mine["operation"], mine["subresource"]) == ("Apply", "status")
        assert mine["fieldsV1"] == {"f:status": {"f:admitted": {}}}


def test_a_new_definition_names_its_stored_version() -> None:
    with Cluster.simulated(0) as cluster:
        call = call_of(Dispatcher(cluster))
        _, made = call("POST", CRDS, definition("lakes", "Lake", "example.com"))
        empty = {"plural": "", "kind": ""}
        assert made["status"] == {"conditions": None, "acceptedNames": empty, "storedVersions": ["v1"]}


def test_a_definition_goes_when_its_last_object_has_gone() -> None:
    with Cluster.simulated(0) as cluster:
        call = call_of(Dispatcher(cluster))
        call("POST", CRDS, definition("lakes", "Lake", "example.com"))
        call("POST", ALL, custom("Lake", "example.com", metadata={"finalizers": ["example.com/hold"]}))
        call("POST", ALL, custom("Lake", "example.com", "y"))
        crd = f"{CRDS}/lakes.example.com"
        _, marked = call("DELETE", crd)
        assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        conditions = {one["type"]: one for one in call("GET", crd)[1]["status"]["conditions"]}
        assert conditions["Terminating"]["reason"] == "InstanceDeletionInProgress"
        assert [one["metadata"]["name"] for one in call("GET", ALL)[1]["items"]] == ["x"]
        code, answer = call("POST", ALL, custom("Lake", "example.com", "z"))
        expected = "create not allowed while custom resource definition is terminating"
        assert (code, answer["message"]) == (405, expected)
        call("PATCH", ONE, {"metadata": {"finalizers": None}}, **MERGE)
        cluster.advance(5)
        assert call("GET", crd)[0] == 404
        assert call("GET", ALL)[0] == 404
