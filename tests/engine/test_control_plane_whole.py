"""With a control plane of its own all works that works in the user's process; and whatever ends, ends cleanly."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.chronicle import Chronicle
from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
from kitlib.cluster.control_plane.container.relay import ControlPlaneGone
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.node.real import engine as engines
from tests.engine.helpers import SLOW, containers_of, kill, pod

WHERE = ("container", "process")
ZONE = "topology.kubernetes.io/zone"


def running(name: str) -> Callable[[Any], bool]:
    return lambda cluster: cluster.pod(name).status.phase == "Running"


def test_a_container_of_its_own_is_what_one_gets(
    start: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KITLIB_CONTROL_PLANE", raising=False)
    assert isinstance(start(1, memory="256Mi"), ContainerControlPlaneClient)
    monkeypatch.setenv("KITLIB_CONTROL_PLANE", "process")
    assert isinstance(start(1, memory="256Mi"), DockerCluster)


@pytest.mark.parametrize("where", WHERE)
def test_an_autoscaler_brings_real_nodes(start: Callable[..., Any], where: str, tmp_path: Path) -> None:
    settings = tmp_path / "kubelet.yaml"  # on this machine: a container would not find it
    settings.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7\n")
    node = {"cpus": 1, "memory": "256Mi", "kubelet": [f"--config={settings}"]}
    cluster = start(
        [{"name": "first", "memory": "256Mi", "labels": {ZONE: "a"}}],
        control_plane=where,
        autoscaler={"zones": ["b"], "node": node, "after": 0.5},
    )
    cluster.apply([pod(name="large", requests={"cpu": "1500m"}), pod(name="more", requests={"cpu": "900m"})])
    assert cluster.pod("more").status.phase == "Pending"
    cluster.wait(running("more"), 30)
    assert cluster.pod("more").spec.node_name == "b-auto-1"
    told = [e.message for e in cluster.events("more") if "ScaleUp" in e.reason]
    assert told == ["pod triggered scale-up: [{b 0->1 (max: 1)}]"]
    assert str(cluster.get("Node", "b-auto-1").status.allocatable["pods"]) == "7"
    made = cluster.node("b-auto-1")
    assert made.process("more").name and made.differences() == []
    with pytest.raises(KitError, match="autoscaler: "):
        start(1, memory="256Mi", control_plane=where, autoscaler={"zone": 1})


@pytest.mark.parametrize("where", WHERE)
def test_a_gate_manager_lets_pods_on_real_nodes_go_one_by_one(start: Callable[..., Any], where: str) -> None:
    cluster = start(1, memory="256Mi", control_plane=where, gate_manager={"hard": {"cpu": "300m"}})
    cluster.apply([pod(name=name, requests={"cpu": "200m"}) for name in ("one", "two")])
    cluster.wait(running("one"), 20)
    waiting = cluster.pod("two")
    assert [gate.name for gate in waiting.spec.scheduling_gates] == ["example.com/quota-check"]
    assert waiting.status.phase == "Pending" and not waiting.spec.node_name
    with pytest.raises(KitError, match="scheduling gates"):
        cluster.decision("two")
    cluster.delete("Pod", "one", grace=0)
    cluster.wait(running("two"), 20)
    assert cluster.pod("two").spec.scheduling_gates == []


def test_what_was_done_can_be_done_again_on_either_kind(start: Callable[..., Any]) -> None:
    first = start(2, memory="256Mi", seed=3)
    first.apply([pod(name="web", requests={"cpu": "100m"}, limits={"memory": "32Mi"}), pod("exit 1", name="fails")])
    first.wait(running("web"), 20)
    node = first.pod("web").spec.node_name
    first.resize("web", {"c": {"requests": {"cpu": "150m"}}})
    first.cordon(node)
    path = next(c.path for c in first.node(node).desired().of_pod(first.pod("web").metadata.uid) if c.kind == "pod")
    file, value = ("cpu.weight", "77") if first.node(node).cgroupfs.version == 2 else ("cpu.shares", "777")
    first.node(node).write(path, file, value)
    first.advance(0.2)
    first.delete("Pod", "fails", grace=0)
    journal = list(first.journal)
    assert [e["action"] for e in journal] == ["apply", "resize", "patch", "write", "advance", "delete"]
    at = [e["at"] for e in journal]
    assert at == sorted(at) and at[-1] <= first.clock.seconds
    first.close()
    for where in WHERE:
        again = start(2, memory="256Mi", seed=3, control_plane=where)
        again.replay(journal)
        again.wait(running("web"), 20)
        assert again.journal == journal
        assert str(again.pod("web").spec.containers[0].resources.requests["cpu"]) == "150m"
        assert again.get("Node", node).spec.unschedulable
        assert again.node(node).read(path, file) == value
        assert [p.name for p in again.pods()] == ["web"]
        again.close()


def test_a_nodes_story_is_told_wherever_the_control_plane_runs(start: Callable[..., Any]) -> None:
    told = {}
    for where in WHERE:
        cluster = start(1, memory="256Mi", control_plane=where)
        story = Chronicle(cluster, cluster.node())
        story.look(cluster.clock.seconds)
        cluster.apply(pod(name="a", limits={"memory": "32Mi"}))
        cluster.wait(running("a"), 20)
        story.look(cluster.clock.seconds)
        told[where] = [(s.actor, s.action, s.about) for s in cluster.node().timeline() if "default/a" in s.about]
        assert {"event", "kubelet", "cgroup"} <= {entry["source"] for entry in story.entries}
        cluster.close()
    assert told["container"] == told["process"] != []


def test_the_scheduler_itself_is_elsewhere(start: Callable[..., Any]) -> None:
    with pytest.raises(KitError, match="the control plane's container"):
        _ = start(1, memory="256Mi", control_plane="container").scheduler


@pytest.fixture
def victim(engine: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cluster, its run, and its control plane's processes by what they are."""
    run = uuid.uuid4().hex
    monkeypatch.setenv("KITLIB_RUN", run)
    cluster = Cluster.docker(1, cpus=2, memory="256Mi", control_plane="container")
    assert isinstance(cluster, ContainerControlPlaneClient) and cluster._relay.control is not None
    yield cluster, run, cluster._relay.control.id
    cluster.close()


def agent_of(identity: str) -> int:
    """The control plane's agent on the host: the child of the container's first process."""
    client = engines.connect()
    shown = client.api.top(identity, ps_args="-eo pid,ppid")
    client.close()
    pids = {int(pid): int(parent) for pid, parent in shown["Processes"]}
    return next(pid for pid, parent in pids.items() if parent in pids)


@pytest.mark.parametrize("how", ["container", "agent"])
def test_a_control_plane_that_ends_in_the_middle_of_a_request_is_an_error_at_once(victim: Any, how: str) -> None:
    cluster, run, identity = victim
    number = agent_of(identity)
    os.kill(number, signal.SIGSTOP)  # so that it is in the middle for certain
    end = (lambda: kill(identity)) if how == "container" else (lambda: os.kill(number, signal.SIGKILL))
    timer = threading.Timer(0.5, end)
    timer.start()
    began = time.monotonic()
    with pytest.raises(ControlPlaneGone, match="the control plane has ended"):
        cluster.apply([pod(name=f"p{i}") for i in range(20)])
    assert 0.4 < time.monotonic() - began < 10 * SLOW
    timer.join()
    for call in (cluster.pods, cluster.refresh, lambda: cluster.delete("Pod", "p0"), lambda: cluster.decision("p0")):
        with pytest.raises(ControlPlaneGone, match="the control plane has ended"):
            call()
    assert cluster.node().link.alive and cluster.node().tree()
    cluster.close()
    assert containers_of(run) == []


def test_a_stopped_control_plane_does_not_hold_up_the_end(victim: Any) -> None:
    cluster, run, identity = victim
    os.kill(agent_of(identity), signal.SIGSTOP)
    began = time.monotonic()
    cluster.close()
    assert containers_of(run) == []
    assert time.monotonic() - began < 10 * SLOW
