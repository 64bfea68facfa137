"""Much at once: 250 pods on one node, and a storm of 500 OOM kills that is counted to the last one."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import SLOW, pod

PODS = 250
EATS = "i=0; while [ $i -lt 20 ]; do tail /dev/zero; i=$((i+1)); done; echo done $i; sleep 1000"


def test_one_node_takes_250_pods(start: Callable[..., DockerCluster], capsys: pytest.CaptureFixture[str]) -> None:
    cluster = start([{"name": "full", "cpus": 2, "memory": "4Gi", "kubelet": {"maxPods": PODS}}])
    began = time.monotonic()
    cluster.apply([pod(name=f"p{i}", requests={"cpu": "1m", "memory": "1Mi"}) for i in range(PODS)])
    cluster.wait(lambda c: all(p.status.phase == "Running" for p in c.pods()), 60 * 4)
    took = time.monotonic() - began
    assert len(set(cluster.node().owners().values())) == PODS and cluster.node().differences() == []
    began = time.monotonic()
    cluster.delete("Pod", "p7", grace=0)
    cluster.wait(lambda c: len(c.pods()) == PODS - 1, 20)
    with capsys.disabled():
        print(f"\n{PODS} pods run after {took:.1f} s; one of them was gone after {time.monotonic() - began:.1f} s")


def test_a_storm_of_oom_kills_ends_and_is_counted(
    start: Callable[..., DockerCluster], capsys: pytest.CaptureFixture[str]
) -> None:
    """25 pods, in each of which 20 processes are killed one after the other."""
    settings = {"name": "storm", "cpus": 2, "memory": "2Gi", "kubelet": {"singleProcessOOMKill": True}}
    cluster = start([settings], control_plane="process")
    began = time.monotonic()
    names = [f"p{i}" for i in range(25)]
    cluster.apply([pod(EATS, name=name, limits={"memory": "24Mi"}) for name in names])
    node = cluster.node()
    cluster.wait(lambda c: all("done 20" in node.logs(name) for name in names), 300)
    took = time.monotonic() - began
    file = "memory.oom_control" if node.cgroupfs.version == 1 else "memory.events"
    counted = {}
    for name in names:
        uid = cluster.pod(name).metadata.uid
        path = next(c.path for c in node.desired().of_pod(uid) if c.kind == "container")
        counted[name] = int(dict(line.split() for line in node.read(path, file).splitlines())["oom_kill"])
    assert counted == dict.fromkeys(names, 20)
    assert {state.restart_count for p in cluster.pods() for state in p.status.container_statuses} == {0}
    log = node.kernel_log()
    killed, gaps = sum("Killed process" in line for line in log), sum("kitlib: " in line for line in log)
    assert killed == 500 or gaps, "what the kernel has overwritten is said"
    assert took < 120 * SLOW
    with capsys.disabled():
        print(f"\n500 kills in {took:.1f} s; {killed} in the log, {gaps} places where lines were lost")
