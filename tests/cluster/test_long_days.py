"""A cluster that runs for days keeps no more than one that runs for hours, and its hours take no longer.

What is counted are the objects that Python holds and the entries of all containers, not the memory of the process: the
figures are the same on every machine. KITLIB_NIGHTLY=1 runs 24 hours of 1,000 pods.
"""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from typing import Any

from kitlib.cluster import Cluster

NIGHTLY = os.environ.get("KITLIB_NIGHTLY") == "1"
NODES, PODS = (20, 1000) if NIGHTLY else (1, 40)
WARM_UP, HOURS, STEP = (3, 24, 3) if NIGHTLY else (2, 6, 1)
GROWTH = 1.02
"""How much more there may be later: pods that crash are in another state at every hour."""
CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec:
  schedule: "*/10 * * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: x, command: [sleep, "60"]}]}
"""


def pod(number: int) -> dict[str, Any]:
    """Every tenth pod crashes, every twentieth is killed for its memory, one waits for ever."""
    command, resources = ["sleep", "infinity"], {"requests": {"cpu": "10m", "memory": "10Mi"}}
    notes = {}
    if number % 20 == 1:
        notes["kitlib.dev/workload.c"] = "300s memory=10Mi; memory=40Mi"
        resources["limits"] = {"memory": "20Mi"}
    elif number % 10 == 0:
        command = ["sh", "-c", "sleep 600; exit 1"]
    if number == 7:
        resources["requests"]["cpu"] = "64"
    container = {"name": "c", "image": "x", "command": command, "resources": resources}
    metadata = {"name": f"p{number}", "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def held(cluster: Any) -> int:
    """The objects that Python tracks, and the entries of all lists, dictionaries, sets and queues.

    The kernel's log is left out: it is kept up to a number of lines, which takes longer than a day to be reached.
    """
    gc.collect()
    found = gc.get_objects()
    lines = sum(len(cluster.node(node.name).kernel_log()) for node in cluster.nodes)
    return len(found) + sum(len(one) for one in found if type(one) in (list, dict, set, deque)) - lines


def test_nothing_grows_while_days_pass() -> None:
    cluster = Cluster.simulated(NODES, cpus=16, memory="64Gi")
    cluster.apply([pod(number) for number in range(PODS)])
    cluster.apply(CRON_JOB)
    cluster.advance(WARM_UP * 3600)
    sizes, seconds = [held(cluster)], []
    for _ in range(WARM_UP, HOURS, STEP):
        began = time.process_time()
        cluster.advance(STEP * 3600)
        seconds.append(time.process_time() - began)
        sizes.append(held(cluster))
    assert sum("OOMKilled" in str(p.status.container_statuses) for p in cluster.pods()) == len(range(1, PODS, 20))
    assert max(sizes) <= sizes[0] * GROWTH, sizes
    half = len(seconds) // 2
    assert sum(seconds[-half:]) <= 2 * sum(seconds[:half]), seconds
