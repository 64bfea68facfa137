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

import pytest

from kitlib.apiserver.store import events
from kitlib.cluster import Cluster
from kitlib.node.common import kernel_log
from kitlib.node.simulated import kernel
from kitlib.scheduler.framework import change_log

NIGHTLY = os.environ.get("KITLIB_NIGHTLY") == "1"
NODES, PODS = (20, 1000) if NIGHTLY else (1, 40)
WARM_UP, HOURS, STEP = (3, 24, 3) if NIGHTLY else (2, 6, 1)
GROWTH = 1.02
"""How much more there may be later than in the first two looks: pods that crash are in another state at every hour."""
BOUNDS = (
    (kernel, "CHANGES_KEPT", 500),
    (kernel_log, "KEPT", 100),
    (change_log, "KEPT", 20),
    (events, "MAX_LRU_CACHE_ENTRIES", 20),
)
"""Module, name of its bound, entries."""
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


def held() -> int:
    """The objects that Python tracks, and the entries of all lists, dictionaries, sets and queues."""
    gc.collect()
    found = gc.get_objects()
    return len(found) + sum(len(one) for one in found if type(one) in (list, dict, set, deque))


@pytest.mark.thorough
def test_nothing_grows_while_days_pass(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """What is kept up to a number of entries is full before the first look: it is made small enough for that."""
    for module, bound, entries in BOUNDS:
        monkeypatch.setattr(module, bound, entries)
    gc.collect()
    gc.freeze()  # what other tests hold is not counted
    request.addfinalizer(gc.unfreeze)
    cluster = Cluster.simulated(NODES, cpus=16, memory="64Gi")
    cluster.apply([pod(number) for number in range(PODS)])
    cluster.apply(CRON_JOB)
    cluster.advance(WARM_UP * 3600)
    sizes, seconds = [held()], []
    for _ in range(WARM_UP, HOURS, STEP):
        began = time.process_time()
        cluster.advance(STEP * 3600)
        seconds.append(time.process_time() - began)
        sizes.append(held())
    assert sum("OOMKilled" in str(p.status.container_statuses) for p in cluster.pods()) == len(range(1, PODS, 20))
    assert max(sizes[2:]) <= max(sizes[:2]) * GROWTH, sizes
    half = len(seconds) // 2
    assert sum(seconds[-half:]) <= 2 * sum(seconds[:half]), seconds
