"""HorizontalPodAutoscalers: the formula, missing and unready pods, windows, policies, a whole story."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.autoscaling import HorizontalPodAutoscaler
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.controllers.podautoscaler.behavior import ScaleEvent, ScaleHistory, limit, stabilize
from kitlib.controllers.podautoscaler.replica_calculator import resource_replicas
from tests.controllers.builders import conditions, hollow, told, workload

NOW = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
LONG_AGO = (NOW - timedelta(hours=1)).isoformat()


def made(name: str, phase: str = "Running", ready: bool = True) -> Pod:
    state = {"type": "Ready", "status": str(ready), "lastTransitionTime": LONG_AGO}
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    status = {"phase": phase, "conditions": [state], "startTime": LONG_AGO}
    found: Pod = from_dict({"metadata": {"name": name}, "spec": {"containers": [container]}, "status": status}, Pod)
    return found


def autoscaler(most: int = 100, least: int = 1, **behavior: object) -> HorizontalPodAutoscaler:
    spec = {"minReplicas": least, "maxReplicas": most, "behavior": behavior}
    found: HorizontalPodAutoscaler = from_dict({"spec": spec}, HorizontalPodAutoscaler)
    return found


@pytest.mark.parametrize(
    ("usage", "target", "replicas"),
    [
        ([100, 100], 50, 4),
        ([50, 50], 50, 2),
        ([54, 54], 50, 2),  # within the tolerance of 10 %
        ([56, 56], 50, 3),
        ([10, 10], 50, 1),
        ([100, None], 50, 2),  # a pod without a measurement counts as idle when scaling up
        ([10, None], 50, 2),  # and as using all of its request when scaling down
    ],
)
def test_replicas_by_utilization(usage, target, replicas):
    pods = [made(f"p{i}") for i in range(len(usage))]
    measured = {f"p{i}": {"c": value} for i, value in enumerate(usage) if value is not None}
    assert resource_replicas(len(pods), "cpu", pods, measured, NOW, utilization=target).replicas == replicas


def test_pending_pods_count_as_idle_when_scaling_up():
    pods = [made("a"), made("b", "Pending", False)]
    found = resource_replicas(2, "cpu", pods, {"a": {"c": 200}}, NOW, utilization=50)
    assert found.replicas == 4 and found.utilization == 200


def test_replicas_by_an_average_value():
    pods = [made("a"), made("b")]
    measured = {"a": {"c": 300}, "b": {"c": 100}}
    assert resource_replicas(2, "cpu", pods, measured, NOW, average=100).replicas == 4


@pytest.mark.parametrize(
    ("pods", "measured", "message"),
    [
        ([], {}, "no pods returned by selector"),
        ([made("a")], {}, "no metrics returned from resource metrics API"),
        ([made("a", "Pending")], {"a": {"c": 1}}, "did not receive metrics for targeted pods"),
    ],
)
def test_why_there_is_no_recommendation(pods, measured, message):
    with pytest.raises(KitError, match=message):
        resource_replicas(1, "cpu", pods, measured, NOW, utilization=50)


@pytest.mark.parametrize(
    ("current", "desired", "ago", "recommended", "found", "reason"),
    [
        (5, 2, 100, 5, 5, "ScaleDownStabilized"),
        (5, 2, 100, 3, 3, "ScaleDownStabilized"),
        (5, 2, 400, 5, 2, "ReadyForNewScale"),
        (5, 9, 100, 5, 9, "ReadyForNewScale"),
    ],
)
def test_the_highest_recommendation_of_five_minutes_holds(current, desired, ago, recommended, found, reason):
    history = ScaleHistory(recommendations=[ScaleEvent(NOW - timedelta(seconds=ago), recommended)])
    replicas, note = stabilize(autoscaler(), history, current, desired, NOW)
    assert (replicas, note.reason) == (found, reason)


@pytest.mark.parametrize(
    ("behavior", "current", "desired", "found", "reason"),
    [
        ({}, 2, 50, 6, "ScaleUpLimit"),  # 4 pods or 100 %, whichever is more
        ({}, 10, 50, 20, "ScaleUpLimit"),
        ({}, 10, 12, 12, "DesiredWithinRange"),
        ({}, 60, 200, 100, "TooManyReplicas"),
        ({}, 10, 0, 1, "TooFewReplicas"),
        ({"scaleUp": {"selectPolicy": "Disabled"}}, 5, 9, 5, "ScaleUpLimit"),
        (
            {"scaleDown": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}},
            10,
            1,
            8,
            "ScaleDownLimit",
        ),
        (
            {
                "scaleDown": {
                    "selectPolicy": "Min",
                    "policies": [
                        {"type": "Pods", "value": 2, "periodSeconds": 60},
                        {"type": "Percent", "value": 10, "periodSeconds": 60},
                    ],
                }
            },
            10,
            1,
            9,
            "ScaleDownLimit",
        ),
    ],
)
def test_policies_limit_how_fast_replicas_change(behavior, current, desired, found, reason):
    replicas, note = limit(autoscaler(**behavior), ScaleHistory(), current, desired, NOW)
    assert (replicas, note.reason) == (found, reason)


def test_changes_of_the_period_count():
    history = ScaleHistory(up=[ScaleEvent(NOW - timedelta(seconds=5), 4)])
    assert limit(autoscaler(), history, 6, 50, NOW)[0] == 6, "the four pods of this period are there already"


def deployment(workload_of_container: str) -> list[dict]:
    spec = workload("Deployment", replicas=1)
    spec["spec"]["template"]["metadata"]["annotations"] = {"kitlib.dev/workload.c": workload_of_container}
    container = spec["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "200m"}}
    target = {"type": "Utilization", "averageUtilization": 50}
    hpa = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }
    return [spec, hpa]


def test_load_makes_more_pods_and_its_end_fewer_after_five_minutes():
    cluster = Cluster.simulated(2, cpus=8)
    cluster.apply(deployment("60s cpu=0.3; cpu=0.01"))
    cluster.advance(45)
    hpa = cluster.get("hpa", "web")
    assert (hpa.status.current_replicas, hpa.status.desired_replicas) == (5, 5)
    assert conditions(hpa.status)["ScalingLimited"] == ("True", "TooManyReplicas")
    cluster.advance(120)
    assert conditions(cluster.get("hpa", "web").status)["AbleToScale"] == ("True", "ScaleDownStabilized")
    assert cluster.get("Deployment", "web").spec.replicas == 5
    cluster.advance(300)
    assert cluster.get("Deployment", "web").spec.replicas == 1
    rescaled = [
        message for reason, message in told(cluster, "HorizontalPodAutoscaler") if reason == "SuccessfulRescale"
    ]
    assert rescaled[0] == "New size: 3; reason: cpu resource utilization (percentage of request) above target"
    assert rescaled[-1] == "New size: 1; reason: All metrics below target"


def test_nodes_that_measure_nothing_leave_the_size_as_it_is():
    cluster = hollow()
    cluster.apply(deployment("cpu=1"))
    status = cluster.get("hpa", "web").status
    assert conditions(status)["ScalingActive"] == ("False", "FailedGetResourceMetric")
    assert cluster.get("Deployment", "web").spec.replicas == 1


def test_an_unmeasured_metric_is_told_in_the_words_of_the_real_controller():
    cluster = hollow()
    cluster.apply(deployment("cpu=1"))
    inner = "failed to get cpu utilization: unable to get metrics for resource cpu: "
    inner += "no metrics returned from resource metrics API"
    first = f"failed to get cpu resource metric value: {inner}"
    events = dict(told(cluster, "HorizontalPodAutoscaler"))
    assert events["FailedGetResourceMetric"] == inner
    assert events["FailedComputeMetricsReplicas"] == f"invalid metrics (1 invalid out of 1), first error is: {first}"


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("Deployment", "deployments/scale.apps"),
        ("ReplicaSet", "replicasets/scale.apps"),
        ("StatefulSet", "statefulsets.apps"),
        ("ReplicationController", "replicationcontrollers/scale.autoscaling"),
    ],
)
def test_a_missing_target_is_named_as_its_scale(kind, scale):
    cluster = hollow()
    _, hpa = deployment("cpu=1")
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    hpa["spec"]["scaleTargetRef"] |= {"apiVersion": version, "kind": kind}
    cluster.apply([hpa])
    assert ("FailedGetScale", f'{scale} "web" not found') in told(cluster, "HorizontalPodAutoscaler")


def test_two_autoscalers_of_the_same_pods_scale_nothing():
    cluster = hollow()
    spec, hpa = deployment("cpu=1")
    cluster.apply([spec, hpa, {**hpa, "metadata": {"name": "other"}}])
    cluster.advance(16)
    text = "pods by selector app=web are controlled by multiple HPAs: [default/other default/web]"
    events = told(cluster, "HorizontalPodAutoscaler")
    assert ("AmbiguousSelector", text) in events and ("FailedComputeMetricsReplicas", text) in events
    (active,) = [one for one in cluster.get("hpa", "web").status.conditions if one.type == "ScalingActive"]
    assert (active.status, active.reason, active.message) == ("False", "AmbiguousSelector", text)
