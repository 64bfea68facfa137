"""The vertical pod autoscaler on a copy of a cluster: recommendations, the updater's order and limits, new pods."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.vertical import plans
from kitlib.advisor.what_if import WhatIf, what_if
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from tests.advisor.dumps import dump, node, some

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w-1", "uid": "w1", "controller": True}
LABELS = {"a": "b", "pod-template-hash": "1"}


def container(cpu: str = "1", **more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}, **more}


def replica(name: str, on: str = "n1", **more: Any) -> dict[str, Any]:
    phase = "Running" if on else "Pending"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": LABELS, "ownerReferences": [OWNER]},
        "spec": {"containers": [container(**more)], **({"nodeName": on} if on else {})},
        "status": {"phase": phase},
    }


def usage(name: str, cpu: str = "200m", memory: str = "300Mi") -> dict[str, Any]:
    used = {"name": "c", "usage": {"cpu": cpu, "memory": memory}}
    head = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics"}
    return head | {"metadata": {"name": name, "namespace": "shop"}, "containers": [used]}


def workload(replicas: int, **more: Any) -> list[dict[str, Any]]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container(**more)]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    of = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "uid": "w", "controller": True}
    meta = {"namespace": "shop"}
    own = {**spec, "selector": {"matchLabels": LABELS}}
    above = {**spec, "template": {**template, "metadata": {"labels": {"a": "b"}}}}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**meta, "name": "w", "uid": "w"}, "spec": above},
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {**meta, "name": "w-1", "uid": "w1", "labels": LABELS, "ownerReferences": [of]},
            "spec": own,
        },
    ]


def autoscaler(acts: str = "Recreate", target: str = "500m", **policy: Any) -> dict[str, Any]:
    said = {"containerName": "c", "target": {"cpu": target}, "lowerBound": {"cpu": "10m"}, "upperBound": {"cpu": "9"}}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"},
            "updatePolicy": {"updateMode": acts},
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", **policy}]},
        },
        "status": {"recommendation": {"containerRecommendations": [said]}},
    }


def shop(*more: dict[str, Any], replicas: int = 2, cpu: str = "4", **container: Any) -> Dump:
    pods = [replica(f"p{i}", **container) for i in range(replicas)]
    return dump(node("n1", cpu=cpu), *pods, *workload(replicas, **container), *more)


def requests(answer: WhatIf, resource: str = "cpu") -> list[int]:
    return sorted(asked[resource] for one in answer.nodes for asked in one.after.values())


def test_a_recommendation_is_computed_from_the_usage_and_the_answer_says_that_it_is_one_sample() -> None:
    found = shop(usage("p0"), usage("p1"))
    answer = what_if(found, ["vertical deploy/w"])
    assert {one.kind for one in answer.effects} == {"moves"} and len(answer.effects) == 2
    assert requests(answer) == [248, 248], "200m in the bucket up to 215.8m, and the margin of 15%"
    assert answer.exit_code == 3 and any("one sample" in one.why for one in answer.gaps)
    assert "computed from 2 samples of usage" in answer.notes[0]


def test_the_recommenders_own_word_takes_precedence_and_is_named() -> None:
    answer = what_if(shop(autoscaler(), usage("p0")), ["vertical"])
    assert requests(answer) == [500, 500] and answer.exit_code == 0
    assert answer.notes == (
        "Deployment shop/w, container c: cpu 500m, as the recommender wrote into VerticalPodAutoscaler shop/w",
    )


@pytest.mark.parametrize(
    ("policy", "cpu"),
    [({}, 500), ({"maxAllowed": {"cpu": "300m"}}, 300), ({"minAllowed": {"cpu": "700m"}}, 700)],
    ids=["no policy", "at most", "at least"],
)
def test_a_policy_caps_the_recommendation(policy: dict[str, Any], cpu: int) -> None:
    assert requests(what_if(shop(autoscaler(**policy)), ["vertical"])) == [cpu, cpu]


@pytest.mark.parametrize("policy", [{"mode": "Off"}, {"controlledResources": ["memory"]}], ids=["off", "memory only"])
def test_a_policy_leaves_the_requests(policy: dict[str, Any]) -> None:
    answer = what_if(shop(autoscaler(**policy)), ["vertical"])
    assert answer.effects == () and answer.exit_code == 0


@pytest.mark.parametrize(
    ("limits", "policy", "expected"),
    [
        ("2", {}, "1"),
        ("1", {}, "500m"),
        ("2", {"controlledValues": "RequestsOnly"}, None),
    ],
    ids=["the ratio is kept", "equal to the request", "requests only"],
)
def test_limits_follow_in_proportion(limits: str, policy: dict[str, Any], expected: str | None) -> None:
    own = {"requests": {"cpu": "1"}, "limits": {"cpu": limits}}
    found = shop(autoscaler(**policy), resources=own)
    (plan,) = plans(found)
    amounts = plan.amounts(found.pods[0].spec.containers[0])
    assert amounts["requests"] == {"cpu": Quantity("500m")}
    assert amounts.get("limits") == ({"cpu": Quantity(expected)} if expected else None)


def test_the_updater_stops_when_half_of_the_pods_find_no_node() -> None:
    answer = what_if(shop(autoscaler(target="4"), replicas=4), ["vertical"])
    assert [one.kind for one in answer.effects] == ["pending", "pending"] and answer.exit_code == 1
    assert len(answer.refused) == 2
    assert all("2 of 4 pods of its controller run, and one more than 2 must" in one for one in answer.refused)


def test_a_single_replica_is_left_unless_the_policy_allows_it() -> None:
    alone = shop(autoscaler(), replicas=1)
    assert "its controller has 1 pod with a node, minReplicas is 2" in what_if(alone, ["vertical"]).sentence
    allowed = autoscaler()
    allowed["spec"]["updatePolicy"]["minReplicas"] = 1
    assert [one.kind for one in what_if(shop(allowed, replicas=1), ["vertical"]).effects] == ["moves"]


def test_a_budget_keeps_the_pods() -> None:
    budget = some("""
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: web, namespace: shop}
  spec: {minAvailable: 2, selector: {matchLabels: {a: b}}}
""")
    answer = what_if(shop(autoscaler(), *budget), ["vertical"])
    assert answer.effects == () and "disruption budget" in answer.sentence


def test_a_small_change_within_the_bounds_is_left() -> None:
    assert what_if(shop(autoscaler(target="1050m")), ["vertical"]).effects == ()


@pytest.mark.parametrize(
    ("target", "kinds"),
    [("2", ["resized", "resized"]), ("3", ["moves", "resized"]), ("5", ["pending"])],
    ids=["both have room", "the second is evicted", "larger than the node"],
)
def test_pods_are_resized_in_place_and_evicted_where_there_is_no_room(target: str, kinds: list[str]) -> None:
    found = dump(
        *(node(name) for name in ("n1", "n2")),
        *(replica(f"p{i}", "n1") for i in range(2)),
        *workload(2),
        autoscaler("InPlaceOrRecreate", target=target),
    )
    answer = what_if(found, ["vertical"])
    assert sorted(one.kind for one in answer.effects) == kinds


def test_pods_of_the_mode_in_place_are_never_evicted() -> None:
    answer = what_if(shop(autoscaler("InPlace", target="3")), ["vertical"])
    assert sorted(one.kind for one in answer.effects) == ["deferred", "resized"]


def test_new_pods_of_a_later_question_have_the_recommended_requests() -> None:
    answer = what_if(shop(autoscaler()), ["vertical", "scale deploy/w 3"])
    assert requests(answer) == [500, 500, 500]


def test_modes_that_do_not_act_are_named_with_the_way_out() -> None:
    with pytest.raises(KitError, match="none changes the pods"):
        what_if(shop(autoscaler("Off")), ["vertical"])
    assert requests(what_if(shop(autoscaler("Off")), ["vertical deploy/w"])) == [500, 500]


def test_a_workload_without_usage_is_refused_with_the_command_that_reads_it() -> None:
    with pytest.raises(KitError, match=r"pods\.metrics\.k8s\.io"):
        what_if(shop(), ["vertical deploy/w"])


def test_a_killed_container_is_recommended_more_than_its_request() -> None:
    found = [replica(f"p{i}") for i in range(2)]
    killed = {"name": "c", "image": "i", "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
    found[0]["status"]["containerStatuses"] = [killed]
    made = dump(node("n1"), *found, *workload(2), usage("p0"), usage("p1"))
    (plan,) = plans(made, "deploy/w")
    target = plan.containers["c"]["memory"].target.value()
    assert target > 1.2 * 1.15 * 2**30, "the sample after a kill is 1.2 times the request, and 15% are added"


def test_a_workload_of_another_controller_is_found_by_its_pods() -> None:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "r", "uid": "r", "controller": True}
    pods = [replica(f"p{i}") for i in range(2)]
    for one in pods:
        one["metadata"]["ownerReferences"] = [owner]
    found = dump(node("n1"), *pods, *workload(0), autoscaler())
    with pytest.raises(KitError, match="is not a workload with pods"):
        what_if(found, ["vertical deploy/w"])
