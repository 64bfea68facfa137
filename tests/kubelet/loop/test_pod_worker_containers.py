"""A pod's phase, its next containers and whether it is settled, by what its containers do."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from tests.kubelet.loop.container_states import NOW


def worker(states: dict[str, str], policy: str = "Always", **more: Any) -> PodWorker:
    """Return a pod's worker.

    Args:
        states: container -> "" (waits), "runs", or its exit code. Names that begin with `i` are init containers, with
            `s` sidecars, with `e` ephemeral containers, others regular containers.
        policy: the restart policy.
        more: further fields of the specification.
    """

    def listed(first: str, **fields: Any) -> list[dict[str, Any]]:
        return [{"name": name, "image": "x", **fields} for name in states if name.startswith(first)]

    inits = {
        name: {"name": name, "image": "x", **({"restartPolicy": "Always"} if name.startswith("s") else {})}
        for name in states
        if name[0] in "is"
    }
    regular = [{"name": name, "image": "x"} for name in states if name[0] not in "ise"]
    spec = {
        "initContainers": [*inits.values()],
        "containers": regular,
        "ephemeralContainers": listed("e"),
        "restartPolicy": policy,
        **more,
    }
    made = PodWorker(from_dict({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}, Pod), NOW)
    for state in made.states:
        did = states[state.container.name]
        if did:
            state.started(1.0, NOW)
        if did not in ("", "runs"):
            state.stopped(NOW, int(did))
    return made


@pytest.mark.parametrize(
    ("states", "policy", "phase"),
    [
        ({"a": ""}, "Always", "Pending"),
        ({"a": "runs"}, "Always", "Running"),
        ({"a": "runs", "b": ""}, "Always", "Running"),
        ({"a": "0"}, "Always", "Running"),
        ({"a": "0"}, "OnFailure", "Succeeded"),
        ({"a": "0"}, "Never", "Succeeded"),
        ({"a": "1"}, "OnFailure", "Running"),
        ({"a": "1"}, "Never", "Failed"),
        ({"a": "0", "b": "1"}, "Never", "Failed"),
        ({"a": "0", "b": "runs"}, "Never", "Running"),
        ({"a": "0", "b": ""}, "Never", "Running"),
        ({"i": "", "a": ""}, "Always", "Pending"),
        ({"i": "runs", "a": ""}, "Never", "Pending"),
        ({"i": "0", "a": ""}, "Never", "Pending"),
        ({"i": "0", "a": "runs"}, "Never", "Running"),
        ({"i": "1", "a": ""}, "Never", "Failed"),
        ({"i": "1", "a": ""}, "Always", "Pending"),
        ({"i": "0", "i2": "runs", "a": ""}, "Never", "Pending"),
        ({"i": "0", "i2": "1", "a": ""}, "Never", "Failed"),
        ({"s": "runs", "a": ""}, "Never", "Pending"),
        ({"s": "runs", "a": "runs"}, "Never", "Running"),
        ({"s": "1", "a": "runs"}, "Never", "Running"),
        ({"s": "1", "a": "0"}, "Never", "Succeeded"),
        ({"a": "0", "e": "runs"}, "Never", "Succeeded"),
    ],
)
def test_the_phase_of_a_pod(states: dict[str, str], policy: str, phase: str) -> None:
    """Source: kubelet getPhase."""
    made = worker(states, policy)
    assert made.phase() == phase
    assert made.active is (phase in ("Pending", "Running"))
    made.rejected = ("OutOfcpu", "x")
    assert made.phase() == "Failed"
    assert not made.active


@pytest.mark.parametrize(
    ("states", "phase"),
    [
        ({"a": "0"}, "Succeeded"),
        ({"a": "137"}, "Failed"),
        ({"a": "0", "b": "143"}, "Failed"),
        ({"a": "runs"}, "Running"),
        ({"a": "0", "b": "runs"}, "Running"),
        ({"a": ""}, "Pending"),
    ],
)
@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_in_a_pod_that_is_stopped_the_restart_policy_plays_no_part(
    policy: str, states: dict[str, str], phase: str
) -> None:
    for how in ("leaving", "ending"):
        made = worker(states, policy)
        if how == "leaving":
            made.leaving = True
        else:
            made.ending = Ending("Evicted", "x", "", 30)
        assert (made.phase(), made.terminating, made.active) == (phase, True, False)
        assert made.has_work(1000.0)
        assert made.to_start(1000.0) == []


@pytest.mark.parametrize(
    ("states", "policy", "due"),
    [
        ({"a": "", "b": ""}, "Always", "ab"),
        ({"a": "runs", "b": ""}, "Always", "b"),
        ({"a": "0", "b": "1"}, "Always", "ab"),
        ({"a": "0", "b": "1"}, "OnFailure", "b"),
        ({"a": "0", "b": "1"}, "Never", ""),
        ({"i": "", "j": "", "a": ""}, "Always", "i"),
        ({"i": "runs", "a": ""}, "Always", ""),
        ({"i": "0", "a": ""}, "Never", "a"),
        ({"i": "1", "a": ""}, "Never", ""),
        ({"i": "1", "a": ""}, "Always", "i"),
        ({"s": "", "i": "", "a": ""}, "Always", "si"),
        ({"s": "runs", "i": "", "a": ""}, "Always", "i"),
        ({"i": "", "s": "", "a": ""}, "Always", "i"),
        ({"i": "0", "s": "", "a": ""}, "Always", "sa"),
        ({"s": "0", "a": "runs"}, "Never", "s"),
        ({"e": "", "i": "runs", "a": ""}, "Always", "e"),
        ({"e": "1", "a": "runs"}, "Always", ""),
    ],
)
def test_the_next_containers(states: dict[str, str], policy: str, due: str) -> None:
    """Source: computePodActions."""
    states = {("i2" if name == "j" else name): did for name, did in states.items()}
    made = worker(states, policy)
    assert "".join(state.container.name for state in made.to_start(1000.0)) == due
    assert made.has_work(1000.0) is bool(due)
    made.not_before = 1000.0
    assert len(made.to_start(1000.0)) == len(due)
    made.not_before = 1000.5
    assert made.to_start(1000.0) == []
    made.not_before, made.restarting_all = 0.0, True
    assert made.to_start(1000.0) == []
    made.restarting_all, made.rejected = False, ("x", "y")
    assert made.to_start(1000.0) == []


def test_a_container_is_due_at_the_end_of_its_back_off() -> None:
    made = worker({"a": "1"})
    state = made.mains[0]
    state.back_off.not_before = 10.0
    assert [made.to_start(now) for now in (9.0, 10.0)] == [[], [state]]
    waits = worker({"a": ""})
    state = waits.mains[0]
    state.problem, state.back_off.not_before = ("ErrImagePull", "x"), 10.0
    assert [waits.to_start(now) for now in (9.0, 10.0)] == [[], [state]]


@pytest.mark.parametrize(
    ("states", "policy", "settled"),
    [
        ({"a": "runs"}, "Always", True),
        ({"a": ""}, "Always", False),
        ({"a": "1"}, "Always", False),
        ({"a": "1", "b": "runs"}, "Never", True),
        ({"i": "0", "a": "runs"}, "Always", True),
        ({"i": "runs", "a": ""}, "Always", False),
        ({"i": "1", "a": ""}, "Never", True),
        ({"s": "runs", "a": "runs"}, "Always", True),
        ({"s": "1", "a": "runs"}, "Never", False),
        ({"a": "runs", "e": "0"}, "Always", True),
        ({"a": "runs", "e": ""}, "Always", False),
        ({"a": "0"}, "Never", True),
    ],
)
def test_a_pod_is_settled_when_all_containers_run_or_will_not_run_again(
    states: dict[str, str], policy: str, settled: bool
) -> None:
    made = worker(states, policy)
    assert made.settled is settled
    if made.phase() in ("Succeeded", "Failed"):
        made.has_sandbox = True
        assert not made.settled
        made.has_sandbox, made.holds_resources = False, True
        assert not made.settled
    else:
        made.restarting_all = True
        assert not made.settled
    made.restarting_all, made.leaving = False, True
    assert not made.settled


@pytest.mark.parametrize(
    ("states", "running"),
    [({"a": ""}, False), ({"a": "runs"}, True), ({"a": "0"}, False), ({"i": "runs", "a": ""}, True),
     ({"a": "0", "e": "runs"}, True), ({"a": "0", "b": "runs"}, True)],
)  # fmt: skip
def test_whether_any_container_runs(states: dict[str, str], running: bool) -> None:
    assert worker(states).running is running


@pytest.mark.parametrize(
    ("states", "initialized"),
    [({"a": ""}, True), ({"i": "", "a": ""}, False), ({"i": "runs", "a": ""}, False), ({"i": "0", "a": ""}, True),
     ({"i": "1", "a": ""}, False), ({"s": "runs", "a": ""}, True), ({"s": "", "a": ""}, False),
     ({"i": "0", "s": "", "a": ""}, False)],
)  # fmt: skip
def test_a_pod_is_initialized_when_init_containers_succeeded_and_sidecars_started(
    states: dict[str, str], initialized: bool
) -> None:
    assert worker(states).initialized is initialized


def test_an_update_that_changes_nothing_is_none() -> None:
    made = worker({"a": "runs"})
    same = deepcopy(made.pod)
    assert made.update(same) is False
    assert made.allocated is made.actual is made.pod is same
    assert made.generation == 0
    deleted = deepcopy(same)
    deleted.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    assert made.update(deleted) is True
    changed = deepcopy(deleted)
    changed.status.phase = "Running"
    assert made.update(changed) is True
    assert not made.resizing


def test_an_update_of_resources_is_a_resize_until_it_is_actuated() -> None:
    made = worker({"a": "runs"})
    wanted = deepcopy(made.pod)
    wanted.spec = from_dict(
        {"spec": {"containers": [{"name": "a", "image": "y", "resources": {"requests": {"cpu": "1"}}}]}}, Pod
    ).spec
    assert made.update(wanted) is True
    assert (made.generation, made.resizing) == (1, True)
    assert made.actual.spec.containers[0].resources.requests == {}
    assert made.mains[0].container.image == "y"
    made.allocate(wanted)
    assert made.resizing
    made.actuate()
    assert (made.generation, made.resizing) == (2, False)
    assert str(made.mains[0].container.resources.requests["cpu"]) == "1"


def test_new_ephemeral_containers_are_added_and_none_is_removed() -> None:
    made = worker({"a": "runs", "e": "runs"})
    more = deepcopy(made.pod)
    more.spec.ephemeral_containers.append(deepcopy(more.spec.ephemeral_containers[0]))
    more.spec.ephemeral_containers[1].name = "e2"
    made.update(more)
    assert [state.container.name for state in made.ephemerals] == ["e", "e2"]
    assert [state.alive for state in made.ephemerals] == [True, False]


def test_a_pod_that_was_rejected_before_a_restart_stays_rejected() -> None:
    pod = worker({"a": ""}).pod
    pod.status.reason, pod.status.message = "OutOfcpu", "no room"
    made = PodWorker.of_rejected(pod, NOW)
    assert made.rejected == ("OutOfcpu", "no room")
    assert (made.phase(), made.counted, made.asked) == ("Failed", False, {})
