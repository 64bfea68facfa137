"""What a setting of the kubelet changes: rows that change one, and what one then looks at.

What is looked at is a running node: its cgroup files, its Node object, whom it admits, when it evicts and restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster

MI = 2**20
Look = Callable[[SimulatedCluster], Any]


def pod(name: str, workload: str = "", spec: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload} if workload else {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"nodeName": "node-1", "containers": [container], **(spec or {})},
    }


BURSTABLE = pod("b", requests={"cpu": "500m", "memory": "256Mi"}, limits={"cpu": "1", "memory": "512Mi"})
GUARANTEED = pod("g", limits={"cpu": "2", "memory": "1Gi"})
BEST_EFFORT = pod("e")
ALL = [GUARANTEED, BURSTABLE, BEST_EFFORT]


# What is looked at.


def file(name: str, *, kind: str = "kubepods", of: str = "") -> Look:
    """A file of the first cgroup of that kind (and pod or class); None where there is no such cgroup."""

    def look(cluster: SimulatedCluster) -> Any:
        node = cluster.node()
        for cgroup in node.desired().of_kind(kind):
            if of in ("", cgroup.qos, cgroup.pod.rpartition("/")[2]):
                return node.read(cgroup.path, name)
        return None

    return look


def at(path: str, name: str) -> Look:
    """A file of a cgroup with that path; None where there is none."""
    return lambda cluster: cluster.node().read(path, name) if cluster.node().cgroupfs.exists(path) else None


def path(kind: str, of: str = "") -> Look:
    """Where the first cgroup of that kind stands."""

    def look(cluster: SimulatedCluster) -> Any:
        found = [c.path for c in cluster.node().desired().of_kind(kind) if of in ("", c.pod.rpartition("/")[2])]
        return found[0].replace(str(cluster.pod(of).metadata.uid), "UID") if found and of else (found or [None])[0]

    return look


def allocatable(name: str) -> Look:
    """Of the Node object."""
    return lambda cluster: str(cluster.nodes[0].status.allocatable[name])


def status(name: str) -> Look:
    """A pod's phase, or the reason why it failed."""
    return lambda cluster: cluster.pod(name).status.reason or cluster.pod(name).status.phase


def after(seconds: float, look: Look) -> Look:
    """The same, later."""

    def later(cluster: SimulatedCluster) -> Any:
        cluster.advance(seconds)
        return look(cluster)

    return later


def phases(cluster: SimulatedCluster) -> Any:
    """Of all pods: how many run, and the first reason why one does not."""
    reasons = sorted({p.status.reason for p in cluster.pods() if p.status.reason})
    return sum(p.status.phase == "Running" for p in cluster.pods()), *reasons[:1]


def pressure(cluster: SimulatedCluster) -> Any:
    return next(c.status for c in cluster.nodes[0].status.conditions if c.type == "MemoryPressure")


def restarts(cluster: SimulatedCluster) -> Any:
    return cluster.pods()[0].status.container_statuses[0].restart_count


def daemon(name: str) -> Look:
    """Where a daemon stands."""
    return lambda cluster: next(p.cgroup for p in cluster.node().processes() if p.name == name)


def score(cluster: SimulatedCluster) -> Any:
    return next(p.oom_score_adj for p in cluster.node().processes() if p.name == "kubelet")


def grace(cluster: SimulatedCluster) -> Any:
    return [e.detail for e in cluster.node().kubelet.timeline if e.action == "stopping container"]


def images(cluster: SimulatedCluster) -> Any:
    """The images that are on the node."""
    return sorted(image.names[0] for image in cluster.nodes[0].status.images)


def dead(cluster: SimulatedCluster) -> Any:
    """How many dead containers are on the node."""
    return len(cluster.node().runtime.dead())


def cpus(name: str) -> Look:
    return lambda cluster: cluster.node().proc(name)["Cpus_allowed_list"]


class Row(NamedTuple):
    """One setting.

    Attributes:
        setting: its name.
        before, after: flags or configuration without and with it.
        pods: that run.
        look: what is looked at.
        without, with_it: what is seen; None in `with_it` = only that it differs; the last bytes are the business of
            other tests.
        machine, version: what the node is.
    """

    setting: str
    flags: list[str] | dict[str, Any]
    pods: list[dict[str, Any]]
    look: Look
    without: Any
    with_it: Any
    common: list[str] | dict[str, Any] = []
    machine: dict[str, Any] = {}
    version: int = 2


HOG = pod("hog", "memory=800Mi", requests={"memory": "100Mi"})
SMALL = {"memory": "1Gi"}
DISK = {"ephemeral_storage": "100Gi"}
QUIET = ["--eviction-hard="]
SOFT = ["--eviction-soft=memory.available<500Mi", "--eviction-soft-grace-period=memory.available=30s"]
NUMA = {"cpus": 8, "memory": "16Gi"}
MEMORY_QOS = {"featureGates": {"MemoryQoS": True}}
CRASHING = pod("crash", "1s exit=1")


def start(flags: Any, machine: dict[str, Any], version: int) -> SimulatedCluster:
    words = {"cpus": 4, "memory": "8Gi", **machine}
    if words.pop("threads", False):
        words["topology"] = tuple(_cpu(i, i // 2, 0) for i in range(words["cpus"]))
    if words.pop("numa", False):
        words["topology"] = tuple(_cpu(i, i, i // 4) for i in range(words["cpus"]))
    return Cluster.simulated([{**words, "kubelet": flags}], cgroup_version=version, scheduler=False)


def _cpu(number: int, core: int, numa: int) -> Any:
    from kitlib.kubelet.config.machine import CPU

    return CPU(number, core, numa, numa, numa)


def seen(row: Row, flags: Any) -> Any:
    cluster = start(flags, row.machine, row.version)
    cluster.apply(row.pods)
    return row.look(cluster)


def check(row: Row) -> None:
    """The setting makes the difference that its row tells."""
    merged = {**dict(row.common), **row.flags} if isinstance(row.flags, dict) else [*row.common, *row.flags]
    without, with_it = seen(row, row.common), seen(row, merged)
    assert without == row.without
    assert with_it != without
    if row.with_it is not None:
        assert with_it == row.with_it


def names(rows: Sequence[Row]) -> list[str]:
    return [f"{i}-{row.setting}" for i, row in enumerate(rows)]
