"""Pods that do harm, all on one node beside one that does none: it lives, and deletion ends every process of theirs.

In the gate without the fork bomb, which `test_disposable.py` has; `KITLIB_NIGHTLY=1` adds it, and holds the deletion to
its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import SLOW, pod, state
from tests.engine.traces import Traces
from tests.sizes import NIGHTLY

LINE = "0123456789" * 8
HARMFUL: dict[str, dict[str, Any]] = {
    "hog": {"workload": "memory=2Gi"},
    "output": {"command": f"exec yes {LINE}"},
    "deaf": {"command": "trap '' TERM; echo deaf; while :; do sleep 1; done"},
    **({"bomb": {"command": "f() { f | f & }; while :; do f; sleep 0.2; done"}} if NIGHTLY else {}),
}
WITHIN = 5.0 * SLOW
"""Seconds from the deletion of the pods to the end of their last process."""


def test_harmful_pods_spare_their_neighbour_and_go_with_their_deletion(
    start: Callable[..., DockerCluster], traces: Traces
) -> None:
    cluster = start(1, memory="512Mi")
    node = cluster.node()
    given = {"cpu": "100m", "memory": "64Mi"}
    cluster.apply(pod("exec sleep 1000", name="good", requests=given, limits=given))
    cluster.wait(lambda c: c.pod("good").status.phase == "Running")
    cluster.apply([pod(**{"command": "", **settings}, name=name) for name, settings in HARMFUL.items()])
    uids = {cluster.pod(name).metadata.uid for name in HARMFUL}
    cluster.wait(lambda c: c.pod("hog").status.reason == "Evicted" or state(c, "hog")[2] > 0, 120)
    cluster.wait(lambda _: LINE in node.logs("output") and "deaf" in node.logs("deaf"))
    if "bomb" in HARMFUL:  # not from /proc: the agent takes a minute to read thousands of processes
        path = next(c.path for c in node.desired().of_pod(cluster.pod("bomb").metadata.uid) if c.kind == "pod")
        cluster.wait(lambda _: int(node.read(path, "pids.current")) > 100, 120)
    began = time.monotonic()
    for name in HARMFUL:
        cluster.delete("Pod", name, grace=0)
    # seen from outside, so that no answer of a busy node is waited for
    while (left := traces.processes(uids)) and time.monotonic() - began < 12 * WITHIN:
        time.sleep(0.1)
    seconds = time.monotonic() - began
    print(f"the last process of {', '.join(HARMFUL)} ended {seconds:.1f} s after their deletion began")
    assert left == []
    assert seconds <= WITHIN or not NIGHTLY
    assert state(cluster, "good") == ("Running", "running", 0)
    # with requests: for five minutes after an eviction no BestEffort pod is admitted
    cluster.apply(pod(name="next", requests=given))
    cluster.wait(lambda c: c.pod("next").status.phase == "Running")
