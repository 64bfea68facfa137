"""The cache and the queue of the scheduler follow the objects: which event each change makes, and who stays."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.devices import DeviceClass, DeviceTaintRule, ResourceSlice
from kitlib.api.meta import OwnerReference
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.scheduler.driver import Driver
from kitlib.scheduler.event_handlers import EventHandlers
from kitlib.scheduler.framework.events import NODE_ADD
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.scheduler import Scheduler
from tests.scheduler.builders import node, pod, profile

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Always(Plugin):
    """Rejects every pod, and registers every event: any event moves the pods that it rejected."""

    name = "Always"

    def pre_filter(self, info: Any, context: Any) -> Any:
        from kitlib.scheduler.framework.plugin import PreFilterResult
        from kitlib.scheduler.framework.status import Code, Status

        return PreFilterResult(status=Status(Code.Unschedulable, ("never",)))


class Seen:
    """A scheduler with its queue; `told` are the events with the names of their objects."""

    def __init__(self, *waiting: Pod, **options: Any) -> None:
        self.driver = Driver([node("n")], **{"profile": profile(Always), **options})
        self.handlers: EventHandlers = self.driver.loop.handlers
        self.scheduler: Scheduler = self.driver.loop.scheduler
        self.told: list[tuple[str, str]] = []
        self.handlers._trace = lambda reason, name, message: self.told.append((reason, name))
        for one in waiting:
            self.handlers.add_pod(one)
        self.driver.run(0)
        self.told.clear()

    @property
    def unschedulable(self) -> list[str]:
        return [info.pod.name for info in self.driver.loop.queue.unschedulable()]


def changed(before: Pod, **status: Any) -> Pod:
    made = deepcopy(before)
    for name, value in status.items():
        setattr(made.status, name, value)
    return made


def test_a_new_pod_is_cached_queued_or_ignored() -> None:
    seen = Seen(profile={"default-scheduler": profile(Always)})
    seen.handlers.add_pod(pod("bound", on="n"))
    assert list(seen.scheduler.pods) == ["bound"] and seen.told == []
    seen.handlers.add_pod(pod("new"))
    assert seen.told == [("Added", "default/new")] and list(seen.handlers.pending) == ["new"]
    ended = changed(pod("ended", on="n"), phase="Failed")
    leaving = pod("leaving")
    leaving.metadata.deletion_timestamp = NOW
    for other in (ended, leaving, pod("foreign", scheduler="other")):
        seen.handlers.add_pod(other)
    assert list(seen.scheduler.pods) == ["bound"] and list(seen.handlers.pending) == ["new"]


def test_a_pod_that_ends_leaves_the_cache_once() -> None:
    seen = Seen()
    bound = pod("p", on="n")
    ended = changed(bound, phase="Succeeded")
    seen.handlers.add_pod(bound)
    seen.handlers.update_pod(bound, ended)
    assert seen.told == [("AssignedPodDelete", "default/p")] and not seen.scheduler.pods
    seen.handlers.update_pod(ended, ended)
    assert len(seen.told) == 1


def test_a_pod_that_another_scheduler_bound_leaves_the_queue() -> None:
    waiting = pod("p")
    seen = Seen(waiting)
    assert seen.unschedulable == ["p"]
    seen.handlers.update_pod(waiting, pod("p", on="n"))
    assert seen.unschedulable == [] and not seen.handlers.pending and list(seen.scheduler.pods) == ["p"]


def test_an_update_of_an_assigned_pod_is_an_event_by_what_changed() -> None:
    bound = pod("p", "2", on="n")
    seen = Seen()
    seen.handlers.add_pod(bound)
    seen.handlers.add_pod(pod("waits"))
    seen.driver.run(0)
    smaller, labelled = pod("p", "1", on="n"), pod("p", "1", on="n")
    labelled.metadata.labels = {"a": "1"}
    seen.told.clear()
    seen.handlers.update_pod(bound, smaller)
    assert seen.scheduler.snapshot.requested["cpu"].tolist() == [1000]
    seen.handlers.update_pod(smaller, changed(smaller, phase="Running"))
    seen.handlers.update_pod(smaller, labelled)
    # an event of an assigned pod that moves no pod is not traced, unless the pod is deleted
    assert seen.told == [("AssignedPodUpdatePodScaleDown", "default/p")]


def test_a_waiting_pod_that_changes_moves_and_one_whose_deletion_begins_leaves() -> None:
    waiting = pod("p")
    seen = Seen(waiting)
    status_only = changed(waiting, phase="Pending", reason="x")
    seen.handlers.update_pod(waiting, status_only)
    assert seen.told == [] and seen.handlers.pending["p"] is status_only
    tolerating, leaving = deepcopy(waiting), deepcopy(waiting)
    tolerating.metadata.labels = {"a": "1"}
    seen.handlers.update_pod(waiting, tolerating)
    assert seen.told == [("Updated", "default/p")]
    leaving.metadata.deletion_timestamp = NOW
    seen.handlers.update_pod(tolerating, leaving)
    assert not seen.handlers.pending and seen.driver.waiting() == {
        "activeQ": [],
        "backoffQ": [],
        "unschedulable": [],
        "gated": [],
    }


@pytest.mark.parametrize(
    ("change", "updated"),
    [
        (lambda one: one.metadata.annotations.update(a=""), True),
        (lambda one: one.metadata.labels.update(a=""), True),
        (lambda one: one.metadata.owner_references.append(OwnerReference(name="rs", uid="r")), True),
        (lambda one: setattr(one.spec, "priority", 5), True),
        (lambda one: one.metadata.finalizers.append("f"), False),
        (lambda one: setattr(one.metadata, "resource_version", "9"), False),
        (lambda one: setattr(one.status, "pod_ip", "10.0.0.1"), False),
    ],
)
def test_what_counts_as_an_update_of_a_waiting_pod(change: Any, updated: bool) -> None:
    """Source: backend/queue isPodUpdated."""
    waiting = pod("p")
    seen, new = Seen(waiting), deepcopy(waiting)
    change(new)
    seen.handlers.update_pod(waiting, new)
    assert bool(seen.told) is updated


def test_the_deletion_of_a_waiting_pod_helps_no_other_pod() -> None:
    """Source: deletePodFromSchedulingQueue, which moves pods only for an assumed or a nominated pod."""
    waiting = pod("p")
    seen = Seen(waiting, pod("q"))
    seen.handlers.delete_pod(waiting)
    assert seen.told == [] and seen.unschedulable == ["q"]


def test_the_deletion_of_a_nominated_pod_helps_pods_of_at_most_its_priority() -> None:
    """Source: getLEPriorityPreCheck."""
    gone = pod("p", priority=5)
    gone.status.nominated_node_name = "n"
    seen = Seen(gone, pod("higher", priority=6), pod("equal", priority=5), pod("lower"))
    seen.handlers.delete_pod(gone)
    assert seen.told == [("AssignedPodDelete", "default/p")]
    assert seen.unschedulable == ["higher"]


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [("n", "", True), ("n", "m", True), ("n", "n", False), ("", "n", False), ("", "", False)],
)
def test_a_nomination_that_changes_helps_pods_of_at_most_its_priority(before: str, after: str, moves: bool) -> None:
    """Source: hasNominatedNodeNameChanged, updatePodInSchedulingQueue."""
    old = changed(pod("p", priority=5), nominated_node_name=before)
    seen = Seen(old, pod("higher", priority=6), pod("lower"))
    seen.handlers.update_pod(old, changed(old, nominated_node_name=after))
    assert seen.told == ([("AssignedPodDelete", "default/p")] if moves else [])
    assert ("lower" in seen.unschedulable) is not moves and "higher" in seen.unschedulable


def test_the_deletion_of_an_assigned_pod_frees_its_node() -> None:
    bound = pod("p", on="n")
    seen = Seen(pod("waits"))
    seen.handlers.add_pod(bound)
    seen.told.clear()
    seen.handlers.delete_pod(bound)
    assert not seen.scheduler.pods and seen.told == [("AssignedPodDelete", "default/p")]


def test_events_of_nodes() -> None:
    seen = Seen()
    tainted, labelled = node("m"), node("m", zone="z")
    seen.handlers.add_node(tainted)
    seen.handlers.update_node(tainted, deepcopy(tainted))
    assert seen.told == [("NodeAdd", "m")]
    seen.handlers.update_node(tainted, labelled)
    seen.handlers.delete_node(labelled)
    assert seen.told == [("NodeAdd", "m"), ("NodeUpdateNodeLabel", "m"), ("NodeDelete", "m")]
    assert seen.scheduler.snapshot.names == ["n"]


def a_slice(name: str, driver: str) -> ResourceSlice:
    return from_dict({"metadata": {"name": name}, "spec": {"driver": driver, "pool": {"name": "p"}}}, ResourceSlice)


@pytest.mark.parametrize(
    ("selector", "told"),
    [(None, ["s", "t"]), ({"driver": "e.io"}, ["t"]), ({"pool": "p"}, ["s", "t"]), ({"driver": "x.io"}, [])],
)
def test_a_taint_rule_is_an_update_of_the_slices_of_its_driver(
    selector: dict[str, str] | None, told: list[str]
) -> None:
    """Source: resourceslice/tracker."""
    seen = Seen()
    for one in (a_slice("s", "d.io"), a_slice("t", "e.io")):
        seen.handlers.put_device_object(one)
    assert seen.told == [("ResourceSliceAdd", "s"), ("ResourceSliceAdd", "t")]
    spec = {"taint": {"key": "k", "effect": "NoSchedule"}} | ({"deviceSelector": selector} if selector else {})
    rule = from_dict({"metadata": {"name": "r"}, "spec": spec}, DeviceTaintRule)
    for act in (seen.handlers.put_device_object, seen.handlers.delete_device_object):
        seen.told.clear()
        act(rule)
        assert seen.told == [("ResourceSliceUpdate", name) for name in told]
    assert not seen.scheduler.context.claims.rules


def test_events_of_other_device_objects() -> None:
    seen = Seen()
    made = from_dict({"metadata": {"name": "gpu"}}, DeviceClass)
    seen.handlers.put_device_object(made)
    seen.handlers.put_device_object(deepcopy(made))
    seen.handlers.delete_device_object(made)
    assert seen.told == [("DeviceClassAdd", "gpu"), ("DeviceClassUpdate", "gpu"), ("DeviceClassDelete", "gpu")]
    assert not seen.scheduler.context.claims.classes


def test_pods_that_stay_and_pods_that_sit_out() -> None:
    seen = Seen(pod("a"), pod("b"))
    seen.handlers.move_all(NODE_ADD, None, node("m"), "m", besides={"default/a"}, sit_out=True)
    assert seen.unschedulable == ["a"]
    assert [(info.pod.name, info.sits_out) for info in seen.driver.loop.queue.backing_off()] == [("b", True)]
    seen.handlers.move_all(NODE_ADD, None, node("m"), "m")
    found = {info.pod.name: info.sits_out for info in seen.driver.loop.queue.backing_off()}
    assert found == {"a": False, "b": True}
