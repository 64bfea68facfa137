"""The CPU manager's state file: its checksum, and what a restarted kubelet does with it."""

from __future__ import annotations

import pytest

from kitlib.kubelet.cm.cpumanager.checkpoint import checksum, dump_state, load_state
from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kitlib.kubelet.cm.cpumanager.state import CPUManagerError, CPUState
from kitlib.kubelet.util.cpuset import parse_cpus
from tests.kubelet.cm.cpumanager.machines import give, machine, pod


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
