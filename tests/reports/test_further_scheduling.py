"""Further public reports about scheduling, found by stated queries; the expected result is that of the thread.

The queries, and the reports that were passed over with the reason, are in reports.md beside this file.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.reports.scenes import (
    HOSTNAME,
    ZONE,
    apart,
    label,
    nodes,
    on_nodes,
    pod,
    spread,
    taint,
    waiting,
    why,
    workload,
)
from tests.sizes import sampled


def zones(*names: str) -> list[dict[str, Any]]:
    """Return nodes n1, n2, … in these zones."""
    return [{"name": f"n{i + 1}", "labels": {ZONE: zone}} for i, zone in enumerate(names)]


def new_version(cluster: Any, kind: str, name: str) -> None:
    cluster.patch(kind, name, {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})


# Spread constraints.


def test_kubernetes_86037_a_pod_of_a_cordoned_zone_waits() -> None:
    """The case has a pod in each zone, maxSkew 1, one zone cordoned, its pod deleted: its successor stays Pending."""
    cluster = nodes(*zones("a", "b", "c"))
    cluster.apply(workload("Deployment", "web", 3, **spread(ZONE)))
    cluster.cordon("n3")
    (there,) = [one.name for one in cluster.pods() if one.spec.node_name == "n3"]
    cluster.delete("Pod", there)
    cluster.advance(30)
    assert on_nodes(cluster) == {"n1": 1, "n2": 1, "": 1}


def test_kubernetes_91152_with_one_domain_there_is_no_skew() -> None:
    """The case has two replicas and one node labelled zone=1: the reporter expected the second to wait; both run."""
    cluster = nodes({"name": "n1", "labels": {"zone": "1"}})
    cluster.apply(workload("StatefulSet", "nginx", 2, **spread("zone", app="nginx")))
    assert on_nodes(cluster) == {"n1": 2}


def test_kubernetes_109364_two_constraints_that_no_node_meets_any_more() -> None:
    """Zone A has two nodes, zone B one; of seven replicas five run, the sixth finds no node that meets both."""
    cluster = nodes(*zones("a", "a", "b"))
    both = [
        *spread(ZONE, app="test")["topologySpreadConstraints"],
        *spread(HOSTNAME, app="test")["topologySpreadConstraints"],
    ]
    cluster.apply(workload("StatefulSet", "test", 7, topologySpreadConstraints=both))
    assert on_nodes(cluster)[""] == 1 and sum(on_nodes(cluster).values()) == 6
    assert why(cluster, "test-5").startswith("0/3 nodes are available: 3 node(s) didn't match pod topology spread")


def test_kubernetes_93565_schedule_anyway_spreads_within_one_zone() -> None:
    """Four replicas on three nodes of one zone, one of them tainted and tolerated: 2, 1, 1 since 1.19."""
    cluster = nodes(*zones("a", "a", "a"))
    taint(cluster, "n1", "node-role.kubernetes.io/control-plane", "NoSchedule")
    both = [
        *spread(ZONE, "ScheduleAnyway", app="dns")["topologySpreadConstraints"],
        *spread(HOSTNAME, "ScheduleAnyway", app="dns")["topologySpreadConstraints"],
    ]
    tolerates = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}]
    cluster.apply(workload("Deployment", "dns", 4, topologySpreadConstraints=both, tolerations=tolerates))
    assert sorted(on_nodes(cluster).values()) == [1, 1, 2]


def test_kubernetes_97687_schedule_anyway_does_not_keep_pods_from_unlabelled_nodes() -> None:
    """Six of eight nodes have the custom labels; pods come onto the other two as well once these score as high."""
    listed = [{"name": f"n{i}", "cpus": 1, "labels": {"zone": f"zone{i % 2}"}} for i in range(6)]
    cluster = nodes(*listed, {"name": "bare1", "cpus": 1}, {"name": "bare2", "cpus": 1})
    cluster.apply(workload("StatefulSet", "web", 8, cpu="600m", **spread("zone", "ScheduleAnyway")))
    assert on_nodes(cluster)["bare1"] == on_nodes(cluster)["bare2"] == 1


# Anti-affinity and rollouts.


@pytest.mark.parametrize(
    ("report", "kind", "replicas", "count"),
    [
        ("kubernetes#116891", "Deployment", 3, 3),
        ("kubernetes#56539", "Deployment", 2, 2),
        ("Project-HAMi/HAMi#1933", "Deployment", 1, 1),
        ("Mellanox/nvidia-k8s-ipam PR 28", "Deployment", 1, 1),
        ("opstrace/opstrace#291", "Deployment", 3, 3),
    ],
)
def test_a_rollout_with_required_anti_affinity_and_no_spare_node_never_ends(
    report: str, kind: str, replicas: int, count: int
) -> None:
    cluster = nodes(*(f"n{i}" for i in range(count)))
    cluster.apply(workload(kind, "web", replicas, **apart()))
    new_version(cluster, kind, "web")
    cluster.advance(900)
    assert on_nodes(cluster)[""] == 1, report
    assert len(on_nodes(cluster)) == count + 1, report
    rules = f"{count} node(s) didn't match pod anti-affinity rules"
    assert why(cluster, waiting(cluster)[0]).startswith(f"0/{count} nodes are available: {rules}"), report


def test_hyperconverged_cluster_operator_3051_a_preference_lets_the_rollout_end() -> None:
    """Two replicas on two selected nodes of four: required stays Pending, preferred goes on."""
    listed = [{"name": f"n{i}", "labels": {"infra": "yes"} if i < 2 else {}} for i in range(4)]
    hard = apart()["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    soft = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": hard}]}
    for affinity, left in (({"requiredDuringSchedulingIgnoredDuringExecution": [hard]}, 1), (soft, 0)):
        cluster = nodes(*listed)
        spec = {"affinity": {"podAntiAffinity": affinity}, "nodeSelector": {"infra": "yes"}}
        cluster.apply(workload("Deployment", "web", 2, **spec))
        new_version(cluster, "Deployment", "web")
        cluster.advance(60)
        assert len(waiting(cluster)) == left


def test_kubernetes_110718_a_stateful_set_does_not_replace_the_pod_that_cannot_start() -> None:
    """Two replicas kept apart on one node; the softer template does not reach the pod that waits."""
    cluster = nodes("n1")
    cluster.apply(workload("StatefulSet", "web", 2, **apart()))
    assert waiting(cluster) == ["web-1"]
    cluster.patch("StatefulSet", "web", {"spec": {"template": {"spec": {"affinity": {"podAntiAffinity": None}}}}})
    cluster.advance(600)
    assert waiting(cluster) == ["web-1"]
    assert "didn't match pod anti-affinity rules" in why(cluster, "web-1")


# Resources.


def test_kubernetes_124282_an_init_containers_request_counts_as_long_as_the_pod_lives() -> None:
    """3 CPUs for initialization, 30m afterwards, on 3.5: the second replica waits."""
    cluster = Cluster.simulated([{"name": "n1", "cpus": 4}])
    first = {"name": "init", "image": "busybox", "command": ["true"], "resources": {"requests": {"cpu": "3"}}}
    main = {"image": "busybox", "command": ["sleep", "3600"]}
    cluster.apply(
        [
            pod("system", "500m", container=main),
            workload("Deployment", "web", 1, cpu="30m", container=main, initContainers=[first]),
        ]
    )
    cluster.advance(30)
    assert all(one.status.phase == "Running" for one in cluster.pods())
    cluster.scale("Deployment", "web", 2)
    cluster.advance(30)
    text = "0/1 nodes are available: 1 Insufficient cpu. "
    preemption = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert why(cluster, waiting(cluster)[0]).replace("no new claims to deallocate, ", "") == text + preemption


def test_kubernetes_33777_all_cpus_of_a_node_are_never_free() -> None:
    """Executors of 4 CPUs on nodes of 4, on each of which an agent runs: Insufficient cpu; with 3 they fit."""
    cluster = nodes(*({"name": f"n{i}", "cpus": 4} for i in range(4)))
    cluster.apply(workload("DaemonSet", "agent", 0, cpu="100m"))
    cluster.apply([pod("four", "4"), pod("three", "3")])
    assert waiting(cluster) == ["four"] and "4 Insufficient cpu" in why(cluster, "four")


@pytest.mark.parametrize(
    ("report", "replicas", "cpu", "run"),
    sampled(
        [
            pytest.param("kubernetes#89007", 1, "8", 0, id="more than the node has"),
            pytest.param("kubernetes#106419", 3, "2", 1, id="more replicas than fit"),
            pytest.param("kubernetes#42433", 2, "3", 1, id="the controller ignores pods that are OutOfcpu"),
        ],
        3,
        pytest.mark.thorough,
    ),
)
def test_a_workload_that_names_its_node_makes_pods_without_end(report: str, replicas: int, cpu: str, run: int) -> None:
    cluster = Cluster.simulated([{"name": "n1", "cpus": 4}])
    main = {"image": "busybox", "command": ["sleep", "3600"]}
    cluster.apply(workload("Deployment", "web", replicas, cpu=cpu, nodeName="n1", container=main))
    counts = []
    for _ in range(3):
        cluster.advance(20)
        counts.append(Counter(one.status.reason or one.status.phase for one in cluster.pods()))
    assert [found["Running"] for found in counts] == [run + (cpu == "2")] * 3, report
    made = [found["OutOfcpu"] for found in counts]
    assert 100 < made[0] < made[1] < made[2] < 500, report


def test_kubernetes_98928_a_pod_that_the_kubelet_refused_is_not_scheduled_again() -> None:
    """OutOfcpu is final: the pod keeps its node, although another one has room."""
    cluster = Cluster.simulated([{"name": "n1", "cpus": 1}, {"name": "n2", "cpus": 4}])
    cluster.apply(pod("p", "2", nodeName="n1"))
    cluster.advance(600)
    found = cluster.pod("p")
    assert (found.spec.node_name, found.status.phase, found.status.reason) == ("n1", "Failed", "OutOfcpu")


# Taints and DaemonSets.


@pytest.mark.parametrize("report", ["kubernetes#53556", "kubernetes PR 48189"])
def test_a_no_schedule_taint_leaves_daemon_pods_and_admits_no_new_ones(report: str) -> None:
    cluster = nodes("n1", "n2")
    cluster.apply(workload("DaemonSet", "agent", 0))
    taint(cluster, "n1", "user", "NoSchedule")
    cluster.advance(60)
    assert on_nodes(cluster) == {"n1": 1, "n2": 1}, report
    (there,) = [one.name for one in cluster.pods() if one.spec.node_name == "n1"]
    cluster.delete("Pod", there)
    cluster.advance(60)
    assert on_nodes(cluster) == {"n2": 1}, report


def test_piraeus_operator_846_daemon_sets_ignore_a_preference_and_obey_no_execute() -> None:
    cluster = nodes("n1", "n2", "n3")
    taint(cluster, "n1", "outdated", "PreferNoSchedule")
    cluster.apply(workload("DaemonSet", "agent", 0))
    assert on_nodes(cluster) == {"n1": 1, "n2": 1, "n3": 1}
    taint(cluster, "n2", "user", "NoSchedule")
    taint(cluster, "n3", "user", "NoExecute")
    cluster.advance(60)
    assert on_nodes(cluster) == {"n1": 1, "n2": 1}


def test_mojaloop_4355_daemon_sets_that_do_not_tolerate_leave_nodes_without_their_pod() -> None:
    """Six control-plane nodes, three of them tainted for infrastructure: three pods."""
    cluster = nodes(*(f"m{i}" for i in range(1, 7)))
    for name in ("m4", "m5", "m6"):
        taint(cluster, name, "infra-workload", "NoSchedule")
    cluster.apply(workload("DaemonSet", "istio-cni-node", 0))
    assert on_nodes(cluster) == {"m1": 1, "m2": 1, "m3": 1}
    assert cluster.get("DaemonSet", "istio-cni-node").status["desiredNumberScheduled"] == 3


def test_kubernetes_45349_daemon_pods_tolerate_a_node_that_is_gone_for_ever() -> None:
    cluster = nodes("n1")
    cluster.apply(workload("DaemonSet", "agent", 0))
    found = {(one.key, one.effect): one.toleration_seconds for one in cluster.pods()[0].spec.tolerations}
    assert found["node.kubernetes.io/not-ready", "NoExecute"] is None
    assert found["node.kubernetes.io/unreachable", "NoExecute"] is None


# Volumes.


def volume(name: str, zone: str, size: str = "1Gi") -> dict[str, Any]:
    there = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]}
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "disk.example", "volumeHandle": name},
        "nodeAffinity": {"required": there},
        "storageClassName": "disk",
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(name: str, volume_name: str = "") -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "disk"}
    if volume_name:
        spec["volumeName"] = volume_name
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def disk(mode: str) -> dict[str, Any]:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "disk"}}
    return {**kind, "provisioner": "disk.example", "volumeBindingMode": mode}


def uses(*names: str) -> dict[str, Any]:
    return {"volumes": [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in names]}


def test_k8s_csi_lvm_3_a_local_volume_keeps_its_pod_where_it_is() -> None:
    """A node selector for another node than the volume's: no node is left."""
    cluster = nodes(*zones("a", "b"), release="1.30")
    label(cluster, "n2", wanted="yes")
    cluster.apply([disk("Immediate"), volume("v", "a"), claim("c")])
    cluster.apply(pod("p", nodeSelector={"wanted": "yes"}, **uses("c")))
    assert "1 node(s) had volume node affinity conflict" in why(cluster, "p")


def test_marketplace_k8s_app_tools_572_two_claims_in_two_zones() -> None:
    """Bound at once they may be in different zones, so that no node serves both; waiting for the pod they agree."""
    made = [volume("va", "a"), volume("vb", "b")]
    cluster = nodes(*zones("a", "b"))
    cluster.apply([disk("Immediate"), *made, claim("one", "va"), claim("two", "vb"), pod("p", **uses("one", "two"))])
    assert "2 node(s) didn't match PersistentVolume's node affinity" in why(cluster, "p")
    late = nodes(*zones("a", "b"))
    waits = {**disk("WaitForFirstConsumer"), "provisioner": "kubernetes.io/no-provisioner"}
    late.apply([waits, *made, volume("vb2", "b"), claim("one"), claim("two")])
    late.apply(pod("p", **uses("one", "two")))
    late.advance(2)
    assert late.pod("p").spec.node_name == "n2"


def test_radondb_395_two_nodes_elsewhere_and_one_that_is_tainted() -> None:
    cluster = nodes(*zones("a", "a", "b"), release="1.23")
    taint(cluster, "n3", "node-role.kubernetes.io/master", "NoSchedule")
    cluster.apply([disk("Immediate"), volume("v", "c"), claim("c", "v"), pod("p", **uses("c"))])
    text = why(cluster, "p")
    assert "1 node(s) had taint {node-role.kubernetes.io/master: }, that the pod didn't tolerate" in text
    assert "2 node(s) had volume node affinity conflict" in text


def test_openebs_website_528_a_pod_that_names_its_node_leaves_its_claim_pending() -> None:
    cluster = Cluster.simulated(1)
    (node,) = [one.name for one in cluster.list("Node")]
    mounts = {"volumeMounts": [{"name": "c", "mountPath": "/data"}]}
    local = {**disk("WaitForFirstConsumer"), "provisioner": "openebs.io/local"}
    cluster.apply([local, claim("c"), pod("p", nodeName=node, container=mounts, **uses("c"))])
    cluster.advance(120)
    assert cluster.get("pvc", "c").status.phase == "Pending" and cluster.pod("p").status.phase == "Pending"
