"""The scheduling queue on a clock that is moved by hand."""

import pytest

from kitlib.api.clock import VirtualClock
from kitlib.api.core import Pod, PodSchedulingGate
from kitlib.api.meta import ObjectMeta
from kitlib.conformance.queue import HINTS
from kitlib.scheduler.framework.events import NODE_ADD, ClusterEvent
from kitlib.scheduler.plugins.scheduling_gates import SchedulingGates
from kitlib.scheduler.queue.scheduling_queue import SchedulingQueue


def pod(name, priority=0, gates=()):
    made = Pod(metadata=ObjectMeta(name=name, namespace="default", uid=name))
    made.spec.priority = priority
    made.spec.scheduling_gates = [PodSchedulingGate(name=gate) for gate in gates]
    return made


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def queue(clock):
    return SchedulingQueue(clock, HINTS, pre_enqueue=SchedulingGates().pre_enqueue)


def names(pods):
    return [info.pod.name for info in pods]


def test_higher_priority_comes_first_then_who_came_earlier(queue):
    for name, priority in (("a", 0), ("b", 10), ("c", 10)):
        queue.add(pod(name, priority))
    assert [queue.pop().pod.name for _ in range(3)] == ["b", "c", "a"]


def test_a_refused_pod_waits_for_an_event_that_its_plugin_wants(queue):
    queue.add(pod("a"))
    info = queue.pop()
    info.unschedulable_plugins = {"PodTopologySpread"}
    queue.add_unschedulable(info)
    queue.done(info)
    queue.move_all(NODE_ADD)
    assert names(queue.unschedulable()) == ["a"]
    info.unschedulable_plugins = {"NodeResourcesFit"}
    queue.move_all(NODE_ADD)
    assert names(queue.backing_off()) == ["a"]


def test_an_event_during_the_attempt_is_not_missed(queue):
    queue.add(pod("a"))
    info = queue.pop()
    queue.move_all(NODE_ADD)
    info.unschedulable_plugins = {"NodeResourcesFit"}
    queue.add_unschedulable(info)
    assert names(queue.backing_off()) == ["a"]


def test_back_off_ends_with_its_window(queue, clock):
    queue.add(pod("a"))
    info = queue.pop()
    queue.add_unschedulable(info)  # an error: nobody refused it
    clock.set_ms(1_500)
    assert queue.flush_backoff() == []
    clock.set_ms(2_000)
    assert names(queue.flush_backoff()) == ["a"]


def test_an_idle_scheduler_takes_pods_that_still_back_off(queue):
    queue.add(pod("a"))
    info = queue.pop()
    info.unschedulable_plugins = {"NodeResourcesFit"}
    queue.move_all(NODE_ADD)
    queue.add_unschedulable(info)
    queue.done(info)
    assert queue.pop() is info


def test_after_five_minutes_a_pod_is_tried_anyway(queue, clock):
    queue.add(pod("a"))
    info = queue.pop()
    info.unschedulable_plugins = {"NodeAffinity"}
    queue.add_unschedulable(info)
    queue.done(info)
    clock.set_ms(300_000)
    assert queue.flush_unschedulable() == []
    clock.set_ms(300_001)
    queue.flush_unschedulable()
    assert names(queue.active()) == ["a"]


def test_a_gated_pod_enters_when_its_gates_are_gone(queue):
    queue.add(pod("a", gates=["wait"]))
    assert names(queue.gated()) == ["a"] and queue.pop() is None
    queue.move_all(NODE_ADD)
    assert names(queue.gated()) == ["a"]
    queue.update(pod("a"), [ClusterEvent("UnschedulablePod", 1024)])
    assert queue.pop().pod.name == "a"


def test_the_clock_does_not_go_back(clock):
    clock.set_ms(10)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.set_ms(9)
