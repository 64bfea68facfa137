"""Public reports about scheduling, rebuilt: each has the result of its thread, or of Kubernetes 1.36.2's source.

A report is named by repository and number. Those about claims that wait for their first pod, about refused pods and
about ports that the kubelet refuses are in tests/scheduler/plugins/test_volume_binding_writes.py,
tests/controllers/test_pace.py and tests/kubelet/loop/test_admission.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import ContainerImage, Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from tests.reports.scenes import (
    HOSTNAME,
    ZONE,
    apart,
    nodes,
    on_nodes,
    pod,
    priority,
    spread,
    taint,
    waiting,
    why,
    workload,
)


def test_kubernetes_116118_a_tainted_node_counts_as_an_empty_domain() -> None:
    """kubernetes#116118, #107464, kops PR 17472: hostname spread, tainted control plane, seven replicas."""
    cluster = nodes("cp", "w1", "w2", "w3")
    taint(cluster, "cp", "node-role.kubernetes.io/control-plane", "NoSchedule")
    cluster.apply(workload("Deployment", "web", 7, **spread(HOSTNAME)))
    assert on_nodes(cluster) == {"w1": 1, "w2": 1, "w3": 1, "": 4}
    assert "3 node(s) didn't match pod topology spread constraints" in why(cluster, waiting(cluster)[0])
    honour = nodes("cp", "w1", "w2", "w3")
    taint(honour, "cp", "node-role.kubernetes.io/control-plane", "NoSchedule")
    honour.apply(workload("Deployment", "web", 7, **spread(HOSTNAME, nodeTaintsPolicy="Honor")))
    assert sorted(on_nodes(honour).values()) == [2, 2, 3]


def budget(app: str) -> dict[str, Any]:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app}, "spec": spec}


@pytest.mark.parametrize(("release", "victims"), [("1.31", {"high", "low"}), ("1.36", {"mid"})])
def test_kubernetes_128307_the_node_whose_highest_victim_is_the_lowest(release: str, victims: set[str]) -> None:
    """kubernetes PR 128307: one violated budget on each node, priorities 1000 and 0 against 100."""
    cluster = nodes({"name": "n1", "cpus": 2}, {"name": "n2", "cpus": 2}, release=release)
    cluster.apply([priority(name, value) for name, value in (("p1000", 1000), ("p100", 100), ("p9", 10000))])
    cluster.apply(
        [
            budget("low"),
            budget("mid"),
            pod("high", "1", nodeName="n1", priorityClassName="p1000"),
            pod("low", "1", nodeName="n1"),
            pod("mid", "2", nodeName="n2", priorityClassName="p100"),
        ]
    )
    cluster.advance(1)
    cluster.apply(pod("very-high", "2", priorityClassName="p9"))
    cluster.advance(40)
    assert {"high", "low", "mid"} - {one.name for one in cluster.pods()} == victims


def test_kubernetes_140984_a_daemon_pod_does_not_preempt_its_equals() -> None:
    """kubernetes#140984, #93934, karpenter-provider-aws#4793: the node is full of pods of the same priority."""
    cluster = nodes({"name": "w1", "cpus": 2}, {"name": "w2", "cpus": 2})
    cluster.apply([pod(f"filler-{i}", "1", nodeName="w1") for i in range(2)])
    cluster.apply(workload("DaemonSet", "agent", 0, cpu="500m"))
    cluster.advance(600)
    assert on_nodes(cluster, "agent") == {"w2": 1, "": 1}
    text = why(cluster, waiting(cluster)[0])
    assert "1 Insufficient cpu" in text and "1 No preemption victims found for incoming pod" in text


@pytest.mark.parametrize("order", [("daemon", "plain"), ("plain", "daemon")])
def test_kubernetes_141227_preemption_takes_the_younger_pod_of_any_owner(order: tuple[str, str]) -> None:
    """kubernetes#141227: the DaemonSet's pod and the Deployment's are alike to the scheduler."""
    cluster = nodes({"name": "w1", "cpus": 2})
    cluster.apply(priority("high", 1000))
    made = {
        "daemon": workload("DaemonSet", "daemon", 0, cpu="1"),
        "plain": workload("Deployment", "plain", 1, cpu="1"),
    }
    for name in order:
        cluster.apply(made[name])
        cluster.advance(5)
    cluster.apply(pod("urgent", "1", priorityClassName="high"))
    cluster.advance(60)
    assert {one.metadata.labels["app"] for one in cluster.pods() if one.spec.node_name} == {order[0], "urgent"}


def test_kubernetes_106417_a_daemon_set_with_a_host_port_cannot_surge() -> None:
    """kubernetes#106417: the new pod wants the port that the old one has."""
    ports = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
    strategy = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}}
    cluster = nodes("w1", "w2")
    cluster.apply(workload("DaemonSet", "agent", 0, container=ports, of_set=strategy))
    cluster.patch("DaemonSet", "agent", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    cluster.advance(600)
    assert on_nodes(cluster) == {"w1": 1, "w2": 1, "": 2}
    assert "1 node(s) didn't have free ports for the requested pod ports" in why(cluster, waiting(cluster)[0])


def test_nri_kubernetes_356_a_rollout_on_the_hosts_network_waits_for_its_port() -> None:
    """newrelic/nri-kubernetes#356: Deployment with hostNetwork on one node."""
    cluster = nodes("w1")
    ports = {"ports": [{"containerPort": 8003}]}
    cluster.apply(workload("Deployment", "web", 1, container=ports, hostNetwork=True))
    cluster.patch("Deployment", "web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    cluster.advance(60)
    assert on_nodes(cluster) == {"w1": 1, "": 1}
    assert "1 node(s) didn't have free ports" in why(cluster, waiting(cluster)[0])


def storage(provisioner: str = "zfs.csi.openebs.io") -> list[dict[str, Any]]:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}}
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return [
        {**kind, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim},
    ]


CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}


def test_zfs_localpv_400_a_driver_that_publishes_no_capacity_has_none() -> None:
    """openebs/zfs-localpv#400, #453: CSIDriver with storageCapacity, no CSIStorageCapacity object."""
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "zfs.csi.openebs.io"},
        "spec": {"storageCapacity": True},
    }
    cluster = nodes("w1", "w2", "w3", "w4")
    cluster.apply([driver, *storage(), pod("db", **CLAIM)])
    assert "4 node(s) did not have enough free storage" in why(cluster, "db")


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.30", "node(s) had volume node affinity conflict"),
        ("1.36", "node(s) didn't match PersistentVolume's node affinity"),
    ],
)
def test_storage_has_gravity_a_volume_in_one_zone_and_room_in_the_others(release: str, text: str) -> None:
    """rack2cloud.com, "Storage Has Gravity": the volume is in zone a, room only in b and c."""
    cluster = nodes(*({"name": z, "cpus": 2, "labels": {ZONE: z}} for z in "abc"), release=release)
    there = {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "d", "volumeHandle": "h"},
            "nodeAffinity": {"required": there},
        },
    }
    claim = storage()[1]
    claim["spec"] |= {"storageClassName": "", "volumeName": "pv"}
    cluster.apply([volume, claim, pod("filler", "2", nodeName="a")])
    cluster.apply(pod("db", "1", **CLAIM))
    assert f"1 Insufficient cpu, 2 {text}" in why(cluster, "db")


def test_kubernetes_98215_a_rollout_may_break_the_skew_and_match_label_keys_keep_it() -> None:
    """kubernetes#98215: pods of the old revision count until they are gone."""
    listed = [{"name": f"{zone}{i}", "labels": {ZONE: zone}} for zone in "abc" for i in range(2)]
    cluster = nodes(*listed)
    keys = {"matchLabelKeys": ["pod-template-hash"]}
    cluster.apply(workload("Deployment", "web", 6, **spread(ZONE, **keys)))
    cluster.patch("Deployment", "web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    cluster.advance(60)
    found = on_nodes(cluster)
    assert sorted(sum(found.get(f"{zone}{i}", 0) for i in range(2)) for zone in "abc") == [2, 2, 2]


@pytest.mark.parametrize("name", ["List", "System"])
def test_kubernetes_102136_default_constraints_without_zone_labels(name: str) -> None:
    """kubernetes#102136, #98480: with MostAllocated a list of constraints packs, the system's own spread."""
    zone = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    host = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
    args: dict[str, Any] = {"defaultingType": name}
    if name == "List":
        args["defaultConstraints"] = [zone, host]
    most = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    profile = {
        "schedulerName": "default-scheduler",
        "pluginConfig": [
            {"name": "PodTopologySpread", "args": args},
            {"name": "NodeResourcesFit", "args": most},
        ],
    }
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    cluster = nodes("n1", "n2", "n3", "n4", scheduler=configuration)
    cluster.apply(workload("Deployment", "web", 8, cpu="100m"))
    assert sorted(on_nodes(cluster).values()) == ([8] if name == "List" else [2, 2, 2, 2])


def test_kubernetes_118714_default_constraints_take_no_selector() -> None:
    """kubernetes#118714."""
    one = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    args = {"defaultingType": "List", "defaultConstraints": [one]}
    profile = {"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}
    with pytest.raises(KitError, match="constraint must not define a selector, as they deduced for each pod"):
        nodes(
            "n1",
            scheduler={
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [profile],
            },
        )


def test_kubernetes_115513_a_gated_pods_selector_may_only_grow() -> None:
    """kubernetes#115513, PR 116161."""
    cluster = nodes("n1")
    cluster.apply(pod("p", schedulingGates=[{"name": "wait"}], nodeSelector={"a": "1"}))
    cluster.patch("Pod", "p", {"spec": {"nodeSelector": {"b": "2"}}})
    with pytest.raises(KitError, match="Invalid value"):
        cluster.patch("Pod", "p", {"spec": {"nodeSelector": {"a": "2"}}})
    assert cluster.pod("p").spec.node_selector == {"a": "1", "b": "2"}


@pytest.mark.parametrize(("cpus", "runs"), [(2240, False), (2250, True)])
def test_website_43157_overhead_counts_on_top_of_requests(cpus: int, runs: bool) -> None:
    """kubernetes/website#43157: 2 CPUs of requests and 250m of overhead."""
    cluster = nodes({"name": "n1", "cpus": 4})
    overhead = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    }
    cluster.apply([overhead, pod("filler", f"{4000 - cpus}m")])
    cluster.apply(pod("p", "2", runtimeClassName="kata"))
    assert (waiting(cluster) == []) == runs


def test_kubernetes_117520_a_pod_that_tolerates_for_ten_seconds_comes_back_for_ever() -> None:
    """kubernetes#117520: evicted after tolerationSeconds, and placed on the same node again."""
    cluster = nodes("n1")
    taint(cluster, "n1", "maintenance", "NoExecute")
    tolerations = [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}]
    cluster.apply(workload("Deployment", "web", 1, tolerations=tolerations))
    seen = set()
    for _ in range(6):
        (one,) = cluster.pods()
        assert one.spec.node_name == "n1"
        seen.add(one.name)
        cluster.advance(11)
    assert len(seen) == 6


def test_kubernetes_112573_a_small_image_gives_no_point() -> None:
    """kubernetes#124392, #112573: 76,595,659 bytes on one of three nodes, a share below the 23 MB minimum."""
    cluster = nodes("n1", "n2", "n3")
    node = cluster.get("Node", "n1")
    node.status.images = [ContainerImage(names=["docker.io/library/big:1"], size_bytes=76_595_659)]
    cluster.api.update_status(node)
    decision = cluster.explain(from_dict(pod("p", image="big:1"), Pod))
    assert decision.feasible == ["n1", "n2", "n3"] and decision.best == decision.feasible


def test_kubernetes_92600_a_nominated_node_that_is_cordoned_is_given_up() -> None:
    """kubernetes#92600: the pod preempts on the other node."""
    cluster = nodes({"name": "n1", "cpus": 1}, {"name": "n2", "cpus": 1})
    cluster.apply(priority("high", 1000))
    grace = {"terminationGracePeriodSeconds": 30}
    cluster.apply([pod("a", "1", nodeName="n1", **grace), pod("b", "1", nodeName="n2", **grace)])
    cluster.cordon("n1")
    cluster.apply(pod("urgent", "1", priorityClassName="high"))
    cluster.advance(60)
    assert cluster.pod("urgent").spec.node_name == "n2"


def test_pods_that_keep_apart_have_no_second_one_on_a_node() -> None:
    """ol-infrastructure PR 5389 and others of their kind: more replicas than nodes."""
    cluster = nodes("n1", "n2")
    cluster.apply(workload("Deployment", "web", 3, **apart()))
    assert on_nodes(cluster) == {"n1": 1, "n2": 1, "": 1}
    assert "2 node(s) didn't match pod anti-affinity rules" in why(cluster, waiting(cluster)[0])


def test_a_node_without_a_kubelet_keeps_its_pods_pending_and_then_terminating() -> None:
    """A Node object that nothing runs: no Ready condition, then Unknown; its pods are deleted and stay."""
    cluster = Cluster.simulated(2)
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts}
    cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ghost"}, "status": status})
    cluster.apply(pod("p", nodeName="ghost"))
    cluster.advance(55)
    assert cluster.get("Node", "ghost").status.conditions == []
    cluster.advance(10)
    ready = next(one for one in cluster.get("Node", "ghost").status.conditions if one.type == "Ready")
    text = "Kubelet never posted node status."
    assert (ready.status, ready.reason, ready.message) == ("Unknown", "NodeStatusNeverUpdated", text)
    cluster.advance(295)
    assert cluster.pod("p").metadata.deletion_timestamp is None
    cluster.advance(20)
    cluster.advance(600)
    assert cluster.pod("p").metadata.deletion_timestamp is not None and cluster.pod("p").status.phase == "Pending"
