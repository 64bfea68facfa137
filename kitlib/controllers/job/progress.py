"""The progress of a Job: counts of pods, completed indexes, and whether it is finished.

Source: pkg/controller/job/job_controller.go (syncJob, getNewFinishedPods, exceedsBackoffLimit, pastActiveDeadline),
indexed_job_utils.go, success_policy.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kitlib.api.batch import Job
from kitlib.api.clock import duration
from kitlib.api.core import Pod
from kitlib.controllers.job.backoff import finished_at
from kitlib.controllers.job.pods import (
    FINALIZER,
    failures_of_index,
    has_failed,
    index_of,
    is_failure_counted,
    is_indexed,
    match_failure_policy,
    parse_indexes,
    restarts,
)
from kitlib.controllers.pod_util import is_active, is_terminating

NO_LIMIT = 2**31 - 1
TARGET, SUCCESS = "FailureTarget", "SuccessCriteriaMet"


class TerminalCondition(NamedTuple):
    """The terminal condition of a Job, FailureTarget, Failed or SuccessCriteriaMet, with reason and message."""

    type: str
    reason: str
    message: str


COMPLETIONS_REACHED = TerminalCondition(SUCCESS, "CompletionsReached", "Reached expected number of succeeded pods")


@dataclass
class JobProgress:
    """The counts of one sync.

    Attributes:
        succeeded, failed: the numbers of finished pods, new ones included; of an indexed Job, the completed indexes and
            the failed pods.
        pods: all pods of the Job.
        active, terminating: the pods that are active, and those being deleted.
        new_succeeded, new_failed: the finished pods that the status does not count yet.
        completed, failed_indexes: the indexes of an indexed Job; None where indexes cannot fail on their own.
        awaited: the failed pod of each index that is kept until its replacement exists.
        fail_message: the message of a failed pod that ends the Job by its failure policy; "" = none.
    """

    succeeded: int
    failed: int
    pods: Sequence[Pod] = ()
    active: list[Pod] = field(default_factory=list)
    terminating: list[Pod] = field(default_factory=list)
    new_succeeded: list[Pod] = field(default_factory=list)
    new_failed: list[Pod] = field(default_factory=list)
    completed: set[int] = field(default_factory=set)
    failed_indexes: set[int] | None = None
    awaited: dict[int, Pod] = field(default_factory=dict)
    fail_message: str = ""

    @classmethod
    def of(cls, job: Job, pods: Sequence[Pod]) -> JobProgress:
        """Count the Job's pods."""
        made = cls(job.status.succeeded, job.status.failed, pods)
        made.active, made.terminating = list(filter(is_active, pods)), list(filter(is_terminating, pods))
        tracked = [pod for pod in pods if FINALIZER in pod.metadata.finalizers]
        if is_indexed(job):
            tracked = [pod for pod in tracked if is_valid_index(job, pod)]
        made.new_succeeded = [pod for pod in tracked if pod.status.phase == "Succeeded"]
        made.new_failed = [pod for pod in tracked if has_failed(pod, job)]
        made.succeeded += len(made.new_succeeded)
        made.failed += sum(is_failure_counted(job, pod) for pod in made.new_failed)
        made.fail_message = _fail_message(job, pods)
        if is_indexed(job):
            made._count_indexes(job)
        return made

    def _count_indexes(self, job: Job) -> None:
        """Source: calculateSucceededIndexes, calculateFailedIndexes."""
        status, completions = job.status, job.spec.completions or 0
        self.completed = parse_indexes(status.completed_indexes, completions) | set(map(index_of, self.new_succeeded))
        self.succeeded = len(self.completed)
        if job.spec.backoff_limit_per_index is not None:
            failed = {index_of(pod) for pod in self.new_failed if _has_index_failed(job, pod)}
            self.failed_indexes = parse_indexes(status.failed_indexes or "", completions) | failed
            self._find_awaited(self.failed_indexes)

    def _find_awaited(self, failed: set[int]) -> None:
        """Find the last failed pod of each index that will run again. Source: getPodsWithDelayedDeletionPerIndex."""
        done = self.completed | failed | {index_of(pod) for pod in self.active}
        for pod in self.new_failed:
            index = index_of(pod)
            known = self.awaited.get(index)
            if index not in done and (known is None or _is_later(pod, known)):
                self.awaited[index] = pod

    def verdict(self, job: Job, now: datetime) -> TerminalCondition | None:
        """Return the condition that ends the Job now; None while it continues or if only its successes end it."""
        limit = NO_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit
        if self.fail_message:
            return TerminalCondition(TARGET, "PodFailurePolicy", self.fail_message)
        if self.failed > limit or self._past_limit_on_failure(job, limit):
            return TerminalCondition(TARGET, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        left = deadline_left(job, now)
        if left is not None and left <= 0:
            return TerminalCondition(TARGET, "DeadlineExceeded", "Job was active longer than specified deadline")
        return self._verdict_of_indexes(job) if is_indexed(job) else None

    def _past_limit_on_failure(self, job: Job, limit: int) -> bool:
        """Source: pastBackoffLimitOnFailure."""
        if job.spec.template.spec.restart_policy != "OnFailure":
            return False
        count = restarts(self.pods)
        # With OnFailure the kubelet restarts containers in place, so restarts and not pods are failures. A limit of 0
        # allows the first run only.
        return count > 0 if limit == 0 else count >= limit

    def _verdict_of_indexes(self, job: Job) -> TerminalCondition | None:
        """Return the condition from indexes; failed ones take precedence over the success policy.

        Source: syncJob, matchSuccessPolicy.
        """
        completions, failed = job.spec.completions or 0, len(self.failed_indexes or ())
        if job.spec.max_failed_indexes is not None and failed > job.spec.max_failed_indexes:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return TerminalCondition(TARGET, "MaxFailedIndexesExceeded", message)
        if failed and failed + len(self.completed) >= completions:
            return TerminalCondition(TARGET, "FailedIndexes", "Job has failed indexes")
        for number, rule in enumerate(job.spec.success_policy.rules if job.spec.success_policy is not None else ()):
            among = self.completed
            if rule.succeeded_indexes is not None:
                wanted = parse_indexes(rule.succeeded_indexes, completions)
                among = self.completed & wanted
                needed = len(wanted) if rule.succeeded_count is None else rule.succeeded_count
            else:
                needed = rule.succeeded_count or 0
            if len(among) >= needed > 0:
                return TerminalCondition(SUCCESS, "SuccessPolicy", f"Matched rules at index {number}")
        return None

    def is_complete(self, job: Job, active: int) -> bool:
        """Return whether enough pods have succeeded and none is active; one without `completions`. Source: syncJob."""
        if active:
            return False
        return self.succeeded > 0 if job.spec.completions is None else self.succeeded >= job.spec.completions

    def free_indexes(self, job: Job, *, but_terminating: bool) -> list[int]:
        """Return the unfinished indexes without a pod. Source: firstPendingIndexes."""
        taken = self.completed | (self.failed_indexes or set()) | set(map(index_of, self.active))
        if but_terminating:
            taken |= set(map(index_of, self.terminating))
        return [index for index in range(job.spec.completions or 0) if index not in taken]


def is_valid_index(job: Job, pod: Pod) -> bool:
    """Return whether the pod has one of the Job's completion indexes."""
    return 0 <= index_of(pod) < (job.spec.completions or 0)


def _fail_message(job: Job, pods: Iterable[Pod]) -> str:
    """Return the message of a failed pod that ends the Job; "" without one. Source: getFailJobMessage."""
    if job.spec.pod_failure_policy is not None:
        for pod in pods:
            if has_failed(pod, job):
                match = match_failure_policy(job.spec.pod_failure_policy, pod)
                if match.action == "FailJob":
                    return match.message
    return ""


def _has_index_failed(job: Job, pod: Pod) -> bool:
    """Source: isIndexFailed."""
    action = match_failure_policy(job.spec.pod_failure_policy, pod).action
    limit = job.spec.backoff_limit_per_index or 0
    return action == "FailIndex" or (action != "Ignore" and failures_of_index(pod)[0] >= limit)


def _is_later(pod: Pod, known: Pod) -> bool:
    return sum(failures_of_index(pod)) >= sum(failures_of_index(known)) and finished_at(pod) >= finished_at(known)


def deadline_left(job: Job, now: datetime) -> float | None:
    """Return the seconds until `activeDeadlineSeconds` ends; None without a deadline. Source: pastActiveDeadline."""
    if job.spec.active_deadline_seconds is None or job.status.start_time is None or job.spec.suspend:
        return None
    return (duration(job.spec.active_deadline_seconds) - (now - job.status.start_time)).total_seconds()
