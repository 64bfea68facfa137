"""Statuses that the cluster has not written are counted by the controllers' rules, or are said to be unknown."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.advisor.assistant import Assistant
from kitlib.advisor.dump import Dump
from kitlib.advisor.report import ClusterReport, report
from kitlib.advisor.unreported import CLUSTER, KIT, UNKNOWN, counted_by
from kitlib.advisor.what_if import what_if
from kitlib.api.policy import PodDisruptionBudget
from tests.advisor.dumps import asked, dump, node, pod, some, words

READY = {"conditions": [{"type": "Ready", "status": "True"}]}
SET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "db", "namespace": "default", "uid": "db"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}
OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
META = {"labels": {"a": "b"}, "ownerReferences": [OWNER]}
ZEROS = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}
"""The status of a budget that a server prints before the disruption controller has written it."""


def budget(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db", "namespace": "default", "generation": 2},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, **spec},
        **({"status": status} if status is not None else {}),
    }


def database(*objects: dict[str, Any], ready: int = 3, status: dict[str, Any] | None = None) -> Dump:
    """Return two nodes, three pods of a StatefulSet of which some are ready, and further objects."""
    late = {"conditions": [{"type": "Ready", "status": "False"}]}
    states = [status if status is not None else READY if i < ready else late for i in range(3)]
    pods = [pod(f"db-{i}", on=f"n{i % 2}", meta=META, status=one) for i, one in enumerate(states)]
    return dump(node("n0"), node("n1"), *pods, *objects)


def numbers(found: Dump) -> tuple[int, int, int, int]:
    status = found.of(PodDisruptionBudget)[0].status
    return status.current_healthy, status.expected_pods, status.desired_healthy, status.disruptions_allowed


def texts(found: ClusterReport) -> dict[str, str]:
    return {one.rule: one.text for one in found.findings}


def table(found: ClusterReport, title: str) -> list[tuple[str, ...]]:
    return [tuple(row) for section in found.sections if section.title == title for row in section.rows]


@pytest.mark.parametrize("status", [None, {}, ZEROS, {**ZEROS, "observedGeneration": 1, "expectedPods": 9}])
@pytest.mark.parametrize(
    ("spec", "ready", "counted"),
    [
        ({"minAvailable": 2}, 3, (3, 3, 2, 1)),
        ({"minAvailable": "50%"}, 3, (3, 3, 2, 1)),
        ({"maxUnavailable": 1}, 2, (2, 3, 2, 0)),
        ({"maxUnavailable": "100%"}, 1, (1, 3, 0, 1)),
    ],
)
def test_a_budget_without_a_present_status_is_counted_by_its_pods(
    status: dict[str, Any] | None, spec: dict[str, Any], ready: int, counted: tuple[int, ...]
) -> None:
    found = database(SET, budget(status, **spec), ready=ready)
    assert numbers(found) == counted
    assert counted_by(found, found.of(PodDisruptionBudget)[0]) == KIT


def test_a_status_of_the_cluster_is_kept() -> None:
    written = {**ZEROS, "observedGeneration": 2, "currentHealthy": 1, "expectedPods": 3, "desiredHealthy": 2}
    found = database(SET, budget(written, minAvailable=2))
    assert numbers(found) == (1, 3, 2, 0)
    assert counted_by(found, found.of(PodDisruptionBudget)[0]) == CLUSTER


def test_the_report_says_who_counted_and_never_shows_absent_numbers_as_0() -> None:
    found = report(database(SET, budget(minAvailable=3)))
    assert "(3 healthy, 3 needed, counted here by its pods): drains of n0, n1" in texts(found)["budget blocks drains"]
    assert table(found, "Disruption budgets") == [("default/db", "3/3", "3", "0", KIT)]
    assert any("the cluster has not counted budget default/db yet" in gap.why for gap in found.gaps)


@pytest.mark.parametrize(
    ("objects", "status", "why"),
    [
        ([budget(maxUnavailable=1)], None, "StatefulSet db was not read"),
        ([SET, budget(minAvailable=2)], {"phase": ""}, "db-0, db-1, db-2 report no Ready condition"),
    ],
)
def test_a_budget_that_cannot_be_counted_is_said_to_be_unknown(
    objects: list[dict[str, Any]], status: dict[str, Any] | None, why: str
) -> None:
    read = database(*objects, status=status)
    found = report(read)
    assert "budget blocks drains" not in texts(found)
    assert texts(found)["budget is not counted"].endswith(f"is not known, {why}")
    assert table(found, "Disruption budgets") == [("default/db", "-", "-", "-", UNKNOWN)]
    assert any(gap.decides and why in gap.why for gap in found.gaps)
    overview = str(Assistant(lambda: read).overview())
    assert "0 healthy" not in overview and why in overview
    (gap,) = [one for one in what_if(read, ["drain n0"]).gaps if one.kind == "PodDisruptionBudget"]
    assert gap.decides and why in gap.why


def test_a_scale_that_a_kind_does_not_have_is_the_obstacle() -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Rollout", "name": "db", "uid": "db", "controller": True}
    rollout = {"apiVersion": "example.com/v1", "kind": "Rollout", "metadata": {**SET["metadata"]}}
    one = pod("db-0", on="n0", meta={**META, "ownerReferences": [owner]}, status=READY)
    found = report(dump(node("n0"), one, rollout, budget(maxUnavailable=1)))
    assert "does not implement the scale subresource" in texts(found)["budget is not counted"]


def test_victims_of_a_budget_without_a_status_are_chosen_by_the_counted_one() -> None:
    """The budget of the first node allows no disruption, so that the other node's pod is preempted."""
    low = [pod(f"low-{i}", "4", on=f"n{i}", meta={"labels": {"on": f"n{i}"}}, status=READY) for i in (0, 1)]
    held = budget(minAvailable=1)
    held["spec"]["selector"] = {"matchLabels": {"on": "n0"}}
    read = dump(node("n0"), node("n1"), *low, held, pod("high", "4", spec={"priority": 10}))
    assert "preempting default/low-1 makes room on n1" in words(asked(read, "high"))


QUOTA = """
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: q, namespace: default}
  spec: {hard: {pods: "3", requests.cpu: "8", services: "4", configmaps: "9"}}
"""


def test_a_quota_without_a_status_is_counted_by_the_objects_that_were_read() -> None:
    found = report(database(*some(QUOTA)))
    assert "3 of 3 pods used" in texts(found)["quota is used up"]
    rows = {row[1]: row[2:] for row in table(found, "Quotas")}
    assert rows == {
        "pods": ("3", "3", "100%"),
        "requests.cpu": ("3", "8", "38%"),
        "services": ("-", "4", "-"),
        "configmaps": ("-", "9", "-"),
    }
    assert any(gap.why.endswith("objects of services, configmaps were not read") for gap in found.gaps)


def test_a_quota_without_a_status_refuses_the_pods_beyond_it() -> None:
    wants = {**SET, "spec": {**SET["spec"], "replicas": 4}}
    wants["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    answer = asked(database(wants, *some(QUOTA)), "statefulset/db")
    assert "used: pods=3, limited: pods=3" in words(answer)


def test_nodes_without_amounts_are_named_where_an_answer_depends_on_them() -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}}
    found = dump(bare, node("n0", cpu="1"), pod("p", "2"))
    answer = asked(found, "p")
    assert any(gap.field == "status.allocatable" and "bare reports none" in gap.why for gap in answer.gaps)
    assert any("bare, n0 report no Ready condition" in gap.why for gap in report(found).gaps)


def test_pods_without_a_status_are_not_counted_as_stopped() -> None:
    answer = asked(database(SET, status={"phase": ""}), "statefulset/db")
    assert "3 are on a node without a status" in words(answer)


def test_an_autoscaler_without_a_status_reports_no_numbers() -> None:
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}},
    }
    told = words(asked(database(SET, scaler), "hpa/db"))
    assert "has not reported on it yet" in told and "0 desired" not in told


def test_queues_without_a_status_have_an_unreported_part_left() -> None:
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"capability": {"cpu": "4"}},
    }
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 2, "queue": "q"},
        "status": {"phase": "Pending"},
    }
    member = pod("p", meta={"annotations": {"scheduling.k8s.io/group-name": "g"}})
    told = words(asked(dump(node("n0"), member, queue, group), "p"))
    assert "an unreported part of 4 cpu left" in told
    counted = {**queue, "status": {"allocated": {"cpu": "1"}}}
    assert "3 of 4 cpu left" in words(asked(dump(node("n0"), member, counted, group), "p"))
