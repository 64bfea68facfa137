"""Who dies first: the kernel kills whom the badness computed from /proc names, between pods and by class."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.nodes.metrics import oom_rows
from tests.engine.helpers import SLOW, pod, state

MIB = 2**20
WHOLE = 512


class Deaths:
    """Who was killed by the OOM killer since now, in the kernel's own order where its log can be read.

    Two processes that die within a moment are told by the node in any order; the kernel's log is exact.
    """

    def __init__(self, cluster: DockerCluster) -> None:
        self._cluster, self._watch, self._seen = cluster, cluster.watch("Pod"), list[str]()
        self._uids: dict[str, str] = {}

    def names(self) -> list[str]:
        for event in self._watch.poll():
            self._uids[event.object.metadata.uid] = event.object.name
            for one in getattr(event.object.status, "container_statuses", ()):
                reason = one.state.get("terminated", {}).get("reason")
                if reason == "OOMKilled" and event.object.name not in self._seen:
                    self._seen.append(event.object.name)
        if not self._seen:
            return []
        lines = [line for line in self._cluster.node().kernel_log() if "oom-kill:constraint" in line]
        logged = [name for line in lines for uid, name in self._uids.items() if uid in line]
        return [*dict.fromkeys([*logged, *self._seen])]


def holding(name: str, memory: int, request: int = 0) -> dict[str, Any]:
    requests = {"memory": f"{request}Mi"} if request else None
    return pod(name=name, workload=f"memory={memory}Mi", requests=requests, restartPolicy="Never")


def uses(cluster: DockerCluster, name: str) -> int:
    return sum(p.memory for p in cluster.node().processes() if p.pod == name and p.container)


def drawn(dice: random.Random) -> tuple[list[int], list[int]]:
    """Sizes and requests of three pods, MiB, whose first two differ by more than the kernel's own counters lag."""
    while True:
        sizes = [dice.randint(60, 140) for _ in range(3)]
        requests = [dice.choice((0, 0, 10, 20, 40, 60)) for _ in range(3)]
        points = sorted(size + WHOLE - request for size, request in zip(sizes, requests, strict=True))
        if 270 <= sum(sizes) <= 330 and points[2] - points[1] > 5:
            return sizes, requests


def test_the_predicted_victim_is_the_real_one_in_twenty_of_twenty_runs(start: Callable[..., DockerCluster]) -> None:
    """Three pods of random class and size hold memory, a fourth grows until all pods together have no more."""
    cluster = start(1, memory=f"{WHOLE}Mi", kubelet=["--eviction-hard="])
    node, dice, right = cluster.node(), random.Random(4), []
    for run in range(20):
        sizes, requests = drawn(dice)
        names = [f"r{run}-{i}" for i in range(3)]
        deaths = Deaths(cluster)
        for name, size, request in zip(names, sizes, requests, strict=True):
            cluster.apply(holding(name, size, request))
        held = dict(zip(names, sizes, strict=True))
        cluster.wait(lambda c, held=held: all(uses(c, n) > (s - 2) * MIB for n, s in held.items()), 20)
        rows = [row for row in oom_rows(node, WHOLE * MIB // 4096) if row["name"].partition("/")[0] in names]
        predicted = rows[0]["name"].partition("/")[0]
        grower = f"g{run}"
        limits = {"cpu": "500m", "memory": "290Mi"}
        cluster.apply(pod(name=grower, workload="memory=285Mi", limits=limits, restartPolicy="Never"))
        order = cluster.wait(lambda c, deaths=deaths: deaths.names(), 20)
        right.append(order[0] == predicted or (predicted, order, held, requests))
        for name in (*names, grower):
            cluster.delete("Pod", name, grace=0)
        cluster.wait(lambda c: not c.pods(), 10)
    assert right == [True] * 20
    assert node.link.alive


def test_with_equal_use_besteffort_dies_first_then_burstable_and_guaranteed_last(
    start: Callable[..., DockerCluster],
) -> None:
    cluster = start(1, memory=f"{WHOLE}Mi", kubelet=["--eviction-hard="])
    grows = "; ".join(f"0.5s memory={size}Mi" for size in range(40, 340, 20)) + "; memory=330Mi"
    deaths = Deaths(cluster)
    cluster.apply(
        [
            pod(name="be", workload=grows, restartPolicy="Never"),
            pod(name="bu", workload=grows, requests={"memory": "100Mi"}, restartPolicy="Never"),
            pod(name="gu", workload=grows, limits={"cpu": "500m", "memory": "400Mi"}, restartPolicy="Never"),
        ]
    )
    # what the dead held is enough for the last one, and it gets it: the reaper takes private memory at once
    cluster.wait(lambda c: uses(c, "gu") > 328 * MIB or "gu" in deaths.names(), 40)
    assert deaths.names()[:2] == ["be", "bu"]
    if SLOW == 1:  # the kernel of an emulated machine may give up a victim whose memory it cannot have in time
        assert deaths.names() == ["be", "bu"]
        assert state(cluster, "gu") == ("Running", "running", 0)


def test_what_a_declared_workload_holds_is_private_memory(start: Callable[..., DockerCluster]) -> None:
    """The OOM reaper cannot take shared memory: the kernel gives such a victim up and kills the next one as well."""
    cluster = start(1, memory=f"{WHOLE}Mi")
    cluster.apply(holding("h", 100))
    cluster.wait(lambda c: uses(c, "h") > 98 * MIB, 20)
    node = cluster.node()
    path = next(c.path for c in node.desired().of_pod(cluster.pod("h").metadata.uid) if c.kind == "container")
    told = {name: int(value) for name, value in map(str.split, node.read(path, "memory.stat").splitlines())}
    private, shared = ("rss", "shmem") if node.cgroupfs.version == 1 else ("anon", "shmem")
    assert told[private] > 90 * MIB
    assert told[shared] == 0


def test_a_big_burstable_pod_dies_before_a_small_besteffort_one(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory=f"{WHOLE}Mi", kubelet=["--eviction-hard="])
    deaths = Deaths(cluster)
    cluster.apply([holding("small", 15), holding("big", 250, 10)])
    cluster.wait(lambda c: uses(c, "big") > 248 * MIB, 20)
    rows = [row["name"].partition("/")[0] for row in oom_rows(cluster.node(), WHOLE * MIB // 4096)]
    assert rows == ["big", "small"]
    limits = {"cpu": "500m", "memory": "300Mi"}
    cluster.apply(pod(name="grower", workload="memory=290Mi", limits=limits, restartPolicy="Never"))
    cluster.wait(lambda c: deaths.names(), 20)
    assert deaths.names()[0] == "big"


def test_the_kernels_own_log_is_the_evidence(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    node = cluster.node()
    log = node.kernel_log()
    if log and "cannot be read" in log[0]:
        assert any("kernel's log" in text for text in node.fidelity)
        return
    cluster.apply(pod(name="hog", workload="memory=200Mi", limits={"memory": "64Mi"}, restartPolicy="Never"))
    uid = cluster.pod("hog").metadata.uid
    cluster.wait(lambda c: c.pod("hog").status.phase == "Failed", 15)
    lines = node.kernel_log()
    assert any("oom-kill:constraint=CONSTRAINT_MEMCG" in line and uid in line for line in lines)
    assert any("Killed process" in line for line in lines)


@pytest.mark.parametrize("single", [True, False])
def test_within_a_container_one_process_or_all_are_killed(start: Callable[..., DockerCluster], single: bool) -> None:
    """On cgroup v1 the kernel kills one process; on v2 the whole container is killed, unless told otherwise."""
    settings = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    if single:
        settings["singleProcessOOMKill"] = True  # type: ignore[assignment]
    cluster = start(1, kubelet=settings)
    child = "python3 -c 'x = bytearray(200 << 20)'; echo child $?; sleep 1000"
    cluster.apply(pod(child, name="parent", limits={"memory": "64Mi"}, restartPolicy="Never"))
    if single or cluster.node().cgroupfs.version == 1:
        cluster.wait(lambda c: "child 137" in c.node().logs("parent"), 15)
        assert state(cluster, "parent") == ("Running", "running", 0)
    else:
        cluster.wait(lambda c: c.pod("parent").status.phase == "Failed", 15)
        assert cluster.pod("parent").status.container_statuses[0].state["terminated"]["reason"] == "OOMKilled"
