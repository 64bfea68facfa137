"""Pod Security admission: a namespace's levels reject pods or add warnings; for workloads they only add warnings.

Source: pod-security-admission admission ValidateNamespace, ValidatePod, ValidatePodController, EvaluatePod; policy
checkRegistry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kitlib.api.container import Container
from kitlib.api.core import Namespace, Pod, PodSpec
from kitlib.api.errors import Forbidden, Invalid
from kitlib.api.field_errors import Errors
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.pod_templates import template_of
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin
from kitlib.apiserver.admission.podsecurity import baseline, restricted
from kitlib.apiserver.admission.podsecurity.levels import (
    PREFIX,
    PRIVILEGED,
    RESTRICTED,
    LevelVersion,
    policy_to_evaluate,
    stricter,
)
from kitlib.apiserver.admission.podsecurity.violations import Check, Violation, containers
from kitlib.apiserver.validation.pod_annotations import SECCOMP_PREFIX

MAX_PODS = 3000
"""The maximum number of existing pods checked against a new level. Source: defaultNamespaceMaxPodsToCheck."""


def evaluate(policy: LevelVersion, meta: ObjectMeta, spec: PodSpec, newest: int) -> list[Violation]:
    """Return the violations of a level in a pod, in the order of upstream's messages.

    Args:
        policy: the level and its version.
        meta: the pod's metadata.
        spec: the pod's spec.
        newest: the minor version of the API server, which has the latest checks.

    Source: checkRegistry.EvaluatePod.
    """
    if policy.level == PRIVILEGED:
        return []
    minor = policy.minor(newest)
    checks = _checks(baseline.CHECKS, minor)
    if policy.level == RESTRICTED:
        strict = _checks(restricted.CHECKS, minor)
        overridden = {restricted.OVERRIDES.get(name) for name in strict}
        checks = {name: check for name, check in checks.items() if name not in overridden} | strict
    found = (check(meta, spec) for check in checks.values())
    return [violation for violation in found if violation is not None]


def _checks(table: Mapping[str, tuple[tuple[int, Check], ...]], minor: int) -> dict[str, Check]:
    holding = {name: [check for since, check in steps if since <= minor] for name, steps in table.items()}
    return {name: steps[-1] for name, steps in holding.items() if steps}


def admit_pod(pod: Pod, old: Pod | None, labels: Mapping[str, str], newest: int) -> list[str]:
    """Reject a pod that violates its namespace's enforced level.

    Args:
        pod: the pod after the write.
        old: the stored pod; None for a new one. An update is checked only if images or containers change.
        labels: the namespace's labels.
        newest: the minor version of the API server.

    Returns:
        The warnings.

    Raises:
        Forbidden: with all violations.
    """
    if not _labelled(labels) or (old is not None and not _significant(pod, old)):
        return []
    policy, _ = policy_to_evaluate(labels)
    violations = evaluate(policy.enforce, pod.metadata, pod.spec, newest)
    if violations:
        raise Forbidden("pods", pod.name, f'violates PodSecurity "{policy.enforce}": {_joined(violations)}')
    return _warned(policy.warn, pod.metadata, pod.spec, newest)


def warn_of_template(obj: KubeObject, labels: Mapping[str, str], newest: int) -> list[str]:
    """Return warnings about a workload whose pods would be rejected; the workload itself is accepted."""
    template = template_of(obj) if _labelled(labels) else None
    if template is None:
        return []
    policy, _ = policy_to_evaluate(labels)
    return _warned(policy.warn, template.metadata, template.spec, newest)


def check_labels(namespace: Namespace, old: Namespace | None) -> Errors:
    """Return the errors of a namespace's labels; errors that the stored namespace already has are ignored."""
    wrong = policy_to_evaluate(namespace.metadata.labels)[1]
    return [] if old is not None and wrong == policy_to_evaluate(old.metadata.labels)[1] else wrong


def warn_of_pods(namespace: Namespace, old: Namespace, pods: Iterable[Pod], newest: int) -> list[str]:
    """Return warnings about existing pods that violate a namespace's new, stricter level; they keep running.

    Source: ValidateNamespace, EvaluatePodsInNamespace.
    """
    new, before = (policy_to_evaluate(one.metadata.labels)[0].enforce for one in (namespace, old))
    relaxed = new.version == before.version and not stricter(new.level, before.level)
    if new == before or new.level == PRIVILEGED or relaxed:
        return []
    every = _one_of_each_controller_first(pods)
    names: dict[str, list[str]] = {}
    for pod in every[:MAX_PODS]:
        violations = evaluate(new, pod.metadata, pod.spec, newest)
        if violations:
            names.setdefault(", ".join(violation.reason for violation in violations), []).append(pod.name)
    warnings = []
    if len(every) > MAX_PODS:
        counted = f"the first {MAX_PODS} of {len(every)} existing pods"
        warnings.append(f"new PodSecurity enforce level only checked against {counted}")
    if names:
        where = f'existing pods in namespace "{namespace.name}"'
        warnings.append(f'{where} violate the new PodSecurity enforce level "{new}"')
    others = {1: "", 2: " (and 1 other pod)"}
    return warnings + sorted(
        f"{min(pods)}{others.get(len(pods), f' (and {len(pods) - 1} other pods)')}: {reasons}"
        for reasons, pods in names.items()
    )


def _one_of_each_controller_first(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods, one of each controller first. Source: prioritizePods."""
    first: list[Pod] = []
    others: list[Pod] = []
    seen: set[str] = set()
    for pod in pods:
        uid = next((ref.uid for ref in pod.metadata.owner_references if ref.controller), None)
        (others if uid is not None and uid in seen else first).append(pod)
        if uid is not None:
            seen.add(uid)
    return first + others


def _labelled(labels: Mapping[str, str]) -> bool:
    return any(key.startswith(PREFIX) for key in labels)


def _warned(policy: LevelVersion, meta: ObjectMeta, spec: PodSpec, newest: int) -> list[str]:
    violations = evaluate(policy, meta, spec, newest)
    return [f'would violate PodSecurity "{policy}": {_joined(violations)}'] if violations else []


def _joined(violations: Iterable[Violation]) -> str:
    return ", ".join(map(str, violations))


def _significant(pod: Pod, old: Pod) -> bool:
    """Return whether an update changes images, containers or seccomp annotations. Source: isSignificantPodUpdate."""
    for kind in ("containers", "init_containers"):
        if len(getattr(pod.spec, kind)) != len(getattr(old.spec, kind)):
            return True
    before: dict[str, Container] = {one.name: one for one in containers(old.spec)}
    for container in containers(pod.spec):
        key = f"{SECCOMP_PREFIX}{container.name}"
        if container.name not in before or container.image != before[container.name].image:
            return True
        if pod.metadata.annotations.get(key, "") != old.metadata.annotations.get(key, ""):
            return True
    return False


class PodSecurityPlugin(AdmissionPlugin):
    """A plugin that checks pods and workloads if a label sets a level. Source: podsecurity.Plugin.Validate."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        obj, newest, store = about.parent or about.object, around.release.minor, around.store
        if isinstance(obj, Namespace):
            before = about.old if isinstance(about.old, Namespace) else None
            errors = check_labels(obj, before)
            if errors:
                raise Invalid(obj.kind, obj.name, errors)
            if before is not None:
                around.warnings += warn_of_pods(obj, before, store.list(Pod, obj.name, copy=False), newest)
            return
        labels = store.get(Namespace, obj.namespace, copy=False).metadata.labels
        if isinstance(obj, Pod):
            around.warnings += admit_pod(obj, about.old if isinstance(about.old, Pod) else None, labels, newest)
        else:
            around.warnings += warn_of_template(obj, labels, newest)
