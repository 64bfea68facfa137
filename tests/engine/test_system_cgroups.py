"""What a real node's kubelet does with itself and with the processes beside its pods."""

from __future__ import annotations

from collections.abc import Callable

from kitlib.cluster.docker import DockerCluster
from kitlib.views.timeline import entries
from tests.engine.helpers import pod, state


def test_the_kubelet_moves_itself_and_what_stands_in_the_root(start: Callable[..., DockerCluster]) -> None:
    flags = ["--kubelet-cgroups=/kube/kubelet", "--system-cgroups=/sys/system", "--cgroup-root=/"]
    cluster = start(1, kubelet=flags)
    node = cluster.node()
    own = node.read("/kube/kubelet", "cgroup.procs").split()
    assert len(own) >= 1
    assert set(node.read("/", "cgroup.procs").split()) <= {"1"}
    assert node.differences() == []
    steps = entries(node, "containerManager", about="kubelet (")
    assert any(e.action == "moving process" and e.source == "ensureProcessInContainerWithOOMScore" for e in steps)
    cluster.apply(pod(name="a"))
    cluster.wait(lambda c: state(c, "a")[1] == "running", 20)


def test_without_the_flags_nobody_is_moved(start: Callable[..., DockerCluster]) -> None:
    node = start(1).node()
    assert [e for e in entries(node) if e.action == "moving process"] == []
    assert not any("failed to move" in e.action for e in entries(node))
