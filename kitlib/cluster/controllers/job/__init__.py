"""Jobs: pods that run to completion, as many as asked for, with limits for failures and time.

Source: pkg/controller/job/job_controller.go (syncJob, manageJob, finalizeJob), tracking finished pods by a finalizer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.batch import Job, JobStatus, UncountedTerminatedPods
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.cluster.controllers.controller import Controller, Handler, Key, Retry
from kitlib.cluster.controllers.controller_ref_manager import claim_objects
from kitlib.cluster.controllers.controller_utils import create_pod, delete_pod, is_ready, slow_start_batch
from kitlib.cluster.controllers.informers import Change, controller_of
from kitlib.cluster.controllers.job.pods import FINALIZER, format_indexes, index_of, is_indexed, new_pod
from kitlib.cluster.controllers.job.progress import FAILURES, Progress, Verdict, deadline_left
from kitlib.cluster.controllers.pods_to_delete import ranked_for_deletion

MAX_PODS_PER_SYNC = 500
CONTROLLER_NAME = "kubernetes.io/job-controller"
_FINAL = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}


def condition_of(job: Job, kind: str) -> Condition | None:
    """A condition of the Job that holds."""
    return next((one for one in job.status.conditions if one.type == kind and one.status == "True"), None)


def is_finished(job: Job) -> bool:
    """Whether the Job is Complete or Failed. Source: IsJobFinished."""
    return condition_of(job, "Complete") is not None or condition_of(job, "Failed") is not None


class JobController(Controller):
    """For Jobs."""

    name: ClassVar[str] = "job-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Job": self._on_job, "Pod": self._on_pod}

    def _on_job(self, change: Change) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_pod(self, change: Change) -> None:
        """Source: addPod, updatePod, deletePod; a tracked pod whose Job is gone is released."""
        self.enqueue_controllers(change, "Job")
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
            for orphan in self.informers.of_namespace("Pod", key[0]):
                reference = controller_of(orphan)
                if reference is not None and reference.kind == "Job" and reference.name == key[1]:
                    self.api.remove_finalizer(orphan, FINALIZER)
            return
        if job.spec.managed_by not in (None, CONTROLLER_NAME):
            return
        pods = self._pods(job)
        if is_finished(job):
            for pod in pods:
                self.api.remove_finalizer(pod, FINALIZER)
            return
        self._sync(key, job, pods)

    def _pods(self, job: Job) -> list[Pod]:
        candidates = self.informers.owned_or_orphaned(job, "Pod")
        pods: list[Pod] = claim_objects(self, job, candidates, LabelSelectorMatcher(job.spec.selector))
        return pods

    def _sync(self, key: Key, job: Job, pods: list[Pod]) -> None:
        now, suspended = self.now(), bool(job.spec.suspend)
        job = deepcopy(job)
        if job.status.start_time is None and not suspended:
            job.status.start_time = now
        progress = Progress.of(job, pods)
        target = condition_of(job, "FailureTarget") or condition_of(job, "SuccessCriteriaMet")
        verdict: Verdict | None = (
            Verdict(target.type, target.reason, target.message) if target is not None else progress.verdict(job, now)
        )
        status = self._status(job, progress)
        failure: KitError | None = None
        try:
            if verdict is not None or suspended:
                for pod in progress.active:
                    delete_pod(self, pod, job)
            elif job.metadata.deletion_timestamp is None:
                self._manage(key, job, progress)
        except KitError as error:
            failure = error
        self._set_suspended(job, status, suspended)
        if verdict is not None:
            self._finish(job, status, verdict, progress)
        left = deadline_left(job, now)
        if left is not None and left > 0 and verdict is None:
            self.queue.add_after(key, left)
        current: Job | None = self.find(Job, key)
        if current is not None and current.status != status:
            changed = deepcopy(current)
            changed.status = status
            self.api.update_status(changed)
        for pod in progress.counted:
            self.api.remove_finalizer(pod, FINALIZER)
        if failure is not None:
            raise Retry(str(failure))

    def _status(self, job: Job, progress: Progress) -> JobStatus:
        status = deepcopy(job.status)
        status.succeeded, status.failed = progress.succeeded, progress.failed
        status.active, status.terminating = len(progress.active), len(progress.terminating)
        status.ready = sum(is_ready(pod) for pod in progress.active)
        status.uncounted_terminated_pods = UncountedTerminatedPods()
        if is_indexed(job):
            status.completed_indexes = format_indexes(progress.completed)
            if job.spec.backoff_limit_per_index is not None:
                status.failed_indexes = format_indexes(progress.failed_indexes)
        return status

    def _set_suspended(self, job: Job, status: JobStatus, suspended: bool) -> None:
        """The condition Suspended and its events; a resumed Job starts anew. Source: syncJob."""
        before = condition_of(job, "Suspended") is not None
        if suspended == before:
            return
        known = any(one.type == "Suspended" for one in job.status.conditions)
        if suspended:
            self._put(status, "Suspended", "True", "JobSuspended", "Job suspended")
            status.start_time = None
            self.event(job, "Normal", "Suspended", "Job suspended")
        elif known:
            self._put(status, "Suspended", "False", "JobResumed", "Job resumed")
            status.start_time = self.now()
            self.event(job, "Normal", "Resumed", "Job resumed")

    def _put(self, status: JobStatus, kind: str, value: str, reason: str, message: str) -> None:
        kept = [one for one in status.conditions if one.type != kind]
        now = self.now()
        new = Condition(
            type=kind, status=value, reason=reason, message=message, last_probe_time=now, last_transition_time=now
        )
        status.conditions = [*kept, new]

    def _finish(self, job: Job, status: JobStatus, verdict: Verdict, progress: Progress) -> None:
        """First the target; the final condition when no pod is left. Source: enactJobFinished."""
        if condition_of(job, verdict.type) is None:
            self._put(status, verdict.type, "True", verdict.reason, verdict.message)
        standing = [pod for pod in self.informers.owned(job, "Pod") if isinstance(pod, Pod)]
        running = [pod for pod in standing if pod.status.phase not in ("Succeeded", "Failed")]
        if running:
            return
        status.active, status.terminating, status.ready = 0, 0, 0
        self._put(status, _FINAL[verdict.type], "True", verdict.reason, verdict.message)
        if verdict.type == "SuccessCriteriaMet":
            status.completion_time = self.now()
            self.event(job, "Normal", "Completed", "Job completed")
        else:
            self.event(job, "Warning", verdict.reason, verdict.message)

    def _manage(self, key: Key, job: Job, progress: Progress) -> None:
        """Create missing pods, delete surplus ones. Source: manageJob."""
        parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
        active = self._without_surplus_of_indexes(job, progress)
        if job.spec.completions is None:
            wanted = len(active) if progress.succeeded > 0 else parallelism
        elif is_indexed(job):
            wanted = min(parallelism, job.spec.completions - len(progress.completed | progress.failed_indexes))
        else:
            wanted = min(parallelism, job.spec.completions - progress.succeeded)
        if len(active) > wanted:
            surplus = len(active) - max(wanted, 0)
            for pod in ranked_for_deletion(active, active, self.now())[:surplus]:
                delete_pod(self, pod, job)
            return
        waiting = len(progress.terminating) if job.spec.pod_replacement_policy == "Failed" else 0
        missing = min(wanted - waiting - len(active), MAX_PODS_PER_SYNC)
        if missing <= 0:
            return
        left = progress.backoff_left(self.now())
        if left > 0:
            self.queue.add_after(key, left)
            return
        if not is_indexed(job):
            slow_start_batch(missing, lambda _: create_pod(self, new_pod(job, None), job) and None)
            return
        taken = progress.completed | progress.failed_indexes | {index_of(pod) for pod in active}
        free = [index for index in range(job.spec.completions or 0) if index not in taken][:missing]
        slow_start_batch(len(free), lambda i: self._create_indexed(job, free[i], progress))

    def _create_indexed(self, job: Job, index: int, progress: Progress) -> None:
        pod = new_pod(job, index)
        if job.spec.backoff_limit_per_index is not None:
            pod.metadata.annotations[FAILURES] = str(self._failures_of_index(job, index))
        create_pod(self, pod, job)

    def _failures_of_index(self, job: Job, index: int) -> int:
        """Source: getNewIndexFailureCounts."""
        last = [pod for pod in self.informers.owned(job, "Pod") if isinstance(pod, Pod) and index_of(pod) == index]
        return max((int(pod.metadata.annotations.get(FAILURES, "0")) + 1 for pod in last), default=0)

    def _without_surplus_of_indexes(self, job: Job, progress: Progress) -> list[Pod]:
        """Delete pods with no index, a second pod of an index, and pods of finished indexes.

        Source: appendDuplicatedIndexPodsForRemoval.
        """
        if not is_indexed(job):
            return progress.active
        kept: dict[int, Pod] = {}
        done = progress.completed | progress.failed_indexes
        for pod in progress.active:
            index = index_of(pod)
            if index in kept or index in done or not 0 <= index < (job.spec.completions or 0):
                delete_pod(self, pod, job)
            else:
                kept[index] = pod
        return list(kept.values())
