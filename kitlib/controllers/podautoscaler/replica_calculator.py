"""The replicas for a metric: the current number times usage over target, rounded up, unless within a tolerance.

Pods without a measurement count with their whole target when scaling down and with 0 when scaling up. Pods that are not
ready count with 0 when scaling up, and are ignored otherwise.

Source: pkg/controller/podautoscaler/replica_calculator.go (GetResourceReplicas, GetRawResourceReplicas, groupPods,
calculatePodRequests), metrics/utilization.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.controllers.pod_util import condition_of

CPU_INITIALIZATION_PERIOD = 300.0
"""The seconds after a pod's start in which its CPU counts only if it is ready and was measured since then."""
DELAY_OF_INITIAL_READINESS_STATUS = 30.0
METRIC_WINDOW = 15.0
"""The interval of a measurement in seconds (metrics-server's resolution)."""

Usage = Mapping[str, Mapping[str, int]]
"""The usage in milli-units by pod and container."""


class Tolerance(NamedTuple):
    """The deviations of the ratio from 1, downwards and upwards, that cause no change."""

    down: float = 0.1
    up: float = 0.1

    def holds(self, ratio: float) -> bool:
        """Source: isWithin."""
        return 1 - self.down <= ratio <= 1 + self.up


DEFAULT_TOLERANCE = Tolerance()


class ReplicaRecommendation(NamedTuple):
    """The replicas for a metric.

    Attributes:
        replicas: the recommended number.
        utilization: the percentage of the requests; None for a target value.
        usage: the average usage in milli-units.
    """

    replicas: int
    utilization: int | None
    usage: int


class Groups(NamedTuple):
    """The pods of a target, grouped by their measurements. Source: groupPods."""

    ready: int
    unready: set[str]
    missing: set[str]
    ignored: set[str]


def resource_replicas(
    current: int,
    resource: str,
    pods: Sequence[Pod],
    usage: Usage,
    now: datetime,
    *,
    utilization: int | None = None,
    average: int | None = None,
    container: str = "",
    tolerance: Tolerance = DEFAULT_TOLERANCE,
) -> ReplicaRecommendation:
    """Return the replicas for a resource metric.

    Args:
        current: the current number of replicas.
        resource: the resource, "cpu" or "memory".
        pods: the pods that the target selects.
        usage: the measured usage in milli-units, by pod and container.
        now: the current date.
        utilization: the target in percent of the requests; None = `average` is the target.
        average: the target in milli-units per pod.
        container: the container that counts in every pod; "" = all.
        tolerance: the deviations from the target that cause no change.

    Raises:
        KitError: there is no measurement, or a request is missing.
    """
    if not pods:
        raise KitError("no pods returned by selector while calculating replica count")
    measured = {
        pod.name: sum(value for name, value in usage[pod.name].items() if container in ("", name))
        for pod in pods
        if pod.name in usage
    }
    if not measured:
        why = "no metrics returned from resource metrics API"
        raise KitError(f"unable to get metrics for resource {resource}: {why}")
    groups = group_pods(pods, measured, resource, now)
    metrics = {name: value for name, value in measured.items() if name not in groups.unready | groups.ignored}
    if not metrics:
        raise KitError("did not receive metrics for targeted pods (pods might be unready)")
    if utilization is not None:
        requests = pod_requests(pods, resource, container)
        return _by_utilization(current, groups, metrics, requests, utilization, tolerance)
    return _by_average(current, groups, metrics, average or 0, tolerance)


def group_pods(pods: Sequence[Pod], metrics: Mapping[str, int], resource: str, now: datetime) -> Groups:
    """Group pods by whether their measurement counts."""
    ready, unready, missing, ignored = 0, set(), set(), set()
    for pod in pods:
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            ignored.add(pod.name)
        elif pod.status.phase == "Pending":
            unready.add(pod.name)
        elif pod.name not in metrics:
            missing.add(pod.name)
        elif resource == "cpu" and _is_unready(pod, now):
            unready.add(pod.name)
        else:
            ready += 1
    return Groups(ready, unready, missing, ignored)


def _is_unready(pod: Pod, now: datetime) -> bool:
    condition, started = condition_of(pod, "Ready"), pod.status.start_time
    if condition is None or started is None or condition.last_transition_time is None:
        return True
    # Startup uses CPU that says nothing about the load. So within the initialization period a pod counts only while it
    # is ready and was ready for a whole window; later only pods that were never ready are left out.
    age = (now - started).total_seconds()
    if age < CPU_INITIALIZATION_PERIOD:
        measured_since = (now - condition.last_transition_time).total_seconds() >= METRIC_WINDOW
        return condition.status == "False" or not measured_since
    first = (condition.last_transition_time - started).total_seconds() < DELAY_OF_INITIAL_READINESS_STATUS
    return condition.status == "False" and first


def pod_requests(pods: Sequence[Pod], resource: str, container: str) -> dict[str, int]:
    """Return the request of each pod in milli-units, by name.

    Raises:
        KitError: a container requests nothing of the resource.
    """
    found = {}
    for pod in pods:
        total = 0
        sidecars = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
        for one in (*pod.spec.containers, *sidecars):
            if container in ("", one.name):
                if resource not in one.resources.requests:
                    raise KitError(f"missing request for {resource} in container {one.name} of Pod {pod.name}")
                total += one.resources.requests[resource].milli_value()
        found[pod.name] = total
    return found


def _ratio(metrics: Mapping[str, int], requests: Mapping[str, int], target: int) -> tuple[float, int, int]:
    """Return utilization over target, utilization in percent, average usage. Source: GetResourceUtilizationRatio."""
    used = sum(value for name, value in metrics.items() if name in requests)
    asked = sum(requests[name] for name in metrics if name in requests)
    if asked == 0:
        raise KitError("no metrics returned matched known pods")
    percent = used * 100 // asked
    return percent / target, percent, used // max(1, len(metrics))


def _by_utilization(
    current: int,
    groups: Groups,
    metrics: dict[str, int],
    requests: Mapping[str, int],
    target: int,
    tolerance: Tolerance,
) -> ReplicaRecommendation:
    """Source: GetResourceReplicas."""
    ratio, percent, usage = _ratio(metrics, requests, target)
    grows_with_unready = bool(groups.unready) and ratio > 1
    if not grows_with_unready and not groups.missing:
        replicas = current if tolerance.holds(ratio) else math.ceil(ratio * groups.ready)
        return ReplicaRecommendation(replicas, percent, usage)
    # Missing measurements must not cause the change that is being decided: full usage on a scale-down, none on a
    # scale-up. A target above 100% counts as full usage. Source: GetResourceReplicas.
    fallback = max(100, target)
    for name in groups.missing:
        metrics[name] = requests[name] * fallback // 100 if ratio < 1 else 0
    if grows_with_unready:
        metrics |= dict.fromkeys(groups.unready, 0)
    again, _, _ = _ratio(metrics, requests, target)
    return ReplicaRecommendation(_settle(current, ratio, again, len(metrics), tolerance), percent, usage)


def _by_average(
    current: int, groups: Groups, metrics: dict[str, int], target: int, tolerance: Tolerance
) -> ReplicaRecommendation:
    """Source: calcPlainMetricReplicas."""
    usage = sum(metrics.values()) // len(metrics)
    ratio = usage / target
    grows_with_unready = bool(groups.unready) and ratio > 1
    if not grows_with_unready and not groups.missing:
        replicas = current if tolerance.holds(ratio) else math.ceil(ratio * groups.ready)
        return ReplicaRecommendation(replicas, None, usage)
    for name in groups.missing:
        metrics[name] = target if ratio < 1 else 0
    if grows_with_unready:
        metrics |= dict.fromkeys(groups.unready, 0)
    again = sum(metrics.values()) // len(metrics) / target
    return ReplicaRecommendation(_settle(current, ratio, again, len(metrics), tolerance), None, usage)


def _settle(current: int, ratio: float, again: float, pods: int, tolerance: Tolerance) -> int:
    """Return the replicas with missing and unready pods; `current` if these reverse the direction of scaling."""
    if tolerance.holds(again) or (ratio < 1 < again) or (again < 1 < ratio):
        return current
    replicas = math.ceil(again * pods)
    if (again < 1 and replicas > current) or (again > 1 and replicas < current):
        return current
    return replicas
