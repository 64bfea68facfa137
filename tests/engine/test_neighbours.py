"""Pods that do harm, all on one node beside one that does none: it lives, and deletion ends every process of theirs.

In the gate without the fork bomb, which `test_disposable.py` has; `KITLIB_NIGHTLY=1` adds it, and holds the deletion to
its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import SLOW, pod, state
from tests.sizes import NIGHTLY

LINE = "0123456789" * 8
HARMFUL: dict[str, dict[str, Any]] = {
    "output": {"command": f"exec yes {LINE}"},
    "deaf": {"command": "trap '' TERM; echo deaf; while :; do sleep 1; done"},
    **({"bomb": {"command": "f() { f | f & }; while :; do f; sleep 0.2; done"}} if NIGHTLY else {}),
    # the last one, because the node evicts BestEffort pods for it; with requests, because then it admits no other ones
    "hog": {"workload": "memory=2Gi", "requests": {"memory": "1Mi"}},
}
WITHIN = 5.0 * SLOW
"""Seconds from the deletion of the pods to the end of their last process."""


def _has_worked(name: str, cluster: Any) -> bool:
    """Return whether a harmful pod has done what it is there for, or has ended for it."""
    one, node = cluster.pod(name), cluster.node()
    if one.status.phase == "Failed":
        return True
    if name == "hog":
        return bool(state(cluster, name)[2])
    if name == "bomb":  # not from /proc: the agent takes a minute to read thousands of processes
        path = next((c.path for c in node.desired().of_pod(one.metadata.uid) if c.kind == "pod"), "")
        with suppress(KitError):  # it is evicted in this moment
            return bool(path) and int(node.read(path, "pids.current")) > 100
        return False
    return {"output": LINE, "deaf": "deaf"}[name] in node.logs(name)


def _cgroups(container: str, uids: set[str]) -> list[Path]:
    """Find the cgroups that count the processes of some pods, as the machine sees them."""
    mounted = Path("/sys/fs/cgroup")
    top = mounted / "pids" if (mounted / "pids").is_dir() else mounted
    node = next(place for place in top.rglob(f"*{container}*") if place.is_dir())
    return [place for place in node.rglob("pod*") if any(place.name == f"pod{uid}" for uid in uids)]


def _processes(cgroups: list[Path]) -> int:
    """Count processes. A look through /proc takes seconds from thousands of processes that are ending."""
    found = 0
    for place in cgroups:
        with suppress(OSError):  # it is removed with its last process
            found += int((place / "pids.current").read_text())
    return found


def test_harmful_pods_spare_their_neighbour_and_go_with_their_deletion(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory="512Mi")
    given = {"cpu": "100m", "memory": "64Mi"}
    cluster.apply(pod("exec sleep 1000", name="good", requests=given, limits=given))
    cluster.wait(lambda c: c.pod("good").status.phase == "Running")
    uids = set()
    for name, settings in HARMFUL.items():
        cluster.apply(pod(**{"command": "", **settings}, name=name))
        uids.add(cluster.pod(name).metadata.uid)
        cluster.wait(partial(_has_worked, name), 120)
    # seen from outside, so that no answer of a busy node is waited for
    cgroups = _cgroups(cluster.node().container.id, uids)
    assert _processes(cgroups)
    began = time.monotonic()
    for name in HARMFUL:
        cluster.delete("Pod", name, grace=0)
    while (left := _processes(cgroups)) and time.monotonic() - began < 12 * WITHIN:
        time.sleep(0.1)
    seconds = time.monotonic() - began
    print(f"the last process of {', '.join(HARMFUL)} ended {seconds:.1f} s after their deletion began")
    assert left == 0
    assert seconds <= WITHIN or not NIGHTLY
    assert state(cluster, "good") == ("Running", "running", 0)
