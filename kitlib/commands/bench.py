"""`kitlib bench`: how fast the kit is on this machine, in figures that can be compared."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

RUNS = 3
Figure = dict[str, Any]


def add(commands: Any) -> None:
    made = commands.add_parser(
        "bench",
        help="measure how fast the kit is here",
        description="Measure on one core; the median of several runs is printed. enforcement: pods turned into desired "
        "cgroup configurations, and whole trees. apply: objects through API server, controllers and hollow nodes. "
        "scheduler: the workloads of the scheduler benchmark, pods per second. load: a manifest file, and the plain "
        "YAML reader as the reference. http: lists and watches over HTTPS, and the work behind them as the "
        "reference. minutes: a simulated node's time. sweep: scenarios in one process and in two, "
        "which must find the same (not on one core).",
    )
    made.add_argument("what", choices=tuple(MEASURED), help="what to measure")
    made.add_argument("--pods", type=int, help="how many pods (enforcement: 10000, apply: 1000)")
    made.add_argument(
        "--nodes", type=int, action="append", help="scheduler: how many nodes (may be given several times)"
    )
    made.add_argument("--workload", action="append", help="scheduler: basic, spread, antiaffinity, preempt or mixed")
    made.add_argument("--points", type=int, default=10_000, help="sweep: how many scenarios (default 10000)")
    made.add_argument("--runs", type=int, default=RUNS, help=f"how many runs (default {RUNS})")
    made.add_argument("--json", action="store_true", help="print the figures as JSON")
    made.add_argument(
        "--compare",
        metavar="REV",
        help="run this checkout and another revision of it in turn, and print how many times as fast this one is",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.compare:
        return _compare(options)
    figures = MEASURED[options.what](options)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for figure in figures:
            print(_line(figure), flush=True)
    return 0


def _line(figure: Figure) -> str:
    text = f"{figure['what']:<58} {figure['seconds']:9.3f} s {figure['per_second']:12.0f} {figure['unit']}/s"
    return text + (f" {figure['ratio']:6.2f} times the reference" if "ratio" in figure else "")


def _compare(options: argparse.Namespace) -> int:
    """Both revisions in turn, each in a process of its own; the median of the ratios, the smallest and the largest."""
    root = Path(__file__).parents[2]
    asked = ["--pods", str(options.pods)] if options.pods else []
    for size in options.nodes or ():
        asked += ["--nodes", str(size)]
    each: list[list[str]] = [[]]
    if options.what == "scheduler":
        from kitlib.study import bench

        each = [["--workload", name] for name in options.workload or bench.WORKLOADS]
    with tempfile.TemporaryDirectory() as place:
        other = Path(place) / "other"
        _git(root, "worktree", "add", "--detach", "--quiet", str(other), options.compare)
        try:
            for more in each:
                arguments = [options.what, "--json", "--runs", "1", *asked, *more]
                pairs = [
                    (_figures(root, arguments), _figures(other, arguments, missing={}))
                    for _ in range(max(1, options.runs))
                ]
                print_ratios(pairs, options.compare)
        finally:
            _git(root, "worktree", "remove", "--force", str(other))
    return 0


def print_ratios(pairs: list[tuple[dict[str, float], dict[str, float]]], revision: str) -> None:
    for what in pairs[0][0]:
        ratios = sorted(theirs[what] / ours[what] for ours, theirs in pairs if what in theirs)
        if not ratios:
            print(f"{what:<58} is not measured by {revision}", flush=True)
            continue
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"{what:<58} {statistics.median(ratios):6.2f} times as fast as {revision} ({spread})", flush=True)


def _git(root: Path, *arguments: str) -> None:
    from kitlib.api.errors import KitError

    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise KitError(f"kitlib bench --compare: git {arguments[0]} {arguments[-1]}: {done.stderr.strip()}")


def _figures(tree: Path, arguments: list[str], missing: dict[str, float] | None = None) -> dict[str, float]:
    """What a checkout's `kitlib bench` prints: figure -> seconds; `missing` where it fails, if that may be."""
    from kitlib.api.errors import KitError

    command = [sys.executable, "-m", "kitlib.cli", "bench", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode and missing is not None:
        return missing
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KitError(f"kitlib bench --compare: kitlib bench in {tree.name} ended with {done.returncode}: {last}")
    return {figure["what"]: figure["seconds"] for figure in json.loads(done.stdout)}


def _timed(what: str, pods: int, runs: int, work: Callable[[], object], unit: str = "pods") -> Figure:
    taken = []
    for _ in range(max(1, runs)):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    seconds = statistics.median(taken)
    return {"what": what, "count": pods, "seconds": seconds, "per_second": pods / seconds, "unit": unit}


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
            "count": count,
            "seconds": count / one.pods_per_second,
            "per_second": one.pods_per_second,
            "unit": "pods",
        }
        for one in found
    ]


def _load(options: argparse.Namespace) -> list[Figure]:
    import yaml

    from kitlib.api.serialize import load

    count = options.pods or 2_500
    # as kubectl writes them: nothing is an alias of an earlier object, as equal requests of one process would be
    text = yaml.safe_dump_all(json.loads(json.dumps([_pod(i) for i in range(count)])))
    size = f"{len(text) / 1e6:.1f} MB of manifests"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    plain = _timed(f"{size}, read by PyYAML alone", count, options.runs, lambda: list(yaml.load_all(text, loader)))
    ours = _timed(f"{size}, loaded", count, options.runs, lambda: load(text))
    return [plain, {**ours, "ratio": plain["seconds"] / ours["seconds"]}]


def _minutes(options: argparse.Namespace) -> list[Figure]:
    from kitlib.cluster import Cluster

    count = options.pods or 100
    cluster = Cluster.simulated([{"name": "node-1", "cpus": 64, "memory": "256Gi"}])
    cluster.apply([_pod(i, node="node-1") for i in range(count)])
    cluster.advance(60)
    what = f"10 minutes of a simulated node with {count} pods"
    return [_timed(what, 600, options.runs, lambda: cluster.advance(600), unit="virtual s")]


def _sweep(options: argparse.Namespace) -> list[Figure]:
    """Spreading scenarios in one worker process and in two, in turn; the second figure's ratio is how much faster."""
    from kitlib.api.errors import KitError
    from kitlib.examples.sweeps import example
    from kitlib.study.sweeps import Sweep
    from kitlib.study.sweeps.grid import points

    definition, count, figures = example("max-skew"), max(1, options.points), list[Figure]()
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
        raise KitError("kitlib bench sweep: two runs found different rows, or errors")
    for workers, seconds in taken.items():
        median = statistics.median(seconds)
        what = f"{count} scenarios, {workers} worker{'s' if workers > 1 else ''}, same rows"
        figures.append(
            {"what": what, "count": count, "seconds": median, "per_second": count / median, "unit": "scenarios"}
        )
    figures[1]["ratio"] = statistics.median(a / b for a, b in zip(taken[1], taken[2], strict=True))
    return figures


def _http(options: argparse.Namespace) -> list[Figure]:
    """A list of pods read over HTTPS, against writing it as JSON alone; a watch of new ones, against creating them."""
    from kitlib.apiserver.server import APIService
    from kitlib.cluster import Cluster

    count, new = options.pods or 2_000, 200
    cluster = Cluster.simulated(100, kubelets=False)
    cluster.apply([_pod(i, node=f"node-{i % 100 + 1}") for i in range(count)])
    watched: list[float] = []
    applied: list[float] = []
    with APIService(cluster, pace=0.0) as service:
        plain = _timed(f"{count} pods written as JSON", count, options.runs, lambda: _written(cluster, service))
        listed = _timed(f"{count} pods listed over HTTPS", count, options.runs, lambda: _listed(service, count))
        for turn in range(max(1, options.runs)):
            pods = [_pod(count + 2 * turn * new + i, node=f"node-{i % 100 + 1}") for i in range(2 * new)]
            began = time.perf_counter()
            with service.lock:
                cluster.apply(pods[:new])
            applied.append(time.perf_counter() - began)
            watched.append(_watched(service, cluster, pods[new:]))
    seconds = statistics.median(watched)
    ratio = statistics.median(alone / seen for alone, seen in zip(applied, watched, strict=True))
    what = f"{new} new pods seen by a watch over HTTPS"
    watch = {"what": what, "count": new, "seconds": seconds, "per_second": new / seconds, "unit": "pods"}
    first = _first_table(cluster, count, options.runs)
    return [plain, {**listed, "ratio": plain["seconds"] / listed["seconds"]}, first, {**watch, "ratio": ratio}]


def _first_table(cluster: Any, count: int, runs: int) -> Figure:
    """Pods and nodes as tables, by a server that has none of them ready yet; against writing plain data as JSON.

    Both in processor time, in turn.
    """
    from kitlib.api.core import Pod
    from kitlib.api.serialize import to_dict
    from kitlib.apiserver.dispatcher import Dispatcher
    from kitlib.apiserver.request import Request

    plain = [to_dict(pod) for pod in cluster.api.store.list(Pod, copy=False)]
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    tables, written = [], []
    for _ in range(max(1, runs)):
        server = Dispatcher(cluster)
        began = time.process_time()
        for path in ("/api/v1/pods", "/api/v1/nodes"):
            server.handle(Request("GET", path, {}, headers, b""))
        tables.append(time.process_time() - began)
        began = time.process_time()
        json.dumps(plain)
        written.append(time.process_time() - began)
    seconds = statistics.median(tables)
    ratio = statistics.median(alone / table for alone, table in zip(written, tables, strict=True))
    what = f"first tables of {count} pods and the nodes (processor time)"
    return {
        "what": what,
        "count": count,
        "seconds": seconds,
        "per_second": count / seconds,
        "unit": "pods",
        "ratio": ratio,
    }


def _written(cluster: Any, service: Any) -> bytes:
    from kitlib.api.core import Pod
    from kitlib.api.serialize import to_dict

    with service.lock:
        return json.dumps({"items": [to_dict(pod) for pod in cluster.api.store.list(Pod, copy=False)]}).encode()


def _asked(service: Any, path: str) -> tuple[Any, Any]:
    """The connection, and the answer to a request of the administrator."""
    import base64
    import http.client
    import ssl

    authority = service.config["clusters"][0]["cluster"]["certificate-authority-data"]
    context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
    connection = http.client.HTTPSConnection("127.0.0.1", service.port, context=context, timeout=120)
    connection.request("GET", path, headers={"Authorization": f"Bearer {service.token}"})
    return connection, connection.getresponse()


def _listed(service: Any, count: int) -> None:
    from kitlib.api.errors import KitError

    connection, answer = _asked(service, "/api/v1/pods")
    found = len(json.loads(answer.read())["items"])
    connection.close()
    if found < count:
        raise KitError(f"kitlib bench http: {found} pods were listed, there are {count}")


def _watched(service: Any, cluster: Any, pods: list[dict[str, Any]]) -> float:
    """Seconds from the beginning of their creation until a watch has seen all of them."""
    connection, answer = _asked(service, f"/api/v1/pods?watch=true&resourceVersion={cluster.api.store.version}")
    left = {pod["metadata"]["name"] for pod in pods}
    began = time.perf_counter()
    with service.lock:
        cluster.apply(pods)
    while left:
        event = json.loads(answer.readline())
        if event["type"] == "ADDED":
            left.discard(event["object"]["metadata"]["name"])
    seconds = time.perf_counter() - began
    connection.close()
    return seconds


MEASURED: dict[str, Callable[[argparse.Namespace], list[Figure]]] = {
    "enforcement": _enforcement,
    "apply": _apply,
    "scheduler": _scheduler,
    "load": _load,
    "minutes": _minutes,
    "http": _http,
    "sweep": _sweep,
}


def _pod(number: int, node: str = "") -> dict[str, Any]:
    """Pods of all three classes in turn, with one or two containers."""
    asked = [
        {"requests": {"cpu": "500m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}},
        {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        {},
    ][number % 3]
    containers = [{"name": f"c{i}", "image": "nginx", "resources": asked} for i in range(1 + number % 2)]
    uid = str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))
    meta = {"name": f"pod-{number:05d}", "namespace": "default", "uid": uid}
    spec = {"containers": containers, **({"nodeName": node} if node else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
