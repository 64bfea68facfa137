"""The common parts of the measurements of `kitlib bench`: a figure, its timing, and the pods."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable
from typing import Any

Figure = dict[str, Any]


def timed(what: str, pods: int, runs: int, work: Callable[[], object], unit: str = "pods") -> Figure:
    taken = []
    for _ in range(max(1, runs)):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    seconds = statistics.median(taken)
    return {"what": what, "count": pods, "seconds": seconds, "per_second": pods / seconds, "unit": unit}


def pod_manifest(number: int, node: str = "") -> dict[str, Any]:
    """Return a pod; successive numbers alternate between the three QoS classes and one or two containers."""
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
