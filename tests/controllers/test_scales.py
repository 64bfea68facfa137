"""Scales of custom kinds: budgets count them, autoscalers change them."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.controllers.scales import find_scale
from tests.apiserver.admission.custom.definitions import custom, definition
from tests.controllers.builders import budget, conditions, hollow, pod, told, workload

GROUP = "example.com"
PATHS = {
    "specReplicasPath": ".spec.size",
    "statusReplicasPath": ".status.size",
    "labelSelectorPath": ".status.selector",
}
"""The definition of a kind without the status subresource: the status is stored with the object."""
DEFINITIONS = [
    definition("fleets", "Fleet", GROUP, subresources={"scale": PATHS}),
    definition("loners", "Loner", GROUP),
]


def fleet(cluster: Any, kind: str = "Fleet", pods: int = 2, workload: str = "", **fields: Any) -> None:
    """Create a custom object with pods of its own, which run the given workload."""
    cluster.apply(DEFINITIONS)
    cluster.apply(custom(kind, GROUP, "f", **fields))
    uid = cluster.get(f"{kind.lower()}s.{GROUP}", "f").metadata.uid
    owner = {"apiVersion": f"{GROUP}/v1", "kind": kind, "name": "f", "uid": uid, "controller": True}
    for i in range(pods):
        made = pod(f"p{i}")
        made["metadata"] |= {"ownerReferences": [owner], "annotations": {"kitlib.dev/workload.c": workload}}
        made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "200m"}}
        cluster.apply(made)
    cluster.settle()


def autoscaler(kind: str = "Fleet", **spec: Any) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    reference = {"apiVersion": f"{GROUP}/v1", "kind": kind, "name": "f"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "f"},
        "spec": {"scaleTargetRef": reference, "maxReplicas": 5, "metrics": [metric], **spec},
    }


def size(cluster: Any) -> int:
    return find_scale(cluster.api.store, f"{GROUP}/v1", "Fleet", "f", "default").replicas


STATE = {"size": 2, "selector": "app=web"}


def test_a_budget_counts_the_scale_of_a_custom_workload() -> None:
    cluster = hollow()
    fleet(cluster, spec={"size": 4}, status=STATE)
    cluster.apply(budget("b", maxUnavailable="50%"))
    status = cluster.get("PodDisruptionBudget", "b").status
    assert (status.expected_pods, status.desired_healthy, status.current_healthy) == (4, 2, 2)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("Loner", {}, "loners.example.com does not implement the scale subresource"),
        ("Fleet", {}, 'Internal error occurred: the spec replicas field ".spec.size" does not exist'),
    ],
)
def test_a_budget_allows_nothing_while_a_scale_is_unknown(kind: str, fields: dict[str, Any], message: str) -> None:
    cluster = hollow()
    fleet(cluster, kind, **fields)
    cluster.apply(budget("b", maxUnavailable=1))
    status = cluster.get("PodDisruptionBudget", "b").status
    assert status.disruptions_allowed == 0
    assert conditions(status)["DisruptionAllowed"] == ("False", "SyncFailed")
    why = f"Failed to calculate the number of expected pods: {message}"
    assert ("CalculateExpectedPodCountFailed", why) in told(cluster, "PodDisruptionBudget")


def test_the_load_of_its_pods_changes_the_size_of_a_custom_workload() -> None:
    with Cluster.simulated(1, cpus=8) as cluster:
        fleet(cluster, workload="cpu=0.3", spec={"size": 2, "other": "kept"}, status=STATE)
        cluster.apply(autoscaler())
        cluster.advance(40)
        status = cluster.get("hpa", "f").status
        assert (size(cluster), status.desired_replicas, status.current_replicas) == (5, 5, 2)
        assert conditions(status)["ScalingLimited"] == ("True", "TooManyReplicas")
        assert cluster.get("fleets.example.com", "f").unknown_fields["spec"] == {"size": 5, "other": "kept"}


def test_bounds_change_the_size_without_a_metric() -> None:
    cluster = hollow()
    fleet(cluster, spec={"size": 9}, status=STATE)
    cluster.apply(autoscaler())
    assert size(cluster) == 5
    assert ("SuccessfulRescale", "New size: 5; reason: Current number of replicas above Spec.MaxReplicas") in told(
        cluster, "HorizontalPodAutoscaler"
    )


@pytest.mark.parametrize(
    ("state", "reason", "message"),
    [
        ({"size": 2}, "SelectorRequired", "selector is required"),
        ({"selector": "a b"}, "InvalidSelector", "couldn't convert selector into a corresponding internal selector"),
    ],
)
def test_a_scale_without_a_valid_selector_is_not_active(state: dict[str, Any], reason: str, message: str) -> None:
    cluster = hollow()
    fleet(cluster, spec={"size": 2}, status=state)
    cluster.apply(autoscaler())
    assert conditions(cluster.get("hpa", "f").status)["ScalingActive"] == ("False", "InvalidSelector")
    events = told(cluster, "HorizontalPodAutoscaler")
    assert next(text for found, text in events if found == reason).startswith(message)
    assert size(cluster) == 2


@pytest.mark.parametrize(
    ("version", "kind", "name", "message"),
    [
        (f"{GROUP}/v1", "Fleet", "g", 'fleets.example.com "g" not found'),
        (f"{GROUP}/v1", "Loner", "f", "loners.example.com does not implement the scale subresource"),
        (f"{GROUP}/v1", "Deployment", "f", 'no matches for kind "Deployment" in group "example.com"'),
        ("v1", "Pod", "p0", "pods does not implement the scale subresource"),
        ("apps/v1", "Deployment", "d", 'deployments/scale.apps "d" not found'),
    ],
)
def test_a_reference_without_a_scale_is_an_error(version: str, kind: str, name: str, message: str) -> None:
    cluster = hollow()
    fleet(cluster, "Loner")
    with pytest.raises(KitError, match=message):
        find_scale(cluster.api.store, version, kind, name, "default")


def test_the_scale_of_a_built_in_workload() -> None:
    cluster = hollow()
    cluster.apply(workload("StatefulSet", replicas=1))
    found = find_scale(cluster.api.store, "apps/v1", "StatefulSet", "web", "default")
    assert (found.replicas, found.status_replicas, found.selector) == (1, 1, "app=web")
    assert found.matcher()({"app": "web"}) and not found.matcher()({"app": "other"})
    changed: Any = found.scaled_to(3)
    assert (changed.spec.replicas, cluster.get("StatefulSet", "web").spec.replicas) == (3, 1)
