"""Pods in the queue: whose turn it is, and which plugins' events bring them back."""

from __future__ import annotations

from kitlib.scheduler.queue.queued_pod_info import QueuedPod, priority_sort_key
from tests.scheduler.builders import pod


def test_the_more_important_pod_comes_first_then_the_earlier_one() -> None:
    """Source: queuesort PrioritySort.Less."""
    made = [
        QueuedPod(pod("late", priority=5), 20),
        QueuedPod(pod("none"), 1),
        QueuedPod(pod("below", priority=-1), 0),
        QueuedPod(pod("early", priority=5), 10),
        QueuedPod(pod("second", priority=0), 1, order=1),
    ]
    assert [one.pod.name for one in sorted(made, key=priority_sort_key)] == ["early", "late", "none", "second", "below"]


def test_plugins_that_refused_a_pod_and_plugins_that_let_it_wait_bring_it_back() -> None:
    made = QueuedPod(pod("p"), 0, unschedulable_plugins={"NodeName"}, pending_plugins={"Gang"})
    assert made.rejectors == {"NodeName", "Gang"} and not made.is_gated
    assert QueuedPod(pod("p"), 0, gating_plugin="SchedulingGates").is_gated
