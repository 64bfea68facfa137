"""PodDisruptionBudgets and the eviction subresource: their corner cases."""

from __future__ import annotations

import pytest

from kitlib.api.errors import InternalError, TooManyRequests
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.controllers.disruption import selector_text
from tests.controllers.builders import budget, conditions, hollow, names, pod, told, workload


def allowed(cluster, name: str = "b") -> int:
    return int(cluster.get("pdb", name).status.disruptions_allowed)


@pytest.mark.parametrize(
    ("spec", "expected", "desired", "disruptions"),
    [
        ({"minAvailable": 2}, 4, 2, 2),
        ({"minAvailable": "75%"}, 4, 3, 1),
        ({"maxUnavailable": 1}, 4, 3, 1),
        ({"maxUnavailable": "30%"}, 4, 2, 2),
        ({"maxUnavailable": 0}, 4, 4, 0),
    ],
)
def test_what_a_budget_allows_for_four_ready_pods(spec, expected, desired, disruptions):
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=4), budget("b", **spec)])
    status = cluster.get("pdb", "b").status
    assert (status.expected_pods, status.desired_healthy, status.disruptions_allowed) == (
        expected,
        desired,
        disruptions,
    )
    reason = ("True", "SufficientPods") if disruptions else ("False", "InsufficientPods")
    assert conditions(status)["DisruptionAllowed"] == reason


@pytest.mark.parametrize("spec", [{"maxUnavailable": 1}, {"minAvailable": "50%"}])
def test_pods_without_a_workload_have_no_expected_number(spec):
    cluster = hollow()
    cluster.apply([pod("a"), pod("b"), budget("b", **spec)])
    assert allowed(cluster) == 0
    reasons = [reason for reason, _ in told(cluster, "PodDisruptionBudget")]
    assert "UnmanagedPods" in reasons
    with pytest.raises(TooManyRequests):
        cluster.evict("a")


def test_a_number_of_available_pods_needs_no_workload():
    cluster = hollow()
    cluster.apply([pod("a"), pod("b"), budget("b", minAvailable=1)])
    assert allowed(cluster) == 1
    cluster.evict("a")
    assert names(cluster) == ["b"]


def test_a_budget_that_selects_nothing_says_so():
    cluster = hollow()
    cluster.apply([budget("b", minAvailable=1)])
    assert told(cluster, "PodDisruptionBudget") == [("NoPods", "No matching pods found")]


def test_a_refused_eviction_names_the_budget_as_its_cause():
    cluster = hollow()
    cluster.apply([workload("Deployment", replicas=2), budget("b", minAvailable=2)])
    with pytest.raises(TooManyRequests) as refused:
        cluster.evict(names(cluster)[0])
    assert str(refused.value) == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.value.causes == [
        ("DisruptionBudget", "The disruption budget b needs 2 healthy pods and has 2 currently")
    ]


def test_two_budgets_for_one_pod_are_an_error_of_the_server():
    cluster = hollow()
    cluster.apply([budget("a", minAvailable=0), budget("b", minAvailable=0), workload("Deployment", replicas=1)])
    with pytest.raises(InternalError, match="This pod has more than one PodDisruptionBudget, which the eviction"):
        cluster.evict(names(cluster)[0])
    assert (cluster.get("pdb", "a").status.current_healthy, cluster.get("pdb", "b").status.current_healthy) == (1, 0)
    assert "MultiplePodDisruptionBudgets" in [reason for reason, _ in told(cluster, "Pod")]


@pytest.mark.parametrize(("policy", "gone"), [("AlwaysAllow", True), ("IfHealthyBudget", False)])
def test_an_unready_pod_goes_by_the_budgets_policy(policy, gone):
    cluster = hollow()
    cluster.apply([pod("a"), pod("b"), budget("b", minAvailable=2, unhealthyPodEvictionPolicy=policy)])
    sick = cluster.pod("a")
    for condition in sick.status.conditions:
        condition.status = "False"
    cluster.api.update_status(sick)
    cluster.settle()
    if gone:
        cluster.evict("a")
    else:
        with pytest.raises(TooManyRequests):
            cluster.evict("a")
    assert ("a" not in names(cluster)) == gone


def test_a_selector_is_printed_as_go_prints_it():
    selector = LabelSelector(
        match_labels={"app": "web"},
        match_expressions=[LabelSelectorRequirement(key="tier", operator="In", values=["a", "b"])],
    )
    assert selector_text(selector) == (
        "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{"
        "LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},},}"
    )


def test_a_pod_that_needs_no_budget_is_marked_too_when_it_is_evicted() -> None:
    """Source: EvictionREST.Create, which calls addConditionAndDeletePod also where canIgnorePDB holds."""
    cluster = hollow()
    waits = pod("a", nodeSelector={"of": "none"})
    waits["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.apply(waits)
    cluster.evict("a")
    assert conditions(cluster.pod("a").status)["DisruptionTarget"] == ("True", "EvictionByEvictionAPI")
