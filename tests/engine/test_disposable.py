"""A node goes with its owner, whatever happens to the owner; and what goes wrong is told in words."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.controllers import node_health
from kitlib.node.real import container, image
from kitlib.node.real import engine as engines
from kitlib.node.real.agent import RENEW_INTERVAL
from kitlib.node.real.link import NodeGone
from tests.engine.helpers import ROOT, SLOW, freeze, kill, outside, pod, state
from tests.engine.traces import Traces

OWNER = """
import sys, time
from kitlib.cluster import Cluster
from tests.engine.helpers import pod
cluster = Cluster.docker(int(sys.argv[1]), cpus=2, memory="512Mi")
print("up", flush=True)
for number in range(4):
    cluster.apply(pod("while :; do :; done" if number % 2 else "sleep 1000", limits={"cpu": "50m", "memory": "32Mi"}))
print("running", flush=True)
for _ in range(20):
    cluster.node("node-1").tree()
print("read", flush=True)
for one in cluster.pods():
    node = cluster.node(one.spec.node_name)
    for _ in range(3):
        node.exec("default", one.name, "c", ["sh", "-c", "setsid yes"], lambda event: None, stdin=True, tty=False)
print("exec", flush=True)
time.sleep(float(sys.argv[2]))
cluster.close()
time.sleep(1000)
"""
PHASES = ("", "up", "running", "read", "exec", "close")
"""The owner's last request before it is killed; "" = while it starts containers, "close" = while it closes."""


IDLE_OWNER = """
import sys, time
from kitlib.cluster import Cluster
cluster = Cluster.docker(int(sys.argv[1]), cpus=2, memory="512Mi")
print("up", flush=True)
time.sleep(1000)
"""
"""Without pods: on cgroup v1 a node in which processes come and go cannot be frozen for certain."""


STAYING_OWNER = OWNER.replace("cluster.close()\n", "")


UNREACHABLE = "node.kubernetes.io/unreachable"


def owner(nodes: int = 1, script: str = OWNER, stays: float = 0.0) -> subprocess.Popen[str]:
    """Start an owner of nodes.

    Args:
        nodes: the number of its nodes.
        script: the program of the owner, in Python.
        stays: seconds between the commands that it starts in containers and its end.
    """
    command = [sys.executable, "-c", script, str(nodes), str(stays)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=outside())


def test_a_killed_owner_leaves_nothing_wherever_it_was(traces: Traces) -> None:
    dice = random.Random(int(os.environ.get("KITLIB_FUZZ_SEED", "7")))
    runs = int(os.environ.get("KITLIB_KILLS", "12"))
    for number in range(runs):
        phase = PHASES[number % len(PHASES)]
        process = owner(1 + number % 2, stays=1000 if phase == "exec" else 0)
        assert process.stdout is not None
        last = {"close": "exec"}.get(phase, phase)
        while last and process.stdout.readline() != f"{last}\n":
            assert process.poll() is None
        time.sleep(dice.uniform(0, 0.3) if phase else dice.uniform(0.1, 1.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        traces.ids()
    assert traces.gone(5) == []
    assert len(traces.ids()) >= runs * 2 // 3


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_paused_node_goes_with_its_owner(traces: Traces, how: signal.Signals) -> None:
    process = owner(2, IDLE_OWNER)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    client = engines.connect()
    for one in client.api.containers(filters={"label": f"{container.RUN}={os.environ['KITLIB_RUN']}"}):
        freeze(client, one["Id"])
    client.close()
    process.send_signal(how)
    process.wait()
    process.stdout.close()
    assert traces.gone(5) == []


def test_a_stopped_agent_does_not_keep_the_node(traces: Traces) -> None:
    process = owner(script=STAYING_OWNER)
    assert process.stdout is not None
    while process.stdout.readline() != "running\n":
        assert process.poll() is None
    ours = traces.processes(traces.ids())
    assert ours
    for pid in ours:
        if _is_agent(pid):
            os.kill(int(pid), signal.SIGSTOP)
    process.kill()
    process.wait()
    process.stdout.close()
    assert traces.gone(5) == []


def _is_agent(pid: str) -> bool:
    """Not the watchdog: its parent is no process of the node."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    inner = next((line.split()[-1] for line in status.splitlines() if line.startswith("NSpid")), "")
    return inner != "1"


def test_close_leaves_nothing_and_an_error_while_starting_neither(traces: Traces) -> None:
    cluster = Cluster.docker(3, cpus=2, memory="256Mi", control_plane="process")
    for _ in range(6):
        cluster.apply(pod(limits={"cpu": "50m", "memory": "16Mi"}))
    assert sum(one.startswith("container") for one in traces.left()) == 3
    cluster.close()
    cluster.close()
    assert traces.gone(1) == []
    with pytest.raises(KitError, match="cgroup"):
        Cluster.docker(2, kubelet=["--cgroups-per-qos=false"])
    assert traces.gone(1) == []


def test_a_container_that_was_created_and_never_started_is_swept(engine: str) -> None:
    client = engines.connect()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = container.owner().rpartition(":")[0]
    made = client.api.create_container(
        image.ensure(client), labels={container.LABEL: "x", container.OWNER: f"{host}:{gone.pid}"}
    )["Id"]
    mine = client.api.create_container(
        image.ensure(client), labels={container.LABEL: "y", container.OWNER: container.owner()}
    )["Id"]
    try:
        assert set(container.sweep(client)) <= {made}  # another process that begins a cluster may have swept it
        assert _standing(client, {made, mine}) == {mine}
    finally:
        client.api.remove_container(mine)
        client.close()


def test_a_container_that_runs_on_without_its_owner_is_swept(shared: DockerCluster) -> None:
    client = engines.connect()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = container.owner().rpartition(":")[0]
    made = []
    elsewhere = (f"another-machine:{gone.pid}", f"{host}1:{gone.pid}")  # the second counts its processes anew
    for who in (f"{host}:{gone.pid}", container.owner(), *elsewhere):
        labels = {container.LABEL: "x", container.OWNER: who}
        one = client.api.create_container(image.ensure(client), entrypoint=["/bin/sleep", "100"], labels=labels)
        client.api.start(one["Id"])
        made.append(one["Id"])
    try:
        lost, held = set(made[:2]), set(made[2:])  # mine has no stream: a node of mine would have one
        assert set(container.sweep(client)) <= lost  # another process that begins a cluster may have been first
        assert _standing(client, lost | held) == held
        assert shared.node().link.alive
    finally:
        for one in made[2:]:
            client.api.remove_container(one, force=True)
        client.close()


def _standing(client: Any, ids: set[str]) -> set[str]:
    """Those of `ids` that are still there once the engine has done with removals that another process began."""

    def there() -> dict[str, str]:
        return {one["Id"]: one["State"] for one in client.api.containers(all=True) if one["Id"] in ids}

    end = time.monotonic() + 10 * SLOW
    while "removing" in there().values() and time.monotonic() < end:
        time.sleep(0.1)
    return set(there())


def test_a_node_that_dies_is_not_ready_and_the_others_go_on(start: Callable[..., DockerCluster]) -> None:
    cluster = start(2, memory="256Mi")
    cluster.apply(pod(name="a"))
    where = cluster.pod("a").spec.node_name
    other = next(n.name for n in cluster.nodes if n.name != where)
    node = cluster.node(where)
    kill(node.container.id)
    cluster.wait(lambda c: not node.link.alive, 5)
    assert _ready(cluster) == {where: "Unknown", other: "True"}
    with pytest.raises(NodeGone, match=f"node {where} has ended"):
        node.tree()
    cluster.apply(pod(name="b"))
    assert (cluster.pod("b").spec.node_name, cluster.pod("b").status.phase) == (other, "Running")


def test_a_node_that_was_frozen_is_not_ready_and_ready_again(
    start: Callable[..., DockerCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves a request unanswered and renews no Lease; its grace period is shortened here."""
    monkeypatch.setattr(node_health, "monitor_grace_period", lambda release: 1.5 * RENEW_INTERVAL * SLOW)
    cluster = start(1, memory="256Mi", control_plane="process")
    cluster.apply(pod(name="a"))
    node = cluster.node()
    standing, node.link.patience = node.link.patience, 0.5 * SLOW
    client = engines.connect()
    freeze(client, node.container.id)
    try:
        cluster.apply(pod(name="b"))
        with pytest.raises(NodeGone, match=rf"no answer within .* its container kitlib-{node.name}-\w+ is paused"):
            node.tree()
        cluster.wait(lambda c: _ready(c) == {node.name: "Unknown"}, 60)
        (there,) = cluster.nodes
        assert {(taint.key, taint.effect) for taint in there.spec.taints} == {(UNREACHABLE, "NoSchedule")}
    finally:
        client.api.unpause(node.container.id)
        client.close()
    node.link.patience = standing
    cluster.wait(lambda c: {p.status.phase for p in c.pods()} == {"Running"}, 30)
    assert _ready(cluster) == {node.name: "True"} and cluster.nodes[0].spec.taints == []
    tree = node.tree()  # a host without a controller refuses its files, frozen or not
    assert [str(d) for d in node.desired().diff(tree) if d.file not in tree[d.path].refused] == []


def _ready(cluster: DockerCluster) -> dict[str, str]:
    return {n.name: next(k.status for k in n.status.conditions if k.type == "Ready") for n in cluster.nodes}


def test_deleting_a_fork_bomb_ends_all_of_it_and_spares_its_neighbour(start: Callable[..., DockerCluster]) -> None:
    """The pod has no limit of its own: the node's container always has one."""
    cluster = start(1, memory="512Mi")
    node = cluster.node()
    inspected = node.container.client.api.inspect_container(node.container.id)
    assert inspected["HostConfig"]["PidsLimit"] > 0
    cluster.apply(pod("exec sleep 1000", name="good", requests={"cpu": "100m"}))
    cluster.apply(pod("f() { f | f & }; while :; do f; sleep 0.2; done", name="bomb"))  # one alone may die out unseen
    uid = cluster.pod("bomb").metadata.uid
    path = next(c.path for c in node.desired().of_pod(uid) if c.kind == "pod")
    # not from /proc: to read thousands of processes takes the agent a minute where a bomb has the only processor
    cluster.wait(lambda c: int(node.read(path, "pids.current")) > 100, 120)
    cluster.delete("Pod", "bomb", grace=0)
    cluster.wait(lambda c: not node.cgroupfs.exists(path), 60)
    assert not [process for process in node.processes() if uid in process.cgroup]
    good = cluster.pod("good")
    assert (good.status.phase, good.status.container_statuses[0].restart_count) == ("Running", 0)
    cluster.apply(pod(name="next"))
    cluster.wait(lambda c: c.pod("next").status.phase == "Running", 30)


def test_a_pod_that_forks_without_end_stops_at_its_own_limit(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory="512Mi", kubelet=["--pod-max-pids=64"])
    bomb = "f() { f | f & }; f; while :; do sleep 1; done"
    cluster.apply(pod(bomb, name="bomb", limits={"cpu": "200m", "memory": "64Mi"}))
    cluster.apply(pod(name="calm"))
    node = cluster.node()
    path = next(c.path for c in node.desired().of_pod(cluster.pod("bomb").metadata.uid) if c.kind == "pod")
    cluster.advance(2)
    assert int(node.read(path, "pids.current")) <= 64
    assert state(cluster, "calm") == ("Running", "running", 0)
    cluster.delete("Pod", "bomb", grace=0)
    cluster.wait(lambda c: not node.cgroupfs.exists(path), 20)


def test_forks_without_a_limit_end_at_the_nodes_and_the_node_answers(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory="512Mi", max_pid=300)
    cluster.apply(pod("f() { f | f & }; f; while :; do sleep 1; done", name="bomb", limits={"cpu": "200m"}))
    cluster.advance(2)
    node = cluster.node()
    kubepods = next(c.path for c in node.desired().of_kind("kubepods"))
    assert int(node.read(kubepods, "pids.current")) <= 300
    assert node.link.alive
    cluster.delete("Pod", "bomb", grace=0)
    cluster.wait(lambda c: not c.pods() and not node.processes(), 20)


def test_pods_that_eat_memory_end_at_the_nodes_limit_and_the_agent_lives(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1, memory="256Mi", kubelet=["--eviction-hard="])
    for number in range(3):
        cluster.apply(pod(name=f"eater{number}", workload="memory=200Mi"))
    cluster.wait(lambda c: sum(p.status.container_statuses[0].restart_count for p in c.pods()) >= 2, 30)
    reasons = {p.status.container_statuses[0].last_state.get("terminated", {}).get("reason") for p in cluster.pods()}
    assert "OOMKilled" in reasons
    node = cluster.node()
    assert node.link.alive
    cluster.wait(lambda c: not node.differences(), 30)  # a container that is restarted has no cgroup for a moment


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"privilege": "some"}, "must be one of least, full, got 'some'"),
        ({"image": "kitlib-node:no-such-image"}, "no-such-image"),
        ({"colour": "red"}, "colour"),
        ({"memory": "many"}, "quantities must match"),
        ({"kubelet": ["--eviction-hard=memory.available<many"]}, "quantities must match"),
    ],
)
def test_bad_input_is_an_error_in_words_and_starts_nothing(
    traces: Traces, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(KitError, match=message):
        Cluster.docker(1, **asked)  # type: ignore[arg-type]
    assert traces.gone(1) == []


def test_a_command_that_is_not_there_is_the_pods_problem_only(start: Callable[..., DockerCluster]) -> None:
    cluster = start(1)
    cluster.apply(pod(["/no/such/program"], name="wrong"))
    cluster.apply(pod(name="right"))
    waiting = cluster.pod("wrong").status.container_statuses[0].state["waiting"]
    assert waiting["reason"] == "CreateContainerError"
    assert "/no/such/program" in waiting["message"] or "not found" in waiting["message"].lower()
    assert state(cluster, "right") == ("Running", "running", 0)
    assert any("not pulled" in e.message for e in cluster.events("right"))


def test_no_engine_where_the_environment_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(
        KitError, match=r"no container engine answers: DOCKER_HOST=unix:///no/such/socket: no such file"
    ):
        Cluster.docker()
