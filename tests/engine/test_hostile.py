"""Pods that fill what they may write to, and agents that are killed in the middle of a request."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real.link import NodeGone
from tests.engine.helpers import SLOW, pod, state
from tests.engine.traces import Traces

FILL = "head -c {size}M /dev/zero > /tmp/x; echo head $?; sleep 1000"


def agents(traces: Traces) -> dict[str, int]:
    """Host name of a node -> its agent's process, seen from outside: the watchdog is the container's first one."""
    found = {}
    for pid in traces.processes(traces.ids()):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"watchdog.py" in command and status["NSpid"].split()[-1] != "1":
            container = next(i for i in traces.ids() if i in Path(f"/proc/{pid}/cgroup").read_text())
            found[container] = int(pid)
    return found


def test_an_agent_killed_in_the_middle_of_a_request_is_an_error_and_the_other_node_goes_on(
    traces: Traces, start: Callable[..., DockerCluster]
) -> None:
    cluster = start(2, memory="256Mi", control_plane="process")
    cluster.apply(pod(name="a"))
    where = cluster.pod("a").spec.node_name
    other = next(n.name for n in cluster.nodes if n.name != where)
    node = cluster.node(where)
    agent = agents(traces)[node.container.id]
    os.kill(agent, signal.SIGSTOP)  # so that the request is under way for certain
    said: list[Exception] = []

    def ask() -> None:
        try:
            node.tree()
        except NodeGone as error:
            said.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.3)
    assert asking.is_alive() and node.link.alive
    os.kill(agent, signal.SIGKILL)
    asking.join(5 * SLOW)
    assert [str(one) for one in said] == [f"node {where} has ended; cluster.add_nodes(1) starts another node"]
    cluster.apply(pod(name="b"))
    assert (cluster.pod("b").spec.node_name, cluster.pod("b").status.phase) == (other, "Running")
    cluster.wait(
        lambda c: next(k.status for k in c.get("Node", where).status.conditions if k.type == "Ready") != "True", 5
    )
    cluster.close()
    assert traces.gone(5) == []


def test_a_pod_that_fills_its_tmp_pays_for_it_out_of_its_own_memory(start: Callable[..., DockerCluster]) -> None:
    """What a pod writes stays in memory: a node has no disk. Its limit ends it, the neighbours keep what they have."""
    cluster = start(1, memory="512Mi")
    limits = {"cpu": "500m", "memory": "64Mi"}
    cluster.apply([pod(FILL.format(size=1000), name="full", limits=limits), pod(name="calm", limits=limits)])
    cluster.wait(lambda c: "head 137" in c.node().logs("full") or state(c, "full")[2] > 0, 20)
    node = cluster.node()
    path = next(c.path for c in node.desired().of_pod(cluster.pod("full").metadata.uid) if c.kind == "pod")
    used = "memory.usage_in_bytes" if node.cgroupfs.version == 1 else "memory.current"
    assert int(node.read(path, used)) <= 64 << 20
    assert state(cluster, "calm") == ("Running", "running", 0)
    cluster.apply(pod(name="later", workload="memory=60Mi"))
    cluster.wait(lambda c: state(c, "later")[1] == "running", 5)
    cluster.delete("Pod", "full", grace=0)
    cluster.wait(lambda c: not node.cgroupfs.exists(path), 10)


def test_a_pod_without_a_limit_that_fills_its_tmp_is_evicted_for_the_memory(
    start: Callable[..., DockerCluster],
) -> None:
    cluster = start(1, memory="512Mi", kubelet=["--eviction-hard=memory.available<100Mi"])
    cluster.apply([pod(FILL.format(size=440), name="full"), pod(name="calm", limits={"cpu": "100m", "memory": "32Mi"})])
    cluster.wait(lambda c: c.pod("full").status.reason == "Evicted", 40)
    assert "The node was low on resource: memory" in cluster.pod("full").status.message
    assert state(cluster, "calm") == ("Running", "running", 0)
    assert cluster.node().link.alive
    cluster.wait(lambda c: not c.node().differences(), 10)


@pytest.mark.parametrize("place", ["/dev/x", "/run/x", "/dev/shm/x", "/var/tmp/x"])
def test_other_places_hold_little_or_nothing(shared: DockerCluster, place: str) -> None:
    command = f"head -c 100M /dev/zero > {place}; echo head $?; wc -c < {place}; sleep 1000"
    name = shared.apply(pod(command, limits={"cpu": "500m", "memory": "128Mi"}))[0].name
    shared.wait(lambda c: "head" in c.node().logs(name) and c.node().logs(name).count("\n") >= 2, 15)
    logs = shared.node().logs(name)
    assert "No space left on device" in logs or "Read-only file system" in logs or "Permission denied" in logs
    assert "head 0" not in logs
    shared.delete("Pod", name, grace=0)
