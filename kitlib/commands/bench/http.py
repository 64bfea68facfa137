"""Measurements of the Kubernetes API over HTTPS: lists, tables and watches, relative to the underlying work."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from kitlib.commands.bench.figures import Figure, pod_manifest, timed


def http(options: argparse.Namespace) -> list[Figure]:
    """Measure a list of pods over HTTPS relative to JSON encoding, and a watch relative to the pods' creation."""
    from kitlib.apiserver.http.server import GenericAPIServer
    from kitlib.cluster import Cluster

    count, new = options.pods or 2_000, 200
    cluster = Cluster.simulated(100, kubelets=False)
    cluster.apply([pod_manifest(i, node=f"node-{i % 100 + 1}") for i in range(count)])
    watched: list[float] = []
    applied: list[float] = []
    with GenericAPIServer(cluster, pace=0.0) as service:
        plain = timed(f"{count} pods written as JSON", count, options.runs, lambda: _written(cluster, service))
        listed = timed(f"{count} pods listed over HTTPS", count, options.runs, lambda: _listed(service, count))
        for turn in range(max(1, options.runs)):
            pods = [pod_manifest(count + 2 * turn * new + i, node=f"node-{i % 100 + 1}") for i in range(2 * new)]
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
    """Measure the first tables of pods and nodes from a new server, relative to writing plain data as JSON.

    Both are measured in processor time, in turn.
    """
    from kitlib.api.core import Pod
    from kitlib.api.serialize import to_dict
    from kitlib.apiserver.http.dispatcher import Dispatcher
    from kitlib.apiserver.http.request import Request

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
    """Return the connection and the response to a request of the administrator."""
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
        raise KitError(f"kitlib bench http: the list has {found} pods, but the cluster has {count}")


def _watched(service: Any, cluster: Any, pods: list[dict[str, Any]]) -> float:
    """Return the seconds from the start of the pods' creation until a watch has received all of them."""
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
