"""Claims of devices in a cluster: made from templates, released when pods end, counted by quotas, kept while in use."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kitlib.api.clock import EPOCH
from kitlib.api.core import Pod
from kitlib.api.devices import FINALIZER, ResourceClaim, ResourceClaimConsumerReference
from kitlib.api.errors import Forbidden, Invalid
from kitlib.api.serialize import from_dict, load
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.controllers.manager import reconcile
from kitlib.controllers.resourceclaim import POD_CLAIM, claim_from, put_allocation

TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  metadata: {labels: {team: a}, annotations: {note: x}}
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
"""
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
    },
}


@pytest.fixture
def api() -> APIServer:
    made = APIServer()
    for obj in load(TEMPLATE):
        made.create(obj)
    return made


def claims(api: APIServer) -> list[ResourceClaim]:
    reconcile(api)
    return api.store.list(ResourceClaim)


def in_use(api: APIServer, claim: ResourceClaim, *pods: Pod) -> ResourceClaim:
    """As the scheduler leaves it: allocated, and reserved for these pods."""
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [result]}}}
    claim.status = from_dict({"status": status}, ResourceClaim).status
    claim.status.reserved_for = [
        ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.metadata.uid) for pod in pods
    ]
    return put_allocation(api, claim)


def test_a_pods_claim_is_made_from_its_template_and_belongs_to_the_pod(api: APIServer) -> None:
    pod = api.create(from_dict(POD))
    (claim,) = claims(api)
    assert claim.name.startswith("web-gpu-") and len(claim.name) == len("web-gpu-") + 5
    (owner,) = claim.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "web", pod.metadata.uid, True)
    assert claim.metadata.labels == {"team": "a"}
    assert claim.metadata.annotations == {"note": "x", POD_CLAIM: "gpu"}
    exactly = claim.spec.devices.requests[0].exactly
    assert exactly is not None and (exactly.device_class_name, exactly.count) == ("gpu.example.com", 1)
    (status,) = api.store.get(Pod, "web", "default").status.resource_claim_statuses
    assert (status.name, status.resource_claim_name) == ("gpu", claim.name)
    assert len(claims(api)) == 1  # and no second one


@pytest.mark.parametrize(
    ("pod_name", "entry", "cut"),
    [(60, 20, (41, 13)), (187, 20, (51, 5)), (152, 55, (41, 15))],  # 57/82 and 57/209 of each, in whole numbers
)
def test_long_names_are_cut_in_proportion(api: APIServer, pod_name: int, entry: int, cut: tuple[int, int]) -> None:
    pod = api.create(from_dict({**POD, "metadata": {"name": "p" * pod_name, "namespace": "default"}}))
    template = load(TEMPLATE)[0]
    made = claim_from(template, pod, "c" * entry)  # type: ignore[arg-type]
    assert made.metadata.generate_name == "p" * cut[0] + "-" + "c" * cut[1]


def test_a_missing_template_is_said_once_and_the_claim_comes_when_the_template_does() -> None:
    now = EPOCH  # a clock that stands still: the controller tries again after 5 ms
    api = APIServer(lambda: now)
    api.create(from_dict(POD))
    assert claims(api) == []
    (event,) = [event for event in api.store.list("Event") if event.reason == "FailedResourceClaimCreation"]
    assert event.count == 1
    assert event.message == (
        'PodResourceClaim gpu: resource claim template "one-gpu": resourceclaimtemplate.resource.k8s.io "one-gpu" '
        "not found"
    )
    api.create(load(TEMPLATE)[0])
    now += timedelta(seconds=1)
    assert len(claims(api)) == 1


def test_a_claim_that_was_made_is_found_again_where_the_pod_does_not_know_of_it(api: APIServer) -> None:
    pod = api.create(from_dict(POD))
    (claim,) = claims(api)
    pod = api.store.get(Pod, "web", "default")
    pod.status.resource_claim_statuses = []
    api.update_status(pod)
    assert [one.name for one in claims(api)] == [claim.name]
    (status,) = api.store.get(Pod, "web", "default").status.resource_claim_statuses
    assert status.resource_claim_name == claim.name


def test_a_claim_goes_with_its_pod(api: APIServer) -> None:
    pod = api.create(from_dict(POD))
    in_use(api, claims(api)[0], pod)
    api.delete(Pod, "web", "default")
    assert claims(api) == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_claim_that_was_made_for_a_pod_goes_when_the_pod_has_ended(api: APIServer, phase: str) -> None:
    pod = api.create(from_dict(POD))
    in_use(api, claims(api)[0], pod)
    pod = api.store.get(Pod, "web", "default")
    pod.status.phase = phase
    api.update_status(pod)
    assert claims(api) == []
    reconcile(api)
    assert [one.name for one in api.store.list(Pod)] == ["web"]


def test_a_shared_claim_is_deallocated_when_its_last_user_has_gone(api: APIServer) -> None:
    made = api.create(from_dict({**SHARED}))
    one, other = (api.create(from_dict(using("shared", name))) for name in ("one", "other"))
    in_use(api, made, one, other)
    api.delete(Pod, "one", "default")
    (claim,) = claims(api)
    assert [user.name for user in claim.status.reserved_for] == ["other"]
    assert claim.status.allocation is not None and claim.metadata.finalizers == [FINALIZER]
    api.delete(Pod, "other", "default")
    (claim,) = claims(api)
    assert (claim.status.reserved_for, claim.status.allocation, claim.metadata.finalizers) == ([], None, [])


SHARED: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "shared", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}},
}


def using(claim: str, name: str, **spec: Any) -> dict[str, Any]:
    entry = {"name": "gpu", "resourceClaimName": claim}
    meta = {"name": name, "namespace": "default"}
    return {**POD, "metadata": meta, "spec": {**POD["spec"], "resourceClaims": [entry], **spec}}


def test_an_allocated_claim_that_is_deleted_stays_until_nobody_uses_it(api: APIServer) -> None:
    made = api.create(from_dict({**SHARED}))
    pod = api.create(from_dict(using("shared", "one")))
    in_use(api, made, pod)
    api.delete(ResourceClaim, "shared", "default")
    (claim,) = claims(api)
    assert claim.metadata.deletion_timestamp is not None and claim.status.reserved_for
    api.delete(Pod, "one", "default")
    assert claims(api) == []


def test_a_pod_that_was_put_on_a_node_by_hand_reserves_its_allocated_claim(api: APIServer) -> None:
    made = api.create(from_dict({**SHARED}))
    in_use(api, made)
    api.create(from_dict({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}))
    api.create(from_dict(using("shared", "by-hand", nodeName="a")))
    (claim,) = claims(api)
    assert [user.name for user in claim.status.reserved_for] == ["by-hand"]


def test_a_claim_never_changes_once_it_stands_and_starts_without_a_status(api: APIServer) -> None:
    made = api.create(from_dict({**SHARED, "status": {"reservedFor": [{"resource": "pods", "name": "x", "uid": "y"}]}}))
    assert made.status.reserved_for == []
    assert made.spec.devices.requests[0].exactly is not None
    made.spec.devices.requests[0].exactly.count = 2
    with pytest.raises(Invalid, match=r"spec: Invalid value: .*: field is immutable"):
        api.update(made)


def test_access_to_devices_in_use_is_for_namespaces_that_allow_it(api: APIServer) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "adminAccess": True}}
    wanted = {**SHARED, "spec": {"devices": {"requests": [request]}}}
    with pytest.raises(Invalid, match=r"requests\[0\].exactly.adminAccess: Forbidden: admin access to devices"):
        api.create(from_dict(wanted))
    space = {"metadata": {"name": "ops", "labels": {"resource.kubernetes.io/admin-access": "true"}}}
    api.create(from_dict({"apiVersion": "v1", "kind": "Namespace", **space}))
    assert api.create(from_dict({**wanted, "metadata": {"name": "shared", "namespace": "ops"}})).name == "shared"


def test_a_quota_counts_claims_and_the_devices_that_they_may_get(api: APIServer) -> None:
    hard = {"count/resourceclaims.resource.k8s.io": "5", "gpu.example.com.deviceclass.resource.k8s.io/devices": "40"}
    meta = {"name": "team", "namespace": "default"}
    api.create(from_dict({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}}))
    small = {"name": "s", "deviceClassName": "gpu.example.com", "count": 2}
    large = {"name": "l", "deviceClassName": "gpu.example.com", "count": 3}
    either = {"name": "either", "firstAvailable": [small, large]}
    everything = {"name": "all", "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "All"}}
    api.create(from_dict({**SHARED, "spec": {"devices": {"requests": [either, everything]}}}))
    used = api.store.get("ResourceQuota", "team", "default").status.used
    assert {name: str(amount) for name, amount in used.items()} == dict(zip(hard, ("1", "35"), strict=True))
    request = {"name": "six", "exactly": {"deviceClassName": "gpu.example.com", "count": 6}}
    more = {**SHARED, "metadata": {"name": "more"}, "spec": {"devices": {"requests": [request]}}}
    with pytest.raises(Forbidden, match=r"exceeded quota: team, requested: .*devices=6, used: .*=35, limited: .*=40"):
        api.create(from_dict(more))


def test_an_older_release_knows_no_claims() -> None:
    from kitlib.api.release import Release

    api = APIServer(release=Release("1.33"))
    made = api.create(from_dict(POD))
    assert (made.spec.resource_claims, made.spec.containers[0].resources.claims) == ([], [])
    switched_on = APIServer(release=Release("1.33").with_gates({"DynamicResourceAllocation": True}))
    assert switched_on.create(from_dict(POD)).spec.resource_claims
