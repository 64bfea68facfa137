"""Binding cycles: pods that Permit or PreBind holds, and what is undone when they do not go on."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod, profile
from tests.scheduler.recorder import recording


class Slow(Plugin):
    """Its PreBind waits until two seconds are over; after four seconds it refuses."""

    name = "Slow"

    def reserve(self, info: Any, node: Any) -> Status:
        return SUCCESS

    def unreserve(self, info: Any, node: Any) -> None:
        """It is recorded by the binding cycle."""

    def pre_bind(self, info: Any, node: Any) -> Status:
        return Status(Code.Wait, ("slow",))

    def pre_bind_again(self, info: Any, node: Any, waited_ms: int) -> Status:
        if waited_ms >= 4000:
            return Status(Code.Unschedulable, ("too slow",))
        return SUCCESS if waited_ms >= 2000 else Status(Code.Wait, ("slow",))


def unreserved(decision: Decision) -> int:
    assert decision.binding is not None
    return [point for point, _, _ in decision.binding.asked].count("Unreserve")


def test_a_pod_that_no_plugin_holds_is_bound_at_once() -> None:
    made = Scheduler([node("a")], profile=recording())
    decision = made.schedule(pod("p"))
    assert decision.suggested_host == "a" and made.bindings.waiting == []
    assert not made.bindings.in_pre_bind("p") and made.bindings.drop(pod("p")) is None
    assert "p" in made.pods


def test_permit_holds_pods_in_their_order() -> None:
    made = Scheduler([node("a")], profile=recording("wait"))
    for name in ("p", "q"):
        made.schedule(pod(name))
    assert [one.name for one in made.bindings.waiting] == ["p", "q"]
    allowed = made.bindings.allow(pod("p"))
    assert allowed.pod.name == "p" and allowed.suggested_host == "a"
    assert [one.name for one in made.bindings.waiting] == ["q"]
    with pytest.raises(KitError, match=r"^pod default/p: no Permit plugin holds it, it does not wait$"):
        made.bindings.allow(pod("p"))
    with pytest.raises(KitError, match="does not wait"):
        made.bindings.reject(pod("p"), "late")


def test_a_rejected_pod_loses_its_node_with_the_reason() -> None:
    made = Scheduler([node("a")], profile=recording("wait"))
    made.schedule(pod("p"))
    decision = made.bindings.reject(pod("p"), "no quorum")
    assert decision.suggested_host == "" and decision.message == "no quorum"
    assert decision.binding is not None
    assert decision.binding.status == Status(Code.Unschedulable, ("no quorum",), "Recorder")
    assert unreserved(decision) and "p" not in made.pods and made.bindings.waiting == []


def test_prebind_holds_a_pod_until_its_condition_is_met() -> None:
    made = Scheduler([node("a")], profile=profile(Slow))
    decision = made.schedule(pod("p"))
    assert made.bindings.in_pre_bind("p") and made.bindings.waiting == []
    assert made.bindings.resume("p", 1000) is decision and made.bindings.in_pre_bind("p")
    assert decision.suggested_host == "a" and "p" in made.pods, "the pod keeps its node while it waits"
    assert made.bindings.resume("p", 2000) is decision
    assert not made.bindings.in_pre_bind("p") and decision.binding is not None and decision.binding.status.ok
    assert unreserved(decision) == 0 and "p" in made.pods


def test_prebind_gives_up() -> None:
    made = Scheduler([node("a")], profile=profile(Slow))
    made.schedule(pod("p"))
    decision = made.bindings.resume("p", 4000)
    assert decision.suggested_host == "" and decision.message == "too slow"
    assert unreserved(decision) and "p" not in made.pods and not made.bindings.in_pre_bind("p")


@pytest.mark.parametrize(
    ("plugins", "reason", "code"),
    [
        (recording("wait"), "pod is deleted", Code.Unschedulable),
        (profile(Slow), "pod does not exist any more", Code.Error),
    ],
)
def test_a_deleted_pod_gives_its_node_back(plugins: Any, reason: str, code: Code) -> None:
    made = Scheduler([node("a")], profile=plugins)
    decision = made.schedule(pod("p"))
    held = made.bindings.drop(pod("p"))
    assert held is not None and (held.name, held.spec.node_name) == ("p", "a")
    assert decision.binding is not None and decision.binding.status.code is code
    assert decision.message == reason and decision.suggested_host == ""
    assert unreserved(decision) and not made.pods
    assert made.bindings.drop(pod("p")) is None


def test_a_binding_that_cannot_be_written_is_undone() -> None:
    made = Scheduler([node("a")], profile=recording())
    decision = made.schedule(pod("p"))
    made.bindings.undo(made.profiles["default-scheduler"], decision, "conflict")
    assert decision.binding is not None and decision.binding.status == Status(Code.Error, ("conflict",), "")
    assert unreserved(decision) and not made.pods and decision.suggested_host == ""
