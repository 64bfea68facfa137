"""The last further reports about scheduling; queries and what was passed over are in reports.md."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.reports.scenes import HOSTNAME, label, nodes, pod, waiting, why


def affinity(kind: str, *terms: dict[str, Any]) -> dict[str, Any]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    body: Any = {"nodeSelectorTerms": list(terms)} if kind == "nodeAffinity" else list(terms)
    return {"affinity": {kind: {required: body}}}


def term(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}


def test_kubernetes_52141_two_terms_are_alternatives() -> None:
    """Not dev-4, or not the label: the pods land on dev-1, which has the label, and on dev-4."""
    rules = affinity("nodeAffinity", term(HOSTNAME, "NotIn", "dev-4"), term("test", "NotIn", "foo"))
    cluster = nodes("dev-1", "dev-4")
    label(cluster, "dev-1", test="foo")
    for name in ("dev-1", "dev-4"):
        cluster.apply(pod(f"on-{name}", nodeSelector={HOSTNAME: name}, **rules))
    assert {one.spec.node_name for one in cluster.pods()} == {"dev-1", "dev-4"}


def test_kubernetes_44349_one_matching_term_is_enough() -> None:
    """The case has foo=5 and bar=6, terms foo > 4 and bar > 8: the pod runs; in one term it would wait."""
    cluster = nodes("n1")
    label(cluster, "n1", foo="5", bar="6")
    first, second = term("foo", "Gt", "4"), term("bar", "Gt", "8")
    cluster.apply(pod("apart", **affinity("nodeAffinity", first, second)))
    both = {"matchExpressions": [*first["matchExpressions"], *second["matchExpressions"]]}
    cluster.apply(pod("together", **affinity("nodeAffinity", both)))
    assert waiting(cluster) == ["together"]


def test_kubernetes_130784_terms_of_pod_affinity_want_one_pod_that_matches_all() -> None:
    """One pod has label-1, another on the node label-2: a pod that asks for both in two terms waits."""
    terms = [{"labelSelector": {"matchLabels": {f"label-{n}": "x"}}, "topologyKey": HOSTNAME} for n in (1, 2)]
    cluster = nodes("n1")
    cluster.apply([pod("a", labels={"label-1": "x"}), pod("b", labels={"label-2": "x"})])
    cluster.apply(pod("asks", **affinity("podAffinity", *terms)))
    assert "1 node(s) didn't match pod affinity rules" in why(cluster, "asks")
    cluster.apply(pod("c", labels={"label-1": "x", "label-2": "x"}))
    cluster.advance(5)
    assert not waiting(cluster)


@pytest.mark.parametrize(
    ("asked", "evicted"),
    [("2", {"high"}), ("3800m", {"mid"})],
    ids=["kubernetes#129136: one victim is enough", "kubernetes#128307: both must go"],
)
def test_kubernetes_129136_128307_budgets_count_only_for_victims(asked: str, evicted: set[str]) -> None:
    """Budgets of `low` (beside `high`) and of `mid` (alone) forbid any disruption.

    Where one of two must go, `low` is spared first: no budget is broken on that node, and `high` dies. Where both must
    go each node breaks one budget, and the node with the lower highest priority is taken.
    """
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": f"p{n}"}, "value": n}
        for n in (0, 100, 1000, 10000)
    ]
    budgets = [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
        }
        for name in ("low", "mid")
    ]
    standing = (("high", "w1", 1000, "1900m"), ("low", "w1", 0, "1900m"), ("mid", "w2", 100, "3800m"))
    with Cluster.simulated([{"name": name, "cpus": 4} for name in ("w1", "w2")]) as cluster:
        cluster.apply([*classes, *budgets])
        for name, node, priority, cpu in standing:
            cluster.apply(pod(name, cpu, nodeSelector={HOSTNAME: node}, priorityClassName=f"p{priority}"))
        cluster.advance(5)
        cluster.apply(pod("very-high", asked, priorityClassName="p10000"))
        cluster.advance(40)
        assert {"high", "low", "mid"} - {one.name for one in cluster.pods()} == evicted
