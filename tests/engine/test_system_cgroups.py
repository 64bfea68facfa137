"""What a real node's kubelet does with itself and with the processes beside its pods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real import engine
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
    steps = entries(node, "containerManager", about="kubelet, pid ")
    assert any(e.action == "moving process" and e.source == "ensureProcessInContainerWithOOMScore" for e in steps)
    cluster.apply(pod(name="a"))
    cluster.wait(lambda c: state(c, "a")[1] == "running", 20)


def test_without_the_flags_nobody_is_moved(start: Callable[..., DockerCluster]) -> None:
    node = start(1).node()
    assert [e for e in entries(node) if e.action == "moving process"] == []
    assert not any("failed to move" in e.action for e in entries(node))


def test_the_kubelet_gives_itself_its_score_where_the_host_lets_it(start: Callable[..., DockerCluster]) -> None:
    node = start(1, kubelet=["--oom-score-adj=-500"]).node()
    client = engine.connect()
    found = client.api.top(node.container.id)
    client.close()
    pids = [row[found["Titles"].index("PID")] for row in found["Processes"]]
    scores = [Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in pids]
    steps = {e.action: e.detail for e in entries(node, "containerManager", about="kubelet, pid ")}
    if node.facts["lowest_score"] < 0:
        assert "-500" in scores
        assert steps["setting oom_score_adj of"] == "-500"
    else:
        assert set(scores) == {"0"}
        assert "oom_score_adj" in steps["failed to set oom_score_adj of"]
        assert any("no CAP_SYS_RESOURCE" in text for text in node.fidelity)
