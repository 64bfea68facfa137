"""Limits that are edited by hand in the cgroup files of a real node: what the kernel then does, and that the kubelet,
which writes a pod's files when the pod changes and reads none of them back, leaves them as they are."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.docker import DockerCluster
from tests.engine.helpers import pod, state

MIB = 2**20
MEMORY = {1: "memory.limit_in_bytes", 2: "memory.max"}
BOTH = "memory.memsw.limit_in_bytes"
"""Memory and swap together on cgroup v1, never below the limit; v2 counts swap apart, in memory.swap.max."""
GROWS = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
held = bytearray(150 << 20)
print("grown", flush=True)
signal.pause()
"""


def waiting(start: Callable[..., DockerCluster]) -> tuple[DockerCluster, str, str]:
    """A container limited to 64 MiB that takes 150 MiB when it gets a signal; the cgroups of its pod and of itself."""
    cluster = start(1)
    cluster.apply(pod(["python3", "-c", GROWS], name="a", limits={"cpu": "1", "memory": "64Mi"}))
    cluster.wait(lambda c: "ready" in c.node().logs("a"), 15)
    wanted = cluster.node().desired()
    return cluster, wanted.of_kind("pod")[0].path, wanted.of_kind("container")[0].path


def raise_swap_first(node: Any, path: str, size: int) -> None:
    """On v1 a container may not swap: memory and swap together stand at its limit, and are raised before it."""
    if node.cgroupfs.version == 1 and BOTH in node.tree()[path]:
        node.write(path, BOTH, str(size))


def test_a_limit_raised_at_both_levels_lets_the_container_grow(start: Callable[..., DockerCluster]) -> None:
    cluster, outer, inner = waiting(start)
    node, file, more = cluster.node(), MEMORY[cluster.node().cgroupfs.version], str(256 * MIB)
    if node.cgroupfs.version == 1:  # the order matters: what bounds the other one is raised first
        node.write(inner, BOTH, str(64 * MIB))
        with pytest.raises(KitError, match="Invalid argument"):
            node.write(inner, file, more)
        node.write(inner, BOTH, more)
    node.write(outer, file, more)
    node.write(inner, file, more)
    node.signal("a", "c", signal.SIGUSR1)
    cluster.wait(lambda c: "grown" in c.node().logs("a"), 15)
    cluster.apply(pod(name="b", requests={"memory": "32Mi"}))  # the kubelet writes its classes again, not this pod
    assert {(d.path, d.file) for d in node.differences()} >= {(outer, file), (inner, file)}
    assert node.read(inner, file) == node.read(outer, file) == more
    assert state(cluster, "a") == ("Running", "running", 0)


def test_a_limit_raised_for_the_container_only_still_holds_for_its_pod(start: Callable[..., DockerCluster]) -> None:
    cluster, outer, inner = waiting(start)
    node, file = cluster.node(), MEMORY[cluster.node().cgroupfs.version]
    raise_swap_first(node, inner, 256 * MIB)
    node.write(inner, file, str(256 * MIB))
    node.signal("a", "c", signal.SIGUSR1)
    cluster.wait(lambda c: state(c, "a")[2] >= 1, 20)
    last = cluster.pod("a").status.container_statuses[0].last_state["terminated"]
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)
    assert node.read(outer, file) == str(64 * MIB)
    log = node.kernel_log()
    if not (log and "cannot be read" in log[0]):
        assert any(f"{outer}," in line.partition("oom_memcg=")[2] for line in log)


def test_a_limit_below_what_is_used_is_refused_on_v1_and_kills_on_v2(start: Callable[..., DockerCluster]) -> None:
    """mem_cgroup_resize_max gives up where it cannot reclaim; memory_max_write calls the OOM killer."""
    cluster = start(1)
    cluster.apply(pod(name="a", workload="memory=100Mi", limits={"memory": "256Mi"}, restartPolicy="Never"))
    cluster.wait(lambda c: any(p.memory > 95 * MIB for p in c.node().processes()), 20)
    node, version = cluster.node(), cluster.node().cgroupfs.version
    inner = node.desired().of_kind("container")[0].path
    if version == 1:
        with pytest.raises(KitError, match="busy"):
            node.write(inner, MEMORY[1], str(32 * MIB))
        assert node.read(inner, MEMORY[1]) == str(256 * MIB)
        assert state(cluster, "a") == ("Running", "running", 0)
    else:
        node.write(inner, MEMORY[2], str(32 * MIB))
        cluster.wait(lambda c: state(c, "a")[:2] == ("Failed", "OOMKilled"), 15)


def test_a_quota_raised_by_hand_ends_the_throttling(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    cluster.apply(pod("while :; do :; done", name="a", limits={"cpu": "20m", "memory": "32Mi"}))
    node, wanted = cluster.node(), cluster.node().desired()
    outer, inner = wanted.of_kind("pod")[0].path, wanted.of_kind("container")[0].path

    def throttled() -> int:
        return int(dict(line.split() for line in node.read(inner, "cpu.stat").splitlines())["nr_throttled"])

    cluster.wait(lambda c: throttled() >= 3, 30)
    if node.cgroupfs.version == 1:  # tg_cfs_schedulable_down: on v1 a quota above the parent's is refused
        file, most, none = "cpu.cfs_quota_us", "90000", "-1"
        with pytest.raises(KitError, match="Invalid argument"):
            node.write(inner, file, most)
    else:  # on v2 it is written, and the lower of the two holds
        file, most, none = "cpu.max", "90000 100000", "max 100000"
        node.write(inner, file, most)
        assert node.read(inner, file) == most
    for path in (outer, inner):
        node.write(path, file, none)
    before = throttled()
    cluster.advance(1)
    assert throttled() - before <= 1  # the period in which it was written
    assert {(d.path, d.file) for d in node.differences()} == {(outer, file), (inner, file)}
