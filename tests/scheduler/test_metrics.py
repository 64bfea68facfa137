"""The scheduler's metrics: which results count, with which labels."""

from __future__ import annotations

from kitlib.api.clock import VirtualClock
from kitlib.api.prometheus import exposition
from kitlib.scheduler.framework.events import NODE_ADD
from kitlib.scheduler.metrics import SchedulingMetrics
from kitlib.scheduler.queue.scheduling_queue import SchedulingQueue
from tests.scheduler.builders import pod


def queue() -> SchedulingQueue:
    return SchedulingQueue(VirtualClock(), {})


def samples(metrics: SchedulingMetrics, prefix: str) -> dict[str, float]:
    lines = exposition(metrics.families()).splitlines()
    found = [line.removeprefix(prefix).rpartition(" ") for line in lines if line.startswith(prefix)]
    return {name: float(value) for name, _, value in found}


def test_attempts_are_counted_by_profile_and_result() -> None:
    work, one = queue(), pod("p", scheduler="mine")
    metrics, info = SchedulingMetrics(work), work.add(one)
    metrics.failed(info, error=False)
    metrics.failed(info, error=False)
    metrics.failed(info, error=True)
    metrics.scheduled(info, 0)
    assert samples(metrics, "scheduler_schedule_attempts_total") == {
        '{profile="mine",result="error"}': 1,
        '{profile="mine",result="scheduled"}': 1,
        '{profile="mine",result="unschedulable"}': 2,
    }


def test_attempts_of_a_bound_pod_share_a_label_from_fifteen_on() -> None:
    """Source: util getAttemptsLabel."""
    work = queue()
    metrics, info = SchedulingMetrics(work), work.add(pod("p"))
    info.initial_attempt_ms = 1000
    for attempts in (1, 14, 15, 16):
        info.attempts = attempts
        metrics.scheduled(info, 3500)
    waits = "scheduler_pod_scheduling_sli_duration_seconds"
    assert samples(metrics, f"{waits}_count") == {'{attempts="1"}': 1, '{attempts="14"}': 1, '{attempts="15+"}': 2}
    assert samples(metrics, f"{waits}_sum") == {'{attempts="1"}': 2.5, '{attempts="14"}': 2.5, '{attempts="15+"}': 5}
    tries = samples(metrics, "scheduler_pod_scheduling_attempts_bucket")
    # the buckets are 1, 2, 4, 8 and 16; a bucket counts all values up to its bound
    assert tries == {'{le="1"}': 1, '{le="2"}': 1, '{le="4"}': 1, '{le="8"}': 1, '{le="16"}': 4, '{le="+Inf"}': 4}


def test_a_pod_without_a_first_attempt_has_not_waited() -> None:
    work = queue()
    metrics, info = SchedulingMetrics(work), work.add(pod("p"))
    info.attempts = 1
    metrics.scheduled(info, 9000)
    assert samples(metrics, "scheduler_pod_scheduling_sli_duration_seconds_sum") == {'{attempts="1"}': 0}


def test_preemptions_without_victims_are_attempts_only() -> None:
    metrics = SchedulingMetrics(queue())
    for victims in (0, 1, 3):
        metrics.preempted(victims)
    assert samples(metrics, "scheduler_preemption_attempts_total") == {"": 3}
    assert samples(metrics, "scheduler_preemption_victims_count") == {"": 2}
    assert samples(metrics, "scheduler_preemption_victims_sum") == {"": 4}


def test_waiting_pods_are_counted_by_place() -> None:
    work = queue()
    metrics, info = SchedulingMetrics(work), work.add(pod("p"))
    work.add(pod("q"))
    assert samples(metrics, "scheduler_pending_pods") == {
        '{queue="active"}': 2,
        '{queue="backoff"}': 0,
        '{queue="gated"}': 0,
        '{queue="unschedulable"}': 0,
    }
    info = work.pop()
    work.move_all(NODE_ADD)
    work.add_unschedulable(info)
    found = samples(metrics, "scheduler_pending_pods")
    assert (found['{queue="active"}'], found['{queue="backoff"}'] + found['{queue="unschedulable"}']) == (1, 1)
