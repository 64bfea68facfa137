"""Validation of pod updates: images, deadline, tolerations and gates; a gated pod's placement can be narrowed.

Source: pkg/apis/core/validation ValidatePodUpdate, validateNodeAffinityMutation, validateOnlyAddedTolerations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kitlib.api.core import Container, NodeSelectorTerm, Pod
from kitlib.api.field_errors import Errors, forbidden, invalid, required
from kitlib.api.names import in_range
from kitlib.api.numbers import MAX_INT32
from kitlib.api.serialize import deepcopy, to_dict
from kitlib.apiserver.validation.containers import validate_container_only_for_pod
from kitlib.apiserver.validation.object_meta import validate_object_meta_update
from kitlib.apiserver.validation.pod import validate_pod_create, validate_pod_metadata_and_spec
from kitlib.apiserver.validation.pod_annotations import validate_pod_specific_annotation_updates
from kitlib.apiserver.validation.rules import Rules
from kitlib.apiserver.validation.scheduling import validate_tolerations

IMMUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_ONLY_ADDITIONS = "only additions are allowed (no mutations or deletions)"


def validate_pod_update(new: Pod, old: Pod) -> Errors:
    """Return the errors of updating `old` to `new`, both defaulted. Source: ValidatePodUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata) + validate_pod_metadata_and_spec(new)
    found += validate_pod_specific_annotation_updates(new, old, "metadata.annotations")
    for name, mine, theirs in (
        ("containers", new.spec.containers, old.spec.containers),
        ("initContainers", new.spec.init_containers, old.spec.init_containers),
    ):
        if len(mine) != len(theirs):
            return [*found, forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
        found += _images(mine, f"spec.{name}")
    deadlines, is_last = _deadline(new, old)
    found += deadlines
    if is_last:
        return found
    found += _tolerations(new, old)
    found += _gates(new, old)
    munged = _with_allowed_changes(new, old)
    if old.spec.scheduling_gates:
        found += _while_gated(munged, new, old)
    if to_dict(munged.spec) != to_dict(old.spec):
        changed = _changed(to_dict(munged.spec), to_dict(old.spec), "spec")
        found.append(forbidden("spec", f"{IMMUTABLE}\nchanged: {', '.join(changed)}"))
    return found


def _gates(new: Pod, old: Pod) -> Errors:
    """Check that gates are only removed. Source: validateSchedulingGates on update."""
    before = {gate.name for gate in old.spec.scheduling_gates}
    return [
        forbidden(
            f"spec.schedulingGates[{i}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.name}'",
        )
        for i, gate in enumerate(new.spec.scheduling_gates)
        if gate.name not in before
    ]


def _images(containers: Iterable[Container], field: str) -> Errors:
    """Check the images, which may change. Source: ValidateContainerUpdates."""
    found: Errors = []
    for i, container in enumerate(containers):
        if not container.image:
            found.append(required(f"{field}[{i}].image"))
        found += validate_container_only_for_pod(container, f"{field}[{i}]")
    return found


def _deadline(new: Pod, old: Pod) -> tuple[Errors, bool]:
    """Check that the deadline is only set or shortened; return the errors, and whether validation stops here."""
    field, after, before = (
        "spec.activeDeadlineSeconds",
        new.spec.active_deadline_seconds,
        old.spec.active_deadline_seconds,
    )
    if after is None:
        detail = "must not update from a positive integer to nil value"
        return ([] if before is None else [invalid(field, None, detail)]), False
    if not 0 <= after <= MAX_INT32:
        return [invalid(field, after, in_range(0, MAX_INT32))], True
    if before is not None and after > before:
        return [invalid(field, after, "must be less than or equal to previous value")], True
    return [], False


def _tolerations(new: Pod, old: Pod) -> Errors:
    """Check that tolerations are only added or get other tolerationSeconds. Source: validateOnlyAddedTolerations."""

    def key(one: Any) -> tuple[str, ...]:
        return one.key, one.operator, one.value, one.effect

    there = {key(toleration) for toleration in new.spec.tolerations}
    if all(key(toleration) in there for toleration in old.spec.tolerations):
        return validate_tolerations(new.spec.tolerations, "spec.tolerations")
    return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _with_allowed_changes(new: Pod, old: Pod) -> Pod:
    """Return a copy of `new` in which the mutable fields are those of `old`."""
    munged = deepcopy(new)
    for which in ("containers", "init_containers"):
        for mine, theirs in zip(getattr(munged.spec, which), getattr(old.spec, which), strict=True):
            mine.image = theirs.image
    munged.spec.active_deadline_seconds = old.spec.active_deadline_seconds
    munged.spec.tolerations = old.spec.tolerations
    munged.spec.scheduling_gates = old.spec.scheduling_gates
    # A negative period, which older releases accepted, may be corrected to 1. Source: ValidatePodUpdate.
    if (old.spec.termination_grace_period_seconds or 0) < 0 and munged.spec.termination_grace_period_seconds == 1:
        munged.spec.termination_grace_period_seconds = old.spec.termination_grace_period_seconds
    return munged


def _while_gated(munged: Pod, new: Pod, old: Pod) -> Errors:
    """Check that a gated pod's node selector and node affinity are only narrowed. Source: KEP-3838."""
    found: Errors = []
    selector = new.spec.node_selector
    if not old.spec.node_selector.items() <= selector.items():
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid("spec.nodeSelector", selector or None, detail))
    munged.spec.node_selector = old.spec.node_selector
    before = old.spec.affinity and old.spec.affinity.node_affinity
    after = new.spec.affinity and new.spec.affinity.node_affinity
    if before == after:
        return found
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    terms = before.required.node_selector_terms if before and before.required else []
    now = after.required.node_selector_terms if after and after.required else []
    if terms:
        if len(now) != len(terms):
            detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
            found.append(invalid(f"{path}.nodeSelectorTerms", now or None, detail))
        else:
            for i, (wide, narrow) in enumerate(zip(terms, now, strict=True)):
                if not _narrower(wide, narrow):
                    found.append(invalid(f"{path}.nodeSelectorTerms[{i}]", narrow, _ONLY_ADDITIONS))
    munged.spec.affinity = _affinity_as_before(munged, old)
    return found


def _affinity_as_before(munged: Pod, old: Pod) -> Any:
    """Return the new affinity with the old node affinity; None if it is otherwise empty and the old pod had none."""
    now, before = munged.spec.affinity, old.spec.affinity
    if now is None:
        return before if before and before.pod_affinity is None and before.pod_anti_affinity is None else None
    now.node_affinity = before.node_affinity if before else None
    empty = now.node_affinity is None and now.pod_affinity is None and now.pod_anti_affinity is None
    return before if empty and before is None else now


def _narrower(wide: NodeSelectorTerm, narrow: NodeSelectorTerm) -> bool:
    """Return whether requirements are only appended; an empty term, which matches nothing, must stay empty."""
    if not wide.match_expressions and not wide.match_fields:
        return not narrow.match_expressions and not narrow.match_fields
    return (
        narrow.match_expressions[: len(wide.match_expressions)] == wide.match_expressions
        and narrow.match_fields[: len(wide.match_fields)] == wide.match_fields
    )


def _changed(new: Any, old: Any, path: str) -> list[str]:
    """Return the paths at which two plain values differ."""
    if isinstance(new, dict) and isinstance(old, dict):
        found: list[str] = []
        for key in [*new, *(k for k in old if k not in new)]:
            found += _changed(new.get(key), old.get(key), f"{path}.{key}")
        return found
    return [] if new == old else [path]


KINDS: Rules = {
    Pod: (validate_pod_create, validate_pod_update),
}
