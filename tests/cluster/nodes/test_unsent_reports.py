"""Reports of a kubelet that the API server refuses: sent again, newest first, without harm to the node."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.apiserver.admission.webhook.servers import Webhooks, webhook_server

SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[Webhooks]:
    with webhook_server() as made:
        yield made


def pod(name: str = "web") -> dict[str, Any]:
    container = {"name": "c", "image": "x", "command": ["sleep", "infinity"]}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def policy(expression: str, operation: str, resource: str) -> list[dict[str, Any]]:
    """A policy about the requests of kubelets, with its binding."""
    group = "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "kubelet", "expression": "request.userInfo.username.startsWith('system:node:')"}],
        "validations": [{"expression": expression}],
    }
    made = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    bound = {**made, "kind": "ValidatingAdmissionPolicyBinding"}
    return [made, {**bound, "spec": {"policyName": "p", "validationActions": ["Deny"]}}]


def refusals(cluster: SimulatedCluster) -> list[str]:
    return [event.message for event in cluster.events() if event.reason == "ReportRefused"]


def test_a_deletion_that_a_policy_refuses_is_tried_again() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply([pod()])
        cluster.run_for(5)
        cluster.apply(policy("false", "DELETE", "pods"))
        cluster.delete("Pod", "web")
        cluster.run_for(60)
        assert cluster.get("Pod", "web").metadata.deletion_timestamp is not None
        assert len(refusals(cluster)) == 1, "one event for one reason"
        cluster.apply([pod("other")])
        cluster.run_for(5)
        assert cluster.get("Pod", "other").status.phase == "Running", "the kubelet goes on"
        cluster.delete("ValidatingAdmissionPolicyBinding", "p")
        cluster.run_for(10)
        assert [one.name for one in cluster.pods()] == ["other"]


def test_a_status_that_a_policy_refuses_is_replaced_by_the_newest_one() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(policy("false", "UPDATE", "pods/status"))
        cluster.apply([pod()])
        cluster.run_for(30)
        assert cluster.get("Pod", "web").status.phase == "Pending"
        cluster.delete("ValidatingAdmissionPolicyBinding", "p")
        cluster.run_for(10)
        found = cluster.get("Pod", "web").status
        assert found.phase == "Running" and found.container_statuses[0].ready


def test_a_webhook_that_refuses_the_kubelets_deletion_fails_no_request(server: Webhooks) -> None:
    """It is asked without the lock, and the request that settles is not handled again because of it."""
    allowed, refused, gone = threading.Event(), threading.Event(), threading.Event()

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        return {"allowed": allowed.is_set()}

    def heard(event: Any) -> None:
        if getattr(event.object, "reason", "") == "ReportRefused":
            refused.set()
        if event.type == "DELETED" and event.object.kind == "Pod":
            gone.set()

    with Cluster.simulated(1) as cluster, serve(cluster, service_accounts=False) as service:
        with service.lock:
            cluster.apply([pod()])
            cluster.run_for(5)
        hook = server.hook("/gone", answer, ["pods"], matchConditions=[
            {"name": "kubelet", "expression": "request.userInfo.username.startsWith('system:node:')"}
        ])  # fmt: skip
        hook["rules"][0]["operations"] = ["DELETE"]
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        cluster.api.store.subscribe(heard)
        with service.lock:
            cluster.apply([{**kind, "metadata": {"name": "v"}, "webhooks": [hook]}])
            cluster.delete("Pod", "web")
            cluster.run_for(3)
        assert refused.wait(SECONDS), "the webhook has been asked"
        with service.lock:
            assert [one.name for one in cluster.pods()] == ["web"]
        allowed.set()
        with service.lock:
            cluster.run_for(10)
        assert gone.wait(SECONDS)
        with service.lock:
            assert cluster.pods() == []


@pytest.mark.parametrize(("release", "generation"), [("1.32", None), ("1.33", None), ("1.34", 1)])
def test_statuses_name_the_generation_that_they_are_about_from_1_34_on(release: str, generation: int | None) -> None:
    """The gate PodObservedGenerationTracking, for the kubelet's and the scheduler's conditions."""
    with Cluster.simulated(1, release=Release(release)) as cluster:
        waiting = pod("waiting")
        waiting["spec"]["nodeSelector"] = {"nowhere": "yes"}
        cluster.apply([pod(), waiting])
        cluster.run_for(5)
        status = cluster.get("Pod", "web").status
        assert status.observed_generation == generation
        assert {one.observed_generation for one in status.conditions} == {generation}
        (unscheduled,) = cluster.get("Pod", "waiting").status.conditions
        assert (unscheduled.reason, unscheduled.observed_generation) == ("Unschedulable", generation)
