"""The pods of a Job: creation, failures, and the pod failure policy.

Source: pkg/controller/job (job_controller.go isPodFailed, indexed_job_utils.go, pod_failure_policy.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kitlib.api.batch import Job, PodFailurePolicy, PodFailurePolicyRule
from kitlib.api.core import ContainerStatus, EnvVar, Pod
from kitlib.controllers.pod_control import pod_from_template

FINALIZER = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
MAX_GENERATED_NAME = 58
"""The maximum length of a generated name's prefix, in characters. Source: names.MaxGeneratedNameLength."""


def is_indexed(job: Job) -> bool:
    """Return whether every pod has a completion index."""
    return job.spec.completion_mode == "Indexed"


def index_of(pod: Pod) -> int:
    """Return the pod's completion index; -1 without one. Source: getCompletionIndex."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    return int(text) if text.isdigit() else -1


def new_pod(job: Job, index: int | None) -> Pod:
    """Return a new pod of the Job, with a completion index unless it is None."""
    if index is None:
        pod = pod_from_template(job.spec.template, job)
    else:
        pod = pod_from_template(job.spec.template, job, prefix=_prefix(job.name, index))
        pod.metadata.annotations[COMPLETION_INDEX] = str(index)
        pod.metadata.labels[COMPLETION_INDEX] = str(index)
        pod.spec.hostname = f"{job.name}-{index}"
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
        from kitlib.api.serialize import from_dict

        variable: EnvVar = from_dict({"name": INDEX_VARIABLE, "valueFrom": source}, EnvVar)
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            if all(env_var.name != INDEX_VARIABLE for env_var in container.env):
                container.env = [*container.env, variable]
    pod.metadata.finalizers = [*pod.metadata.finalizers, FINALIZER]
    return pod


def _prefix(name: str, index: int) -> str:
    """Return the prefix of a pod's generated name. Source: podGenerateNameWithIndex."""
    suffix = f"-{index}-"
    return name[: MAX_GENERATED_NAME - len(suffix)] + suffix


def replaces_failed_pods_only(job: Job) -> bool:
    """Return whether a terminating pod is replaced only after it has failed. Source: onlyReplaceFailedPods."""
    # A failure policy needs the final state of a pod, so it implies the policy Failed.
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def failures_of_index(pod: Pod) -> tuple[int, int]:
    """Return the numbers of counted and of ignored earlier failures of the pod's index.

    Source: parseIndexFailureCountAnnotation, parseIndexFailureIgnoreCountAnnotation.
    """
    texts = (pod.metadata.annotations.get(key, "0") for key in (FAILURES, IGNORED_FAILURES))
    counted, ignored = (int(text) if text.isdecimal() and int(text) < 2**31 else 0 for text in texts)
    return counted, ignored


def annotate_failures(pod: Pod, job: Job, replaced: Pod | None) -> None:
    """Annotate a pod with the earlier failures of its index. Source: addIndexFailureCountAnnotation."""
    counted, ignored = 0, 0
    if replaced is not None:
        counted, ignored = failures_of_index(replaced)
        if is_failure_counted(job, replaced):
            counted += 1
        else:
            ignored += 1
    pod.metadata.annotations[FAILURES] = str(counted)
    if ignored:
        pod.metadata.annotations[IGNORED_FAILURES] = str(ignored)


def has_failed(pod: Pod, job: Job) -> bool:
    """Return whether the pod counts as failed; a terminating pod does, unless only failed pods are replaced.

    Source: isPodFailed.
    """
    if pod.status.phase == "Failed":
        return True
    if replaces_failed_pods_only(job):
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


class PolicyMatch(NamedTuple):
    """The result of the failure policy: the rule's action ("Count" without a rule), and the message for FailJob."""

    action: str
    message: str


def match_failure_policy(policy: PodFailurePolicy | None, pod: Pod) -> PolicyMatch:
    """Return the result of the first rule that matches a failed pod. Source: matchPodFailurePolicy."""
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        if rule.on_exit_codes is not None:
            container = _matching_container(rule, pod)
            if container is not None:
                text = f"Container {container.name} for pod {pod.key} failed with exit code {exit_code(container)}"
                return PolicyMatch(rule.action, f"{text} matching {rule.action} rule at index {number}")
        for pattern in rule.on_pod_conditions:
            for condition in pod.status.conditions:
                if condition.type == pattern.type and condition.status == pattern.status:
                    text = f"Pod {pod.key} has condition {condition.type}"
                    return PolicyMatch(rule.action, f"{text} matching {rule.action} rule at index {number}")
    return PolicyMatch("Count", "")


def is_failure_counted(job: Job, pod: Pod) -> bool:
    """Return whether a failed pod counts against the limits; the failure policy may ignore it."""
    return match_failure_policy(job.spec.pod_failure_policy, pod).action != "Ignore"


def _matching_container(rule: PodFailurePolicyRule, pod: Pod) -> ContainerStatus | None:
    """Source: getMatchingContainerFromList."""
    codes = rule.on_exit_codes
    assert codes is not None
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        code = exit_code(status)
        if not code or (codes.container_name is not None and codes.container_name != status.name):
            continue
        if (code in codes.values) == (codes.operator == "In"):
            return status
    return None


def exit_code(status: ContainerStatus) -> int:
    """Return the exit code of a terminated container; 0 if it has not ended."""
    return int(status.state.get("terminated", {}).get("exitCode", 0))


def restarts(pods: Iterable[Pod]) -> int:
    """Return the number of container restarts in running and pending pods. Source: pastBackoffLimitOnFailure."""
    return sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )


def parse_indexes(text: str, completions: int) -> set[int]:
    """Parse numbers such as `1,3-5,7`, without those from `completions` on. Source: parseIndexesFromString."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return {index for index in found if index < completions}


def format_indexes(indexes: Iterable[int]) -> str:
    """Return numbers as text such as `1,3-5,7`. Source: orderedIntervals.String."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    parts = []
    for first, last in runs:
        if first == last:
            parts.append(str(first))
        else:
            parts.append(f"{first},{last}" if last == first + 1 else f"{first}-{last}")
    return ",".join(parts)
