"""The API server's changes to pods when they are created and deleted.

On creation label keys are merged into selectors and fields of disabled features are dropped. On deletion the pod is
marked with its deletion time and grace period.

Source: registry/core/pod Strategy.PrepareForCreate, applySchedulingGatedCondition,
applyMatchLabelKeysAndMismatchLabelKeys, dropDisabledDynamicResourceAllocationFields, dropDisabledFields (scheduling
gates), mergeLabelKeysToSelector for topology spread.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kitlib.api.clock import duration
from kitlib.api.core import TERMINAL_PHASES, Pod, PodAffinityTerm
from kitlib.api.meta import Condition, LabelSelector, LabelSelectorRequirement
from kitlib.api.release import Release


def prepare_for_create(pod: Pod, release: Release | None = None) -> Pod:
    """Merge matchLabelKeys and mismatchLabelKeys into their selectors, and drop disabled fields, in place.

    Returns:
        The same pod.
    """
    rules = release or Release.followed()
    if pod.spec.resource_claims and not rules.enabled("DynamicResourceAllocation"):
        pod.spec.resource_claims = []
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            container.resources.claims = []
    if not rules.enabled("PodSchedulingReadiness"):
        pod.spec.scheduling_gates = []
    affinity = pod.spec.affinity
    if affinity is not None and rules.enabled("MatchLabelKeysInPodAffinity"):
        for terms in (affinity.pod_affinity, affinity.pod_anti_affinity):
            if terms is not None:
                for term in [*terms.required, *(weighted.pod_affinity_term for weighted in terms.preferred)]:
                    _affinity_term(term, pod)
    if rules.enabled("MatchLabelKeysInPodTopologySpread") and rules.enabled(
        "MatchLabelKeysInPodTopologySpreadSelectorMerge"
    ):
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.match_label_keys and constraint.label_selector is not None:
                constraint.label_selector = _with(constraint.label_selector, constraint.match_label_keys, pod, "In")
    return pod


def merge_label_keys(pod: Pod, release: Release | None = None) -> Pod:
    """Merge the label keys of a pod that does not come from the kit's API server, in place.

    A pod that a real API server stored has them merged already; merging them again changes nothing.

    Returns:
        The same pod.
    """
    claims, pod.spec.resource_claims = pod.spec.resource_claims, []
    gates = pod.spec.scheduling_gates
    prepare_for_create(pod, release)
    pod.spec.resource_claims, pod.spec.scheduling_gates = claims, gates
    for selector in _selectors(pod):
        listed = selector.match_expressions
        selector.match_expressions = [
            requirement for i, requirement in enumerate(listed) if requirement not in listed[:i]
        ]
    return pod


def _selectors(pod: Pod) -> Iterable[LabelSelector]:
    """Yield the selectors of affinity terms and spread constraints."""
    affinity = pod.spec.affinity
    for terms in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        for term in (*terms.required, *(w.pod_affinity_term for w in terms.preferred)) if terms is not None else ():
            if term.label_selector is not None:
                yield term.label_selector
    for constraint in pod.spec.topology_spread_constraints:
        if constraint.label_selector is not None:
            yield constraint.label_selector


def _affinity_term(term: PodAffinityTerm, pod: Pod) -> None:
    if term.label_selector is None:
        return
    term.label_selector = _with(term.label_selector, term.match_label_keys, pod, "In")
    term.label_selector = _with(term.label_selector, term.mismatch_label_keys, pod, "NotIn")


def _with(selector: LabelSelector, keys: Iterable[str], pod: Pod, operator: str) -> LabelSelector:
    """Return the selector with the pod's values of the keys; keys that the pod does not have are ignored."""
    more = [
        LabelSelectorRequirement(key=key, operator=operator, values=[pod.metadata.labels[key]])
        for key in keys
        if key in pod.metadata.labels
    ]
    if not more:
        return selector
    return LabelSelector(match_labels=selector.match_labels, match_expressions=[*selector.match_expressions, *more])


def grace_of(given: object) -> int | None:
    """Return the grace period of DeleteOptions in seconds; a negative one is one second. Source: rest.BeforeDelete."""
    if not isinstance(given, int) or isinstance(given, bool):
        return None
    return given if given >= 0 else 1


def grace_period(pod: Pod, grace: int | None) -> int:
    """Return the seconds that a deletion leaves a pod; 0 = it is removed at once.

    Args:
        pod: the pod, possibly being deleted.
        grace: the requested seconds; None = the pod's own grace period, negative = 1.

    Source: apiserver registry/rest BeforeDelete; podStrategy.CheckGracefulDelete.
    """
    meta = pod.metadata
    if grace is not None and grace < 0:
        grace = 1
    if meta.deletion_timestamp is not None and meta.deletion_grace_period_seconds:
        standing = meta.deletion_grace_period_seconds
        return standing if grace is None else min(grace, standing)
    if not pod.spec.node_name or pod.status.phase in TERMINAL_PHASES:
        return 0
    seconds = pod.spec.termination_grace_period_seconds if grace is None else grace
    return 1 if seconds is not None and seconds < 0 else seconds or 0  # negative in the pod's specification


def mark_deleted(pod: Pod, grace: int | None, now: datetime) -> bool:
    """Set a pod's deletion time and grace period; a later deletion can only shorten it.

    Args:
        pod: the pod to change.
        grace: the requested seconds; None = the pod's own grace period, negative = 1.
        now: the current date.

    Returns:
        Whether the pod remains until its kubelet has terminated it. False = it is removed at once, because it has no
        node, has finished, or the grace period is 0.

    Source: apiserver registry/rest BeforeDelete; podStrategy.CheckGracefulDelete.
    """
    meta = pod.metadata
    grace = grace_period(pod, grace)
    if meta.deletion_timestamp is not None and meta.deletion_grace_period_seconds:
        if grace < meta.deletion_grace_period_seconds:
            asked_at = meta.deletion_timestamp - duration(meta.deletion_grace_period_seconds)
            # A shorter grace period counts from the first request, not from this one. Source: BeforeDelete.
            until = asked_at + duration(grace)
            if until < now:  # already over: the shortest period, from now on
                until, grace = now, min(grace, 1)
            meta.deletion_timestamp, meta.deletion_grace_period_seconds = until, grace
        return meta.deletion_grace_period_seconds > 0
    if not grace:
        return False
    meta.deletion_timestamp = now + duration(grace)
    meta.deletion_grace_period_seconds = grace
    return True


def mark_gated(pod: Pod) -> None:
    """Add the condition SchedulingGated to a pod with gates. Source: pod Strategy applySchedulingGatedCondition."""
    if pod.spec.scheduling_gates:
        message = "Scheduling is blocked due to non-empty scheduling gates"
        condition = Condition(type="PodScheduled", status="False", reason="SchedulingGated", message=message)
        pod.status.conditions.append(condition)
