"""A kubelet that is restarted, and a node that is rebooted, on a real kernel as on the simulated one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.api.errors import KitError
from tests.engine.helpers import pod


def running(*names: str) -> Callable[[Any], bool]:
    return lambda cluster: all(cluster.pod(name).status.phase == "Running" for name in names)


@pytest.mark.parametrize("plane", ["container", "process"])
def test_a_kubelet_is_restarted_and_its_node_rebooted(start: Callable[..., Any], plane: str) -> None:
    cluster = start([{"name": "n", "memory": "512Mi"}], control_plane=plane)
    node = cluster.node()
    cluster.apply(pod(name="a"))
    cluster.wait(running("a"))
    refused = pod(name="wide", limits={"cpu": "64"})
    refused["spec"]["nodeName"] = "n"
    cluster.apply(refused)
    cluster.wait(lambda c: c.pod("wide").status.phase == "Failed")
    pid = node.process("a").pid

    node.restart_kubelet(["--max-pods=9"])
    cluster.wait(lambda c: str(c.get("Node", "n").status.allocatable["pods"]) == "9")
    cluster.wait(lambda c: c.pod("wide").status.container_statuses)
    (unknown,) = cluster.pod("wide").status.container_statuses
    assert [unknown.state["terminated"][key] for key in ("exitCode", "reason")] == [137, "ContainerStatusUnknown"]
    assert cluster.node().process("a").pid == pid and cluster.pod("a").status.container_statuses[0].restart_count == 0
    with pytest.raises(KitError, match="created for this driver"):
        node.restart_kubelet(["--cgroup-driver=systemd"])
    with pytest.raises(KitError, match="invalid configuration"):
        node.restart_kubelet(["--max-pods=-1"])

    boot = cluster.get("Node", "n").status.node_info["bootID"]
    node.write("/kubepods", "cpu.shares" if node.cgroupfs.version == 1 else "cpu.weight", "77")
    node.reboot()
    cluster.wait(lambda c: c.get("Node", "n").status.node_info["bootID"] != boot)
    cluster.wait(lambda c: c.pod("a").status.container_statuses[0].restart_count == 1 and running("a")(c))
    last = cluster.pod("a").status.container_statuses[0].last_state["terminated"]
    assert (last["exitCode"], last["reason"]) == (255, "Unknown")
    assert cluster.node().process("a").pid != pid
    assert str(cluster.get("Node", "n").status.allocatable["pods"]) == "9"
    assert {"Rebooted", "SandboxChanged"} <= {event.reason for event in cluster.events()}
    assert node.differences() == []
    cluster.apply(pod(name="b"))
    cluster.wait(running("b"))
