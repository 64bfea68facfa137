"""The state of the static CPU policy: a container without a set of its own uses the default set."""

from __future__ import annotations

from kitlib.kubelet.cm.cpumanager.state import CPUState


def test_the_set_of_a_container_is_its_own() -> None:
    state = CPUState(
        frozenset({0}), {"u1": {"a": frozenset({1, 2}), "empty": frozenset()}, "u2": {"a": frozenset({3})}}
    )
    assert state.of("u1", "a") == {1, 2}
    assert state.of("u2", "a") == {3}
    assert state.of("u1", "b") is None
    assert state.of("u3", "a") is None
    # an entry without CPUs is an entry. Source: stateMemory.GetCPUSet
    assert state.of("u1", "empty") == frozenset()
