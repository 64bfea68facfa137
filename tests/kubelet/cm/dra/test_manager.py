"""Claims of devices on a node: when they cannot be prepared, and which devices a container sees."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.dra.manager import ClaimManager


def pod(entries: list[dict[str, Any]] | None = None, claims: list[dict[str, Any]] | None = None, **status: Any) -> Pod:
    container = {"name": "c", "image": "x", "resources": {"claims": claims or []}}
    meta = {"name": "web", "namespace": "prod", "uid": "u1"}
    spec = {"containers": [container], "resourceClaims": entries or []}
    return from_dict({"metadata": meta, "spec": spec, "status": status}, Pod)


def claim(
    name: str = "gpu",
    *,
    owner: str = "",
    users: tuple[str, ...] = ("u1",),
    results: list[tuple[str, str, str]] | None = None,
) -> ResourceClaim:
    """Return a claim whose results are (request, driver, device)."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": owner, "controller": True}] if owner else []
    reserved = [{"resource": "pods", "name": "x", "uid": uid} for uid in users]
    status: dict[str, Any] = {"reservedFor": reserved}
    if results is not None:
        given = [{"request": r, "driver": driver, "pool": "p", "device": device} for r, driver, device in results]
        status["allocation"] = {"devices": {"results": given}}
    meta = {"name": name, "namespace": "prod", "uid": f"{name}-uid", "ownerReferences": owners}
    return from_dict({"metadata": meta, "status": status}, ResourceClaim)


def manager(*claims: ResourceClaim) -> ClaimManager:
    known = {("prod", one.name): one for one in claims}
    return ClaimManager(lambda namespace, name: known.get((namespace, name)))


BY_NAME = [{"name": "d", "resourceClaimName": "gpu"}]
BY_TEMPLATE = [{"name": "d", "resourceClaimTemplateName": "t"}]
MADE = {"resourceClaimStatuses": [{"name": "d", "resourceClaimName": "gpu"}]}


@pytest.mark.parametrize(
    ("made", "found", "expected"),
    [
        (pod(), [], ""),
        (pod(BY_NAME), [claim(results=[])], ""),
        (pod(BY_NAME), [], 'fetch ResourceClaim gpu: resourceclaims.resource.k8s.io "gpu" not found'),
        (
            pod(BY_NAME),
            [claim(results=[], users=("u2",))],
            "pod web (u1) is not allowed to use ResourceClaim gpu (gpu-uid)",
        ),
        (pod(BY_NAME), [claim(results=[], users=("u2", "u1"))], ""),
        (pod(BY_NAME), [claim()], "ResourceClaim gpu: not allocated"),
        (pod(BY_TEMPLATE), [], 'pod "prod/web": ResourceClaim not created yet'),
        (pod(BY_TEMPLATE, **MADE), [claim(results=[], owner="u1")], ""),
        (
            pod(BY_TEMPLATE, **MADE),
            [claim(results=[], owner="u2")],
            "ResourceClaim prod/gpu was not created for pod prod/web (pod is not owner)",
        ),
        # without a claim the entry needs none. Source: resourceclaim.Name
        (pod(BY_TEMPLATE, resourceClaimStatuses=[{"name": "d"}]), [], ""),
    ],
)
def test_the_reason_why_claims_cannot_be_prepared(made: Pod, found: list[ResourceClaim], expected: str) -> None:
    """Source: Manager.prepareResources."""
    assert manager(*found).problem(made) == (f"prepare dynamic resources: {expected}" if expected else "")


def test_a_node_that_does_not_know_claims_has_no_problem_with_them() -> None:
    assert ClaimManager().problem(pod(BY_NAME)) == ""
    assert ClaimManager().environment(pod(BY_NAME, [{"name": "d"}]), pod().spec.containers[0]) == {}


def test_a_claim_for_extended_resources_must_belong_to_the_pod() -> None:
    status = {"resourceClaimName": "gpu", "requestMappings": []}
    made = pod(extendedResourceClaimStatus=status)
    assert manager(claim(results=[], owner="u1")).problem(made) == ""
    assert "pod is not owner" in manager(claim(results=[])).problem(made)
    assert "not found" in manager().problem(made)


RESULTS = [("a", "gpu.example.com", "g1"), ("b/small", "gpu.example.com", "g2"), ("b", "net-1.io", "n1")]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([], {}),
        ([{"name": "d"}], {"GPU_EXAMPLE_COM": "g1,g2", "NET_1_IO": "n1"}),
        ([{"name": "d", "request": "a"}], {"GPU_EXAMPLE_COM": "g1"}),
        ([{"name": "d", "request": "b"}], {"GPU_EXAMPLE_COM": "g2", "NET_1_IO": "n1"}),
        ([{"name": "d", "request": "c"}], {}),
        ([{"name": "other"}], {}),
    ],
)
def test_a_container_sees_the_devices_of_its_requests(claims: list[dict[str, Any]], expected: dict[str, str]) -> None:
    made = pod(BY_NAME, claims)
    found = manager(claim(results=RESULTS)).environment(made, made.spec.containers[0])
    assert found == expected and list(found) == sorted(expected)


def test_a_claim_that_is_not_allocated_or_not_found_gives_nothing() -> None:
    made = pod(BY_NAME, [{"name": "d"}])
    assert manager(claim()).environment(made, made.spec.containers[0]) == {}
    assert manager().environment(made, made.spec.containers[0]) == {}


def test_extended_resources_reach_the_container_that_requests_them() -> None:
    def mapping(container: str, request: str) -> dict[str, str]:
        return {"containerName": container, "requestName": request, "resourceName": "example.com/gpu"}

    mappings = [mapping("c", "a"), mapping("other", "b")]
    made = pod(extendedResourceClaimStatus={"resourceClaimName": "gpu", "requestMappings": mappings})
    found = manager(claim(results=RESULTS, owner="u1")).environment(made, made.spec.containers[0])
    assert found == {"GPU_EXAMPLE_COM": "g1"}
