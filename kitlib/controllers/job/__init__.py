"""Jobs: a number of pods that run to completion, with limits for failures and time.

Imported by the table of controllers, and by those of CronJobs and finished Jobs. Face: `JobController`,
`is_finished`.

Source: pkg/controller/job/job_controller.go (syncJob, manageJob, finalizeJob), tracking finished pods by a finalizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.batch import Job
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key, Manager, Retry, is_of
from kitlib.controllers.controller_ref_manager import claim_objects, enqueue_orphan
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.job.backoff import BackoffRecord, finished_at
from kitlib.controllers.job.pods import (
    FINALIZER,
    annotate_failures,
    failures_of_index,
    index_of,
    is_indexed,
    new_pod,
    replaces_failed_pods_only,
)
from kitlib.controllers.job.progress import (
    COMPLETIONS_REACHED,
    SUCCESS,
    TARGET,
    JobProgress,
    TerminalCondition,
    deadline_left,
    is_valid_index,
)
from kitlib.controllers.job.tracking import condition_of, ensure_condition, track
from kitlib.controllers.pod_control import create_pod, delete_pod, slow_start_batch
from kitlib.controllers.pod_util import is_ready
from kitlib.controllers.pods_to_delete import jobs_pods_for_deletion

MAX_PODS_PER_SYNC = 500
CONTROLLER_NAME = "kubernetes.io/job-controller"
__all__ = ["CONTROLLER_NAME", "JobController", "condition_of", "is_finished"]


def is_finished(job: Job) -> bool:
    """Return whether the Job is Complete or Failed. Source: IsJobFinished."""
    return condition_of(job, "Complete") is not None or condition_of(job, "Failed") is not None


class JobController(Controller):
    """The controller of Jobs."""

    name: ClassVar[str] = "job-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self._records: dict[Key, BackoffRecord] = {}

    def handlers(self) -> Mapping[str, Handler]:
        return {"Job": self._on_job, "Pod": self._on_pod}

    def _on_job(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        """Queue the Job of a pod; a tracked pod without a Job is released. Source: addPod, updatePod, deletePod."""
        self.enqueue_controllers(change, "Job")
        enqueue_orphan(self, change, "Job")
        pod = change.new
        if change.type != "DELETED" and FINALIZER in pod.metadata.finalizers:
            reference = controller_of(pod)
            if reference is None or self.informers.get(reference.uid) is None:
                self.queue.add(("Pod", pod.namespace, pod.name))

    def sync(self, key: Key) -> None:
        """Source: syncJob, syncOrphanPod."""
        if len(key) == 3:
            pod = self.find(Pod, key)
            if pod is not None:
                self.api.remove_finalizer(pod, FINALIZER)
            return
        job: Job | None = self.find(Job, key)
        if job is None:
            self._records.pop(key, None)
            for orphan in self.informers.of_namespace("Pod", key[0]):
                reference = controller_of(orphan)
                if reference is not None and is_of(reference, "Job") and reference.name == key[1]:
                    self.api.remove_finalizer(orphan, FINALIZER)
            return
        if job.spec.managed_by not in (None, CONTROLLER_NAME):
            return
        pods = self._pods(job)
        if is_finished(job):
            self._records.pop(key, None)
            for pod in pods:
                self.api.remove_finalizer(pod, FINALIZER)
            return
        self._sync(key, job, pods)

    def _pods(self, job: Job) -> list[Pod]:
        candidates = self.informers.owned_or_orphaned(job, "Pod")
        pods: list[Pod] = claim_objects(
            self, job, candidates, LabelSelectorMatcher(job.spec.selector), finalizer=FINALIZER
        )
        return pods

    def _sync(self, key: Key, job: Job, pods: list[Pod]) -> None:
        """Source: syncJob."""
        now, suspended = self.now(), bool(job.spec.suspend)
        job = deepcopy(job)
        status = job.status
        if status.start_time is None and not suspended:
            status.start_time = now
        progress = JobProgress.of(job, pods)
        record = self._records.get(key, BackoffRecord()).followed_by(progress.new_succeeded, progress.new_failed)
        self._records[key] = record
        # FailureTarget and SuccessCriteriaMet are final: the Job ends in this way whatever its other pods do.
        verdict = _standing_verdict(job) or progress.verdict(job, now)
        left = deadline_left(job, now)
        if left is not None and left > 0 and verdict is None:
            self.queue.add_after(key, left)
        active, failure = progress.active, None
        try:
            if verdict is not None:
                self._delete(job, active)
                active = []
            elif job.metadata.deletion_timestamp is None:
                active = self._manage(key, job, progress, record)
        except KitError as error:
            failure, verdict = error, None
        if verdict is None and failure is None:
            if progress.is_complete(job, len(active)):
                verdict = COMPLETIONS_REACHED
            elif job.metadata.deletion_timestamp is None:
                self._set_suspended(job, suspended)
        gone = {pod.metadata.uid for pod in progress.active} - {pod.metadata.uid for pod in active}
        status.active, status.terminating = len(active), len(progress.terminating) + len(gone)
        status.ready = sum(is_ready(pod) for pod in progress.active if pod.metadata.uid not in gone)
        if track(self.api, job, progress, verdict, now) and verdict is not None:
            self._tell_end(job, verdict)
        if failure is not None:
            raise Retry(str(failure))

    def _tell_end(self, job: Job, verdict: TerminalCondition) -> None:
        """Source: recordJobFinished."""
        if verdict.type != SUCCESS:
            self.event(job, "Warning", verdict.reason, verdict.message)
            return
        if job.spec.completions is not None and job.status.succeeded > job.spec.completions:
            text = "Too many succeeded pods running after completion count reached"
            self.event(job, "Warning", "TooManySucceededPods", text)
        self.event(job, "Normal", "Completed", "Job completed")

    def _set_suspended(self, job: Job, suspended: bool) -> None:
        """Set the condition Suspended and record its events; a resumed Job gets a new start time. Source: syncJob."""
        status, now = job.status, self.now()
        if suspended:
            if ensure_condition(status, "Suspended", "True", "JobSuspended", "Job suspended", now):
                # upstream resets it with the gate MutableSchedulingDirectivesForSuspendedJobs
                status.start_time = None
                self.event(job, "Normal", "Suspended", "Job suspended")
        elif ensure_condition(status, "Suspended", "False", "JobResumed", "Job resumed", now):
            status.start_time = now
            self.event(job, "Normal", "Resumed", "Job resumed")

    def _delete(self, job: Job, pods: list[Pod], *, released: bool = False) -> None:
        """Delete pods; with `released`, remove their finalizers first, so that they are not counted.

        Source: deleteActivePods, deleteJobPods.
        """
        for pod in pods:
            if released:
                self.api.remove_finalizer(pod, FINALIZER)
            delete_pod(self, pod, job)

    def _manage(self, key: Key, job: Job, progress: JobProgress, record: BackoffRecord) -> list[Pod]:
        """Create missing pods or delete surplus ones, and return the active pods. Source: manageJob."""
        active = progress.active
        surplus = self._surplus(job, progress)[:MAX_PODS_PER_SYNC]
        if surplus or job.spec.suspend:
            self._delete(job, surplus, released=True)
            going = {pod.metadata.uid for pod in surplus}
            return [pod for pod in active if pod.metadata.uid not in going]
        only_failed = replaces_failed_pods_only(job)
        missing = _wanted(job, progress) - len(active) - (len(progress.terminating) if only_failed else 0)
        if missing <= 0:
            return active
        left = 0.0 if job.spec.backoff_limit_per_index is not None else record.left(self.now())
        if left > 0:
            self.queue.add_after(key, left)
            return active
        missing = min(missing, MAX_PODS_PER_SYNC)
        made: list[Pod] = []
        if not is_indexed(job):
            slow_start_batch(missing, lambda _: self._create(new_pod(job, None), job, made))
            return [*active, *made]
        indexes = progress.free_indexes(job, but_terminating=only_failed)[:missing]
        if job.spec.backoff_limit_per_index is not None:
            indexes = self._without_those_that_wait(key, indexes, progress)
        slow_start_batch(len(indexes), lambda i: self._create_indexed(job, indexes[i], progress, made))
        return [*active, *made]

    def _create(self, pod: Pod, job: Job, made: list[Pod]) -> None:
        created = create_pod(self, pod, job)
        if created is not None:
            made.append(created)

    def _create_indexed(self, job: Job, index: int, progress: JobProgress, made: list[Pod]) -> None:
        pod = new_pod(job, index)
        if job.spec.backoff_limit_per_index is not None:
            annotate_failures(pod, job, progress.awaited.get(index))
        self._create(pod, job, made)

    def _without_those_that_wait(self, key: Key, indexes: list[int], progress: JobProgress) -> list[int]:
        """Return the indexes whose back-off has ended; the Job is synced again when the next one ends.

        Source: getPodCreationInfoForIndependentIndexes, getRemainingTimePerIndex.
        """
        waits = {}
        for index in indexes:
            failed = progress.awaited.get(index)
            if failed is not None:
                waits[index] = BackoffRecord(sum(failures_of_index(failed)) + 1, finished_at(failed)).left(self.now())
        later = [wait for wait in waits.values() if wait > 0]
        if later:
            self.queue.add_after(key, min(later))
        return [index for index in indexes if waits.get(index, 0.0) <= 0]

    def _surplus(self, job: Job, progress: JobProgress) -> list[Pod]:
        """Return the pods to delete: those without a valid index, duplicates of an index, then other surplus pods.

        Source: activePodsForRemoval, appendDuplicatedIndexPodsForRemoval.
        """
        active, wrong = jobs_pods_for_deletion(progress.active), list[Pod]()
        surplus = len(active) - _wanted(job, progress)
        if is_indexed(job):
            kept: dict[int, Pod] = {}
            # The order is that of deletion, so from the end: the best pod of each index is kept.
            for pod in reversed(active):
                if is_valid_index(job, pod) and index_of(pod) not in kept:
                    kept[index_of(pod)] = pod
            wrong = [pod for pod in active if kept.get(index_of(pod)) is not pod]
            active = [pod for pod in active if kept.get(index_of(pod)) is pod]
        return [*wrong, *active[: max(surplus - len(wrong), 0)]]


def _wanted(job: Job, progress: JobProgress) -> int:
    """Return the desired number of active pods. Source: manageJob."""
    if job.spec.suspend:
        return 0
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is None:
        # A work queue: after the first success no pods are added, and the active ones may finish.
        return len(progress.active) if progress.succeeded > 0 else parallelism
    return max(min(job.spec.completions - progress.succeeded, parallelism), 0)


def _standing_verdict(job: Job) -> TerminalCondition | None:
    """Return the terminal condition that an earlier sync has found; None without one."""
    success, failure = condition_of(job, SUCCESS), condition_of(job, TARGET)
    if success is not None:
        return TerminalCondition(SUCCESS, success.reason, success.message)
    return TerminalCondition("Failed", failure.reason, failure.message) if failure is not None else None
