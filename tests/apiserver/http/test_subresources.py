"""Subresources: the method of each, the scale of workloads and custom objects, bindings, evictions."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kitlib.api.scale import ScalePaths
from kitlib.apiserver.http import subresources as module
from kitlib.apiserver.http.request import Request, Target
from kitlib.apiserver.http.resources import APIResource, Subresource
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.status import StatusError
from kitlib.apiserver.http.subresources import Subresources
from kitlib.apiserver.http.users import Users

JSON, MERGE = "application/json", "application/merge-patch+json"
DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
NOT_ALLOWED = (405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "n", "uid": "7", "labels": {"a": "b"}},
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "paused": True},
    "status": {"replicas": 2},
}


class FakeRest:
    """A Rest with one object, which records what it is asked for."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self.stored, self.asked, self.warnings = stored, list[Any](), ["old"]
        self.resources = SimpleNamespace(
            find=lambda *names: served("Pod", names[2]) if names[:2] == ("", "v1") else None
        )
        self.cluster = SimpleNamespace(bind=self._act("bind"), evict=self._act("evict"))

    def _act(self, what: str) -> Any:
        def act(*names: str, warnings: list[str], **options: Any) -> None:
            warnings.append(f"{what} warned")
            self.asked.append((what, *names, options))

        return act

    def get(self, served: APIResource, namespace: str, name: str) -> dict[str, Any]:
        self.asked.append(("get", served.plural, namespace, name))
        return self.stored

    def update(self, served: APIResource, namespace: str, name: str, below: str, request: Request) -> dict[str, Any]:
        return {"update": [namespace, name, below]}

    def patch(self, served: APIResource, namespace: str, name: str, below: str, request: Request) -> dict[str, Any]:
        return {"patch": [namespace, name, below]}

    def store_changed(self, served: APIResource, data: Any, below: str, request: Request) -> dict[str, Any]:
        self.asked.append(("store", below, data))
        return {**data, "status": {"replicas": 2}}

    def errors(self, served: APIResource, name: str) -> Any:
        return nullcontext()


def served(kind: str = "Deployment", plural: str = "deployments", scale: ScalePaths | None = None) -> APIResource:
    return APIResource("apps", "v1", plural, kind.lower(), kind, (), (), True, (), (), scale=scale)


def handle(rest: FakeRest, below: str, method: str, body: Any = None, **more: Any) -> Any:
    kind = more.pop("content_type", JSON)
    made = Request(method, "/", more.pop("query", {}), {"content-type": kind}, json.dumps(body or {}).encode())
    target = Target("apps", "v1", "n", "deployments", "web", below)
    handler = Subresources(cast(Rest, rest), Users())
    return handler.handle(more.pop("of", served()), Subresource(below, "", ()), target, made)


def refused(rest: FakeRest, below: str, method: str, body: Any = None, **more: Any) -> tuple[int, str, str]:
    with pytest.raises(StatusError) as raised:
        handle(rest, below, method, body, **more)
    return raised.value.code, raised.value.reason, raised.value.message


@pytest.mark.parametrize("below", ["status", "approval", "resize", "ephemeralcontainers", "finalize"])
def test_parts_of_an_object(below: str) -> None:
    rest = FakeRest(WEB)
    assert handle(rest, below, "GET") == (200, WEB)
    assert rest.asked == [("get", "deployments", "n", "web")]
    assert handle(rest, below, "PUT") == (200, {"update": ["n", "web", below]})
    assert handle(rest, below, "PATCH") == (200, {"patch": ["n", "web", below]})
    for method in ("POST", "DELETE"):
        assert refused(rest, below, method) == NOT_ALLOWED


@pytest.mark.parametrize("below", ["exec", "attach", "portforward"])
def test_streams_need_an_upgrade(below: str) -> None:
    message = f"{below}: an upgrade to a WebSocket is required"
    assert refused(FakeRest(WEB), below, "POST") == (400, "BadRequest", message)


def test_other_subresources() -> None:
    message = "the server could not find the requested resource"
    assert refused(FakeRest(WEB), "proxy", "GET") == (404, "NotFound", message)
    assert refused(FakeRest(WEB), "token", "GET") == NOT_ALLOWED


def test_logs_and_tokens_are_made_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "log_request", lambda *arguments: len(arguments))
    monkeypatch.setattr(module.token_request, "created", lambda *arguments: {"arguments": len(arguments)})
    assert handle(FakeRest(WEB), "log", "GET") == (200, 4)
    assert handle(FakeRest(WEB), "token", "POST") == (201, {"arguments": 4})


def scale(replicas: int) -> dict[str, Any]:
    meta = {"name": "web", "namespace": "n", "uid": "7"}
    status = {"replicas": 2, "selector": "app=web"}
    versions = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    return {**versions, "metadata": meta, "spec": {"replicas": replicas}, "status": status}


def shown(answer: tuple[int, dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The answer without fields of the metadata that are empty."""
    code, body = answer
    return code, {**body, "metadata": {name: value for name, value in body["metadata"].items() if value}}


def test_the_scale_of_a_workload() -> None:
    """Source: registry/apps/deployment/storage scaleFromDeployment."""
    assert shown(handle(FakeRest(WEB), "scale", "GET")) == (200, scale(3))


@pytest.mark.parametrize(
    ("method", "content_type", "body"),
    [
        ("PUT", JSON, {"spec": {"replicas": 5}}),
        ("PATCH", MERGE, {"spec": {"replicas": 5}}),
        ("PATCH", "application/json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 5}]),
    ],
)
def test_a_workload_is_scaled(method: str, content_type: str, body: Any) -> None:
    rest = FakeRest(WEB)
    assert shown(handle(rest, "scale", method, body, content_type=content_type)) == (200, scale(5))
    changed = {**WEB, "spec": {**WEB["spec"], "replicas": 5}}
    assert rest.asked == [("get", "deployments", "n", "web"), ("store", "scale", changed)]
    assert WEB["spec"]["replicas"] == 3


def test_scaling_to_zero_and_below() -> None:
    """A body without a number scales to 0. Source: ValidateScale."""
    bodies: list[dict[str, Any]] = [{"spec": {"replicas": 0}}, {"spec": {}}, {}]
    for body in bodies:
        rest = FakeRest(WEB)
        assert handle(rest, "scale", "PUT", body)[0] == 200
        assert rest.asked[1] == ("store", "scale", {**WEB, "spec": {**WEB["spec"], "replicas": 0}})
    rest = FakeRest(WEB)
    assert refused(rest, "scale", "PUT", {"spec": {"replicas": -1}}) == (
        422,
        "Invalid",
        'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    )
    for wrong in ("5", 1.5, True):
        assert refused(rest, "scale", "PUT", {"spec": {"replicas": wrong}})[0] == 400
    assert [one[0] for one in rest.asked] == ["get"] * 4, "nothing is stored"


def test_methods_of_a_scale() -> None:
    assert refused(FakeRest(WEB), "scale", "POST", {"spec": {"replicas": 1}}) == NOT_ALLOWED
    assert refused(FakeRest(WEB), "scale", "PATCH", {"spec": {"replicas": 1}}) == NOT_ALLOWED, (
        "an unknown kind of patch"
    )


def test_the_scale_of_a_custom_object() -> None:
    """Source: registry/customresource/etcd.go ScaleREST."""
    lake = {"apiVersion": "example.com/v1", "kind": "Lake", "metadata": {"name": "web"}, "spec": {"size": 4}}
    of = served("Lake", "lakes", ScalePaths(".spec.size", ".status.replicas", ""))
    rest = FakeRest(lake)
    code, found = handle(rest, "scale", "PUT", {"spec": {"replicas": 6}}, of=of)
    assert (code, found["spec"], found["status"]["replicas"]) == (200, {"replicas": 6}, 2)
    assert rest.asked[1] == ("store", "scale", {**lake, "spec": {"size": 6}})
    missing = served("Lake", "lakes", ScalePaths(".spec.wanted"))
    message = 'Internal error occurred: the spec replicas field ".spec.wanted" does not exist'
    assert refused(rest, "scale", "GET", of=missing) == (500, "InternalError", message)


@pytest.mark.parametrize("query", [{}, {"dryRun": ["All"]}])
def test_a_binding(query: dict[str, list[str]]) -> None:
    """Source: BindingREST.Create."""
    rest, meta = FakeRest(WEB), {"name": "web", "labels": {"x": "y"}}
    body = {"metadata": meta, "target": {"kind": "Node", "name": "node-1"}}
    assert handle(rest, "binding", "POST", body, query=query, of=served("Pod", "pods")) == (201, DONE)
    options = {"metadata": meta, "dry_run": bool(query)}
    assert rest.asked == [("get", "pods", "n", "web"), ("bind", "web", "node-1", "n", options)]
    assert rest.warnings == ["old", "bind warned"]


def test_a_binding_by_the_name_in_it() -> None:
    """Source: LegacyBindingREST.Create."""
    rest, target = FakeRest(WEB), Target("", "v1", "n", "bindings", "", "")
    handler = Subresources(cast(Rest, rest), Users())

    def bind(meta: dict[str, Any]) -> Any:
        body = json.dumps({"metadata": meta, "target": {"name": "node-1"}}).encode()
        return handler.bind_by_name(target, Request("POST", "/", {}, {"content-type": JSON}, body))

    assert bind({"name": "web-2"}) == (201, DONE)
    options = {"metadata": {"name": "web-2"}, "dry_run": False}
    assert rest.asked == [("get", "pods", "n", "web-2"), ("bind", "web-2", "node-1", "n", options)]
    for meta in ({}, {"name": ""}):
        with pytest.raises(StatusError) as raised:
            bind(meta)
        assert raised.value.code == 400


@pytest.mark.parametrize(
    ("query", "options", "grace", "dry"),
    [
        ({}, None, None, False),
        ({}, {"gracePeriodSeconds": 0}, 0, False),
        ({}, {"gracePeriodSeconds": 5, "preconditions": {"uid": "7"}}, 5, False),
        ({}, {"gracePeriodSeconds": -3}, 1, False),
        ({}, {"dryRun": ["All"]}, None, True),
        ({}, {"dryRun": []}, None, False),
        ({"dryRun": ["All"]}, {"gracePeriodSeconds": 5}, 5, True),
    ],
)
def test_an_eviction(query: dict[str, list[str]], options: Any, grace: int | None, dry: bool) -> None:
    """The dry run may be asked for in the query and in the options. Source: EvictionREST.Create, propagateDryRun."""
    rest = FakeRest(WEB)
    body = {"metadata": {"name": "web"}, **({"deleteOptions": options} if options is not None else {})}
    assert handle(rest, "eviction", "POST", body, query=query, of=served("Pod", "pods")) == (201, DONE)
    assert rest.asked[1:] == [("evict", "web", "n", {"grace": grace, "dry_run": dry})]
    assert rest.warnings == ["old", "evict warned"]


def test_an_eviction_of_another_object() -> None:
    rest = FakeRest(WEB)
    body = {"metadata": {"name": "web"}, "deleteOptions": {"preconditions": {"uid": "8"}}}
    code, reason, message = refused(rest, "eviction", "POST", body, of=served("Pod", "pods"))
    assert (code, reason) == (409, "Conflict")
    assert message.endswith("Precondition failed: UID in precondition: 8, UID in object meta: 7")
    assert rest.asked == [("get", "pods", "n", "web")]
