"""Validation of Jobs and their templates.

Source: pkg/apis/batch/validation ValidateJob, validateJobSpec, validatePodFailurePolicy, ValidateJobTemplateSpec.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kitlib.api.batch import Job, JobSpec, JobTemplateSpec, PodFailurePolicyRule
from kitlib.api.field_errors import (
    OMITTED,
    Errors,
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_long_value,
    too_many,
    validate_domain_prefixed_path,
    validate_nonnegative_field,
)
from kitlib.api.names import is_qualified_name
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.apiserver.validation.job_indexes import (
    MAX_RULES,
    validate_index_limits,
    validate_pod_names,
    validate_success_policy,
)
from kitlib.apiserver.validation.object_meta import (
    validate_label_selector,
    validate_object_meta,
)
from kitlib.apiserver.validation.pod import validate_pod_template_spec

COMPLETION_MODES = ("NonIndexed", "Indexed")
FAILURE_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
CONDITION_STATUSES = ("False", "True", "Unknown")
EXIT_CODE_OPERATORS = ("In", "NotIn")
MAX_EXIT_CODES = 255
_INDEXED_ONLY = "requires indexed completion mode"


def validate_job(job: Job) -> Errors:
    """Source: ValidateJob."""
    found = validate_object_meta(job.metadata, namespaced=True) + validate_generated_selector(job)
    return found + validate_job_spec(job.spec, "spec") + validate_pod_names(job)


def validate_generated_selector(job: Job) -> Errors:
    """Check that the generated labels are present and the Job's own. Source: ValidateGeneratedSelector."""
    if job.spec.manual_selector or job.spec.selector is None:
        return []
    found: Errors = []
    if not job.metadata.uid:
        found.append(required("metadata.uid"))
    expected = {
        "controller-uid": job.metadata.uid,
        "job-name": job.metadata.name,
        "batch.kubernetes.io/controller-uid": job.metadata.uid,
        "batch.kubernetes.io/job-name": job.metadata.name,
    }
    for label, value in expected.items():
        actual = job.spec.template.metadata.labels.get(label)
        place = f"spec.template.metadata.labels[{label}]"
        if actual is None:
            found.append(required(place, f"must be '{value}'"))
        elif actual != value:
            found.append(invalid(place, job.spec.template.metadata.labels, f"must be '{value}'"))
    if not validate_label_selector(job.spec.selector, "") and not LabelSelectorMatcher(job.spec.selector).matches(
        expected
    ):
        found.append(invalid("spec.selector", job.spec.selector, "`selector` not auto-generated"))
    return found


def validate_job_spec(spec: JobSpec, field: str) -> Errors:
    """Source: ValidateJobSpec."""
    found = _job_spec(spec, field)
    if spec.selector is None:
        return [*found, required(f"{field}.selector")]
    wrong = validate_label_selector(spec.selector, f"{field}.selector")
    if not wrong and not LabelSelectorMatcher(spec.selector).matches(spec.template.metadata.labels):
        detail = "`selector` does not match template `labels`"
        wrong.append(invalid(f"{field}.template.metadata.labels", spec.template.metadata.labels or None, detail))
    return found + wrong


def _job_spec(spec: JobSpec, field: str) -> Errors:
    """Source: validateJobSpec."""
    found: Errors = []
    for name, value in (
        ("parallelism", spec.parallelism),
        ("completions", spec.completions),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index),
        ("maxFailedIndexes", spec.max_failed_indexes),
    ):
        found += validate_nonnegative_field(value, f"{field}.{name}")
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        found.append(required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.managed_by is not None:
        found += validate_domain_prefixed_path(spec.managed_by, f"{field}.managedBy")
        if len(spec.managed_by) > 63:
            found.append(too_long_value(f"{field}.managedBy", 63))
    found += _completion_mode(spec, field)
    if spec.pod_failure_policy is not None:
        found += _pod_failure_policy(spec, f"{field}.podFailurePolicy")
    if spec.success_policy is not None:
        if spec.completion_mode != "Indexed":
            found.append(invalid(f"{field}.successPolicy", spec.success_policy, _INDEXED_ONLY))
        else:
            found += validate_success_policy(spec, f"{field}.successPolicy")
    replacement = spec.pod_replacement_policy
    if replacement is not None:
        allowed = ("Failed",) if spec.pod_failure_policy is not None else ("Failed", "TerminatingOrFailed")
        if replacement not in allowed:
            found.append(not_supported(f"{field}.podReplacementPolicy", replacement, allowed))
    found += validate_pod_template_spec(spec.template, f"{field}.template")
    policy, place = spec.template.spec.restart_policy, f"{field}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        found.append(required(place, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        found.append(not_supported(place, policy, ("OnFailure", "Never")))
    elif spec.pod_failure_policy is not None and policy != "Never":
        found.append(invalid(place, policy, 'only "Never" is supported when podFailurePolicy is specified'))
    return found


def _completion_mode(spec: JobSpec, field: str) -> Errors:
    found: Errors = []
    mode = spec.completion_mode
    if mode is not None and mode not in COMPLETION_MODES:
        found.append(not_supported(f"{field}.completionMode", mode, COMPLETION_MODES))
    if mode == "Indexed":
        found += validate_index_limits(spec, field)
    if mode in (None, "NonIndexed"):
        for name, value in (
            ("backoffLimitPerIndex", spec.backoff_limit_per_index),
            ("maxFailedIndexes", spec.max_failed_indexes),
        ):
            if value is not None:
                found.append(invalid(f"{field}.{name}", value, _INDEXED_ONLY))
    return found


def _pod_failure_policy(spec: JobSpec, field: str) -> Errors:
    """Source: validatePodFailurePolicy."""
    assert spec.pod_failure_policy is not None
    rules = spec.pod_failure_policy.rules
    found = [too_many(f"{field}.rules", len(rules), MAX_RULES)] if len(rules) > MAX_RULES else []
    pod = spec.template.spec
    names = {container.name for container in (*pod.containers, *pod.init_containers)}
    for i, rule in enumerate(rules):
        found += _failure_rule(rule, spec, names, f"{field}.rules[{i}]")
    return found


def _quoted(values: Sequence[str]) -> str:
    """Return a list in the format of Go's `%q`."""
    return f"[{' '.join(json.dumps(value) for value in values)}]"


def _failure_rule(rule: PodFailurePolicyRule, spec: JobSpec, names: set[str], field: str) -> Errors:
    found: Errors = []
    if not rule.action:
        found.append(required(f"{field}.action", f"valid values: {_quoted(FAILURE_ACTIONS)}"))
    elif rule.action == "FailIndex":
        if spec.backoff_limit_per_index is None:
            found.append(invalid(f"{field}.action", rule.action, "requires the backoffLimitPerIndex to be set"))
    elif rule.action not in FAILURE_ACTIONS:
        found.append(not_supported(f"{field}.action", rule.action, FAILURE_ACTIONS))
    if rule.on_exit_codes is not None:
        found += _exit_codes(rule, names, f"{field}.onExitCodes")
    if len(rule.on_pod_conditions) > MAX_RULES:
        found.append(too_many(f"{field}.onPodConditions", len(rule.on_pod_conditions), MAX_RULES))
    for j, pattern in enumerate(rule.on_pod_conditions):
        place = f"{field}.onPodConditions[{j}]"
        found += each(f"{place}.type", pattern.type, is_qualified_name(pattern.type))
        if not pattern.status:
            found.append(required(f"{place}.status", f"valid values: {_quoted(CONDITION_STATUSES)}"))
        elif pattern.status not in CONDITION_STATUSES:
            found.append(not_supported(f"{place}.status", pattern.status, CONDITION_STATUSES))
    if rule.on_exit_codes is not None and rule.on_pod_conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        found.append(invalid(field, OMITTED, detail))
    if rule.on_exit_codes is None and not rule.on_pod_conditions:
        found.append(invalid(field, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required"))
    return found


def _exit_codes(rule: PodFailurePolicyRule, names: set[str], field: str) -> Errors:
    codes = rule.on_exit_codes
    assert codes is not None
    found: Errors = []
    if not codes.operator:
        found.append(required(f"{field}.operator", f"valid values: {_quoted(EXIT_CODE_OPERATORS)}"))
    elif codes.operator not in EXIT_CODE_OPERATORS:
        found.append(not_supported(f"{field}.operator", codes.operator, EXIT_CODE_OPERATORS))
    if codes.container_name is not None and codes.container_name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{field}.containerName", codes.container_name, detail))
    place = f"{field}.values"
    if not codes.values:
        found.append(invalid(place, codes.values, "at least one value is required"))
    elif len(codes.values) > MAX_EXIT_CODES:
        found.append(too_many(place, len(codes.values), MAX_EXIT_CODES))
    seen: set[int] = set()
    for i, value in enumerate(codes.values):
        if codes.operator == "In" and value == 0:
            found.append(invalid(f"{place}[{i}]", value, "must not be 0 for the In operator"))
        if value in seen:
            found.append(duplicate(f"{place}[{i}]", value))
        seen.add(value)
    if list(codes.values) != sorted(codes.values):
        found.append(invalid(place, codes.values, "must be ordered"))
    return found


def validate_job_template_spec(template: JobTemplateSpec, field: str) -> Errors:
    """Source: ValidateJobTemplateSpec."""
    spec = template.spec
    found = _job_spec(spec, f"{field}.spec")
    if spec.selector is not None:
        found.append(invalid(f"{field}.spec.selector", spec.selector, "`selector` will be auto-generated"))
    if spec.manual_selector:
        found.append(not_supported(f"{field}.spec.manualSelector", True, ("nil", "false")))
    return found
