"""Defaults of Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers, Jobs and CronJobs.

Source: pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go, pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from kitlib.api.apps import (
    DaemonSet,
    Deployment,
    ReplicaSet,
    RollingUpdateDaemonSet,
    RollingUpdateDeployment,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
)
from kitlib.api.batch import CronJob, Job, JobSpec
from kitlib.api.core import PodSpec, PodTemplate, ReplicationController
from kitlib.api.defaults import volumes
from kitlib.api.defaults.pod import pod_spec

REVISIONS = 10
PROGRESS_SECONDS = 600
BACKOFF_LIMIT = 6


def template_spec(spec: PodSpec) -> None:
    """Set the defaults of a template's pod: those of a pod except requests and host ports, which only pods get."""
    pod_spec(spec, template=True)


def pod_template(obj: PodTemplate) -> None:
    """Source: SetObjectDefaults_PodTemplate."""
    template_spec(obj.template.spec)


def deployment(obj: Deployment) -> None:
    """Source: SetDefaults_Deployment."""
    template_spec(obj.spec.template.spec)
    spec = obj.spec
    spec.replicas = 1 if spec.replicas is None else spec.replicas
    spec.strategy.type = spec.strategy.type or "RollingUpdate"
    if spec.strategy.type == "RollingUpdate":
        rolling = spec.strategy.rolling_update = spec.strategy.rolling_update or RollingUpdateDeployment()
        rolling.max_unavailable = "25%" if rolling.max_unavailable is None else rolling.max_unavailable
        rolling.max_surge = "25%" if rolling.max_surge is None else rolling.max_surge
    spec.revision_history_limit = REVISIONS if spec.revision_history_limit is None else spec.revision_history_limit
    if spec.progress_deadline_seconds is None:
        spec.progress_deadline_seconds = PROGRESS_SECONDS


def replica_set(obj: ReplicaSet) -> None:
    """Source: SetDefaults_ReplicaSet."""
    template_spec(obj.spec.template.spec)
    obj.spec.replicas = 1 if obj.spec.replicas is None else obj.spec.replicas


def stateful_set(obj: StatefulSet) -> None:
    """Source: SetDefaults_StatefulSet."""
    template_spec(obj.spec.template.spec)
    spec = obj.spec
    spec.pod_management_policy = spec.pod_management_policy or "OrderedReady"
    strategy = spec.update_strategy
    if not strategy.type:
        strategy.type = "RollingUpdate"
        if strategy.rolling_update is None:
            strategy.rolling_update = RollingUpdateStatefulSetStrategy(partition=0)
    if strategy.type == "RollingUpdate" and strategy.rolling_update is not None:
        strategy.rolling_update.partition = strategy.rolling_update.partition or 0
    retention = spec.persistent_volume_claim_retention_policy or StatefulSetPersistentVolumeClaimRetentionPolicy()
    retention.when_deleted = retention.when_deleted or "Retain"
    retention.when_scaled = retention.when_scaled or "Retain"
    spec.persistent_volume_claim_retention_policy = retention
    spec.replicas = 1 if spec.replicas is None else spec.replicas
    spec.revision_history_limit = REVISIONS if spec.revision_history_limit is None else spec.revision_history_limit
    for template in spec.volume_claim_templates:
        volumes.claim(template)


def daemon_set(obj: DaemonSet) -> None:
    """Source: SetDefaults_DaemonSet."""
    template_spec(obj.spec.template.spec)
    strategy = obj.spec.update_strategy
    strategy.type = strategy.type or "RollingUpdate"
    if strategy.type == "RollingUpdate":
        rolling = strategy.rolling_update = strategy.rolling_update or RollingUpdateDaemonSet()
        rolling.max_unavailable = 1 if rolling.max_unavailable is None else rolling.max_unavailable
        rolling.max_surge = 0 if rolling.max_surge is None else rolling.max_surge
    if obj.spec.revision_history_limit is None:
        obj.spec.revision_history_limit = REVISIONS


def replication_controller(obj: ReplicationController) -> None:
    """Take selector and labels from the template. Source: SetDefaults_ReplicationController."""
    spec = obj.spec
    if spec.template is not None:
        template_spec(spec.template.spec)
        labels = spec.template.metadata.labels
        if labels:
            spec.selector = spec.selector or dict(labels)
            obj.metadata.labels = obj.metadata.labels or dict(labels)
    spec.replicas = 1 if spec.replicas is None else spec.replicas


def job_spec(spec: JobSpec) -> None:
    """Source: SetDefaults_Job."""
    template_spec(spec.template.spec)
    # Only if both are unset: completions alone stays unset for a work queue, whose pods decide when it is done.
    if spec.completions is None and spec.parallelism is None:
        spec.completions = spec.parallelism = 1
    spec.parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.backoff_limit is None:
        # With a limit per index the common one must not end the Job first.
        spec.backoff_limit = BACKOFF_LIMIT if spec.backoff_limit_per_index is None else 2**31 - 1
    spec.completion_mode = spec.completion_mode if spec.completion_mode is not None else "NonIndexed"
    spec.suspend = bool(spec.suspend)
    _failure_conditions(spec)
    if spec.pod_replacement_policy is None:
        spec.pod_replacement_policy = "TerminatingOrFailed" if spec.pod_failure_policy is None else "Failed"
    spec.manual_selector = bool(spec.manual_selector)


def _failure_conditions(spec: JobSpec) -> None:
    """Set a pattern's missing status to True. Source: SetDefaults_PodFailurePolicyOnPodConditionsPattern."""
    for rule in spec.pod_failure_policy.rules if spec.pod_failure_policy is not None else ():
        for pattern in rule.on_pod_conditions:
            pattern.status = pattern.status or "True"


def job(obj: Job) -> None:
    """Give a Job without labels those of its template. Source: SetDefaults_Job."""
    job_spec(obj.spec)
    if obj.spec.template.metadata.labels and not obj.metadata.labels:
        obj.metadata.labels = dict(obj.spec.template.metadata.labels)


def cron_job(obj: CronJob) -> None:
    """Source: SetDefaults_CronJob. A Job's own defaults are set when it is created, those of its pod template here."""
    spec = obj.spec
    template_spec(spec.job_template.spec.template.spec)
    _failure_conditions(spec.job_template.spec)
    spec.concurrency_policy = spec.concurrency_policy or "Allow"
    spec.suspend = bool(spec.suspend)
    if spec.successful_jobs_history_limit is None:
        spec.successful_jobs_history_limit = 3
    if spec.failed_jobs_history_limit is None:
        spec.failed_jobs_history_limit = 1
