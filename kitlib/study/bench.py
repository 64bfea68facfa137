"""The scheduler benchmark: pods per second of the whole scheduling cycle, every node scored, on six workloads.

Node i has labels hostname and zone, 4 CPUs, 32Gi and 110 pods. Pod i requests 100m and 500Mi.

* `basic`: no other field is set.
* `spread`: pods spread over zones (DoNotSchedule) and hosts (ScheduleAnyway).
* `antiaffinity`: pods of the same group are kept on different hosts.
* `preempt`: every node is full, so each pod must preempt another one.
* `mixed`: `basic` with other requests for each pod.
* `unlike`: no two pods share any field that plugins read (`unlike_pods`); nodes have labels, taints and images.

Objects are created before the clock starts.
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
    """The result of one workload at one cluster size.

    Attributes:
        workload: name of the workload.
        nodes: number of nodes.
        pods_per_second: median of the runs, in pods per second.
        runs: result of each run, in pods per second.
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
    """Measure workloads at several cluster sizes.

    Args:
        workloads: names of workloads, of `WORKLOADS`.
        sizes: numbers of nodes.
        runs: number of repetitions; the result is their median.
        pods: number of pods in each run; `preempt` has at most four for each node.
        clock: returns seconds; `time.process_time` excludes the time of other processes.

    Raises:
        KitError: a workload is unknown.
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
    """Return the nodes of a workload.

    Args:
        size: number of nodes.
        workload: name of the workload.
    """
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
    """Return pod number `i` of a workload, from 0."""
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
    """Return a pod of priority 0 that requests a quarter of a node's CPU."""
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
