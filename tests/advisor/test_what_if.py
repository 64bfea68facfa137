"""Questions about a cluster, carried out on a copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.what_if import QUESTIONS, WhatIf, what_if
from kitlib.advisor.what_if_answer import Effect
from kitlib.api.errors import KitError
from kitlib.api.serialize import to_dict, to_yaml
from kitlib.cluster import Cluster
from tests.advisor.dumps import dump, node, pod, some

SETS = """
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: w, namespace: shop, uid: w}
  spec: {replicas: 2, selector: {matchLabels: {a: b}}, TEMPLATE}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata:
    name: w-1
    namespace: shop
    uid: w1
    labels: {a: b, pod-template-hash: "1"}
    ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: w, uid: w, controller: true}]
  spec: {replicas: 2, selector: {matchLabels: {a: b, pod-template-hash: "1"}}, HASHED}
""".replace("HASHED", "TEMPLATE").replace(
    "TEMPLATE",
    'template: {metadata: {labels: {a: b, pod-template-hash: "1"}}, spec: {containers: [{name: c, image: i, '
    "resources: {requests: {cpu: '1'}}}]}}",
)
BUDGET = """
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: web, namespace: shop}
  spec: {minAvailable: 2, selector: {matchLabels: {a: b}}}
"""


def owned(name: str, on: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w-1", "uid": "w1", "controller": True}
    meta = {"labels": {"a": "b", "pod-template-hash": "1"}, "ownerReferences": [owner]}
    return pod(name, on=on, namespace="shop", meta=meta)


def shop(*more: dict[str, Any]) -> Dump:
    sets = some(SETS)
    sets[0]["spec"]["template"]["metadata"]["labels"] = {"a": "b"}
    zones = [node("n1", labels={"zone": "a"}), node("n2", cpu="1500m", labels={"zone": "b"})]
    return dump(*zones, owned("a", "n1"), owned("b", "n1"), pod("bare", cpu="100m", on="n2"), *sets, *more)


def told(answer: WhatIf) -> list[tuple[str, str, str]]:
    return sorted((one.pod, one.kind, one.after) for one in answer.effects)


@pytest.mark.parametrize(
    ("questions", "effects", "code"),
    [
        (["drain n1"], [("shop/a", "moves", "n2"), ("shop/b", "pending", "")], 1),
        (["add n2", "drain n1"], [("shop/a", "moves", "n2-more-1"), ("shop/b", "moves", "n2")], 0),
        (["lose n1"], [("shop/a", "moves", "n2"), ("shop/b", "pending", "")], 1),
        (["lose zone=a"], [("shop/a", "moves", "n2"), ("shop/b", "pending", "")], 1),
        (["scale deploy/w 1"], [("shop/b", "ends", "")], 0),
        (["resize shop/a cpu=2"], [("shop/a", "resized", "n1")], 0),
        (["resize shop/a cpu=4"], [("shop/a", "deferred", "n1")], 1),
        (["upgrade 1.37"], [], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value and isinstance(value[0], str) else None,
)
def test_a_question_says_what_becomes_of_each_pod(
    questions: list[str], effects: list[tuple[str, str, str]], code: int
) -> None:
    answer = what_if(shop(), questions)
    if questions[0] == "add n2":  # either of the two equal pods may take either node
        assert sorted((kind, after) for _, kind, after in told(answer)) == sorted((e[1], e[2]) for e in effects)
    else:
        assert told(answer) == effects
    assert answer.exit_code == code


def test_a_drain_says_which_budget_blocks_it() -> None:
    answer = what_if(shop(*some(BUDGET)), ["drain n1"])
    assert answer.exit_code == 1 and {one.kind for one in answer.effects} == {"stays"}
    assert "The disruption budget web needs 2 healthy pods and has 2 currently" in answer.sentence


def test_a_drain_refuses_pods_without_a_controller_unless_it_is_forced() -> None:
    assert "declare no controller" in what_if(shop(), ["drain n2"]).sentence
    forced = what_if(shop(), ["drain n2"], force=True)
    assert told(forced) == [("default/bare", "gone", "")]


def test_a_pod_of_a_stateful_set_is_stuck_on_a_lost_node() -> None:
    sets = some("""
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: db, namespace: shop, uid: db}
  spec: {replicas: 1, selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}, spec: {containers: []}}}
""")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    meta = {"labels": {"c": "d"}, "ownerReferences": [owner]}
    found = dump(node("n1"), node("n2"), pod("db-0", on="n1", namespace="shop", meta=meta), *sets)
    assert told(what_if(found, ["lose n1"])) == [("shop/db-0", "stuck", "")]


def test_a_replica_set_that_was_not_read_is_made_again_from_its_pods() -> None:
    found = dump(node("n1"), node("n2"), owned("a", "n1"), owned("b", "n1"))
    answer = what_if(found, ["drain n1"])
    assert told(answer) == [("shop/a", "moves", "n2"), ("shop/b", "moves", "n2")]
    (gap,) = [one for one in answer.gaps if "controller of" in one.why]
    assert gap.kind == "ReplicaSet" and "made again from its pods" in gap.why and not gap.decides


def test_pods_of_another_controller_that_was_not_read_stay_and_the_gap_is_named() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    meta = {"labels": {"c": "d"}, "ownerReferences": [owner]}
    found = dump(node("n1"), node("n2"), pod("db-0", on="n1", meta=meta))
    assert told(what_if(found, ["add n2"])) == []
    lost = what_if(found, ["drain n1"], force=True)
    assert told(lost) == [("default/db-0", "gone", "")]
    assert any(one.kind == "StatefulSet" and one.decides for one in lost.gaps)


def test_a_manifest_says_who_is_preempted(tmp_path: Path) -> None:
    high = some("""
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
- apiVersion: v1
  kind: Pod
  metadata: {name: big, namespace: default}
  spec: {priorityClassName: high, containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]}
""")
    file = tmp_path / "big.yaml"
    file.write_text("---\n".join(to_yaml([one]) for one in Dump.of_items([node("x"), *high]).objects[1:]))
    answer = what_if(shop(), [f"apply {file}"])
    kinds = {one.pod: one.kind for one in answer.effects}
    assert kinds["default/big"] == "new" and "pending" in kinds.values()


def test_a_scale_down_removes_nodes_and_names_the_rule_that_keeps_the_others() -> None:
    found = dump(node("n1"), node("n2"), owned("a", "n1"), owned("b", "n2"), owned("c", "n2"))
    answer = what_if(found, ["scale-down"])
    assert told(answer) == [("shop/a", "moves", "n2")]
    removed, kept = answer.notes
    assert removed == "n1 (25% requested) may be removed: a to n2"
    assert kept == "n2 (50% requested) stays: NotUnderutilized, 50% of it is requested"


def spread_pod(name: str, on: str) -> dict[str, Any]:
    made = owned(name, on)
    rule: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = {"matchLabels": {"a": "b"}}
    made["spec"]["topologySpreadConstraints"] = [rule]
    return made


def zones_out_of_balance(*more: dict[str, Any]) -> Dump:
    zones = [node(f"n{i}", labels={"zone": f"z{i}"}) for i in (1, 2)]
    return dump(*zones, *(spread_pod(name, "n1") for name in "abc"), *more)


def test_a_descheduled_pod_moves_to_the_smaller_zone() -> None:
    (effect,) = what_if(zones_out_of_balance(), ["deschedule"]).effects
    assert (effect.kind, effect.before, effect.after) == ("moves", "n1", "n2")


def test_a_budget_refuses_the_descheduler() -> None:
    budget = some(BUDGET)[0]
    budget["spec"]["minAvailable"] = 3
    answer = what_if(zones_out_of_balance(budget), ["deschedule"])
    assert answer.effects == () and answer.exit_code == 1
    (refused,) = answer.refused
    assert refused.startswith("the descheduler does not evict shop/") and "disruption budget" in refused


def test_questions_leave_the_dump_as_it_was() -> None:
    for found in (shop(), dump(node("n1"), node("n2"), owned("a", "n1"), owned("b", "n1"))):
        before = [to_dict(obj) for obj in found.objects]
        what_if(found, ["drain n1", "add n1 2", "lose n2"], force=True)
        assert [to_dict(obj) for obj in found.objects] == before


def test_the_answer_is_what_the_copy_does_step_by_step() -> None:
    with Cluster.from_dump(shop()) as cluster, cluster.fork() as forked:
        forked.cordon("n2")
        assert not cluster.get("Node", "n2").spec.unschedulable
        assert {one.name: one.spec.node_name for one in forked.list("Pod")} == {"a": "n1", "b": "n1", "bare": "n2"}


@pytest.mark.parametrize(
    "question", ["fly", "drain", "drain nope", "scale deploy/w many", "resize shop/a cpu", "lose x=y"]
)
def test_other_questions_are_refused_with_the_way_to_write_them(question: str) -> None:
    with pytest.raises(KitError):
        what_if(shop(), [question])


def test_every_question_is_described() -> None:
    assert all(usage.startswith(verb) for verb, (_, _, _, usage) in QUESTIONS.items())


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["pending"], "pods: 1 waits for a node"),
        (["pending", "pending", "gone"], "pods: 2 wait for a node, 1 is lost"),
        (["evicted", "evicted", "moves"], "pods: 1 moves, 2 are evicted by the kubelet"),
    ],
)
def test_the_verb_agrees_with_the_number_of_pods(kinds: list[str], said: str) -> None:
    effects = tuple(Effect(f"default/p{i}", kind) for i, kind in enumerate(kinds))
    assert WhatIf(("drain n1",), effects).sentence == f"drain n1: {said}."


def with_affinity_to_its_own_kind() -> Dump:
    """Return two zones, and a pod whose affinity one other pod of its zone satisfies; that pod has no controller."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    sets = some(SETS)
    sets[0]["spec"]["template"]["metadata"]["labels"] = {"a": "b"}
    for one in sets:
        one["spec"]["replicas"] = 1
        one["spec"]["template"]["spec"]["affinity"] = affinity
    follower = owned("a", "n1")
    follower["spec"]["affinity"] = affinity
    other = pod("z", on="n1", namespace="shop", meta={"labels": {"a": "b"}})
    zones = [node(f"n{i}", labels={"zone": f"z{i}"}) for i in (1, 2)]
    return dump(*zones, follower, other, *sets)


def test_a_pod_that_no_event_concerns_is_tried_again_after_minutes() -> None:
    """The replacement is tried while `z` is in the other zone; InterPodAffinity's hint skips the end of `z`."""
    answer = what_if(with_affinity_to_its_own_kind(), ["drain n1"], force=True)
    (moves,) = [one for one in answer.effects if one.pod == "shop/a"]
    assert (moves.kind, moves.after) == ("moves", "n2")
    assert "tried again at the latest after five and a half minutes" in moves.why


def with_one_replica(*more: dict[str, Any]) -> Dump:
    sets = some(SETS)[1:]
    sets[0]["spec"]["replicas"] = 1
    del sets[0]["metadata"]["ownerReferences"]
    return dump(node("n1"), node("n2"), owned("a", "n1"), *sets, *more)


def test_a_pod_that_the_api_server_refuses_to_make_again_is_told_with_the_rule() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}}
    answer = what_if(with_one_replica(namespace), ["drain n1"])
    assert told(answer) == [("shop/a", "refused", "")] and answer.exit_code == 1
    assert answer.effects[0].why.startswith("Error creating: ") and "violates PodSecurity" in answer.effects[0].why


@pytest.mark.parametrize("resource", ["pods", "*"])
def test_webhooks_are_not_called_and_are_named(resource: str) -> None:
    hook = some(f"""
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingWebhookConfiguration
  metadata: {{name: h}}
  webhooks:
  - name: inject.example.com
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    clientConfig: {{service: {{name: s, namespace: x}}}}
    rules: [{{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: ["{resource}"]}}]
""")
    answer = what_if(with_one_replica(*hook), ["drain n1"])
    assert told(answer) == [("shop/a", "moves", "n2")] and answer.exit_code == 3
    assert any("inject.example.com may change or refuse new pods" in one.why for one in answer.gaps)


def test_what_another_controller_does_is_not_guessed() -> None:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "r", "uid": "r", "controller": True}
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "r", "namespace": "shop"}}
    found = dump(
        node("n1"), node("n2"), pod("a", on="n1", namespace="shop", meta={"ownerReferences": [owner]}), rollout
    )
    answer = what_if(found, ["drain n1"])
    assert told(answer) == [("shop/a", "unknown", "")] and answer.exit_code == 3
    assert [one.kind for one in answer.gaps if one.decides] == ["Rollout"]


def test_a_drain_ignores_static_pods() -> None:
    meta = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    assert what_if(dump(node("n1"), pod("api", on="n1", meta=meta)), ["drain n1"]).effects == ()


def test_a_drain_that_waits_for_a_pod_that_does_not_end_says_so() -> None:
    lost = node("n1", status={"conditions": [{"type": "Ready", "status": "Unknown"}]})
    leaving = owned("a", "n1")
    leaving["metadata"] |= {"deletionTimestamp": "2026-08-01T10:00:00Z", "deletionGracePeriodSeconds": 30}
    answer = what_if(dump(lost, node("n2"), leaving), ["drain n1"])
    assert answer.exit_code == 1 and "does not end within 120 s: it waits for a" in answer.sentence
