"""SchedulingGates: which pods enter the queue, and which change lets one in."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.status import Code
from kitlib.scheduler.plugins.scheduling_gates import SchedulingGates


def pod(*gates: str, uid: str = "p") -> Pod:
    spec = {"schedulingGates": [{"name": gate} for gate in gates]}
    return from_dict({"metadata": {"name": uid, "uid": uid}, "spec": spec}, Pod)


@pytest.mark.parametrize(
    ("gates", "code", "reasons"),
    [
        ([], Code.Success, ()),
        (["a"], Code.UnschedulableAndUnresolvable, ("waiting for scheduling gates: [a]",)),
        (["a", "b"], Code.UnschedulableAndUnresolvable, ("waiting for scheduling gates: [a b]",)),
    ],
)
def test_a_pod_with_gates_does_not_enter_the_queue(gates: list[str], code: Code, reasons: tuple[str, ...]) -> None:
    status = SchedulingGates().pre_enqueue(pod(*gates))
    assert (status.code, status.reasons) == (code, reasons)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(pod("a"), pod(), True), (pod("a", "b"), pod("a"), False), (pod("a", uid="q"), pod(uid="q"), False)],
    ids=["the last gate is gone", "one is left", "another pod's"],
)
def test_the_removal_of_its_last_gate_lets_a_pod_in(old: Pod, new: Pod, expected: bool) -> None:
    ((_, hint),) = SchedulingGates().events_to_register(Context(Snapshot(), Release("1.36")))
    assert hint is not None
    assert hint(pod("a"), old, new) is expected
