"""Measurements of parts of the kit: enforcement, apply, the scheduler, loading, a node's minutes, sweeps."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from kitlib.commands.bench.figures import Figure, pod_manifest, timed


def enforcement(options: argparse.Namespace) -> list[Figure]:
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
    pods: list[Pod] = [set_defaults(from_dict(pod_manifest(i), Pod)) for i in range(count)]
    context = ContainerContext(memory_capacity=64 * 2**30)
    node = NodeConfig(machine=MachineInfo.declare(64, "256Gi"))

    def configs() -> None:
        for pod in pods:
            resource_config_for_pod(pod)
            for container in pod.spec.containers:
                linux_container_resources(pod, container, context)

    return [
        timed(f"{count} pods to desired cgroup configurations", count, options.runs, configs),
        timed(f"desired tree of {count} pods", count, options.runs, lambda: desired_tree(node, pods)),
    ]


def apply(options: argparse.Namespace) -> list[Figure]:
    from kitlib.cluster import Cluster

    count = options.pods or 1_000
    manifests = [pod_manifest(i, node=f"node-{i % 100 + 1}") for i in range(count)]
    return [
        timed(
            f"{count} pods applied to 100 hollow nodes",
            count,
            options.runs,
            lambda: Cluster.simulated(100, kubelets=False).apply(manifests),
        )
    ]


def scheduler(options: argparse.Namespace) -> list[Figure]:
    from kitlib.study import bench

    workloads, sizes = options.workload or bench.WORKLOADS, options.nodes or bench.SIZES
    count = options.pods or bench.PODS
    found = bench.run(workloads, sizes, runs=options.runs, pods=count)
    return [
        {
            "what": f"scheduler {bench_result.workload}, {bench_result.nodes} nodes",
            "count": count,
            "seconds": count / bench_result.pods_per_second,
            "per_second": bench_result.pods_per_second,
            "unit": "pods",
        }
        for bench_result in found
    ]


def load(options: argparse.Namespace) -> list[Figure]:
    import yaml

    from kitlib.api.serialize import load

    count = options.pods or 2_500
    # as kubectl writes them: nothing is an alias of an earlier object, as equal requests of one process would be
    text = yaml.safe_dump_all(json.loads(json.dumps([pod_manifest(i) for i in range(count)])))
    size = f"{len(text) / 1e6:.1f} MB of manifests"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    plain = timed(f"{size}, read by PyYAML alone", count, options.runs, lambda: list(yaml.load_all(text, loader)))
    ours = timed(f"{size}, loaded", count, options.runs, lambda: load(text))
    return [plain, {**ours, "ratio": plain["seconds"] / ours["seconds"]}]


def minutes(options: argparse.Namespace) -> list[Figure]:
    from kitlib.cluster import Cluster

    count = options.pods or 100
    cluster = Cluster.simulated([{"name": "node-1", "cpus": 64, "memory": "256Gi"}])
    cluster.apply([pod_manifest(i, node="node-1") for i in range(count)])
    cluster.advance(60)
    what = f"10 minutes of a simulated node with {count} pods"
    return [timed(what, 600, options.runs, lambda: cluster.advance(600), unit="virtual s")]


def sweep(options: argparse.Namespace) -> list[Figure]:
    """Measure spreading scenarios in one worker process and in two, in turn; the last ratio is the speedup."""
    from kitlib.api.errors import KitError
    from kitlib.examples.sweeps import example
    from kitlib.study.sweeps import Sweep
    from kitlib.study.sweeps.grid import points

    definition, count, figures = example("max-skew"), options.points or 10_000, list[Figure]()
    grid = points(definition.grid, count // 16 + 1)[:count]
    found: list[list[Any]] = []
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(max(1, options.runs)):
        for workers, seconds in taken.items():
            run = Sweep(definition.scenario, grid, definition.metric)
            began = time.perf_counter()
            rows = run.run(workers=workers).rows
            seconds.append(time.perf_counter() - began)
            found.append([(row.point, row.values, row.error) for row in rows])
    if any(one != found[0] for one in found) or any(error for _, _, error in found[0]):
        raise KitError("kitlib bench sweep: the rows of two runs differ, or a row has an error")
    for workers, seconds in taken.items():
        median = statistics.median(seconds)
        what = f"{count} scenarios, {workers} worker{'s' if workers > 1 else ''}, same rows"
        figures.append(
            {"what": what, "count": count, "seconds": median, "per_second": count / median, "unit": "scenarios"}
        )
    figures[1]["ratio"] = statistics.median(a / b for a, b in zip(taken[1], taken[2], strict=True))
    return figures
