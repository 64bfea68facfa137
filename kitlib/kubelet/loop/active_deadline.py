"""Ends pods that have been active on their node for longer than `activeDeadlineSeconds`.

The pod fails, whatever the exit codes of its containers are. An update may set or shorten the deadline of a running
pod.

Source: kubelet active_deadline.go activeDeadlineHandler (pastActiveDeadline, ShouldEvict); generateAPIPodStatus.
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.core import TERMINAL_PHASES
from kitlib.kubelet.loop.interfaces import Reports
from kitlib.kubelet.loop.pod_syncer import PodSyncer
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers

REASON = "DeadlineExceeded"
MESSAGE = "Pod was active on the node longer than the specified deadline"


def end_overdue(pods: PodWorkers, syncer: PodSyncer, reports: Reports) -> bool:
    """Stop the pods whose deadline has passed; return whether there are any."""
    now = reports.now()
    overdue = [worker for worker in pods.deadlines.values() if _is_overdue(worker, now)]
    for worker in overdue:
        reports.event(worker.pod, "Normal", REASON, MESSAGE)
        grace = float(worker.pod.spec.termination_grace_period_seconds or 0)
        worker.ending = Ending(REASON, MESSAGE, "", grace, fails=True)
        syncer.kill(worker)
    return bool(overdue)


def _is_overdue(worker: PodWorker, now: datetime) -> bool:
    seconds, start = worker.pod.spec.active_deadline_seconds, worker.standing.start_time or worker.began
    if seconds is None or worker.terminating or worker.phase() in TERMINAL_PHASES:
        return False
    return (now - start).total_seconds() >= seconds
