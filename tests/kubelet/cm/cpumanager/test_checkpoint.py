"""The CPU manager's state file: its checksum, and what a restarted kubelet does with it."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cpumanager import CPUManagerError, CPUState, CPUTopology, StaticPolicy
from kitlib.kubelet.cm.cpumanager.checkpoint import checksum, dump_state, load_state
from kitlib.kubelet.config.machine import CPU
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus


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


# Checksums that the kubelet's own tests hold (pkg/kubelet/cm/cpumanager/state).
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"policyName":"none","defaultCPUSet":"4-6"}', 657950972),
        (
            '{"policyName":"static","defaultCPUSet":"7-9","entries":{"pod":{"container1":"4-6","container2":"1-3"}}}',
            1420829534,
        ),
    ],
)
def test_the_state_file_has_the_kubelets_checksum(data: str, expected: int) -> None:
    assert checksum(data) == expected


def test_a_restarted_kubelet_finds_its_state_again() -> None:
    policy = StaticPolicy(machine(), 1)
    give(policy, pod("p", "2"))
    text = dump_state("static", policy.state)
    assert '"checksum"' in text
    again = StaticPolicy(machine(), 1, state=load_state(text, "static"))
    assert again.state == policy.state
    with pytest.raises(CPUManagerError, match='configured policy "none" differs from state checkpoint policy "static"'):
        load_state(text, "none")
    with pytest.raises(CPUManagerError, match="checkpoint is corrupted"):
        load_state(text.replace("static", "atatic"), "static")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (CPUState(parse_cpus("1-7")), "not all reserved cpus"),
        (CPUState(parse_cpus("0-6")), "doesn't match with CPUs in state"),
        (CPUState(parse_cpus("0-7"), {"p": {"c": parse_cpus("3")}}), "overlaps with default cpuset"),
        (CPUState(frozenset(), {"p": {"c": parse_cpus("3")}}), "default cpuset cannot be empty"),
    ],
)
def test_a_state_that_does_not_fit_the_machine_stops_the_kubelet(state: CPUState, message: str) -> None:
    with pytest.raises(CPUManagerError, match=message):
        StaticPolicy(machine(), 1, state=state)
