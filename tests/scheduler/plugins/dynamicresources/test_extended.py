"""Extended resources backed by claims: which class stands behind, what is asked for, and a pod's whole way."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import DeviceClass, ResourceClaim
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.scheduler.framework.dra_manager import backed_resources, device_class_of
from kitlib.scheduler.plugins.dynamicresources.extended import requests_of

GPU = "example.com/gpu"


def device_class(name: str, resource: str | None = None, created: str | None = None) -> DeviceClass:
    meta = {"name": name} | ({"creationTimestamp": created} if created else {})
    return from_dict({"metadata": meta, "spec": {"extendedResourceName": resource}}, DeviceClass)


def classes(*some: DeviceClass) -> dict[str, DeviceClass]:
    return {one.name: one for one in some}


@pytest.mark.parametrize(
    ("resource", "known", "expected"),
    [
        (GPU, [device_class("a", GPU)], "a"),
        (GPU, [device_class("a"), device_class("b", "example.com/other")], None),
        (GPU, [device_class("b", GPU), device_class("a", GPU)], "a"),
        (
            GPU,
            [device_class("a", GPU, "2026-01-01T00:00:00Z"), device_class("b", GPU, "2026-01-02T00:00:00Z")],
            "b",
        ),
        ("deviceclass.resource.kubernetes.io/a", [device_class("a")], "a"),
    ],
    ids=["named", "not named", "first by name", "youngest", "implicit"],
)
def test_a_class_stands_behind_a_resource(resource: str, known: list[DeviceClass], expected: str | None) -> None:
    found = device_class_of(resource, classes(*known))
    assert (found.name if found is not None else None) == expected


@pytest.mark.parametrize(("release", "expected"), [("1.36", [GPU]), ("1.35", [])])
def test_the_gate_is_on_from_1_36(release: str, expected: list[str]) -> None:
    known = classes(device_class("a", GPU), device_class("c", "cpu"))
    assert backed_resources(["cpu", GPU, "example.com/other"], known, Release(release)) == expected


def container(name: str, gpus: int, **more: Any) -> dict[str, Any]:
    amounts = {"cpu": "1", GPU: str(gpus)} if gpus else {"cpu": "1"}
    return {"name": name, "image": "x", "resources": {"requests": amounts, "limits": amounts}, **more}


def pod(containers: list[dict[str, Any]], inits: list[dict[str, Any]] | None = None) -> Pod:
    spec = {"containers": containers, "initContainers": inits or []}
    return set_defaults(from_dict({"metadata": {"name": "p"}, "spec": spec}, Pod))


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("inits", "containers", "requests", "mappings"),
    [
        ([], [container("a", 2)], {"container-0-request-1": 2}, {"a": ["container-0-request-1"]}),
        (
            [],
            [container("a", 1), container("b", 0), container("c", 3)],
            {"container-0-request-1": 1, "container-2-request-1": 3},
            {"a": ["container-0-request-1"], "c": ["container-2-request-1"]},
        ),
        (
            [container("i", 2)],
            [container("a", 3)],
            {"container-1-request-1": 3},
            {"i": ["container-1-request-1"], "a": ["container-1-request-1"]},
        ),
        (
            [container("i", 4), container("j", 5)],
            [container("a", 1)],
            {"container-1-request-1": 4, "container-2-request-1": 1},
            {
                "i": ["container-2-request-1", "container-1-request-1"],
                "j": ["container-2-request-1", "container-1-request-1"],
                "a": ["container-2-request-1"],
            },
        ),
        (
            [container("s", 1, **SIDECAR), container("i", 1)],
            [container("a", 1)],
            {"container-0-request-1": 1, "container-2-request-1": 1},
            {"s": ["container-0-request-1"], "i": ["container-2-request-1"], "a": ["container-2-request-1"]},
        ),
    ],
    ids=["one", "several", "init reuses", "the largest rest of init containers", "sidecar keeps its own"],
)
def test_each_container_has_a_request_and_init_containers_reuse_later_ones(
    inits: list[dict[str, Any]],
    containers: list[dict[str, Any]],
    requests: dict[str, int],
    mappings: dict[str, list[str]],
) -> None:
    """Source: createRequestsAndMappings."""
    found, taken = requests_of(pod(containers, inits), [GPU], classes(device_class("gpu", GPU)))
    assert {one.name: one.exactly.count for one in found if one.exactly is not None} == requests
    seen: dict[str, list[str]] = {}
    for one in taken:
        seen.setdefault(one.container_name, []).append(one.request_name)
    assert seen == mappings


DEVICES = f"""
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{extendedResourceName: {GPU}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: n2}}
spec:
  driver: gpu.example.com
  nodeName: n2
  pool: {{name: n2, generation: 1, resourceSliceCount: 1}}
  devices: [{{name: gpu-0}}, {{name: gpu-1}}]
"""


def manifest(name: str, gpus: int) -> dict[str, Any]:
    spec = {"containers": [container("c", gpus)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def cluster(release: str | None = None) -> SimulatedCluster:
    made = Cluster.simulated([{"name": "n1", "cpus": 4}, {"name": "n2", "cpus": 4}], release=release)
    made.apply(DEVICES)
    return made


def claims(made: SimulatedCluster) -> list[ResourceClaim]:
    found: list[ResourceClaim] = made.list("ResourceClaim")
    return found


def test_a_pod_gets_a_claim_of_its_own_and_gives_the_devices_back() -> None:
    made = cluster()
    made.apply(manifest("p", 1))
    placed = made.pod("p")
    assert (placed.spec.node_name, placed.status.phase) == ("n2", "Running")
    (claim,) = claims(made)
    status = placed.status.extended_resource_claim_status
    assert status is not None
    assert status.resource_claim_name == claim.name
    assert claim.name.startswith("p-extended-resources-")
    assert [(one.container_name, one.resource_name, one.request_name) for one in status.request_mappings] == [
        ("c", GPU, "container-0-request-1")
    ]
    assert [one.device for one in claim.status.allocation.devices.results] == ["gpu-0"]  # type: ignore[union-attr]
    assert [user.name for user in claim.status.reserved_for] == ["p"]
    made.apply(manifest("q", 2))
    assert made.pod("q").spec.node_name == ""
    made.delete("pod", "p")
    made.advance(15)
    assert made.pod("q").spec.node_name == "n2"
    assert [[one.device for one in c.status.allocation.devices.results] for c in claims(made)] == [["gpu-0", "gpu-1"]]  # type: ignore[union-attr]


def test_a_node_without_devices_and_without_the_resource_does_not_do() -> None:
    made = cluster()
    made.apply(manifest("p", 3))
    (event,) = [e for e in made.events("p") if e.reason == "FailedScheduling"]
    assert event.message.startswith("0/2 nodes are available: 2 cannot allocate all claims.")
    assert claims(made) == []


def test_before_1_36_only_a_device_plugin_offers_the_resource() -> None:
    made = cluster("1.35")
    made.apply(manifest("p", 1))
    (event,) = [e for e in made.events("p") if e.reason == "FailedScheduling"]
    assert event.message.startswith(f"0/2 nodes are available: 2 Insufficient {GPU}.")
