"""Pods with claims in a whole cluster: from the template to the container and back, and a dump of it explained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.api.errors import KitError
from kitlib.api.serialize import load, to_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.views.frames import claims_frame

DEVICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: b-gpu}
spec:
  driver: gpu.example.com
  nodeName: b
  pool: {name: b, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}]
"""
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: i, command: [sleep, inf], resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""


@pytest.fixture
def cluster() -> Iterator[SimulatedCluster]:
    with Cluster.simulated(nodes=[{"name": name, "cpus": 4, "memory": "8Gi"} for name in "ab"]) as made:
        yield made


def apply(cluster: SimulatedCluster, *pods: str) -> None:
    for name in pods:
        cluster.apply(POD.replace("NAME", name))


def where(cluster: SimulatedCluster) -> dict[str, str]:
    return {pod.name: pod.spec.node_name for pod in cluster.pods()}


def held(cluster: SimulatedCluster) -> dict[str, list[str]]:
    """Device -> the pods that its claim is reserved for."""
    return {
        result.device: [user.name for user in claim.status.reserved_for]
        for claim in cluster.list("ResourceClaim")
        for result in (claim.status.allocation.devices.results if claim.status.allocation else ())
    }


def test_claims_are_made_allocated_reserved_and_given_back(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    apply(cluster, "x", "y", "z")
    assert where(cluster) == {"x": "b", "y": "b", "z": ""}
    assert held(cluster) == {"gpu-0": ["x"], "gpu-1": ["y"]}
    message = cluster.decision("z").message
    assert message.startswith(
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, preemption:"
    )
    cluster.delete("pod", "x")
    cluster.advance(15)
    assert where(cluster) == {"y": "b", "z": "b"}
    assert held(cluster) == {"gpu-0": ["z"], "gpu-1": ["y"]}


def test_a_pod_waits_for_its_template_its_class_and_its_devices(cluster: SimulatedCluster) -> None:
    apply(cluster, "x")
    with pytest.raises(KitError, match='tried to schedule this pod: pod "default/x": ResourceClaim not created yet'):
        cluster.decision("x")
    cluster.apply(TEMPLATE)
    cluster.advance(1)  # the claim controller tries again after its back-off
    assert cluster.decision("x").filters is not None
    assert "request gpu: device class gpu does not exist" in cluster.decision("x").message
    of_class, published = DEVICES.split("---")
    cluster.apply(of_class)
    cluster.advance(15)
    assert "2 cannot allocate all claims" in cluster.decision("x").message
    cluster.apply(published)
    cluster.advance(15)
    assert where(cluster) == {"x": "b"}


def test_what_is_broken_is_tried_again_after_its_back_off_and_says_why(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES.replace("""'device.driver == "gpu.example.com"'""", """'device.attributes["x.y"].z == 1'"""))
    cluster.apply(TEMPLATE)
    apply(cluster, "x")
    message = cluster.decision("x").message
    assert message == (
        'running "DynamicResources" filter plugin: class gpu: selector #0: CEL runtime error: no such key: z'
    )
    cluster.advance(10)
    (event,) = [one for one in cluster.events() if one.reason == "FailedScheduling"]
    assert event.message == message and event.count > 1
    cluster.apply(DEVICES)
    cluster.advance(15)
    assert where(cluster) == {"x": "b"}


def test_a_finished_pod_gives_its_devices_back(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    short = POD.replace("[sleep, inf]", '[sleep, "3"]').replace("spec:\n", "spec:\n  restartPolicy: Never\n", 1)
    cluster.apply(short.replace("NAME", "x"))
    assert held(cluster) == {"gpu-0": ["x"]}
    cluster.advance(10)
    assert [pod.status.phase for pod in cluster.pods()] == ["Succeeded"]
    assert cluster.list("ResourceClaim") == []


def test_containers_learn_of_the_devices_that_they_take(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    other = "  - {name: other, image: i, command: [sleep, inf]}\n  resourceClaims"
    cluster.apply(
        POD.replace("NAME", "x")
        .replace("containers: [{", "containers:\n  - {")
        .replace("}]}}]\n", "}]}}\n")
        .replace("  resourceClaims", other, 1)
    )
    assert "GPU_EXAMPLE_COM=gpu-0\n" in cluster.node("b").proc("x", "c")["environ"]
    assert "GPU_EXAMPLE_COM" not in cluster.node("b").proc("x", "other")["environ"]


def test_a_container_that_takes_one_request_learns_of_that_ones_devices(cluster: SimulatedCluster) -> None:
    second = ", {name: spare, exactly: {deviceClassName: gpu}}]}}}"
    cluster.apply(DEVICES + "---" + TEMPLATE.replace("]}}}", second))
    cluster.apply(POD.replace("NAME", "x").replace("claims: [{name: gpu}]", "claims: [{name: gpu, request: spare}]"))
    assert held(cluster) == {"gpu-0": ["x"], "gpu-1": ["x"]}
    assert "GPU_EXAMPLE_COM=gpu-1\n" in cluster.node("b").proc("x", "c")["environ"]


def test_a_pod_that_the_scheduler_did_not_place_waits_in_the_kubelets_words(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    cluster.apply(POD.replace("NAME", "x").replace("spec:\n", "spec:\n  nodeName: a\n", 1))
    cluster.advance(5)
    (pod,) = cluster.pods()
    assert pod.status.phase == "Pending"
    (event,) = [one for one in cluster.events() if one.reason == "FailedPrepareDynamicResources"]
    (claim,) = cluster.list("ResourceClaim")
    assert event.count == 1 and event.message == (
        f"Failed to prepare dynamic resources: prepare dynamic resources: pod x ({pod.metadata.uid}) is not allowed to "
        f"use ResourceClaim {claim.name} ({claim.metadata.uid})"
    )


def test_the_table_of_claims_says_what_kubectl_says(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    apply(cluster, "x", "y", "z")
    frame = claims_frame(cluster)
    assert frame["state"].tolist() == ["allocated,reserved", "allocated,reserved", "pending"]
    assert frame["devices"].tolist() == ["gpu.example.com/b/gpu-0", "gpu.example.com/b/gpu-1", ""]
    assert frame["reserved for"].tolist() == ["x", "y", ""]
    cluster.delete("resourceclaim", frame["claim"][0])
    assert claims_frame(cluster)["state"][0] == "deleted,allocated,reserved"


def dump(cluster: SimulatedCluster, *kinds: str) -> Dump:
    return Dump.of_items([to_dict(obj) for kind in ("Node", "Pod", *kinds) for obj in cluster.list(kind)])


def test_a_dump_of_the_cluster_is_decided_alike(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    apply(cluster, "x", "y", "z")
    seen = dump(cluster, "ResourceClaim", "DeviceClass", "ResourceSlice")
    assert not seen.left_out
    assert seen.explain(seen.pod("z")).message == cluster.decision("z").message


def test_a_dump_without_the_claims_says_so_and_leaves_them_out(cluster: SimulatedCluster) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    apply(cluster, "x", "y", "z")
    seen = dump(cluster)
    assert [gap.kind for gap in seen.unread(seen.pod("z"))] == ["ResourceClaim", "DeviceClass", "ResourceSlice"]
    assert seen.explain(seen.pod("z")).feasible == ["a", "b"]


def test_how_many_more_fit_counts_devices() -> None:
    nodes = [{"metadata": {"name": "b"}, "status": {"allocatable": {"cpu": "9", "memory": "9Gi", "pods": "99"}}}]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x", "controller": True}
    request: dict[str, Any] = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x-gpu", "namespace": "default", "uid": "c", "ownerReferences": [owner]},
        "spec": {"devices": {"requests": [request]}},
    }
    waiting = to_dict(load(POD.replace("NAME", "x"))[0])
    waiting["metadata"] |= {"namespace": "default", "uid": "x"}
    waiting["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "x-gpu"}]}
    items = [{"apiVersion": "v1", "kind": "Node", **one} for one in nodes]
    seen = Dump.of_items([*items, waiting, claim, *(to_dict(obj) for obj in load(DEVICES))])
    placed, refused = seen.how_many(seen.pod("x"))
    assert placed == {"b": 2}
    assert refused is not None and refused.reasons_of("b") == ["cannot allocate all claims"]


def test_a_running_pods_status_keeps_the_name_of_its_claim_and_nothing_is_written_twice(
    cluster: SimulatedCluster,
) -> None:
    cluster.apply(DEVICES + "---" + TEMPLATE)
    apply(cluster, "x")
    (named,) = cluster.pod("x").status.resource_claim_statuses
    (claim,) = cluster.list("ResourceClaim")
    assert (named.name, named.resource_claim_name) == ("gpu", claim.name)
    cluster.advance(5)
    version = cluster.pod("x").metadata.resource_version
    cluster.advance(5)
    assert cluster.pod("x").metadata.resource_version == version
