"""Random lives of a node: whatever happens, what is kept up to date step by step equals what is computed anew."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.node.simulated.cpu.scheduler import CPUScheduler
from kitlib.node.simulated.kernel import Kernel
from tests.sizes import sampled

CPU, MEMORY = ("100m", "250m", "500m", "1"), ("32Mi", "64Mi", "128Mi", "256Mi")
LOADS = (
    "",
    "cpu=0.3 memory=20Mi",
    "5s cpu=1 memory=10Mi; cpu=2 memory=90Mi cache=50Mi",
    "3s memory=10Mi; memory=300Mi pids=20",
    "7s cpu=0.5; 2s cpu=3 exit=1",
    "4s exit=0",
    "cpu=4 disk=2Gi inodes=100",
)


def pod(dice: random.Random, name: str) -> dict[str, Any]:
    def amounts() -> dict[str, str]:
        return dict(dice.sample([("cpu", dice.choice(CPU)), ("memory", dice.choice(MEMORY))], dice.randint(0, 2)))

    def container(name: str) -> dict[str, Any]:
        limits = amounts()
        requests = {k: v for k, v in limits.items() if dice.random() < 0.5}
        return {"name": name, "image": "x", "resources": {"limits": limits, "requests": requests}}

    names = ["a", "b"][: dice.randint(1, 2)]
    notes = {f"kitlib.dev/workload.{n}": load for n in names if (load := dice.choice(LOADS))}
    spec = {
        "containers": [container(n) for n in names],
        "restartPolicy": dice.choice(("Always", "Always", "OnFailure", "Never")),
        "terminationGracePeriodSeconds": 0,
        "nodeName": "node-1",
    }
    meta = {"name": name, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def something(dice: random.Random, cluster: Any, step: int) -> None:
    """Do one thing to the cluster."""
    names = [p.name for p in cluster.pods()]
    what = dice.choice(("apply", "apply", "delete", "resize", "kill", "advance", "advance", "advance"))
    with suppress(KitError):  # a pod that does not run cannot be killed, a resize may change the class
        if what == "apply":
            cluster.apply([pod(dice, f"p{step}-{i}") for i in range(dice.randint(1, 3))])
        elif what == "advance" or not names:
            cluster.advance(dice.choice((0.5, 1, 3, 10, 61)))
        elif what == "delete":
            cluster.delete("pod", dice.choice(names))
        elif what == "resize":
            kind = dice.choice(("requests", "limits"))
            change = {kind: {"cpu": dice.choice(CPU), "memory": dice.choice(MEMORY)}}
            cluster.resize(dice.choice(names), {"a": change})
        else:
            cluster.node().signal(dice.choice(names), "a", dice.choice((9, 15)))


def check_kernel(kernel: Kernel) -> None:
    """The sums that are kept are those of the processes."""
    processes = list(kernel.processes.values())
    for path in kernel.cgroups.paths():
        inside = path.rstrip("/") + "/"
        here = [p for p in processes if p.charged == path or p.charged.startswith(inside)]
        assert kernel.memory.anonymous(path) == sum(p.memory for p in here), path
        assert kernel.memory.cache(path) == sum(p.cache for p in here), path
        there = [p for p in processes if p.cgroup == path or p.cgroup.startswith(inside)]
        assert kernel.processes_in(path) == sum(p.tasks for p in there), path
        limit = kernel.limit(path)
        assert limit is None or kernel.usage(path) <= limit, path
    anew: dict[int, float] = {}
    again = CPUScheduler(kernel.cgroups, kernel.machine.cores, anew.__setitem__, anew.__getitem__, lambda *_: None)
    for process in processes:
        again.want(process.cgroup, process.pid, 0.0 if process.missing else process.wants.cpus, kernel.now)
    kernel.scheduler.divide(kernel.now)  # first, because it learns of changed files
    again.divide(kernel.now)
    for process in processes:
        assert process.rate == pytest.approx(anew.get(process.pid, 0.0), abs=1e-6), process.cgroup
    assert sum(p.rate for p in processes) <= kernel.machine.cores + 1e-6


def check_kubelet(node: SimulatedNode, *, minute: bool = False) -> None:
    """Its cgroups are those that its pods want now; `minute`: the QoS cgroups too, which are written every minute."""
    kubelet = node.kubelet
    assert node.differences() == []
    active = [worker for worker in kubelet.workers if worker.active]
    whole = desired_tree(
        node.config,
        [worker.actual for worker in active],
        version=node.cgroupfs.version,
        assigned=kubelet.managers.assignments(worker.pod for worker in active),
    )
    assert {c.path for c in kubelet.wanted.values() if c.writer != "runtime"} == {
        c.path for c in whole.values() if c.writer != "runtime"
    }
    for path, cgroup in kubelet.wanted.items():
        if path in whole:
            # CPUs that came free reach the others at the next reconciliation, ten seconds later
            late = {"cpuset.cpus"} if kubelet.managers.cpus is not None else set()
            if cgroup.kind == "qos" and not minute:
                continue  # the QoS cgroups follow with the next minute or the next new pod
            now, then = ({f.name: f.value for f in c.values() if f.name not in late} for c in (cgroup, whole[path]))
            assert now == then
    running = {c.path for c in kubelet.wanted.values() if c.writer == "runtime"}
    assert running == {p.cgroup for p in node.processes() if p.name not in ("kubelet", "containerd")}


@pytest.mark.parametrize("seed", sampled([pytest.param(seed) for seed in range(6)], 3, pytest.mark.thorough))
def test_a_random_life_of_a_node(seed: int) -> None:
    dice = random.Random(seed)
    flags = [
        "--eviction-hard=memory.available<100Mi,nodefs.available<10%",
        *(["--cpu-manager-policy=static", "--reserved-cpus=0"] if seed % 4 == 3 else []),
        f"--cgroup-driver={('cgroupfs', 'systemd')[seed % 2]}",
    ]
    machine = {"cpus": 4, "memory": "1Gi", "ephemeral_storage": "20Gi", "kubelet": flags}
    cluster = Cluster.simulated([machine], cgroup_version=1 + seed // 2 % 2, scheduler=False)
    for step in range(60):
        something(dice, cluster, step)
        check_kernel(cluster.node().kernel)
        check_kubelet(cluster.node())
    cluster.advance(61)
    check_kubelet(cluster.node(), minute=True)
    for one in cluster.pods():
        cluster.delete("pod", one.name)
    cluster.advance(3)
    assert not cluster.node().desired().of_kind("pod")
    assert {p.name for p in cluster.node().processes()} <= {"kubelet", "containerd"}
