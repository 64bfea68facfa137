"""The report about a cluster: what waits, by stage and owner, and the findings, each by its rule."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.report import ClusterReport, as_data, report
from kitlib.advisor.report_rules import HIGH
from tests.advisor.dumps import dump, node, pod, some

OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
LABELLED = {"labels": {"a": "b"}, "ownerReferences": [OWNER]}
BUDGET = """
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: db, namespace: default}
  spec: {minAvailable: 2, selector: {matchLabels: {a: b}}}
  status: {currentHealthy: 2, desiredHealthy: 2, expectedPods: 2, disruptionsAllowed: 0}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: nothing, namespace: default}
  spec: {minAvailable: 2, selector: {matchLabels: {x: y}}}
"""
QUOTA = """
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: q, namespace: default}
  spec: {hard: {pods: "10", requests.cpu: "4", limits.cpu: "9"}}
  status:
    hard: {pods: "10", requests.cpu: "4", limits.cpu: "9"}
    used: {pods: "9", requests.cpu: "4", limits.cpu: 100m}
"""
KILLED = {"containerStatuses": [{"name": "c", "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}
SICK = {"conditions": [{"type": "Ready", "status": "Unknown"}, {"type": "DiskPressure", "status": "True"}]}


def limited(amount: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": amount}}}


def rules(found: ClusterReport) -> dict[str, str]:
    return {one.rule: one.text for one in found.findings}


def two_nodes(*objects: dict[str, Any]) -> Dump:
    return dump(node("n1"), node("n2"), *objects)


@pytest.mark.parametrize(
    ("objects", "rule", "words"),
    [
        ([pod("p", cpu="9")], "pods wait", "Pod default/p: one pod held at the stage filters"),
        ([node("n3", status=SICK)], "node is not healthy", "n3 reports Ready=Unknown, DiskPressure"),
        ([pod("p", on="n1", status=KILLED)], "containers are OOM-killed", "of 1 pod were OOM-killed last time"),
        ([pod(n, on="n1", meta=LABELLED) for n in ("x", "y")], "replicas share one node", "all 2 pods of StatefulSet"),
        (
            [pod("p", on="n1", container={"resources": {}})],
            "pods without requests",
            "1 pod in default requests nothing",
        ),
        ([pod("p", on="n1", container=limited("9Gi"))], "memory limits exceed the node", "n1 add up to 9 GiB of 8 GiB"),
        (
            [pod("p", on="n1", meta=LABELLED), *some(BUDGET)],
            "budget blocks drains",
            "2 healthy, 2 needed): drains of n1",
        ),
        (
            [pod("p", on="n1", meta=LABELLED), *some(BUDGET)],
            "budget protects nothing",
            "default/nothing selects no pod",
        ),
        (some(QUOTA), "quota is used up", "4 of 4 requests.cpu used, new pods are refused"),
        (some(QUOTA), "quota is nearly used up", "9 of 10 pods used"),
        ([pod("p", on="n1")], "pods without a controller", "1 pod has no controller and is not made again"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_rule_names_its_objects_and_a_way_out(objects: list[dict[str, Any]], rule: str, words: str) -> None:
    found = report(two_nodes(*objects))
    assert words in rules(found)[rule]
    (one,) = [each for each in found.findings if each.rule == rule]
    assert one.objects and one.remedy


def test_a_quiet_cluster_has_no_findings() -> None:
    calm = [pod(f"db-{i}", on=f"n{i}", meta=LABELLED, container=limited("1Gi")) for i in (1, 2)]
    found = report(two_nodes(*calm))
    assert not found.findings and "No pod waits" in found.sections[0].sentence
    assert found.exit_code("low") == 0


def test_pods_of_one_owner_are_one_group() -> None:
    found = report(two_nodes(*(pod(f"db-{i}", cpu="9", meta=LABELLED) for i in range(7))))
    (group,) = found.waiting
    assert (group.owner, group.pods, group.stage) == ("StatefulSet default/db", 7, "filters")


def test_only_findings_of_the_wanted_weight_fail() -> None:
    low = report(two_nodes(pod("p", on="n1", container=limited("1Gi"))))
    assert [low.exit_code(weight) for weight in ("", "high", "medium", "low")] == [0, 0, 0, 1]
    assert report(two_nodes(pod("p", cpu="9"))).exit_code(HIGH) == 1


def test_figures_of_nodes_are_sums_of_their_pods() -> None:
    used = {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": "p", "namespace": "default"},
        "containers": [{"name": "c", "usage": {"memory": "512Mi"}}],
    }
    (one, _) = report(two_nodes(pod("p", on="n1", container=limited("2Gi")), used)).nodes
    assert one.requested == {"cpu": 1000, "memory": 2**30} and one.memory_limits == 2 * 2**30
    assert one.used_memory == 512 * 2**20 and one.free("cpu") == 3000


def test_as_data_has_every_part() -> None:
    data = as_data(report(two_nodes(pod("p", cpu="9"))))
    assert data["waiting"][0]["stage"] == "filters" and data["findings"][0]["weight"] == HIGH
    assert {"What waits", "Requests and capacity by node"} <= {one["title"] for one in data["tables"]}
