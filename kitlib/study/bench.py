"""The scheduler benchmark: pods per second of the whole cycle, every node scored, on six workloads.

Node i: labels hostname and zone, 4 CPUs, 32Gi, 110 pods. Pod i: 100m and 500Mi. `basic` asks nothing more; `spread`
spreads over zones (hard) and hosts (soft); `antiaffinity` keeps its group's pods apart; `preempt` finds every node
full and has to remove a pod; `mixed` is `basic` with other amounts requested by each pod. In `unlike` no two pods are
alike in anything that plugins read (`unlike_pods`), on nodes with labels, taints and images to choose between.
Objects are made before the clock starts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kitlib.api.clock import EPOCH
from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study import unlike_pods

WORKLOADS = ("basic", "spread", "antiaffinity", "preempt", "mixed", "unlike")
SIZES = (100, 1000, 5000)
PODS = 1000
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class BenchResult:
    """One figure.

    Attributes:
        workload, nodes: what.
        pods_per_second: median of the runs.
        runs: each run's figure.
    """

    workload: str
    nodes: int
    pods_per_second: float
    runs: tuple[float, ...]


def run(
    workloads: Iterable[str] = WORKLOADS,
    sizes: Iterable[int] = SIZES,
    *,
    runs: int = 3,
    pods: int = PODS,
    clock: Callable[[], float] = time.perf_counter,
) -> list[BenchResult]:
    """Measure.

    Args:
        workloads, sizes: which.
        runs: repetitions, of which the median counts.
        pods: scheduled in each; `preempt` takes at most 400 at 100 nodes.
        clock: seconds; `time.process_time` leaves out what other processes took.

    Raises:
        KitError: for a workload that there is not.
    """
    made = []
    for workload in workloads:
        if workload not in WORKLOADS:
            raise KitError(f"workload {workload!r}: valid values: {', '.join(WORKLOADS)}")
        for size in sizes:
            count = min(pods, 4 * size) if workload == "preempt" else pods
            figures = tuple(_once(workload, size, count, clock) for _ in range(runs))
            made.append(BenchResult(workload, size, statistics.median(figures), figures))
    return made


def nodes(size: int, workload: str = "basic") -> list[Node]:
    """The benchmark's nodes."""
    zones = 3 if size == 100 else 10
    if workload == "unlike":
        return [from_dict(unlike_pods.node_manifest(i, zones), Node) for i in range(size)]
    made = []
    for i in range(size):
        name = f"node-{i:05d}"
        labels = {HOSTNAME: name, ZONE: f"zone-{i % zones}"}
        allocatable = {"cpu": "4", "memory": "32Gi", "pods": "110"}
        made.append(
            from_dict({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}, Node)
        )
    return made


def pod(i: int, workload: str) -> Pod:
    """The benchmark's pod number i."""
    if workload == "unlike":
        return from_dict(unlike_pods.pod_manifest(i), Pod)
    labels = {"app": "load"}
    spec: dict[str, Any] = {}
    cpu, priority, memory = "100m", None, f"{400 + i}Mi" if workload == "mixed" else "500Mi"
    if workload == "spread":
        spec["topologySpreadConstraints"] = [
            _spread(ZONE, "DoNotSchedule"),
            _spread(HOSTNAME, "ScheduleAnyway"),
        ]
    elif workload == "antiaffinity":
        labels["group"] = f"g{i % 20:02d}"
        own = {"labelSelector": {"matchLabels": {"group": labels["group"]}}, "topologyKey": HOSTNAME}
        every = {"labelSelector": {"matchLabels": {"app": "load"}}, "topologyKey": HOSTNAME}
        spec["affinity"] = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [own],
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": every}],
            }
        }
    elif workload == "preempt":
        cpu, priority = "1", 1000
    elif workload == "mixed":
        cpu = f"{50 + i % 100}m"
    container = {"name": "c", "image": "load", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    meta = {"name": f"pod-{i:05d}", "namespace": "default", "uid": f"pod-{i:05d}", "labels": labels}
    made: Pod = from_dict({"metadata": meta, "spec": {**spec, "containers": [container]}}, Pod)
    made.spec.priority = priority
    return made


def _spread(key: str, action: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "load"}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": selector}


def _low(i: int, size: int) -> Pod:
    """A pod of low priority that fills a quarter of a node."""
    container = {"name": "c", "image": "low", "resources": {"requests": {"cpu": "1", "memory": "500Mi"}}}
    meta = {"name": f"low-{i:05d}", "namespace": "default", "uid": f"low-{i:05d}"}
    made: Pod = from_dict(
        {"metadata": meta, "spec": {"nodeName": f"node-{i % size:05d}", "containers": [container], "priority": 0}}, Pod
    )
    made.status.start_time = EPOCH + timedelta(seconds=i)
    return made


def _once(workload: str, size: int, count: int, clock: Callable[[], float]) -> float:
    incoming = [pod(i, workload) for i in range(count)]
    standing = [_low(i, size) for i in range(4 * size)] if workload == "preempt" else []
    scheduler = Scheduler(nodes(size, workload), standing)
    began = clock()
    for one in incoming:
        decision = scheduler.schedule(one)
        if workload == "preempt":
            for victim in decision.victims:
                scheduler.remove_pod(victim)
            decision = scheduler.schedule(one)
        if not decision.suggested_host:
            raise KitError(f"benchmark {workload}, {size} nodes: {one.name}: {decision.message}")
    return count / (clock() - began)
