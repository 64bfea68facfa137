"""Events while pods are tried: which attempt sees which event, and when events are dropped."""

from __future__ import annotations

from kitlib.scheduler.framework.events import NODE_ADD, NODE_DELETE
from kitlib.scheduler.queue.inflight import InFlight
from kitlib.scheduler.queue.queued_pod_info import QueuedPod
from kitlib.study.scenario import pod_of


def queued(name: str) -> QueuedPod:
    made = pod_of({"name": name})
    made.metadata.uid = name
    return QueuedPod(made, 0)


def seen(flight: InFlight, uid: str) -> list[str] | None:
    events = flight.events_since(uid)
    return None if events is None else [one.event.resource + str(one.new) for one in events]


def test_an_attempt_sees_the_events_since_it_began() -> None:
    """Source: activeQueue.clusterEventsForPod, unlockedDone."""
    flight = InFlight()
    assert not flight.note(NODE_ADD, new=0)  # no pod is tried: the event is not kept
    flight.begin(queued("a"))
    assert flight.note(NODE_ADD, new=1)
    flight.begin(queued("b"))
    assert flight.note(NODE_DELETE, new=2)
    assert (seen(flight, "a"), seen(flight, "b"), seen(flight, "c")) == (["Node1", "Node2"], ["Node2"], None)
    flight.done("c")
    assert len(flight.events()) == 2
    flight.done("a")  # the older attempt has ended: what only it could see is dropped
    assert [one.new for one in flight.events()] == [2]
    assert ("a" in flight, "b" in flight, len(flight)) == (False, True, 1)
    flight.done("b")
    assert (flight.events(), len(flight), flight.pods()) == ([], 0, [])


def test_an_event_that_an_older_attempt_needs_is_kept() -> None:
    flight = InFlight()
    flight.begin(queued("a"))
    flight.begin(queued("b"))
    flight.note(NODE_ADD, new=1)
    flight.done("b")
    assert seen(flight, "a") == ["Node1"]
