"""Pods without a node are scheduled; those that fit nowhere wait, back off, preempt, and say why."""

from __future__ import annotations

import pytest

from kitlib.api.core import Node
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.scheduling import ClusterScheduler
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import SUCCESS, Code, Status

ZONE = "topology.kubernetes.io/zone"
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: /srv/disk}
  nodeAffinity:
    required:
      nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [z2]}]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
status: {phase: Bound}
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: load}}
spec:
  containers: [{name: c, image: nginx, resources: {requests: {cpu: CPU}}}]
"""


def pod(name: str, cpu: str = "1", more: str = "") -> str:
    return POD.replace("NAME", name).replace("CPU", cpu) + more


def hollow(nodes: object = 2, **settings: object) -> SimulatedCluster:
    return Cluster.simulated(nodes, kubelets=False, **settings)


def failures(cluster: SimulatedCluster, name: str) -> list[tuple[str, int]]:
    return [(e.message, e.count) for e in cluster.events(name) if e.reason == "FailedScheduling"]


def test_a_pod_is_placed_bound_and_reported() -> None:
    cluster = hollow()
    (made,) = cluster.apply(pod("a"))
    assert made.spec.node_name == "node-1" and made.status.phase == "Running"
    assert [e.message for e in cluster.events("a")] == ["Successfully assigned default/a to node-1"]
    assert [c.status for c in made.status.conditions if c.type == "PodScheduled"] == ["True"]
    assert cluster.decision("a").suggested_host == "node-1"


def test_replicas_spread_over_equal_nodes() -> None:
    cluster = hollow(3)
    cluster.apply([pod(f"p{i}") for i in range(6)])
    placed = [p.spec.node_name for p in cluster.pods()]
    assert sorted(placed) == ["node-1", "node-1", "node-2", "node-2", "node-3", "node-3"]


def test_a_pod_that_fits_nowhere_waits_and_comes_when_there_is_room() -> None:
    cluster = hollow(1)
    cluster.apply(pod("a", "3"))
    (waiting,) = cluster.apply(pod("b", "2"))
    assert waiting.status.phase == "Pending"
    condition = next(c for c in waiting.status.conditions if c.type == "PodScheduled")
    assert condition.reason == "Unschedulable" and "0/1 nodes are available: 1 Insufficient cpu." in condition.message
    assert len(failures(cluster, "b")) == 1
    cluster.delete("pod", "a")
    assert cluster.pod("b").spec.node_name == "node-1"


def test_a_new_node_or_a_lifted_cordon_lets_waiting_pods_in() -> None:
    cluster = hollow(1)
    cluster.cordon("node-1")
    cluster.apply(pod("a"))
    assert cluster.pod("a").spec.node_name == ""
    cluster.add_nodes([{"name": "extra"}])
    assert cluster.pod("a").spec.node_name == "extra"
    cluster.apply(pod("b", "4"))
    cluster.cordon("node-1", False)
    assert cluster.pod("b").spec.node_name == "node-1"


def test_a_pod_that_nothing_helps_is_tried_again_after_five_minutes() -> None:
    cluster = hollow(1)
    cluster.apply(pod("a", "9"))
    cluster.advance(60)
    assert failures(cluster, "a")[0][1] == 1
    cluster.advance(269)  # the queue looks every 30 s for pods that have waited for more than 300 s
    assert failures(cluster, "a")[0][1] == 1
    cluster.advance(1)
    assert failures(cluster, "a")[0][1] == 2


def test_older_releases_wait_for_the_back_off() -> None:
    cluster = hollow(1, release="1.26")
    cluster.apply(pod("a", "3"))
    cluster.apply(pod("b", "2"))
    cluster.delete("pod", "a")
    assert cluster.pod("b").spec.node_name == ""
    cluster.advance(2)
    assert cluster.pod("b").spec.node_name == "node-1"


def test_a_more_important_pod_preempts() -> None:
    cluster = hollow(1)
    cluster.apply("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100")
    cluster.apply(pod("low", "3"))
    cluster.apply(pod("high", "3", "  priorityClassName: high\n"))
    assert [p.name for p in cluster.pods()] == ["high"] and cluster.pod("high").spec.node_name == "node-1"
    reasons = {e.reason: e.message for e in cluster.events()}
    assert reasons["Preempted"].startswith("Preempted by pod ") and reasons["Preempted"].endswith(" on node node-1")
    assert "preemption: 0/1 nodes are available" not in reasons["FailedScheduling"]


def test_gates_keep_a_pod_out_until_they_are_gone() -> None:
    cluster = hollow(1)
    cluster.apply(pod("a", "1", "  schedulingGates: [{name: example.com/x}]\n"))
    assert cluster.pod("a").spec.node_name == "" and failures(cluster, "a") == []
    with pytest.raises(KitError, match=r"it has scheduling gates \(example.com/x\)"):
        cluster.decision("a")
    changed = cluster.pod("a")
    changed.spec.scheduling_gates = []
    cluster.apply(changed)
    assert cluster.pod("a").spec.node_name == "node-1"


def test_daemon_set_pods_go_to_their_own_nodes() -> None:
    cluster = hollow(3)
    cluster.apply(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: {d: d}}\n"
        "  template: {metadata: {labels: {d: d}}, spec: {containers: [{name: c, image: i}]}}"
    )
    assert sorted(p.spec.node_name for p in cluster.pods()) == ["node-1", "node-2", "node-3"]


def test_a_cluster_may_have_no_scheduler_or_another_profile() -> None:
    nobody = hollow(scheduler=False)
    assert nobody.apply(pod("a"))[0].spec.node_name == ""
    most = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {
        "type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}}]}]}  # fmt: skip
    packed = hollow(2, scheduler=most)
    packed.apply([pod(f"p{i}") for i in range(3)])
    assert {p.spec.node_name for p in packed.pods()} == {"node-1"}
    with pytest.raises(KitError, match="unknown plugin"):
        hollow(scheduler={"profiles": [{"plugins": {"score": {"enabled": [{"name": "Nope"}]}}}]})


def test_explaining_changes_nothing_and_looks_at_a_placed_pod_as_if_it_were_not() -> None:
    cluster = hollow(2)
    cluster.apply([pod("a", "3"), pod("b", "3")])
    before = cluster.snapshot()
    assert cluster.explain("a").feasible == ["node-1"]
    assert "Insufficient cpu" in cluster.explain(cluster.pod("a")).explain()
    assert cluster.snapshot() == before


def test_the_same_actions_lead_to_the_same_places() -> None:
    first = hollow(4, seed=5)
    first.apply([pod(f"p{i}") for i in range(9)])
    second = hollow(4, seed=5)
    second.replay(first.journal)
    assert second.snapshot() == first.snapshot()


ZONES = [{"name": f"zone{i}-a", "labels": {"topology.kubernetes.io/zone": f"zone{i}"}} for i in (1, 2)]
SPREAD = """
  topologySpreadConstraints:
  - {maxSkew: 1, minDomains: 3, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
     labelSelector: {matchLabels: {app: load}}}
"""


def test_an_autoscaler_brings_the_third_zone_that_min_domains_waits_for() -> None:
    cluster = hollow(ZONES, autoscaler={"zones": ["zone3"], "node": {"cpus": 4}, "after": 30})
    cluster.apply([pod(f"p{i}", "1", SPREAD) for i in range(3)])
    assert [p.spec.node_name for p in cluster.pods()] == ["zone1-a", "zone2-a", ""]
    cluster.advance(29)
    assert len(cluster.nodes) == 2
    cluster.advance(5)
    assert cluster.pod("p2").spec.node_name == "zone3-auto-1"
    assert [e.message for e in cluster.events("p2") if "ScaleUp" in e.reason] == [
        "pod triggered scale-up: [{zone3 0->1 (max: 1)}]"
    ]


def test_an_autoscaler_does_not_add_a_node_that_would_not_help() -> None:
    cluster = hollow(ZONES, autoscaler={"zones": ["zone3"], "node": {"cpus": 4}})
    cluster.apply(pod("big", "9"))
    cluster.advance(120)
    assert len(cluster.nodes) == 2 and any(e.reason == "NotTriggerScaleUp" for e in cluster.events("big"))
    with pytest.raises(KitError, match="autoscaler: "):
        hollow(autoscaler={"zone": 1})


def test_a_node_that_does_not_come_is_told_and_its_group_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = hollow(ZONES, autoscaler={"zones": ["zone3"], "node": {"cpus": 12}, "after": 1})
    cluster.apply(pod("big", "9"))

    def refuse(one: NodePlan) -> None:
        raise KitError(f"node {one.name}: it was refused")

    with monkeypatch.context() as patch:
        patch.setattr(cluster, "_add_node", refuse)
        cluster.advance(60)
    assert [(e.reason, e.message, e.count) for e in cluster.events("big") if "Scale" in e.reason] == [
        ("TriggeredScaleUp", "pod triggered scale-up: [{zone3 0->1 (max: 1)}]", 1),
        ("FailedToScaleUpGroup", "Scale-up failed for group zone3: node zone3-auto-1: it was refused", 1),
        ("NotTriggerScaleUp", "pod didn't trigger scale-up: no node group would give it a node that it fits on", 1),
    ]
    cluster.advance(235)
    assert cluster.pod("big").spec.node_name == ""
    cluster.advance(20)
    assert cluster.pod("big").spec.node_name == "zone3-auto-1"


class Doorkeeper(Plugin):
    """Lets nobody in on its own."""

    name = "Doorkeeper"

    def permit(self, info: PodInfo, node: Node) -> Status:
        return Status(Code.Wait, ("wait for the others",))


class NoReservation(Plugin):
    name = "NoReservation"
    refuses = True

    def reserve(self, info: PodInfo, node: Node) -> Status:
        return Status(Code.Unschedulable, ("nothing left to reserve",)) if type(self).refuses else SUCCESS


def with_plugin(plugin: type[Plugin], **settings: object) -> SimulatedCluster:
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": plugin.name}]}}}
    configuration = {"kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    return hollow(1, scheduler=configuration, plugins=[plugin], **settings)


def test_a_pod_that_permit_holds_keeps_its_place_until_it_is_allowed_or_rejected() -> None:
    cluster = with_plugin(Doorkeeper)
    held, other = cluster.apply([pod("held", "3"), pod("other", "3")])
    assert held.status.phase == other.status.phase == "Pending"
    assert cluster.decision("held").suggested_host == "node-1"
    assert "Insufficient cpu" in cluster.decision("other").message
    cluster.scheduler.reject(held)
    cluster.advance(20)
    assert {cluster.decision(name).suggested_host for name in ("held", "other")} == {"node-1", ""}
    first = next(p for p in cluster.pods() if cluster.decision(p.name).suggested_host)
    cluster.scheduler.allow(first)
    cluster.advance(1)
    assert cluster.pod(first.name).status.phase == "Running"
    with pytest.raises(KitError, match="no Permit plugin holds it"):
        cluster.scheduler.allow(first)


def test_what_an_own_plugin_refuses_to_reserve_is_free_again() -> None:
    cluster = with_plugin(NoReservation)
    (waiting,) = cluster.apply(pod("a", "3"))
    assert waiting.status.phase == "Pending"
    assert "nothing left to reserve" in cluster.decision("a").message
    NoReservation.refuses = False
    cluster.advance(330)
    assert cluster.pod("a").spec.node_name == "node-1"


def test_a_pod_waits_for_its_claim_and_goes_where_its_volume_is() -> None:
    cluster = hollow([{"name": "a", "labels": {ZONE: "z1"}}, {"name": "b", "labels": {ZONE: "z2"}}])
    with_claim = pod("db").replace("spec:", "spec:\n  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]")
    (waiting,) = cluster.apply(with_claim)
    assert 'persistentvolumeclaim "data" not found' in cluster.decision("db").message
    cluster.apply(VOLUME)
    cluster.advance(10)
    assert cluster.pod("db").spec.node_name == "b"
    assert waiting.status.phase == "Pending"


def test_a_scheduler_that_comes_late_knows_who_was_there_first() -> None:
    cluster = hollow([{"name": "only", "cpus": 1}], scheduler=False)
    cluster.apply([pod("first"), pod("second")])
    cluster.patch("Pod", "first", {"metadata": {"labels": {"changed": "later"}}})
    late = ClusterScheduler(cluster.api, cluster.release, None, None, lambda: 0.0)
    assert late.sync()
    assert {p.name: p.spec.node_name for p in cluster.pods()} == {"first": "only", "second": ""}
    assert "Insufficient cpu" in cluster.pod("second").status.conditions[-1].message


def test_nothing_of_the_scheduler_is_made_before_there_is_a_pod() -> None:
    cluster = hollow(2)
    cluster.advance(5)
    assert cluster._scheduler is None
    cluster.apply(pod("a"))
    assert cluster._scheduler is not None and cluster.decision("a").suggested_host


def test_a_pod_that_waits_for_room_comes_when_another_has_been_resized() -> None:
    """The event is the change of the other's status, when its kubelet has done it. Source: extractPodScaleDown."""
    cluster = Cluster.simulated([{"cpus": 4}])

    def manifest(name: str, cpu: str) -> dict[str, object]:
        container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}

    cluster.apply(manifest("db", "3"))
    cluster.apply(manifest("shop", "1500m"))
    assert cluster.pod("shop").spec.node_name == ""
    cluster.resize("db", {"main": {"requests": {"cpu": "2"}}})
    cluster.advance(15)
    assert cluster.pod("shop").spec.node_name != ""
