"""Metrics of a scheduler's run, by name: pending pods, used nodes, skew, utilization of used nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.podresources import pod_requests
from kitlib.scheduler.driver import Driver
from kitlib.study.scenario import ZONE

HOSTNAME = "kubernetes.io/hostname"


def pending(driver: Driver) -> int:
    """Count the pods without a node."""
    return sum(1 for pod in driver.pods.values() if not pod.spec.node_name)


def placed(driver: Driver) -> int:
    """Count the pods with a node."""
    return sum(1 for pod in driver.pods.values() if pod.spec.node_name)


def nodes_used(driver: Driver) -> int:
    """Count the nodes with at least one pod."""
    return len(_by_node(driver))


def nodes_free(driver: Driver) -> int:
    """Count the nodes without a pod, which an autoscaler may remove."""
    return len(driver.scheduler.snapshot.nodes) - nodes_used(driver)


def zone_skew(driver: Driver) -> int:
    """Return the difference between the largest and the smallest number of pods in a zone, over zones with nodes."""
    return _skew(driver, ZONE)


def zone_most(driver: Driver) -> int:
    """Return the largest number of pods in a zone: the loss if that zone fails."""
    counts = _counts(driver, ZONE)
    return max(counts.values()) if counts else 0


def node_skew(driver: Driver) -> int:
    """Return the difference between the largest and the smallest number of pods on a node."""
    return _skew(driver, HOSTNAME)


def cpu_percent(driver: Driver) -> float:
    """Return the requested share of allocatable CPU of the used nodes, in percent."""
    return _percent(driver, "cpu")


def memory_percent(driver: Driver) -> float:
    """Return the requested share of allocatable memory of the used nodes, in percent."""
    return _percent(driver, "memory")


def largest_free_cpu(driver: Driver) -> int:
    """Return the largest CPU request that still fits on one node, in milli-CPU."""
    used = _by_node(driver)
    names = [node.name for node in driver.scheduler.snapshot.nodes]
    return max((_allocatable(driver, name, "cpu") - _requested(used.get(name, []), "cpu") for name in names), default=0)


def victims(driver: Driver) -> int:
    """Count the preempted pods."""
    return sum(1 for entry in driver.log if entry.reason == "Preempted")


def failed_cycles(driver: Driver) -> int:
    """Count the scheduling cycles that found no node."""
    return sum(1 for entry in driver.log if entry.reason == "FailedScheduling")


def message(driver: Driver) -> str:
    """Return the scheduler's message about the first waiting pod; "" = no pod waits."""
    waiting = next((key for key, pod in driver.pods.items() if not pod.spec.node_name), None)
    decision = driver.decisions.get(waiting) if waiting is not None else None
    return decision.message if decision is not None else ""


METRICS: Mapping[str, Callable[[Driver], Any]] = {
    "pending": pending,
    "placed": placed,
    "nodes_used": nodes_used,
    "nodes_free": nodes_free,
    "zone_skew": zone_skew,
    "zone_most": zone_most,
    "node_skew": node_skew,
    "cpu_percent": cpu_percent,
    "memory_percent": memory_percent,
    "largest_free_cpu": largest_free_cpu,
    "victims": victims,
    "failed_cycles": failed_cycles,
    "message": message,
}


def _by_node(driver: Driver) -> dict[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    for pod in driver.pods.values():
        if pod.spec.node_name:
            found.setdefault(pod.spec.node_name, []).append(pod)
    return found


def _skew(driver: Driver, label: str) -> int:
    counts = _counts(driver, label)
    return max(counts.values()) - min(counts.values()) if counts else 0


def _counts(driver: Driver, label: str) -> Counter[str]:
    """Return the number of pods by domain, for all domains with nodes."""
    counts: Counter[str] = Counter()
    used = _by_node(driver)
    for node in driver.scheduler.snapshot.nodes:
        domain = node.metadata.labels.get(label)
        if domain is not None:
            counts[domain] += len(used.get(node.name, ()))
    return counts


def _percent(driver: Driver, resource: str) -> float:
    asked = have = 0
    for name, pods in _by_node(driver).items():
        asked += _requested(pods, resource)
        have += _allocatable(driver, name, resource)
    return round(100 * asked / have, 6) if have else 0.0


def _requested(pods: list[Pod], resource: str) -> int:
    """Return the sum of the pods' requests, in thousandths of the resource's unit."""
    return sum(amount.milli_value() for pod in pods if (amount := pod_requests(pod).get(resource)) is not None)


def _allocatable(driver: Driver, name: str, resource: str) -> int:
    node = driver.scheduler.node(name)
    amount = node.status.allocatable.get(resource) if node is not None else None
    return amount.milli_value() if amount is not None else 0
