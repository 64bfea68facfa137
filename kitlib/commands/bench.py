"""`kitlib bench`: how fast the kit is on this machine, in figures that can be compared."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

RUNS = 3
Figure = dict[str, Any]


def add(commands: Any) -> None:
    made = commands.add_parser(
        "bench",
        help="measure how fast the kit is here",
        description="Measure on one core; the median of several runs is printed. enforcement: pods turned into desired "
        "cgroup configurations, and whole trees. apply: objects through API server, controllers and hollow nodes. "
        "scheduler: the four workloads of the scheduler benchmark, pods per second.",
    )
    made.add_argument("what", choices=("enforcement", "apply", "scheduler"), help="what to measure")
    made.add_argument("--pods", type=int, help="how many pods (enforcement: 10000, apply: 1000)")
    made.add_argument(
        "--nodes", type=int, action="append", help="scheduler: how many nodes (may be given several times)"
    )
    made.add_argument("--workload", action="append", help="scheduler: basic, spread, antiaffinity or preempt")
    made.add_argument("--runs", type=int, default=RUNS, help=f"how many runs (default {RUNS})")
    made.add_argument("--json", action="store_true", help="print the figures as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    figures = {"enforcement": _enforcement, "apply": _apply, "scheduler": _scheduler}[options.what](options)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for figure in figures:
            print(f"{figure['what']:<58} {figure['seconds']:9.3f} s {figure['per_second']:12.0f} pods/s", flush=True)
    return 0


def _timed(what: str, pods: int, runs: int, work: Callable[[], object]) -> Figure:
    taken = []
    for _ in range(max(1, runs)):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    seconds = statistics.median(taken)
    return {"what": what, "pods": pods, "seconds": seconds, "per_second": pods / seconds}


def _enforcement(options: argparse.Namespace) -> list[Figure]:
    from kitlib.api.core import Pod
    from kitlib.api.defaults import set_defaults
    from kitlib.api.serialize import from_dict
    from kitlib.kubelet.cm.cgroup_config import resource_config_for_pod
    from kitlib.kubelet.cm.container_config import linux_container_resources
    from kitlib.kubelet.cm.container_context import ContainerContext
    from kitlib.kubelet.cm.desired import desired_tree
    from kitlib.kubelet.cm.node_config import NodeConfig
    from kitlib.kubelet.config.machine import MachineInfo

    count = options.pods or 10_000
    pods: list[Pod] = [set_defaults(from_dict(_pod(i), Pod)) for i in range(count)]
    context = ContainerContext(memory_capacity=64 * 2**30)
    node = NodeConfig(machine=MachineInfo.declare(64, "256Gi"))

    def configs() -> None:
        for pod in pods:
            resource_config_for_pod(pod)
            for container in pod.spec.containers:
                linux_container_resources(pod, container, context)

    return [
        _timed(f"{count} pods to desired cgroup configurations", count, options.runs, configs),
        _timed(f"desired tree of {count} pods", count, options.runs, lambda: desired_tree(node, pods)),
    ]


def _apply(options: argparse.Namespace) -> list[Figure]:
    from kitlib.cluster import Cluster

    count = options.pods or 1_000
    manifests = [_pod(i, node=f"node-{i % 100 + 1}") for i in range(count)]
    return [
        _timed(
            f"{count} pods applied to 100 hollow nodes",
            count,
            options.runs,
            lambda: Cluster.simulated(100, kubelets=False).apply(manifests),
        )
    ]


def _scheduler(options: argparse.Namespace) -> list[Figure]:
    from kitlib.study import bench

    workloads, sizes = options.workload or bench.WORKLOADS, options.nodes or bench.SIZES
    count = options.pods or bench.PODS
    found = bench.run(workloads, sizes, runs=options.runs, pods=count)
    return [
        {
            "what": f"scheduler {one.workload}, {one.nodes} nodes",
            "pods": count,
            "seconds": count / one.pods_per_second,
            "per_second": one.pods_per_second,
        }
        for one in found
    ]


def _pod(number: int, node: str = "") -> dict[str, Any]:
    """Pods of all three classes in turn, with one or two containers."""
    asked = [
        {"requests": {"cpu": "500m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}},
        {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        {},
    ][number % 3]
    containers = [{"name": f"c{i}", "image": "nginx", "resources": asked} for i in range(1 + number % 2)]
    meta = {"name": f"pod-{number:05d}", "namespace": "default", "uid": f"{number:08x}-0000-4000-8000-000000000000"}
    spec = {"containers": containers, **({"nodeName": node} if node else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
