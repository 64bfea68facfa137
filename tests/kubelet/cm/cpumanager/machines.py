"""Machines and pods for tests of the CPU manager, and what it gives to a pod."""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology
from kitlib.kubelet.config.machine import CPU
from kitlib.kubelet.util.cpuset import format_cpus


def machine(sockets: int = 1, nodes: int = 1, cores: int = 4, threads: int = 2, caches: int = 1) -> CPUTopology:
    """Sibling threads are numbered after all cores, as in document 003."""
    total = sockets * nodes * cores
    return CPUTopology(
        CPU(t * total + core, core, core // (nodes * cores), core // cores, core // max(cores // caches, 1))
        for t in range(threads)
        for core in range(total)
    )


def pod(uid: str, *cpus: str, init: tuple[str, ...] = (), always: bool = False) -> Pod:
    def container(name: str, amount: str) -> dict[str, object]:
        limits = {"cpu": amount, "memory": "64Mi"}
        return {"name": name, "image": "x", "resources": {"limits": limits}}

    inits = [container(f"i{i}", amount) for i, amount in enumerate(init)]
    if always:
        inits = [{**one, "restartPolicy": "Always"} for one in inits]
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": uid, "uid": uid},
        "spec": {"containers": [container(f"c{i}", a) for i, a in enumerate(cpus)], "initContainers": inits},
    }
    return set_defaults(from_dict(manifest, Pod))


def give(policy: StaticPolicy, made: Pod) -> list[str]:
    """Allocate for all containers; "" = shares."""
    shown = []
    for container in (*made.spec.init_containers, *made.spec.containers):
        cpus = policy.allocate(made, container)
        shown.append("" if cpus is None else format_cpus(cpus))
    return shown
