"""Nodes with the systemd driver: systemd is their process 1, owns the tree, and goes with the node's owner too."""

from __future__ import annotations

import os
import random
import re
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.nodes.container import ContainerNode
from kitlib.kubelet.cm.cgroup_tree import Cgroup
from kitlib.kubelet.cm.systemd_properties import unit_properties
from kitlib.node.real import engine
from tests.engine.helpers import ROOT, end, outside, pod, state
from tests.engine.test_disposable import Traces
from tests.engine.test_files import WORKED, random_pod

DRIVER = "--cgroup-driver=systemd"
PODS = 20
OWNER = """
import time
from kitlib.cluster import Cluster
from tests.engine.helpers import pod
cluster = Cluster.docker(1, cpus=2, memory="512Mi", kubelet=["--cgroup-driver=systemd"])
for number in range(3):
    cluster.apply(pod("trap '' TERM; while :; do sleep 1; done", limits={"cpu": "50m", "memory": "32Mi"}))
print("running", flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="module")
def cluster(engine: str) -> Iterator[DockerCluster]:
    with Cluster.docker(1, cpus=2, memory="2Gi", kubelet=[DRIVER], control_plane="process") as made:
        yield made


@pytest.fixture(autouse=True)
def empty(cluster: DockerCluster) -> Iterator[None]:
    yield
    end(cluster, *cluster.pods())


def inside(node: ContainerNode, command: str) -> str:
    """What a command says that runs where systemd does: in the node's pid namespace, below the container's."""
    words = ["nsenter", "--target", "$(pgrep -ox systemd)", "--pid", "--mount", "sh", "-c", shlex.quote(command)]
    client = engine.connect()
    try:
        made = client.api.exec_create(node.container.id, ["sh", "-c", " ".join(words)])  # type: ignore[attr-defined]
        said = client.api.exec_start(made["Id"]).decode()
        assert client.api.exec_inspect(made["Id"])["ExitCode"] == 0, said
        return str(said)
    finally:
        client.close()


def written(cgroup: Cgroup) -> dict[str, str]:
    return {file.name: file.value for file in cgroup.values() if file.written}


SETS = ("AllowedCPUs", "AllowedMemoryNodes")


def told(node: ContainerNode, cgroup: Cgroup) -> dict[str, Any]:
    """What systemd holds of a cgroup, of the properties that were set; it fills a set of processors up with zeros."""
    shown = node.unit(cgroup.path)
    found = {one.name: shown[one.name] for one in unit_properties(written(cgroup), node.cgroupfs.version)}
    return {name: _without_zeros(value) if name in SETS else value for name, value in found.items()}


def _without_zeros(mask: list[int]) -> list[int]:
    """The bytes of a set of processors up to the last that is not zero."""
    return mask[: max((i for i, byte in enumerate(mask) if byte), default=0) + 1]


def wanted(node: ContainerNode, cgroup: Cgroup) -> dict[str, Any]:
    """What it should hold."""
    made = unit_properties(written(cgroup), node.cgroupfs.version)
    return {one.name: list(one.value) if isinstance(one.value, bytes) else one.value for one in made}


def of_pod(cluster: DockerCluster, name: str, kind: str) -> Cgroup:
    uid = cluster.pod(name).metadata.uid
    return next(c for c in cluster.node().desired().of_pod(uid) if c.kind == kind)


def reload(node: ContainerNode) -> list[str]:
    """Have systemd read everything again; what differs afterwards, beside what it is known to take.

    For memory.oom.group of a scope systemd has no property before its version 253 (OOMPolicy=), and writes 0: on any
    node of that age. The kubelet never looks at it again.
    """
    inside(node, "systemctl daemon-reload")
    node.unit("kubepods.slice")  # systemd hears this when it has written
    found = node.differences()
    if node.cgroupfs.version == 2 and int(re.split(r"\D", node.facts["systemd"])[0]) < 253:
        taken = {c.path for c in node.desired().values() if (f := c.get("memory.oom.group")) and f.value == "1"}
        assert {d.path for d in found if (d.file, d.left, d.right) == ("memory.oom.group", "1", "0")} == taken
        found = [d for d in found if d.file != "memory.oom.group"]
    return [str(d) for d in found]


def test_systemd_is_process_1_and_everybody_stands_in_a_unit_of_it(cluster: DockerCluster) -> None:
    node = cluster.node()
    cluster.apply(pod(name="a", limits={"cpu": "200m", "memory": "64Mi"}))
    assert int(node.facts["systemd"].partition(".")[0].partition("~")[0]) >= 247
    assert not any("systemd" in text for text in node.fidelity)
    path = of_pod(cluster, "a", "container").path
    assert path.startswith("/kubepods.slice/kubepods-pod")
    assert path.endswith(".scope")
    assert node.unit("kubepods.slice")["ActiveState"] == "active"
    assert node.unit(path)["ControlGroup"] == path
    assert node.unit(path)["Delegate"] is True
    agent = node.unit("kubelet.scope")["ControlGroup"]
    assert agent == "/system.slice/kubelet.scope"
    assert len(node.read(agent, "cgroup.procs").split()) == 1
    assert inside(node, "systemctl show -p ControlGroup --value kubepods-besteffort.slice").strip() == (
        "/kubepods.slice/kubepods-besteffort.slice"
    )
    with pytest.raises(KitError, match="NoSuchUnit"):
        node.unit("nothing.slice")


def test_the_worked_example_file_by_file_and_property_by_property(start: Callable[..., DockerCluster]) -> None:
    flags = ["--kube-reserved=cpu=100m,memory=100Mi", "--kube-reserved-cgroup=/kube.slice"]
    flags += ["--system-reserved=cpu=200m,memory=200Mi", "--system-reserved-cgroup=/sys.slice"]
    flags += ["--enforce-node-allocatable=pods,kube-reserved,system-reserved", "--pod-max-pids=100"]
    cluster = start(1, kubelet=[DRIVER, *flags], cgroups=["/kube.slice", "/sys.slice"])
    for name, (requests, limits) in WORKED.items():
        cluster.apply(pod(name=name, requests=requests, limits=limits))
    node = cluster.node()
    assert [str(d) for d in node.differences()] == []
    units = [c for c in node.desired().values() if c.kind not in ("root", "system")]
    assert sum(c.kind == "reserved" for c in units) == 2
    assert sum(c.kind in ("container", "sandbox") for c in units) == 6
    for cgroup in units:
        assert told(node, cgroup) == wanted(node, cgroup), cgroup.path
    # systemd, told to read everything again, writes what stands there already
    assert reload(node) == []


def test_random_pods_stand_as_wanted_and_their_units_go_with_them(cluster: DockerCluster) -> None:
    dice, node = random.Random(20261122), cluster.node()
    before, units = sorted(node.tree()), inside(node, LIST)
    for number in range(PODS):
        cluster.apply(random_pod(dice, number))
    cluster.wait(lambda c: {p.status.phase for p in c.pods()} == {"Running"})
    assert [str(d) for d in node.differences()] == []
    standing = inside(node, LIST).split()
    containers = sum(len(p.spec.containers) for p in cluster.pods())
    assert sum(unit.endswith(".scope") for unit in standing) == PODS + containers
    for cgroup in node.desired().of_kind("pod"):
        assert cgroup.name in standing
    for one in cluster.pods():
        cluster.delete(one, grace=0)
    cluster.wait(lambda c: not c.pods())
    cluster.wait(lambda c: sorted(node.tree()) == before, 10)
    assert [str(d) for d in node.differences()] == []
    assert inside(node, LIST) == units


LIST = "systemctl list-units --all --plain --no-legend 'kubepods*' 'cri-*' | awk '{print $1}' | sort"


def test_a_resize_in_place_reaches_systemd_and_the_files(cluster: DockerCluster) -> None:
    node = cluster.node()
    limits = {"cpu": "500m", "memory": "128Mi"}
    cluster.apply(pod(name="web", requests={"cpu": "250m", "memory": "64Mi"}, limits=limits))
    pid = node.process("web").pid
    cluster.resize("web", {"c": {"requests": {"cpu": "300m"}, "limits": {"cpu": "800m", "memory": "96Mi"}}})
    for kind in ("pod", "container"):
        cgroup = of_pod(cluster, "web", kind)
        assert told(node, cgroup) == wanted(node, cgroup)
        assert told(node, cgroup)["CPUQuotaPerSecUSec"] == 800_000
    assert node.process("web").pid == pid
    assert [str(d) for d in node.differences()] == []


def test_a_container_over_its_limit_is_oom_killed_and_restarted_every_time(cluster: DockerCluster) -> None:
    cluster.apply(pod(name="calm", limits={"cpu": "100m", "memory": "32Mi"}))
    for number in range(3):
        name = f"eater{number}"
        cluster.apply(pod(name=name, workload="1s memory=8Mi; memory=200Mi", limits={"memory": "64Mi"}))
    cluster.wait(lambda c: all(state(c, f"eater{n}")[2] >= 1 for n in range(3)), 30)
    for number in range(3):
        (status,) = cluster.pod(f"eater{number}").status.container_statuses
        ended = status.last_state["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    assert state(cluster, "calm") == ("Running", "running", 0)


def test_one_of_two_containers_is_killed_and_the_other_is_not_blamed(cluster: DockerCluster) -> None:
    made = pod(name="two", workload="1s memory=8Mi; memory=200Mi", limits={"memory": "64Mi"})
    other = {"name": "other", "image": "x", "command": ["sh", "-c", "sleep 3; exit 3"]}
    made["spec"]["containers"].append({**other, "resources": {"limits": {"memory": "32Mi"}}})
    cluster.apply(made)
    cluster.wait(lambda c: all(s.restart_count for s in c.pod("two").status.container_statuses), 30)
    reasons = {s.name: s.last_state["terminated"]["reason"] for s in cluster.pod("two").status.container_statuses}
    assert reasons == {"c": "OOMKilled", "other": "Error"}


def test_a_class_changed_by_hand_is_written_again_when_a_pod_comes(cluster: DockerCluster) -> None:
    node = cluster.node()
    path = next(c.path for c in node.desired().of_kind("qos") if c.qos == "Burstable")
    file, value = ("cpu.shares", "4096") if node.cgroupfs.version == 1 else ("cpu.weight", "99")
    node.write(path, file, value)
    assert [(d.path, d.file) for d in node.differences()] == [(path, file)]
    cluster.apply(pod(requests={"cpu": "100m"}))
    assert [str(d) for d in node.differences()] == []


def test_exclusive_cpus_stay_when_systemd_is_told_of_others(start: Callable[..., DockerCluster]) -> None:
    flags = [DRIVER, "--cpu-manager-policy=static", "--kube-reserved=cpu=500m", "--cpu-manager-reconcile-period=1s"]
    cluster = start(1, cpus=2, kubelet=flags)
    both = {"cpu": "1", "memory": "64Mi"}
    cluster.apply(pod(name="shared", requests={"cpu": "100m"}))
    cluster.apply(pod(name="own", requests=both, limits=both))
    node = cluster.node()
    cluster.wait(lambda c: node.process("shared").cpus in ("0", "1"), 10)  # at the CPU manager's next tick
    cluster.wait(lambda c: [str(d) for d in node.differences()] == [], 10)
    cpus = {name: node.process(name).cpus for name in ("own", "shared")}
    assert sorted(cpus.values()) == ["0", "1"]
    cluster.resize("shared", {"c": {"requests": {"cpu": "200m"}}})
    assert [str(d) for d in node.differences()] == []
    assert reload(node) == []
    assert {name: node.process(name).cpus for name in ("own", "shared")} == cpus


def test_nothing_stands_in_the_root_so_nobody_is_moved(start: Callable[..., DockerCluster]) -> None:
    node = start(1, kubelet=[DRIVER, "--system-cgroups=/extra", "--cgroup-root=/"]).node()
    assert node.cgroupfs.exists("/extra")
    assert node.read("/extra", "cgroup.procs") == ""
    assert [e for e in node.timeline() if e.action == "moving process"] == []
    assert node.differences() == []


def test_without_systemd_there_are_no_units(start: Callable[..., DockerCluster]) -> None:
    with pytest.raises(KitError, match="systemd does not run on this node"):
        start(1).node().unit("kubepods.slice")


@pytest.mark.parametrize("stopped", [False, True], ids=["killed", "killed while systemd and all others are stopped"])
def test_a_killed_owner_leaves_nothing(engine: str, monkeypatch: pytest.MonkeyPatch, stopped: bool) -> None:
    run = uuid.uuid4().hex
    monkeypatch.setenv("KITLIB_RUN", run)
    traces = Traces(run)
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=outside()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    ours = traces.processes(traces.ids())
    assert len(ours) >= 9  # the watchdog, systemd, the bus, the agent, three pods with a pause container each
    if stopped:
        for pid in ours:
            if len(_numbers(pid)) > 2:  # the watchdog has a number on the host and one in the container
                os.kill(int(pid), signal.SIGSTOP)
    process.kill()
    process.wait()
    process.stdout.close()
    assert traces.gone(5) == []


def _numbers(pid: str) -> list[str]:
    """A process's number in every pid namespace that sees it, from this one on."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid"))
