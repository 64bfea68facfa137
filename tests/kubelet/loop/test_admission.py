"""Pods that a kubelet refuses or makes wait: status, events, and the displayed reasons."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kitlib.api.resource import Quantity
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.controllers.builders import told, workload

PORT = {"ports": [{"containerPort": 80, "hostPort": 8080}]}


def pod(name: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    one = {"name": "app", "image": "busybox", "command": ["sleep", "1000"], **(container or {})}
    spec = {"nodeName": "node-1", "containers": [one], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def status(cluster: SimulatedCluster, name: str) -> tuple[str, str, str]:
    found = cluster.pod(name).status
    return found.phase, found.reason, found.message


def warnings(cluster: SimulatedCluster, name: str) -> list[tuple[str, str]]:
    listed = [one for one in cluster.list("Event") if one.type == "Warning" and one.involved_object.name == name]
    return [(one.reason, one.message) for one in listed]


def test_two_pods_that_name_their_node_do_not_share_a_port() -> None:
    cluster = Cluster.simulated(2)
    cluster.apply([pod("a", PORT), pod("b", PORT), pod("c", PORT, nodeName="node-2")])
    text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert {name: status(cluster, name)[0] for name in "abc"} == {"a": "Running", "b": "Failed", "c": "Running"}
    assert status(cluster, "b") == ("Failed", "NodePorts", f"Pod was rejected: {text}")
    assert warnings(cluster, "b") == [("NodePorts", text)]
    cluster.delete("Pod", "a")
    cluster.delete("Pod", "b")
    cluster.advance(31)
    cluster.apply(pod("d", PORT))
    assert status(cluster, "d")[0] == "Running"


def test_a_rollout_of_a_deployment_that_names_its_node_and_a_port_is_refused_again_and_again() -> None:
    cluster = Cluster.simulated(1)
    wanted = workload("Deployment", "web", 1)
    spec = wanted["spec"]["template"]["spec"]
    spec["nodeName"] = "node-1"
    spec["containers"][0] |= PORT
    cluster.apply(wanted)
    assert Counter(one.status.phase for one in cluster.pods()) == {"Running": 1}
    cluster.patch("Deployment", "web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    cluster.advance(10)
    found = Counter((one.status.phase, one.status.reason) for one in cluster.pods())
    assert found.pop(("Running", "")) == 1
    assert list(found) == [("Failed", "NodePorts")] and 60 < found["Failed", "NodePorts"] < 90


def test_labels_and_taints_are_those_of_the_node_object_now() -> None:
    cluster = Cluster.simulated(1)
    selects = {"nodeSelector": {"disk": "ssd"}}
    cluster.apply(pod("early", **selects))
    cluster.patch("Node", "node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    cluster.apply(pod("late", **selects))
    assert status(cluster, "early")[1] == "NodeAffinity"
    assert status(cluster, "late")[0] == "Running"
    taint = {"key": "maintenance", "effect": "NoExecute"}
    cluster.patch("Node", "node-1", {"spec": {"taints": [taint]}})
    tolerates = {"tolerations": [{"operator": "Exists"}]}
    cluster.apply([pod("refused", tolerations=[{"key": "x", "operator": "Exists"}]), pod("tolerant", **tolerates)])
    assert status(cluster, "tolerant")[0] == "Running"
    assert not [one for one in cluster.pods() if one.name == "refused" and one.status.phase == "Running"]


def test_a_critical_pod_makes_room_but_not_against_another_reason() -> None:
    cluster = Cluster.simulated([{"cpus": 2}])
    asks = {"resources": {"requests": {"cpu": "1500m"}}}
    critical = {"priorityClassName": "system-node-critical"}
    cluster.apply(pod("first", asks))
    cluster.apply(pod("selective", asks, nodeSelector={"disk": "ssd"}, **critical))
    assert status(cluster, "selective")[1] == "NodeAffinity" and status(cluster, "first")[0] == "Running"
    cluster.apply(pod("second", asks, **critical))
    cluster.advance(29)
    assert (status(cluster, "second")[0], status(cluster, "first")[0]) == ("Pending", "Running")
    cluster.advance(1)  # `sleep` has no handler for SIGTERM: the victim's grace period passes
    assert status(cluster, "second")[0] == "Running" and status(cluster, "first")[1] == "Preempting"


@pytest.mark.parametrize("bound", [False, True])
def test_a_pod_waits_for_its_claim_with_the_kubelets_words(bound: bool) -> None:
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    uses = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a", mounts, **uses))
    which = "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]"
    start = f"Unable to attach or mount volumes: {which}: error processing PVC default/c"
    missing = f'{start}: failed to fetch PVC from API server: persistentvolumeclaims "c" not found'
    assert warnings(cluster, "a") == [("FailedMount", missing)]
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}}
    late = {**kind, "provisioner": "kitlib.example/hostpath", "volumeBindingMode": "WaitForFirstConsumer"}
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    cluster.apply([late, {**claim, "spec": {**asked, "storageClassName": "late"}}])
    cluster.advance(21)
    assert status(cluster, "a")[0] == "Pending"
    assert ("FailedMount", f"{start}: PVC is not bound") in warnings(cluster, "a")
    if bound:  # another pod that passes the scheduler
        cluster.apply(pod("b", mounts, nodeName=None, **uses))
        cluster.advance(20)
        assert status(cluster, "a")[0] == status(cluster, "b")[0] == "Running"


def test_a_claim_that_no_container_mounts_is_not_waited_for() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]))
    assert status(cluster, "a")[0] == "Running"


def test_hints_are_shown_where_the_topology_manager_refuses_a_pod() -> None:
    machine = {
        "topology": {"sockets": 1, "numa": 2, "cores": 2, "threads": 1},
        "memory": "16Gi",
        "kubelet": ["--cpu-manager-policy=static", "--reserved-cpus=0", "--topology-manager-policy=single-numa-node"],
    }
    cluster = Cluster.simulated([machine])
    limits = {"limits": {"cpu": "3", "memory": "64Mi"}}
    cluster.apply(pod("wide", {"resources": limits}, nodeName=None))
    name = cluster.pods()[0].spec.node_name
    assert status(cluster, "wide")[1] == "TopologyAffinityError"
    shown = [message for reason, message in told(cluster, "Pod") if reason == "TopologyHints"]
    text = "cpu: [0 1] true; merged: any false"
    assert shown == [f"topology manager, policy single-numa-node, hints of app: {text}"]
    entries = cluster.node(name).kubelet.timeline.of("topologymanager")
    assert [(one.action, one.about, one.detail) for one in entries] == [("topology hints of", "default/wide/app", text)]


EVICTION_HARD = 100 * 2**20
"""The kubelet's default of memory.available, which is not allocatable."""


@pytest.mark.parametrize(
    ("requests", "reason", "figures"),
    [
        ({"cpu": "5"}, "OutOfcpu", "cpu, requested: 5000, used: 1000, capacity: 4000"),
        ({"cpu": "3001m"}, "OutOfcpu", "cpu, requested: 3001, used: 1000, capacity: 4000"),
        ({"cpu": "3"}, "", ""),
        (
            {"memory": "8Gi"},
            "OutOfmemory",
            f"memory, requested: {8 * 2**30}, used: {2**30}, capacity: {8 * 2**30 - EVICTION_HARD}",
        ),
        ({"cpu": "5", "memory": "8Gi"}, "OutOfcpu", "cpu, requested: 5000, used: 1000, capacity: 4000"),
        ({"example.com/gpu": "1"}, "", ""),
    ],
    ids=["cpu", "one thousandth too much", "exactly", "memory", "the first of two", "a resource that it does not know"],
)
def test_a_pod_that_names_a_node_without_room(requests: dict[str, str], reason: str, figures: str) -> None:
    """Source: lifecycle predicateAdmitHandler.Admit, noderesources InsufficientResource."""
    with Cluster.simulated(1, cpus=4, memory="8Gi", kubelet={"enforceNodeAllocatable": ["pods"]}) as cluster:
        for name, amounts in (("first", {"cpu": "1", "memory": "1Gi"}), ("second", requests)):
            resources = {"requests": amounts, "limits": {k: v for k, v in amounts.items() if "/" in k}}
            spec = {"nodeName": "node-1", "containers": [{"name": "c", "image": "x", "resources": resources}]}
            cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
            cluster.advance(2)
        status = cluster.pod("second").status
        assert (status.phase, status.reason) == (("Failed", reason) if reason else ("Running", ""))
        assert figures in status.message


@pytest.mark.parametrize(
    ("missing", "victims", "ended"),
    [("500m", ("500m", "2"), [0]), ("501m", ("500m", "2"), [1]), ("1500m", ("1", "1", "1"), [0, 1])],
    ids=["the small one", "the large one", "two"],
)
def test_a_critical_pod_ends_as_much_as_is_missing(missing: str, victims: tuple[str, ...], ended: list[int]) -> None:
    """Source: CriticalPodAdmissionHandler.HandleAdmissionFailure; the node is full with the victims."""
    whole = sum(float(Quantity(one)) for one in victims)
    with Cluster.simulated(1, cpus=int(-(-whole // 1))) as cluster:
        rest = f"{int(1000 * (-(-whole // 1) - whole))}m"
        for name, cpu in [*((f"v{i}", one) for i, one in enumerate(victims)), ("rest", rest)]:
            container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
            cluster.apply(pod(name, container, nodeName="node-1", terminationGracePeriodSeconds=0))
        cluster.advance(2)
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": missing}}}
        critical = pod("critical", container, nodeName="node-1", priorityClassName="system-node-critical")
        critical["metadata"]["namespace"] = "kube-system"
        cluster.apply(critical)
        cluster.advance(3)
        phases = [cluster.pod(f"v{i}").status.phase for i in range(len(victims))]
        assert [i for i, phase in enumerate(phases) if phase == "Failed"] == ended
