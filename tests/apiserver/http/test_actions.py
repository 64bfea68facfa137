"""Requests over HTTP are in the cluster's journal, with user and program, and a replay repeats them."""

from __future__ import annotations

import json
from typing import Any

from kitlib.api.meta import SERVER_WRITTEN
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.http.actions import ActionLog
from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.users import User
from kitlib.apiserver.store.kinds import resource
from kitlib.cluster import Cluster
from kitlib.cluster.journal import Journal
from tests.apiserver.http.conftest import Call, call_of

PODS = "/api/v1/namespaces/default/pods"
KUBECTL = {"user_agent": "kubectl/v1.36.2 (linux/amd64)"}
STRATEGIC = {"content_type": "application/strategic-merge-patch+json", **KUBECTL}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def pod(name: str = "web", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": pod()["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def without_times(cluster: Any) -> list[Any]:
    """Specification, labels, phase and reason of everything that a person sees."""
    kinds = ("Pod", "Deployment", "ReplicaSet", "Node", "PersistentVolumeClaim")
    found = [(one.kind, one.name, to_dict(one)) for kind in kinds for one in cluster.list(kind)]
    return [
        (kind, name, plain.get("spec"), plain["metadata"].get("labels"), (plain.get("status") or {}).get("phase"))
        for kind, name, plain in found
    ]


def test_every_write_is_recorded_with_its_sender_and_replayed(cluster: Any, call: Call) -> None:
    node = next(iter(cluster.nodes)).name
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}}
    requests = [
        ("POST", PODS, pod(), KUBECTL),
        ("POST", PODS, pod("b"), KUBECTL),
        ("POST", PODS, {**pod(), "metadata": {"generateName": "made-"}}, KUBECTL),
        ("POST", DEPLOYMENTS, deployment(), KUBECTL),
        ("PATCH", f"{PODS}/web", {"metadata": {"labels": {"a": "1"}}}, STRATEGIC),
        ("PATCH", f"{PODS}/web/status", {"status": {"message": "said"}}, STRATEGIC),
        (
            "PATCH",
            f"{PODS}/web/resize",
            {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "200m"}}}]}},
            STRATEGIC,
        ),
        ("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, STRATEGIC),
        ("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}}, STRATEGIC),
        ("POST", f"{PODS}/b/eviction", eviction, KUBECTL),
        ("DELETE", f"{PODS}/web", None, KUBECTL),
        ("POST", PODS, pod("held", schedulerName="mine"), KUBECTL),
        ("POST", f"{PODS}/held/binding", {"metadata": {"name": "held"}, "target": {"name": node}}, KUBECTL),
    ]
    for method, path, body, headers in requests:
        code, answer = call(method, path, body, **headers)
        assert code in (200, 201), answer
        cluster.let_time_pass(0.5)
    actions = [entry["action"] for entry in cluster.journal if entry["action"] != "advance"]
    patches = ["patch", "patch_status", "patch", "patch", "patch"]
    assert actions == [*["create"] * 4, *patches, "evict", "delete", "create", "bind"]
    writes = [entry for entry in cluster.journal if entry["action"] != "advance"]
    assert {(entry["by"], entry["client"]) for entry in writes} == {("kubernetes-admin", "kubectl")}
    with Cluster.simulated(2) as again:
        again.replay(Journal.from_json(cluster.journal.to_json()))
        assert without_times(again) == without_times(cluster)
        assert again.clock.seconds == cluster.clock.seconds


def test_what_changes_nothing_is_not_recorded(cluster: Any, call: Call) -> None:
    assert call("POST", f"{PODS}?dryRun=All", pod(), **KUBECTL)[0] == 201
    assert call("POST", PODS, {**pod(), "spec": {}}, **KUBECTL)[0] == 422
    assert call("GET", PODS)[0] == 200
    assert list(cluster.journal) == []
    call("POST", PODS, pod(), **KUBECTL)
    call("PATCH", f"{PODS}/web", {"metadata": {"labels": {}}}, **STRATEGIC)
    assert call("DELETE", f"{PODS}/web?dryRun=All", **KUBECTL)[0] == 200
    assert [entry["action"] for entry in cluster.journal] == ["create"]


def test_components_and_a_closed_journal_record_nothing(cluster: Any) -> None:
    dispatcher = Dispatcher(cluster)
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "mine"}, "spec": {}}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert call_of(dispatcher)("POST", path, lease, **KUBECTL)[0] == 201
    component = User("system:kube-scheduler", ("system:masters",))
    answer = dispatcher.handle(
        Request("POST", PODS, {}, {"user-agent": "kube-scheduler/v1"}, json.dumps(pod()).encode(), component)
    )
    assert answer.code == 201  # type: ignore[union-attr]
    cluster.journal.is_open = False
    assert call_of(dispatcher)("POST", PODS, pod("b"), **KUBECTL)[0] == 201
    cluster.let_time_pass(1)
    assert list(cluster.journal) == []
    cluster.apply(pod("c"))
    assert [entry["action"] for entry in cluster.journal] == ["apply"]


def test_a_person_who_acts_as_a_component_is_recorded(cluster: Any) -> None:
    component = User("system:kube-controller-manager", ("system:masters",), impersonated_by="kubernetes-admin")
    request = Request("POST", PODS, {}, {"user-agent": "kubectl/v1.36.2"}, json.dumps(pod()).encode(), component)
    assert Dispatcher(cluster).handle(request).code == 201  # type: ignore[union-attr]
    assert [(entry["action"], entry["by"]) for entry in cluster.journal] == [("create", component.name)]


def test_equal_steps_of_time_are_one_entry(cluster: Any) -> None:
    for _ in range(50):
        cluster.let_time_pass(0.1)
    assert list(cluster.journal) == [{"action": "advance", "seconds": 0.1, "steps": 50}]


def test_what_the_server_writes_is_not_an_action_of_the_client() -> None:
    entries: list[dict[str, Any]] = []
    log = ActionLog(lambda action, **fields: entries.append({"action": action, **fields}))
    sent = {**pod(), "metadata": {"name": "web", **dict.fromkeys(SERVER_WRITTEN, "x")}}
    log.written(resource("Pod"), None, from_dict(pod()), sent, "")
    assert [entry["objects"] for entry in entries] == [[pod()]]
