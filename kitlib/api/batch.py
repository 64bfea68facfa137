"""batch/v1: Job and CronJob.

Source: k8s.io/api/batch/v1/types.go.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from kitlib.api.core import ObjectReference, PodTemplateSpec
from kitlib.api.meta import Condition, KubeObject, KubeStruct, LabelSelector, ObjectMeta
from kitlib.api.numbers import Int32, Int64


class PodFailurePolicyOnExitCodesRequirement(KubeStruct):
    container_name: str | None = None
    operator: str = ""
    values: list[Int32] = []


class PodFailurePolicyOnPodConditionsPattern(KubeStruct):
    type: str = ""
    status: str = ""


class PodFailurePolicyRule(KubeStruct):
    action: str = ""
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: list[PodFailurePolicyOnPodConditionsPattern] = []


class PodFailurePolicy(KubeStruct):
    rules: list[PodFailurePolicyRule] = []


class SuccessPolicyRule(KubeStruct):
    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(KubeStruct):
    rules: list[SuccessPolicyRule] = []


class JobSpec(KubeStruct):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    selector: LabelSelector | None = None
    manual_selector: bool | None = None
    template: PodTemplateSpec = msgspec.field(default_factory=PodTemplateSpec)
    ttl_seconds_after_finished: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class UncountedTerminatedPods(KubeStruct):
    succeeded: list[str] = []
    failed: list[str] = []


class JobStatus(KubeStruct):
    conditions: list[Condition] = []
    start_time: datetime | None = None
    completion_time: datetime | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None
    ready: Int32 | None = None


class Job(KubeObject):
    api_version: str = "batch/v1"
    kind: str = "Job"
    spec: JobSpec = msgspec.field(default_factory=JobSpec)
    status: JobStatus = msgspec.field(default_factory=JobStatus)


class JobTemplateSpec(KubeStruct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: JobSpec = msgspec.field(default_factory=JobSpec)


class CronJobSpec(KubeStruct):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    concurrency_policy: str = ""
    suspend: bool | None = None
    job_template: JobTemplateSpec = msgspec.field(default_factory=JobTemplateSpec)
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None


class CronJobStatus(KubeStruct):
    active: list[ObjectReference] = []
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(KubeObject):
    api_version: str = "batch/v1"
    kind: str = "CronJob"
    spec: CronJobSpec = msgspec.field(default_factory=CronJobSpec)
    status: CronJobStatus = msgspec.field(default_factory=CronJobStatus)
