"""Cases of the scheduling queue on a fake clock: the content of each sub-queue after every step."""

from __future__ import annotations

from typing import Any

from kitlib.api.clock import VirtualClock
from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.scheduler.framework.events import ASSIGNED_POD_DELETE, EVENTS_BY_LABEL, NODE_ADD
from kitlib.scheduler.queue.backoff import Backoff
from kitlib.scheduler.queue.queued_pod_info import QueuedPod
from kitlib.scheduler.queue.scheduling_queue import Registrations, SchedulingQueue

FILE = "queue"
RELEASE = "1.36"
INPUTS = frozenset({"kind"})
_STEP_INPUTS = ("op", "tMs", "pod", "priority", "event", "error", "unschedulablePlugins")


def _never(_pod: Pod, _old: Any, _new: Any) -> bool:
    return False


HINTS: Registrations = {
    "NodeResourcesFit": [(NODE_ADD, None), (ASSIGNED_POD_DELETE, None)],
    "NodeAffinity": [(NODE_ADD, None)],
    "PodTopologySpread": [(NODE_ADD, _never), (ASSIGNED_POD_DELETE, None)],
}
"""The queueing hints of the scheduler that computed the cases."""


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Replay the steps."""
    if case["kind"] == "backoff":
        rule = Backoff()
        return {
            name: [rule.calculate_backoff_duration(count) for count in range(len(case[name]))]
            for name in case
            if name != "kind"
        }
    clock = VirtualClock()
    queue = SchedulingQueue(clock, HINTS)
    flying: dict[str, QueuedPod] = {}
    return {"steps": [_step(step, clock, queue, flying) for step in case["steps"]]}


def _step(
    step: dict[str, Any], clock: VirtualClock, queue: SchedulingQueue, flying: dict[str, QueuedPod]
) -> dict[str, Any]:
    clock.set_ms(step["tMs"])
    found: dict[str, Any] = {name: step[name] for name in _STEP_INPUTS if name in step}
    op, name = step["op"], step.get("pod", "")
    if op == "add":
        pod = Pod(metadata=ObjectMeta(name=name, namespace="default", uid=name))
        pod.spec.priority = step["priority"]
        queue.add(pod)
    elif op == "pop":
        info = queue.pop()
        assert info is not None
        flying[info.pod.name] = info
        found |= {
            "popped": info.pod.name,
            "attempts": info.attempts,
            "consecutiveErrors": info.consecutive_errors,
            "unschedulableCount": info.unschedulable_count,
        }
    elif op == "fail":
        info = flying.pop(name)
        info.unschedulable_plugins = set(step.get("unschedulablePlugins") or ())
        queue.add_unschedulable(info)
        queue.done(info)
        if info.backoff_expires_ms is not None:
            found["backoffExpiresAtMs"] = info.backoff_expires_ms
    elif op == "scheduled":
        queue.done(flying.pop(name))
    elif op == "event":
        queue.move_all(EVENTS_BY_LABEL[step["event"]])
    elif op == "flushBackoff":
        queue.flush_backoff()
    else:
        queue.flush_unschedulable()
    return found | {
        "activeQ": sorted(info.pod.name for info in queue.active()),
        "backoffQ": sorted(info.pod.name for info in queue.backing_off()),
        "unschedulable": sorted(info.pod.name for info in queue.unschedulable()),
    }
