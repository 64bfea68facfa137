"""A cluster without kernels: what apply, delete, patch and time do; a journal leads to the same state again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitlib.api.errors import AlreadyExists, Invalid, KitError, ManifestError, NoMatch, NotFound, TooManyRequests
from kitlib.api.serialize import load
from kitlib.cluster import Cluster
from kitlib.cluster.base import BaseCluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.journal import Journal

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeName: node-1
  containers: [{name: c, image: nginx, resources: {requests: {cpu: 500m}}}]
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeName: node-1, containers: [{name: c, image: "nginx:1"}]}
"""


def pod(name: str) -> str:
    return POD.replace("NAME", name)


def hollow(nodes: object = 1, **settings: object) -> SimulatedCluster:
    return Cluster.simulated(nodes, kubelets=False, **settings)


def test_a_pod_with_a_node_name_runs_on_that_node() -> None:
    with hollow(2) as cluster:
        (made,) = cluster.apply(pod("a"))
        assert (made.spec.node_name, made.status.phase, made.status.qos_class) == ("node-1", "Running", "Burstable")


def test_a_deployment_becomes_a_replica_set_and_pods_with_its_hash() -> None:
    cluster = hollow()
    cluster.apply(WEB)
    (replicas,) = cluster.list("rs")
    hashed = replicas.metadata.labels["pod-template-hash"]
    assert replicas.name == f"web-{hashed}"
    assert len(cluster.pods()) == 4
    assert all(p.name.startswith(f"web-{hashed}-") and p.metadata.labels["app"] == "web" for p in cluster.pods())
    assert cluster.get("deploy", "web").status["readyReplicas"] == 4


def test_a_new_template_replaces_the_pods_and_keeps_the_old_set_at_zero() -> None:
    cluster = hollow()
    cluster.apply(WEB)
    cluster.apply(WEB.replace("nginx:1", "nginx:2"))
    assert {p.spec.containers[0].image for p in cluster.pods()} == {"nginx:2"}
    assert sorted(one.spec.replicas for one in cluster.list("rs")) == [0, 4]
    cluster.apply(WEB)
    assert {p.spec.containers[0].image for p in cluster.pods()} == {"nginx:1"} and len(cluster.list("rs")) == 2


def test_scaling_and_deleting_take_pods_away() -> None:
    cluster = hollow()
    cluster.apply(WEB)
    cluster.scale("deploy", "web", 1)
    assert len(cluster.pods()) == 1
    cluster.delete("deploy", "web")
    assert cluster.pods() == [] and cluster.list("rs") == []


def test_a_stateful_set_makes_named_pods_in_order() -> None:
    cluster = hollow()
    text = WEB.replace("Deployment", "StatefulSet").replace("replicas: 4", "replicas: 3")
    cluster.apply(text)
    assert [p.name for p in cluster.pods()] == ["web-0", "web-1", "web-2"]
    cluster.scale("sts", "web", 1)
    assert [p.name for p in cluster.pods()] == ["web-0"]
    assert cluster.pods()[0].metadata.labels["apps.kubernetes.io/pod-index"] == "0"


def test_a_daemon_set_wants_a_pod_for_every_node_that_fits() -> None:
    cluster = hollow([{"name": "a"}, {"name": "b", "taints": ["x=y:NoSchedule"]}, {"name": "c"}])
    text = WEB.replace("Deployment", "DaemonSet").replace("  replicas: 4\n", "").replace("nodeName: node-1, ", "")
    cluster.apply(text)
    assert cluster.get("ds", "web").status["desiredNumberScheduled"] == 2
    assert len(cluster.pods()) == 2


def test_a_disruption_budget_counts_and_guards_evictions() -> None:
    cluster = hollow()
    budget = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: 75%, selector: {matchLabels: {app: web}}}
"""
    cluster.apply(WEB + "---" + budget)
    status = cluster.get("pdb", "b").status
    assert (status.expected_pods, status.desired_healthy, status.disruptions_allowed) == (4, 3, 1)
    cluster.apply(budget.replace("75%", "100%"))
    with pytest.raises(TooManyRequests) as refused:
        cluster.evict(cluster.pods()[0].name)
    assert str(refused.value) == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = "The disruption budget b needs 4 healthy pods and has 4 currently"
    assert refused.value.causes == [("DisruptionBudget", cause)]


def test_a_quota_stops_a_deployment_and_an_event_says_why() -> None:
    cluster = hollow()
    cluster.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: 2}}\n---" + WEB)
    assert len(cluster.pods()) == 2
    refused = [e for e in cluster.events() if e.reason == "FailedCreate"]
    assert "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2" in refused[0].message
    cluster.patch("quota", "q", {"spec": {"hard": {"pods": "3"}}})
    cluster.advance(1)  # the ReplicaSet controller tries again after its back-off
    assert len(cluster.pods()) == 3 and str(cluster.get("quota", "q").status.used["pods"]) == "3"


def test_conditions_and_cordons_become_taints() -> None:
    cluster = hollow()
    cluster.cordon("node-1")
    assert [t.key for t in cluster.nodes[0].spec.taints] == ["node.kubernetes.io/unschedulable"]
    cluster.cordon("node-1", False)
    assert cluster.nodes[0].spec.taints == []


def test_a_node_manifest_is_a_machine_with_its_capacity() -> None:
    text = """
apiVersion: v1
kind: Node
metadata: {name: big, labels: {zone: a}}
status: {capacity: {cpu: "16", memory: 64Gi, pods: "50", example.com/gpu: "2"}}
"""
    cluster = hollow(load(text))
    (node,) = cluster.nodes
    assert (node.name, node.metadata.labels["zone"], str(node.status.capacity["cpu"])) == ("big", "a", "16")
    assert str(node.status.allocatable["example.com/gpu"]) == "2"


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (-1, "must be a non-negative number of nodes, got -1"),
        ([{"nmae": "a"}], r"nodes\[0\]: unknown field nmae"),
        ([{"name": "a"}, {"name": "a"}], "nodes: a: a name can be used once only"),
        ([{"memory": "8Gx"}], r"nodes\[0\]: "),
        ([{"cpus": 0}], "machine.cores: 0 must be at least 1"),
        ([{"taints": ["x"]}], r"taint 'x': must be key=value:effect"),
        ("three", "a number, a specification or a list"),
    ],
)
def test_nodes_that_cannot_be_are_refused_in_words(nodes: object, words: str) -> None:
    with pytest.raises(KitError, match=words):
        hollow(nodes)


def test_apply_is_all_or_nothing_and_names_file_document_and_field(tmp_path: Path) -> None:
    cluster = hollow()
    before = cluster.snapshot()
    file = tmp_path / "pods.yaml"
    file.write_text(pod("a") + "---" + pod("b") + "---" + pod("c").replace("500m}", "500m}, limits: {cpu: 100m}"))
    with pytest.raises(Invalid) as refused:
        cluster.apply(file)
    text = str(refused.value)
    assert text.startswith(f'{file}, document 3: Pod "c" is invalid: spec.containers[0].resources.requests')
    assert cluster.snapshot() == before and cluster.journal == []


def test_a_name_used_twice_and_a_node_that_is_not_there_are_refused() -> None:
    cluster = hollow()
    with pytest.raises(
        ManifestError, match=r'document 2, metadata.name: Duplicate value: "a": the Pod stands in it twice'
    ):
        cluster.apply(pod("a") + "---" + pod("a"))
    with pytest.raises(ManifestError, match=r'document 1, spec.nodeName: Not found: "node-9": there is no such node'):
        cluster.apply(pod("a").replace("node-1", "node-9"))
    with pytest.raises(AlreadyExists):
        cluster.create(cluster.apply(pod("a"))[0])
    with pytest.raises(NotFound, match='namespaces "nope" not found'):
        cluster.apply(pod("b").replace("{name: b}", "{name: b, namespace: nope}"))


def test_apply_again_changes_what_the_manifest_says_and_leaves_the_rest() -> None:
    cluster = hollow()
    cluster.apply(WEB)
    cluster.patch("deploy", "web", {"metadata": {"labels": {"by": "hand"}}})
    cluster.apply(WEB.replace("metadata: {name: web}", "metadata: {name: web, labels: {team: a}}"))
    assert cluster.get("deploy", "web").metadata.labels == {"by": "hand", "team": "a"}
    cluster.apply(WEB.replace("metadata: {name: web}", "metadata: {name: web, labels: {tier: b}}"))
    assert cluster.get("deploy", "web").metadata.labels == {"by": "hand", "tier": "b"}


def test_what_may_not_change_is_refused() -> None:
    cluster = hollow()
    cluster.apply(WEB)
    with pytest.raises(Invalid, match="field is immutable"):
        cluster.apply(
            WEB.replace("matchLabels: {app: web}", "matchLabels: {app: web, x: y}").replace(
                "labels: {app: web}}\n    spec", "labels: {app: web, x: y}}\n    spec"
            )
        )


def test_a_resize_changes_resources_in_place_but_not_the_class() -> None:
    cluster = hollow()
    cluster.apply(pod("a"))
    resized = cluster.resize("a", {"c": {"requests": {"cpu": "250m"}}})
    assert str(resized.spec.containers[0].resources.requests["cpu"]) == "250m"
    with pytest.raises(Invalid, match="Pod QOS Class may not change"):
        cluster.resize("a", {"c": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}})
    with pytest.raises(KitError, match=r"container .x. not found; valid values: c"):
        cluster.resize("a", {"x": {}})


def test_a_workloads_template_is_checked_with_its_own_paths() -> None:
    wrong = WEB.replace('image: "nginx:1"', 'image: "nginx:1", resources: {limits: {cpu: -1}}')
    with pytest.raises(Invalid, match=r"spec.template.spec.containers\[0\].resources.limits\[cpu\]"):
        hollow().apply(wrong)
    with pytest.raises(Invalid, match="`selector` does not match template `labels`"):
        hollow().apply(WEB.replace("labels: {app: web}}\n    spec", "labels: {app: other}}\n    spec"))


def test_deleting_a_namespace_or_a_node_takes_its_objects_along() -> None:
    cluster = hollow(2)
    cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}")
    cluster.apply(pod("a").replace("{name: a}", "{name: a, namespace: team}") + "---" + pod("b"))
    cluster.delete("ns", "team")
    cluster.advance(5)
    assert [p.name for p in cluster.pods()] == ["b"]
    cluster.delete("node", "node-1")
    cluster.advance(40)
    assert cluster.pods() == [] and [n.name for n in cluster.nodes] == ["node-2"]


def test_a_watch_tells_what_happened() -> None:
    cluster = hollow()
    watch = cluster.watch("pods")
    cluster.apply(pod("a"))
    cluster.delete("pod", "a")
    kinds = [event.type for event in watch]
    assert kinds[0] == "ADDED" and kinds[-1] == "DELETED" and "MODIFIED" in kinds


def test_time_moves_only_by_hand() -> None:
    cluster = hollow()
    began = cluster.now()
    cluster.advance(2.5)
    cluster.step()
    assert (cluster.now() - began).total_seconds() == 3.5
    for wrong in (-1, float("nan"), float("inf"), "5"):
        with pytest.raises(KitError, match="must be a non-negative number of seconds"):
            cluster.advance(wrong)  # type: ignore[arg-type]


def test_a_read_object_that_was_changed_and_applied_is_applied_in_a_replay_too() -> None:
    """Leases are renewed when they are read, so the versions of a replay are others."""
    first, second = Cluster.simulated(1), Cluster.simulated(1)
    for cluster in (first, second):
        cluster.apply(POD_OF_REPLAY)
        cluster.advance(60)
        cluster.journal.clear()
    second.list("Lease")
    first.patch("Pod", "a", {"metadata": {"labels": {"one": "1"}}})
    pod = first.get("Pod", "a")
    pod.metadata.labels["two"] = "2"
    first.apply(pod)
    assert pod.metadata.resource_version
    second.replay(list(first.journal))
    assert second.get("Pod", "a").metadata.labels == {"one": "1", "two": "2"}


POD_OF_REPLAY = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "main", "image": "x:1"}]},
}


def test_a_replayed_journal_leads_to_the_same_objects() -> None:
    first = hollow(2, seed=3)
    first.apply(WEB)
    first.advance(5)
    first.apply(WEB.replace("nginx:1", "nginx:2"))
    first.apply(pod("a"))
    first.resize("a", {"c": {"requests": {"cpu": "100m"}}})
    first.cordon("node-2")
    first.delete("pod", "a")
    first.evict(first.pods()[0].name)
    written = first.journal.to_json()
    second = hollow(2, seed=3)
    second.replay(Journal.from_json(written))
    assert second.snapshot() == first.snapshot()
    assert second.journal == json.loads(written)["actions"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "a journal must be a JSON list of actions"),
        ('[{"action": "format"}]', "journal entry 1: 'format': valid values: apply"),
        ('[{"action": "advance"}]', "journal entry 1: advance: missing fields: seconds"),
    ],
)
def test_a_journal_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(KitError, match=words):
        Journal.from_json(text)


def test_a_node_manifest_keeps_its_allocatable_and_flags_reserve() -> None:
    text = """
apiVersion: v1
kind: Node
metadata: {name: big}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "20"}
  allocatable: {cpu: 7500m, memory: 30Gi, pods: "20"}
"""
    (node,) = hollow(load(text)).nodes
    assert {n: str(q) for n, q in node.status.allocatable.items()} == {"cpu": "7500m", "memory": "30Gi", "pods": "20"}
    (node,) = hollow([{"cpus": 8, "memory": "16Gi", "kubelet": ["--kube-reserved=cpu=500m,memory=1Gi"]}]).nodes
    assert str(node.status.allocatable["cpu"]) == "7500m"


def test_a_gate_manager_lets_pods_wait_for_quota_instead_of_refusing_them() -> None:
    cluster = hollow(gate_manager={"hard": {"cpu": "1"}})
    cluster.apply([pod(name).replace("  nodeName: node-1\n", "") for name in ("a", "b", "c")])
    gated = {p.name: [g.name for g in p.spec.scheduling_gates] for p in cluster.pods()}
    assert gated == {"a": [], "b": [], "c": ["example.com/quota-check"]}
    (condition,) = cluster.pod("c").status.conditions
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "SchedulingGated")
    cluster.delete("pod", "a")
    assert cluster.pod("c").spec.scheduling_gates == []


WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def test_objects_of_a_kind_need_its_definition_and_are_then_kept_and_changed() -> None:
    cluster = hollow()
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\nspec: {size: 1}"
    with pytest.raises(NoMatch, match=r'no matches for kind "Widget" in version "example.com/v1"'):
        cluster.apply(text)
    cluster.apply(WIDGETS)
    cluster.apply(text)
    (made,) = cluster.apply(text.replace("size: 1", "size: 2"))
    assert made.unknown_fields == {"spec": {"size": 2}}


def test_a_change_in_a_field_that_the_kit_does_not_know_is_a_change() -> None:
    cluster = hollow()
    cluster.apply(WEB)
    template = {"spec": {"containers": [{"name": "c", "futureField": True}]}}
    patched = cluster.patch("deploy", "web", {"spec": {"template": template}})
    assert patched.spec.template.spec.containers[0].unknown_fields == {"futureField": True}
    assert all(p.spec.containers[0].unknown_fields == {"futureField": True} for p in cluster.pods())


@pytest.mark.parametrize(
    ("policy", "replica_sets", "pods"), [("Background", 0, 0), ("Foreground", 0, 0), ("Orphan", 1, 2)]
)
def test_what_a_deployment_owns_goes_with_it_or_stays(policy: str, replica_sets: int, pods: int) -> None:
    """`kubectl delete --cascade`: the propagation policy of the deletion."""
    cluster = Cluster.simulated([{"cpus": 2}])
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
    cluster.delete("deployment", "d", propagation_policy=policy)
    cluster.advance(40)
    assert cluster.list("Deployment") == []
    assert (len(cluster.list("ReplicaSet")), len(cluster.pods())) == (replica_sets, pods)
    assert ("propagation_policy" in cluster.journal[-2]) == (policy != "Background")
    with pytest.raises(KitError, match="propagationPolicy: 'All': valid values: Background, Foreground, Orphan"):
        cluster.delete("replicaset", "x", propagation_policy="All")


@pytest.mark.parametrize("value", [3, "text", object(), int], ids=["number", "text", "object", "class"])
def test_other_things_are_no_clusters(value: object) -> None:
    assert not isinstance(value, BaseCluster)
    assert not isinstance(value, Cluster)


def test_every_kind_of_cluster_is_a_cluster() -> None:
    with Cluster.simulated(1) as cluster:
        assert isinstance(cluster, BaseCluster)
        assert isinstance(cluster, Cluster)
