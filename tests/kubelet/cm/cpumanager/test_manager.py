"""The CPU manager: when a container's cpuset gets the CPUs of the policy's state."""

from __future__ import annotations

from kitlib.kubelet.cm.cpumanager.manager import CPUManager
from kitlib.kubelet.cm.cpumanager.policy_static import StaticPolicy
from kitlib.kubelet.cm.topologymanager.hints import TopologyHint
from tests.kubelet.cm.cpumanager.machines import machine, pod

BOTH = TopologyHint(frozenset({0, 1}), preferred=False)


def manager() -> CPUManager:
    return CPUManager(StaticPolicy(machine(nodes=2, cores=4, threads=1), 1))


def test_a_new_container_is_due_at_the_next_tick_unless_its_cpus_are_exclusive() -> None:
    """Source: manager.AddContainer, which notes an update for CPUs in the state only."""
    made, exclusive = manager(), pod("g", "2")
    made.allocate(exclusive, exclusive.spec.containers[0], BOTH)
    made.add_container("g", "c0", "1-2")
    made.add_container("b", "c0", "0,3-7")
    assert not made.is_due("g", "c0", "1-2")
    assert made.is_due("b", "c0", "0,3-7")
    made.record_update("b", "c0", "0,3-7")
    assert not made.is_due("b", "c0", "0,3-7")
    assert made.is_due("b", "c0", "0,4-7")


def test_the_cpuset_of_a_running_container_changes_at_a_tick() -> None:
    made = manager()
    assert made.cpus_of_running("b", "c0", "0-7") == "0-7", "not created yet: the state's CPUs"
    made.add_container("b", "c0", "0-7")
    assert made.cpus_of_running("b", "c0", "0,3-7") == "0-7"
    made.record_update("b", "c0", "0,3-7")
    assert made.cpus_of_running("b", "c0", "0") == "0,3-7"


def test_the_cpus_of_a_released_container_return_when_stale_state_is_removed() -> None:
    made, exclusive = manager(), pod("g", "2")
    made.allocate(exclusive, exclusive.spec.containers[0], BOTH)
    made.add_container("g", "c0", "1-2")
    made.release("g", "c0")
    assert made.cpus_of_running("g", "c0", "x") == "x" and made.is_due("g", "c0", "1-2")
    assert made.policy.state.of("g", "c0") == {1, 2}
    made.remove_stale_state()
    assert made.policy.state.of("g", "c0") is None
    assert made.policy.state.default == frozenset(range(8))
    # a container that gets CPUs later is not removed by an old release
    made.allocate(exclusive, exclusive.spec.containers[0], BOTH)
    made.remove_stale_state()
    assert made.policy.state.of("g", "c0") == {1, 2}


def test_a_restarted_kubelet_knows_the_files_and_writes_every_cpuset_again() -> None:
    """Source: NewManager, which makes an empty lastUpdateState."""
    before, exclusive = manager(), pod("g", "2")
    before.allocate(exclusive, exclusive.spec.containers[0], BOTH)
    before.add_container("g", "c0", "1-2")
    before.add_container("old", "c0", "0")
    before.release("old", "c0")
    after = CPUManager(StaticPolicy(machine(nodes=2, cores=4, threads=1), 1, state=before.policy.state), before)
    assert after.cpus_of_running("g", "c0", "x") == "1-2"
    assert after.is_due("g", "c0", "1-2")
    after.record_update("g", "c0", "5")
    assert before.cpus_of_running("g", "c0", "x") == "1-2", "the two managers share nothing"
    after.policy.state.assignments["old"] = {"c0": frozenset({7})}
    after.remove_stale_state()
    assert after.policy.state.of("old", "c0") is None, "a release before the restart counts after it"


def test_hints_are_about_cpus_and_only_for_exclusive_ones() -> None:
    made, exclusive, shared = manager(), pod("g", "2"), pod("b", "500m")
    hints = made.hints(exclusive, exclusive.spec.containers[0])
    assert list(hints) == ["cpu"]
    # two CPUs fit on either node alone; both nodes together are not preferred. CPU 0 is reserved
    assert {(tuple(sorted(hint.nodes or ())), hint.preferred) for hint in hints["cpu"]} == {
        ((0,), True),
        ((1,), True),
        ((0, 1), False),
    }
    assert made.hints(shared, shared.spec.containers[0]) == {}
    assert made.pod_hints(shared) == {}


def test_an_allocation_follows_the_hint() -> None:
    made, exclusive = manager(), pod("g", "2")
    made.allocate(exclusive, exclusive.spec.containers[0], TopologyHint(frozenset({1}), preferred=True))
    assert made.policy.state.of("g", "c0") == {4, 5}
