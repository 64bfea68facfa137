"""The last message of the cluster about a pending pod, and whether it is still valid.

Source: kube-scheduler handleSchedulingFailure (PodScheduled), scheduling_queue flushUnschedulablePodsLeftover.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kitlib.advisor.findings import clock
from kitlib.advisor.message import decode
from kitlib.api.core import Event, Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition, KubeObject
from kitlib.api.release import Release
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.queue.scheduling_queue import max_in_pool_ms

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump

FLUSH_SECONDS = 30
"""Interval in which the scheduler retries pods that waited too long. Source: flushUnschedulablePodsLeftover."""
SCHEDULED, GATED, FAILED = "PodScheduled", "SchedulingGated", "FailedScheduling"


@dataclass(frozen=True)
class LastWord:
    """The last message of the cluster, compared with the computed answer.

    Attributes:
        text: the message in sentences.
        contradicts: whether it contradicts the answer although the pod was tried again in the meantime.
    """

    text: str = ""
    contradicts: bool = False


def last_word(dump: Dump, pod: Pod, decision: Decision | None) -> LastWord:
    """Compare the condition PodScheduled and the pod's newest event with the decision.

    Args:
        dump: the cluster.
        pod: a pod without a node.
        decision: the computed decision; None = the pod is blocked before scheduling.
    """
    said = next(
        (
            condition
            for condition in pod.status.conditions
            if condition.type == SCHEDULED and condition.status == "False"
        ),
        None,
    )
    event = _event(dump, pod)
    if decision is None or decision.gate is not None or (said is not None and said.reason == GATED):
        return LastWord(event)
    if said is None:
        return _untried(dump, pod, event) if decision.suggested_host else LastWord(event)
    since = f" since {clock(said.last_transition_time)}" if said.last_transition_time else ""
    quoted = f"The condition PodScheduled is False{since}, {said.reason}: {said.message}" if said.message else ""
    quoted = quoted or f"The condition PodScheduled is False{since}, {said.reason}."
    quoted = f"{quoted} {event}" if event else quoted
    if decision.suggested_host:
        return _fits_now(dump, pod, said, quoted, decision.release)
    if said.message and said.message != decision.message and not _same_reasons(said.message, decision):
        return LastWord(f"{quoted} Now the reasons differ: {decision.message}")
    return LastWord(f"{quoted} That still holds.")


def retry_seconds(release: Release) -> float:
    """Return the maximum time, in seconds, between two attempts at a pod that no event concerns."""
    # flushUnschedulablePodsLeftover retries a pod after its maximum time in the queue, and runs at this interval.
    return max_in_pool_ms(release) / 1000 + FLUSH_SECONDS


def retry_text(release: Release) -> str:
    """Return `retry_seconds` in words."""
    return f"{retry_seconds(release) / 60:g} minutes".replace("5.5", "five and a half").replace("1.5", "one and a half")


def _untried(dump: Dump, pod: Pod, event: str) -> LastWord:
    """Return the message for a pod that fits and that no scheduler has reported on."""
    made, newest = pod.metadata.creation_timestamp, dump.newest_time
    if event or made is None or newest is None:
        return LastWord(event)
    waited = (newest - made).total_seconds()
    if waited > FLUSH_SECONDS:
        since = f"The pod was created at {clock(made)} and has no condition PodScheduled"
        return LastWord(f"{since}: no scheduler has reported on it for {waited:.0f} s. Does kube-scheduler run?", True)
    return LastWord("The pod has no condition PodScheduled yet: the scheduler tries a new pod at once.")


def _fits_now(dump: Dump, pod: Pod, said: Condition, quoted: str, release: Release) -> LastWord:
    """Return the message for a pod that fits by the rules although the cluster reports the opposite."""
    # The condition keeps the time of the first failure; each attempt repeats the event.
    tried = [event_time(event) for event in dump.of(Event) if is_about(event, pod) and event.reason == FAILED]
    at = max([*tried, *filter(None, [said.last_transition_time])], default=None)
    changed = _changed_since(dump, at) if at is not None else []
    wait = timedelta(seconds=retry_seconds(release))
    latest = f" ({clock(at + wait)})" if at is not None and at.year > 1 else ""
    retry = (
        "Nothing holds the pod. The scheduler tries it again at an event that concerns it, after a back-off of at most "
        f"ten seconds, and without one at the latest {retry_text(release)} after its last attempt{latest}."
    )
    newest = dump.newest_time
    if changed:
        return LastWord(f"{quoted} That no longer holds; since then {', '.join(changed[:3])}. {retry}")
    # An older message was confirmed by a later attempt.
    if at is not None and newest is not None and newest - at > wait:
        return LastWord(
            f"{quoted} By the rules the pod fits now, and the scheduler has tried since the last report, or does not "
            "run: something that is not in this dump decides, or it has changed within the last minutes.",
            True,
        )
    return LastWord(f"{quoted} That no longer holds: something has changed since the last attempt. {retry}")


def _changed_since(dump: Dump, at: datetime) -> list[str]:
    """Return the changes after a time that are visible in objects of the dump."""
    found = []
    for obj in dump.objects:
        made = obj.metadata.creation_timestamp
        if made is not None and made > at and not isinstance(obj, Event):
            found.append(f"{obj.kind} {obj.key} was created")
        elif isinstance(obj, Node):
            changed = [c for c in obj.status.conditions if c.last_transition_time and c.last_transition_time > at]
            found += [f"{c.type} of node {obj.name} became {c.status}" for c in changed]
        if len(found) >= 3:
            break
    return found


def _same_reasons(message: str, decision: Decision) -> bool:
    try:
        said, now = decode(message), decode(decision.message)
    except KitError:
        return False
    return bool(said["reasons"] == now["reasons"])


def _event(dump: Dump, pod: Pod) -> str:
    """Return the newest event about a pod as text; "" = none was read."""
    events = [event for event in dump.of(Event) if is_about(event, pod)]
    newest = max(events, key=event_time, default=None)
    if newest is None:
        return ""
    by = newest.reporting_component or str(newest.source.get("component") or "an event")
    when = event_time(newest)
    at = f" at {clock(when)}" if when.year > 1 else ""
    return f"{by} reported{at}, {newest.reason}: {newest.message}"


def is_about(event: Event, obj: KubeObject) -> bool:
    """Return whether an event is about an object."""
    about = event.involved_object
    return (about.kind, about.name, about.namespace) == (obj.kind, obj.name, obj.namespace)


def event_time(event: Event) -> datetime:
    """Return the time at which an event was last seen; the year 1 if it has none."""
    series = event.series.last_observed_time if event.series is not None else None
    found = [one for one in (series, event.last_timestamp, event.event_time, event.first_timestamp) if one is not None]
    return max(found, default=datetime.min.replace(tzinfo=UTC))
