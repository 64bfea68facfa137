"""Nothing leaks on a simulated node: pods come, grow, are killed, refused, resized and deleted, and all is given back.

Nightly 100,000 steps; in the gate a sample.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster

MI = 2**20
STEPS = 100_000 if os.environ.get("KITLIB_NIGHTLY") else 160
LIFE = 80
"""Steps of one node, after which all of its pods are deleted and another begins."""
NAMES = [f"p{number}" for number in range(6)]
DEVICE = "example.com/gpu"


def manifest(dice: random.Random, name: str) -> dict[str, Any]:
    def container(of: str) -> dict[str, Any]:
        cpu = dice.choice(("100m", "1", "2"))
        limits: dict[str, Any] = {"cpu": cpu, "memory": dice.choice(("64Mi", "200Mi", "900Mi"))}
        if dice.random() < 0.3:
            limits[DEVICE] = "1"
        both = {"limits": limits, "requests": dict(limits)}
        made = {"name": of, "image": "busybox", "command": ["sleep", "inf"], "resources": dice.choice((both, {}, both))}
        made["volumeMounts"] = [{"name": "memory", "mountPath": "/m"}, {"name": "disk", "mountPath": "/d"}]
        if dice.random() < 0.3:
            made["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", str(dice.randint(1, 9))]}}}
        return made

    load = dice.choice(
        ("", "memory=40Mi cache=60Mi", "2s memory=20Mi; memory=300Mi", "shm=90Mi", "cpu=1 pids=30", "3s memory=10Mi")
    )
    notes = {f"kitlib.dev/workload.{of}": load for of in ("a", "b") if load}
    spec: dict[str, Any] = {
        "nodeName": "n",
        "containers": [container(of) for of in ("a", "b")[: dice.randint(1, 2)]],
        "volumes": [{"name": "memory", "emptyDir": {"medium": "Memory"}}, {"name": "disk", "emptyDir": {}}],
        "restartPolicy": dice.choice(("Always", "OnFailure", "Never")),
        "terminationGracePeriodSeconds": dice.choice((0, 5, 30)),
    }
    if dice.random() < 0.3:
        sidecar = {"name": "s", "image": "busybox", "command": ["sleep", "inf"], "restartPolicy": "Always"}
        spec["initContainers"] = [sidecar]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes}, "spec": spec}


def step(dice: random.Random, cluster: Any) -> None:
    """Do one thing to the node."""
    name, there = dice.choice(NAMES), {one.name for one in cluster.pods()}
    what = dice.choice(("create", "create", "delete", "force", "kill", "resize", "restart", "wait", "wait"))
    with suppress(KitError):  # a resize that is invalid, a container that does not run
        if what == "create" and name not in there:
            cluster.apply(manifest(dice, name))
        elif what in ("delete", "force") and name in there:
            cluster.delete("Pod", name, grace=0 if what == "force" else None)
        elif what == "kill" and name in there:
            cluster.node().signal(name, "a")
        elif what == "resize" and name in there:
            cluster.resize(name, {"a": {"limits": {"memory": dice.choice(("128Mi", "256Mi"))}}})
        elif what == "restart" and dice.random() < 0.1:
            dice.choice((cluster.node().restart_kubelet, cluster.node().reboot))()
        elif what == "wait":
            cluster.advance(dice.choice((1, 1, 7, 40)))


def check(cluster: Any) -> None:
    """Compare what stands in the kernel and in the managers with the pods that are there."""
    node = cluster.node()
    kernel, workers = node.kernel, {worker.pod.metadata.uid: worker for worker in node.kubelet.workers}
    owned = {node.runtime.pid(state.id) for worker in workers.values() for state in worker.states}
    owned |= {node.runtime.pid(worker.sandbox) for worker in workers.values()}
    for process in kernel.processes.values():
        if process.cgroup.startswith("/kubepods"):
            parents = {process.pid} | {one.pid for one in kernel.processes.values() if one.child == process.pid}
            assert parents & owned, f"nobody's process {process.name} in {process.cgroup}"
    paths = list(kernel.cgroups.paths())
    for path in paths:
        uid = path.partition("/pod")[2].partition("/")[0].replace("_", "-")
        assert not uid or uid in workers, f"nobody's cgroup {path}"
    memory = sum(p.memory + p.cache for p in [*kernel.processes.values(), *kernel.tmpfs.below("/")])
    assert kernel.usage("/") == memory
    for path in paths:
        if path != "/" and kernel.cgroups.exists(path):
            tasks = sum(p.tasks for p in kernel.processes.values() if f"{p.cgroup}/".startswith(f"{path}/"))
            assert int(kernel.cgroups.read(path, "pids.current")) == tasks
    known = {one.metadata.uid for one in cluster.pods()}
    assert all(uid in known or worker.leaving for uid, worker in workers.items())  # those deleted by force still end
    assert {uid for uid, _ in node.runtime._files} <= {*known, *workers}


@pytest.mark.parametrize("version", [1, 2])
def test_a_node_gives_everything_back(version: Any) -> None:
    settings = {
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "evictionHard": {"memory.available": "100Mi"},
        "failCgroupV1": False,
    }
    plan = {"name": "n", "cpus": 8, "memory": "3Gi", "kubelet": settings, "devices": {DEVICE: {"g0": 0, "g1": 0}}}
    for seed in range(max(STEPS // 2 // LIFE, 1)):
        dice = random.Random(f"{version} {seed}")
        with Cluster.simulated([plan], cgroup_version=version) as cluster:
            empty = cluster.node().kernel.usage("/"), sorted(cluster.node().kernel.cgroups.paths())
            for number in range(LIFE):
                step(dice, cluster)
                try:
                    check(cluster)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}, step {number}") from error
            for one in cluster.pods():
                cluster.delete("Pod", one.name)
            cluster.advance(60)
            check(cluster)
            assert not cluster.pods()
            left = cluster.node().kernel.usage("/"), sorted(cluster.node().kernel.cgroups.paths())
            assert left == empty, f"seed {seed}"
            node = cluster.node()
            checkpoint = node.checkpoint()
            assert '"entries\\":{' not in checkpoint.replace(" ", ""), checkpoint
            admission = node.kubelet._admission
            assert not any(admission.asked.values())
