"""Validation of Job updates: immutable fields, and those that may change while the Job is suspended.

Source: pkg/apis/batch/validation ValidateJobUpdate, ValidateJobSpecUpdate, validateCompletions,
validatePodTemplateUpdate; registry/batch/job validationOptionsForJob.
"""

from __future__ import annotations

from kitlib.api.batch import Job, JobSpec
from kitlib.api.core import Affinity, PodTemplateSpec
from kitlib.api.field_errors import IMMUTABLE, Errors, invalid, validate_immutable_field
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.validation.batch import validate_job, validate_job_spec
from kitlib.apiserver.validation.object_meta import validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules


def validate_job_update(new: Job, old: Job) -> Errors:
    """Check that template, selector and completion mode stay, except for scheduling fields of a suspended Job."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_job_spec(new.spec, "spec")
    mine, theirs = new.spec, old.spec
    found += _completions(mine, theirs)
    found += validate_immutable_field(mine.selector, theirs.selector, "spec.selector")
    if mine.template != _allowed_template(new, old):
        found.append(invalid("spec.template", mine.template, IMMUTABLE))
    for name, value, before in (
        ("completionMode", mine.completion_mode, theirs.completion_mode),
        ("podFailurePolicy", mine.pod_failure_policy, theirs.pod_failure_policy),
        ("backoffLimitPerIndex", mine.backoff_limit_per_index, theirs.backoff_limit_per_index),
        ("managedBy", mine.managed_by, theirs.managed_by),
        ("successPolicy", mine.success_policy, theirs.success_policy),
    ):
        found += validate_immutable_field(value, before, f"spec.{name}")
    return found


def _completions(new: JobSpec, old: JobSpec) -> Errors:
    """Check that completions change only together with parallelism. Source: validateCompletions, KEP-3715."""
    if new.completion_mode != "Indexed":
        return validate_immutable_field(new.completions, old.completions, "spec.completions")
    if new.completions in (None, old.completions, new.parallelism):
        return []
    detail = "can only be modified in tandem with spec.parallelism"
    return [invalid("spec.completions", new.completions, detail)]


def _allowed_template(new: Job, old: Job) -> PodTemplateSpec:
    """Return the old template with the changes that are allowed.

    Source: validatePodTemplateUpdate, KEP-2926, KEP-5440.
    """
    template: PodTemplateSpec = deepcopy(old.spec.template)
    if not old.spec.suspend or not _is_stopped(old):
        return template
    mine = new.spec.template
    template.spec.affinity = _affinity(mine.spec.affinity, template.spec.affinity)
    template.spec.node_selector, template.spec.tolerations = mine.spec.node_selector, mine.spec.tolerations
    template.spec.scheduling_gates = mine.spec.scheduling_gates
    template.metadata.labels, template.metadata.annotations = mine.metadata.labels, mine.metadata.annotations
    for which in ("containers", "init_containers"):
        for container, changed in zip(getattr(template.spec, which), getattr(mine.spec, which), strict=False):
            container.resources = changed.resources
    return template


def _is_stopped(job: Job) -> bool:
    """Return whether the Job has never run or is suspended."""
    suspended = any(condition.type == "Suspended" and condition.status == "True" for condition in job.status.conditions)
    return job.status.start_time is None or suspended


def _affinity(new: Affinity | None, old: Affinity | None) -> Affinity | None:
    """Return the affinity of which only the node affinity is new."""
    if new is None:
        return old if old and (old.pod_affinity is not None or old.pod_anti_affinity is not None) else None
    made = old or Affinity()
    made.node_affinity = new.node_affinity
    return made


KINDS: Rules = {
    Job: (validate_job, validate_job_update),
}
