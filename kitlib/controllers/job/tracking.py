"""Tracking of a Job's finished pods: their UIDs are in the status while finalizers are removed, so each counts once.

Source: pkg/controller/job/job_controller.go (trackJobStatusAndRemoveFinalizers, canRemoveFinalizer,
flushUncountedAndRemoveFinalizers, cleanUncountedPodsWithoutFinalizers, enactJobFinished).
"""

from __future__ import annotations

from datetime import datetime

from kitlib.api.batch import Job, JobStatus, UncountedTerminatedPods
from kitlib.api.core import Pod
from kitlib.api.meta import Condition, with_condition
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.controllers.job.pods import (
    FINALIZER,
    format_indexes,
    has_failed,
    index_of,
    is_failure_counted,
    is_indexed,
)
from kitlib.controllers.job.progress import SUCCESS, TARGET, JobProgress, TerminalCondition, is_valid_index

MAX_UNCOUNTED_PODS = 500
_FINAL = {TARGET: "Failed", SUCCESS: "Complete", "Failed": "Failed"}


def condition_of(job: Job, kind: str) -> Condition | None:
    """Return the Job's condition of a type if it is true; else None."""
    return next(
        (condition for condition in job.status.conditions if condition.type == kind and condition.status == "True"),
        None,
    )


def ensure_condition(status: JobStatus, kind: str, value: str, reason: str, message: str, now: datetime) -> bool:
    """Set a condition and return whether it has changed; a missing one is not added as False.

    Source: ensureJobConditionStatus.
    """
    standing = next((condition for condition in status.conditions if condition.type == kind), None)
    if standing is None and value == "False":
        return False
    if standing is not None and (standing.status, standing.reason, standing.message) == (value, reason, message):
        return False
    made = Condition(
        type=kind, status=value, reason=reason, message=message, last_probe_time=now, last_transition_time=now
    )
    status.conditions = with_condition(status.conditions, made)
    return True


def track(api: APIServer, job: Job, progress: JobProgress, verdict: TerminalCondition | None, now: datetime) -> bool:
    """Write the Job's status, release the pods that it counts, and count them.

    Args:
        api: the API server.
        job: the Job with its new status, without the pods counted here.
        progress: the counts of the Job's pods.
        verdict: the terminal condition; None while the Job continues.
        now: the time of conditions.

    Returns:
        Whether the Job has finished.
    """
    status = job.status
    uncounted = status.uncounted_terminated_pods = UncountedTerminatedPods()
    released, all_of_them = _collect(job, progress, verdict, uncounted)
    if is_indexed(job):
        status.succeeded = len(progress.completed)
        status.completed_indexes = format_indexes(progress.completed)
        status.failed_indexes = None if progress.failed_indexes is None else format_indexes(progress.failed_indexes)
    if verdict is not None and verdict.type in (TARGET, SUCCESS) and condition_of(job, verdict.type) is None:
        ensure_condition(status, verdict.type, "True", verdict.reason, verdict.message, now)
    # The order is upstream's: store the UIDs of finished pods, remove the finalizers, count the pods. A controller that
    # stops in between still counts each pod once, because the UIDs are in the status.
    _write(api, job)
    for pod in released:
        api.remove_finalizer(pod, FINALIZER)
    status.succeeded += len(uncounted.succeeded)
    status.failed += len(uncounted.failed)
    status.uncounted_terminated_pods = UncountedTerminatedPods()
    # Complete or Failed follows only after all pods have terminated, unlike FailureTarget and SuccessCriteriaMet.
    finished = verdict is not None and all_of_them and not status.terminating
    if verdict is not None and finished:
        final = _FINAL[verdict.type]
        ensure_condition(status, final, "True", verdict.reason, verdict.message, now)
        if final == "Complete":
            status.completion_time = now
    _write(api, job)
    return finished


def _collect(
    job: Job, progress: JobProgress, verdict: TerminalCondition | None, uncounted: UncountedTerminatedPods
) -> tuple[list[Pod], bool]:
    """Add finished pods to `uncounted`; return the pods to release, and whether these are all.

    After the Job has failed, a pod that has not ended counts as failed, too.
    """
    released: list[Pod] = []
    new_indexes = 0
    failing = verdict is not None and verdict.type != SUCCESS
    indexed = is_indexed(job)
    pods = sorted(progress.pods, key=index_of) if indexed else progress.pods
    for pod in pods:
        if FINALIZER not in pod.metadata.finalizers:
            continue
        failed = has_failed(pod, job)
        if not _may_go(job, pod, progress, verdict, failed=failed):
            continue
        released.append(pod)
        if pod.status.phase == "Succeeded":
            if indexed:
                new_indexes += 1
            else:
                uncounted.succeeded = [*uncounted.succeeded, pod.metadata.uid]
        elif (failed or failing) and (not indexed or is_valid_index(job, pod)) and is_failure_counted(job, pod):
            uncounted.failed = [*uncounted.failed, pod.metadata.uid]
        # The limit bounds the size of the status; the other pods follow in the next sync.
        if new_indexes + len(uncounted.succeeded) + len(uncounted.failed) >= MAX_UNCOUNTED_PODS:
            return released, False
    return released, True


def _may_go(job: Job, pod: Pod, progress: JobProgress, verdict: TerminalCondition | None, *, failed: bool) -> bool:
    """Return whether a pod's finalizer may be removed. Source: canRemoveFinalizer."""
    if job.metadata.deletion_timestamp is not None or verdict is not None or pod.status.phase == "Succeeded":
        return True
    # The last failed pod of an index keeps its finalizer until its replacement exists, because the failure count and
    # the back-off of the index follow from the pod.
    return failed and progress.awaited.get(index_of(pod)) is not pod


def _write(api: APIServer, job: Job) -> None:
    current: Job | None = api.store.find(Job, job.name, job.namespace, copy=False)
    if current is not None and current.status != job.status:
        changed = deepcopy(current)
        changed.status = deepcopy(job.status)
        api.update_status(changed)
