"""The first OOM victim on a full node, with random usage: one simulated node, pods that use more or less memory.

    first_victim(seed=1, spread=30)       # {"victim": "log"}

As the scenario of a sweep it shows, over many seeds, the probability of each victim.

Source: kernel mm/oom_kill.c oom_badness, by `kitlib.node.simulated`; kubelet GetContainerOOMScoreAdjust.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from kitlib.advisor.forecast import kills_in
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.metrics import name_of_path

PODS: Sequence[Mapping[str, Any]] = (
    {"name": "db", "uses": 260, "requests": 280, "limits": 280},
    {"name": "web", "uses": 200, "requests": 400, "then": 440},
    {"name": "batch", "uses": 190, "requests": 160},
    {"name": "log", "uses": 60},
)
"""Pods of the start page: MiB of initial use, later use, request and limit."""
QUIET_S, AT_MOST_S = 5, 60


def first_victim(
    seed: int = 0, spread: float = 0, pods: Sequence[Mapping[str, Any]] = PODS, memory: str = "1Gi", release: str = ""
) -> dict[str, str]:
    """Return the first pod that the kernel kills.

    Args:
        seed: seed of the random usage.
        spread: percent by which a pod's usage may deviate from the plan; a pod with a limit stays below it.
        pods: `name`, `uses` (MiB), and optionally `then` (MiB that it uses later), `requests`, `limits` (MiB).
        memory: memory of the machine, a quantity.
        release: Kubernetes release; "" = the newest.

    Raises:
        KitError: `spread` is out of range, or a pod is invalid.
    """
    draw = random.Random(seed)
    if not 0 <= spread <= 100:
        raise KitError(f"spread: must be a percentage from 0 to 100, got {spread}")
    made = [_manifest(pod, draw, spread) for pod in pods]
    with Cluster.simulated(1, cpus=2, memory=memory, release=release or None) as cluster:
        node = cluster.node(next(iter(cluster.nodes)).name)
        cluster.apply([{**one, "spec": {**one["spec"], "nodeName": node.name}} for one in made])
        for _ in range(AT_MOST_S):
            cluster.advance(1)
            kills = kills_in(node.kernel_log())
            if kills:
                return {"victim": name_of_path(kills[0][1], cluster.pods(), node.desired()).partition("/")[0]}
    return {"victim": "none"}


def _manifest(pod: Mapping[str, Any], draw: random.Random, spread: float) -> dict[str, Any]:
    unknown = sorted(set(pod) - {"name", "uses", "then", "requests", "limits"})
    if unknown or not {"name", "uses"} <= set(pod):
        raise KitError(
            "pods: a pod must have the fields name and uses, and can have then, requests and limits; got "
            f"{', '.join(pod)}"
        )

    def used(planned: float) -> str:
        amount = max(1, round(planned * (1 + draw.uniform(-spread, spread) / 100)))
        return f"{min(amount, pod['limits'] - 5) if 'limits' in pod else amount}Mi"

    workload = f"memory={used(pod['uses'])}"
    if "then" in pod:
        workload = f"{QUIET_S}s {workload}; memory={used(pod['then'])}"
    amounts = {what: {"memory": f"{pod[what]}Mi", "cpu": "100m"} for what in ("requests", "limits") if what in pod}
    container = {"name": "app", "image": "registry.k8s.io/pause:3.10", "resources": amounts}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod["name"], "annotations": {"kitlib.dev/workload.app": workload}},
        "spec": {"containers": [container]},
    }
