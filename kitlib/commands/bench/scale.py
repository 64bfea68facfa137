"""Measurements of large clusters in processor time: many pods placed, a pending pod of a large dump explained."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kitlib.commands.bench.figures import Figure, pod_manifest

NODES = 5_000


def scale(options: argparse.Namespace) -> list[Figure]:
    """Measure pods of ten ReplicaSets through admission, controllers, queue, scheduler and binding, in processor time.

    The ratio is relative to 5,000 pods; the memory is the process's maximum so far.
    """
    figures: list[Figure] = []
    for count in (5_000, options.pods or 100_000):
        taken = [_placed(count) for _ in range(max(1, options.runs if count == 5_000 else 1))]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        what = f"{count} pods of ten ReplicaSets on {NODES} nodes, {peak} MiB"
        seconds = statistics.median(taken)
        figures.append(
            {"what": what, "count": count, "seconds": seconds, "per_second": count / seconds, "unit": "pods"}
        )
    figures[1]["ratio"] = figures[1]["seconds"] / figures[0]["seconds"]
    return figures


def _placed(count: int) -> float:
    from kitlib.api.core import Pod
    from kitlib.api.errors import KitError
    from kitlib.cluster import Cluster

    sets = []
    for number in range(10):
        labels, spec = {"app": f"app-{number}"}, pod_manifest(2 * number)["spec"]  # of one container
        template = {"metadata": {"labels": labels}, "spec": spec}
        wanted = {"replicas": count // 10, "selector": {"matchLabels": labels}, "template": template}
        sets.append(
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": f"app-{number}"}, "spec": wanted}
        )
    with Cluster.simulated(NODES, kubelets=False, cpus=16, memory="64Gi") as cluster:
        began = time.process_time()
        cluster.apply(sets)
        seconds = time.process_time() - began
        bound = sum(bool(pod.spec.node_name) for pod in cluster.api.store.list(Pod, copy=False))
    if bound != count // 10 * 10:
        raise KitError(f"kitlib bench scale: {bound} of {count // 10 * 10} pods were placed")
    return seconds


def explain(options: argparse.Namespace) -> list[Figure]:
    """Measure `kitlib explain` with remedies for the only pending pod of a dump, in its own process, in processor time.

    The first dump is large and has pods of three templates; in the second, a tenth of it, no two pods are alike.
    """
    count = options.pods or 50_000
    dumps = ((NODES, count, _like_pods, ""), (NODES // 10, max(1, count // 10), _unlike_pods, " no two alike"))
    return [_explained(nodes, pods, made(nodes, pods), what, options) for nodes, pods, made, what in dumps]


def _like_pods(nodes: int, count: int) -> list[dict[str, Any]]:
    """Return nodes, pods of three templates, and last a pod that requests more CPUs than any node has."""
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    items: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{i}", "labels": {"topology.kubernetes.io/zone": f"zone-{i % 3}"}},
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        for i in range(nodes)
    ]
    items += [pod_manifest(i, node=f"node-{i % nodes}") for i in range(count)]
    waiting = pod_manifest(count)
    waiting["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "32"}}
    return [*items, waiting]


def _unlike_pods(nodes: int, count: int) -> list[dict[str, Any]]:
    """Return nodes of many kinds, pods as kubectl prints them, and last a pod that needs two changes to fit."""
    from kitlib.study import unlike_pods as unlike

    items = [unlike.node_manifest(i, zones=10) for i in range(nodes)]
    items += [unlike.printed(unlike.pod_manifest(i, node=f"node-{i % nodes:05d}")) for i in range(count)]
    waiting = unlike.pod_manifest(count)
    waiting["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "5"}}
    waiting["spec"]["nodeSelector"] = {unlike.DISK: "tape"}
    return [*items, waiting]


def _explained(nodes: int, count: int, items: list[dict[str, Any]], what: str, options: argparse.Namespace) -> Figure:
    """Measure `kitlib explain` of the last item, a pod that fits on no node."""
    from kitlib.api.errors import KitError

    taken = []
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "dump.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4))
        command = [sys.executable, "-m", "kitlib.cli", "explain", items[-1]["metadata"]["name"], "-f", str(file)]
        for _ in range(max(1, options.runs)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode != 1 or "nodes are available" not in done.stdout:  # 1: the pod is not placed
                raise KitError(
                    f"kitlib bench explain: kitlib explain ended with exit code {done.returncode}: "
                    f"{(done.stderr or done.stdout)[-200:]}"
                )
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        size = file.stat().st_size / 1e6
    title = f"explain, {nodes} nodes, {count} pods{what}, {size:.0f} MB, {after.ru_maxrss // 1024} MiB"
    seconds = statistics.median(taken)
    return {"what": title, "count": count, "seconds": seconds, "per_second": count / seconds, "unit": "pods"}
