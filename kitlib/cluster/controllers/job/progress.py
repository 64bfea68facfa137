"""How far a Job is: pods counted, indexes done, and whether it is finished.

Source: pkg/controller/job/job_controller.go (trackJobStatusAndRemoveFinalizers, getNewFinishedPods,
exceedsBackoffLimit, pastActiveDeadline), indexed_job_utils.go, success_policy.go, backoff_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from kitlib.api.batch import Job
from kitlib.api.clock import duration
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.cluster.controllers.controller_utils import is_active
from kitlib.cluster.controllers.job.pods import (
    FINALIZER,
    has_failed,
    index_of,
    is_indexed,
    match_failure_policy,
    parse_indexes,
    restarts,
)

FAILURES = "batch.kubernetes.io/job-index-failure-count"
BACKOFF, MAX_BACKOFF = 10.0, 600.0
"""Seconds before a pod is made after the first failure, doubled with each; the longest."""
NO_LIMIT = 2**31 - 1


class Verdict(NamedTuple):
    """The condition with which a Job ends: FailureTarget or SuccessCriteriaMet, its reason and message."""

    type: str
    reason: str
    message: str


@dataclass
class Progress:
    """The counts of one sync.

    Attributes:
        succeeded, failed: with the pods that finished since the last sync.
        active, terminating: pods.
        completed, failed_indexes: of an indexed Job.
        counted: pods to release from tracking.
        fail_message: of a failed pod that ends the Job by its failure policy.
    """

    succeeded: int
    failed: int
    active: list[Pod] = field(default_factory=list)
    terminating: list[Pod] = field(default_factory=list)
    completed: set[int] = field(default_factory=set)
    failed_indexes: set[int] = field(default_factory=set)
    counted: list[Pod] = field(default_factory=list)
    fail_message: str = ""
    last_failure: datetime | None = None
    failures_in_a_row: int = 0

    @classmethod
    def of(cls, job: Job, pods: Sequence[Pod]) -> Progress:
        """Count the Job's pods."""
        status, completions = job.status, job.spec.completions or 0
        made = cls(status.succeeded, status.failed)
        if is_indexed(job):
            made.completed = parse_indexes(status.completed_indexes, completions)
            made.failed_indexes = parse_indexes(status.failed_indexes or "", completions)
        for pod in pods:
            if is_active(pod):
                made.active.append(pod)
            elif pod.status.phase not in TERMINAL_PHASES:
                made.terminating.append(pod)
            if FINALIZER in pod.metadata.finalizers:
                made._count(job, pod)
        made._failures(job, pods)
        return made

    def _count(self, job: Job, pod: Pod) -> None:
        index = index_of(pod)
        valid = not is_indexed(job) or 0 <= index < (job.spec.completions or 0)
        if pod.status.phase == "Succeeded":
            self.counted.append(pod)
            if not is_indexed(job):
                self.succeeded += 1
            elif valid:
                self.completed.add(index)
                self.succeeded = len(self.completed)
        elif has_failed(pod, job):
            self.counted.append(pod)
            match = match_failure_policy(job.spec.pod_failure_policy, pod)
            if match.action == "FailJob":
                self.fail_message = self.fail_message or match.message
            if match.action != "Ignore" and valid:
                self.failed += 1
            if is_indexed(job) and job.spec.backoff_limit_per_index is not None and valid:
                spent = failures_of(pod) + (match.action != "Ignore")
                if match.action == "FailIndex" or spent > job.spec.backoff_limit_per_index:
                    self.failed_indexes.add(index)

    def _failures(self, job: Job, pods: Iterable[Pod]) -> None:
        """Failures since the last success, and when the last was. Source: newBackoffRecord."""
        ends = []
        for pod in pods:
            if pod.status.phase == "Succeeded" or has_failed(pod, job):
                ends.append((finished_at(pod), pod.status.phase == "Succeeded"))
        for at, success in sorted(ends, key=lambda end: end[0].timestamp() if end[0] else 0.0):
            if success:
                self.failures_in_a_row = 0
            else:
                self.failures_in_a_row, self.last_failure = self.failures_in_a_row + 1, at

    def backoff_left(self, now: datetime) -> float:
        """Seconds until another pod may be made. Source: getRemainingTimePerIndex, getRemainingTimeForFailuresCount."""
        if not self.failures_in_a_row or self.last_failure is None:
            return 0.0
        delay = min(BACKOFF * 2 ** min(self.failures_in_a_row - 1, 10), MAX_BACKOFF)
        return max(0.0, delay - (now - self.last_failure).total_seconds())

    def verdict(self, job: Job, now: datetime) -> Verdict | None:
        """The condition with which the Job ends now; None while it goes on."""
        limit = NO_LIMIT if job.spec.backoff_limit is None else job.spec.backoff_limit
        if self.fail_message:
            return Verdict("FailureTarget", "PodFailurePolicy", self.fail_message)
        if self.failed > limit or self._past_limit_on_failure(job, limit):
            return Verdict("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        left = deadline_left(job, now)
        if left is not None and left <= 0:
            return Verdict("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
        if is_indexed(job):
            return self._verdict_of_indexes(job)
        if self.is_complete(job):
            return Verdict("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
        return None

    def _past_limit_on_failure(self, job: Job, limit: int) -> bool:
        if job.spec.template.spec.restart_policy != "OnFailure":
            return False
        count = restarts(self.active)
        return count > 0 if limit == 0 else count >= limit

    def _verdict_of_indexes(self, job: Job) -> Verdict | None:
        """Failed indexes count before the success policy does. Source: syncJob."""
        most = job.spec.max_failed_indexes
        finished = len(self.completed | self.failed_indexes) >= (job.spec.completions or 0)
        if most is not None and len(self.failed_indexes) > most:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return Verdict("FailureTarget", "MaxFailedIndexesExceeded", message)
        if self.failed_indexes and finished:
            return Verdict("FailureTarget", "FailedIndexes", "Job has failed indexes")
        for number, rule in enumerate(job.spec.success_policy.rules if job.spec.success_policy is not None else ()):
            among = self.completed
            if rule.succeeded_indexes is not None:
                wanted = parse_indexes(rule.succeeded_indexes, job.spec.completions or 0)
                among = self.completed & wanted
                needed = len(wanted) if rule.succeeded_count is None else rule.succeeded_count
            else:
                needed = rule.succeeded_count or 0
            if len(among) >= needed > 0:
                return Verdict("SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {number}")
        if finished:
            message = "Reached expected number of succeeded pods"
            return Verdict("SuccessCriteriaMet", "CompletionsReached", message)
        return None

    def is_complete(self, job: Job) -> bool:
        """Whether enough pods have succeeded. Without `completions` one is enough when no other runs."""
        if job.spec.completions is None:
            return self.succeeded > 0 and not self.active
        return self.succeeded >= job.spec.completions


def failures_of(pod: Pod) -> int:
    """How often the pod's index had failed before."""
    text = pod.metadata.annotations.get(FAILURES, "0")
    return int(text) if text.isdigit() else 0


def finished_at(pod: Pod) -> datetime | None:
    """When the pod's last container ended, or it was deleted. Source: getFinishedTime."""
    ends = [status.state.get("terminated", {}).get("finishedAt") for status in pod.status.container_statuses]
    times = [datetime.fromisoformat(end) if isinstance(end, str) else end for end in ends if end]
    if times:
        return max(times)
    ready = next((one for one in pod.status.conditions if one.type == "Ready"), None)
    changed = ready.last_transition_time if ready is not None else None
    return pod.metadata.deletion_timestamp or changed or pod.metadata.creation_timestamp


def deadline_left(job: Job, now: datetime) -> float | None:
    """Seconds until `activeDeadlineSeconds` is over; None without one. Source: pastActiveDeadline."""
    if job.spec.active_deadline_seconds is None or job.status.start_time is None or job.spec.suspend:
        return None
    return (duration(job.spec.active_deadline_seconds) - (now - job.status.start_time)).total_seconds()
