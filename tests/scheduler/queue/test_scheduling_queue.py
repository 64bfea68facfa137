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


def fail(queue, info, *plugins, pending=()):
    """End a pod's attempt, refused by these plugins; none = by an error."""
    info.unschedulable_plugins, info.pending_plugins = set(plugins), set(pending)
    queue.add_unschedulable(info)
    queue.done(info)


def test_errors_and_refusals_have_back_offs_of_their_own(queue, clock):
    """Errors count from the first one after a refusal. Source: getBackoffTime, AddUnschedulableIfNotPresent."""
    queue.add(pod("a"))
    ends = []
    for number, plugins in enumerate([(), (), ("NodeResourcesFit",), (), ("NodeResourcesFit",)]):
        clock.set_ms(number * 100_000)
        queue.flush_backoff()
        queue.flush_unschedulable()
        info = queue.pop() or queue.unschedulable()[0]
        fail(queue, info, *plugins)
        queue.move_all(NODE_ADD)
        ends.append((info.consecutive_errors, info.unschedulable_count, info.backoff_expires_ms - number * 100_000))
    assert ends == [(1, 0, 1000), (2, 0, 2000), (0, 1, 1000), (1, 1, 1000), (0, 2, 2000)]


def test_a_pod_after_an_error_is_not_tried_early(queue):
    """Source: backoffQueue.podErrorBackoffQ; KEP-5142."""
    queue.add(pod("a"))
    fail(queue, queue.pop())
    assert queue.pop() is None
    assert queue.pending_pods() == {"activeQ": [], "backoffQ": ["a"], "unschedulable": [], "gated": []}


def test_a_pod_that_a_plugin_lets_wait_comes_back_at_once(queue):
    """Source: isPodWorthRequeuing: a hint of a plugin that returned Pending puts the pod into activeQ."""
    for name, pending in (("waits", ("NodeResourcesFit",)), ("refused", ())):
        queue.add(pod(name))
        fail(queue, queue.pop(), *(() if pending else ("NodeResourcesFit",)), pending=pending)
    assert names(queue.move_all(NODE_ADD)) == ["waits", "refused"]
    assert (names(queue.active()), names(queue.backing_off())) == (["waits"], ["refused"])


def test_an_event_of_a_pods_own_failure_leaves_it_where_it_is(queue):
    for name in "ab":
        queue.add(pod(name))
        fail(queue, queue.pop(), "NodeResourcesFit")
    assert names(queue.move_all(NODE_ADD, besides={queue.unschedulable()[0].key})) == ["b"]


def test_a_pod_is_in_one_place_until_it_is_deleted(queue):
    for name in "abcd":
        queue.add(pod(name))
    taken = [queue.pop() for _ in range(3)]
    fail(queue, taken[0])
    fail(queue, taken[1], "NodeResourcesFit")
    fail(queue, taken[1], "NodeResourcesFit")  # it is there already
    assert (taken[1].unschedulable_count, len(queue)) == (1, 3)
    assert [pod(name) in queue for name in "abcd"] == [True, True, False, True]
    for name, left in (("a", 2), ("b", 1), ("d", 0), ("x", 0)):
        queue.delete(pod(name))
        assert len(queue) == left


def test_attempts_are_counted_and_the_first_one_is_remembered(queue, clock):
    queue.add(pod("a"))
    clock.set_ms(700)
    info = queue.pop()
    fail(queue, info)
    clock.set_ms(9_000)
    queue.flush_backoff()
    assert queue.pop() is info
    assert (info.attempts, info.initial_attempt_ms, info.backoff_expires_ms) == (2, 700, None)


def test_after_an_error_a_pod_backs_off_whatever_happened_during_the_attempt(queue):
    """Source: determineSchedulingHintForInFlightPod: without rejecting plugins no event would move the pod."""
    queue.add(pod("a"))
    info = queue.pop()
    fail(queue, info)
    assert names(queue.backing_off()) == ["a"] and queue.unschedulable() == []
    queue.add(pod("b"))
    fail(queue, queue.pop(), "NodeAffinity")
    assert names(queue.unschedulable()) == ["b"]


def test_an_event_does_not_move_a_gated_pod(queue):
    queue.add(pod("gated", gates=["g"]))
    queue.add(pod("b"))
    fail(queue, queue.pop(), "NodeResourcesFit")
    assert names(queue.move_all(NODE_ADD)) == ["b"]
    assert names(queue.gated()) == ["gated"]
