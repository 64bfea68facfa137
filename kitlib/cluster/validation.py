"""Validation of what is applied: pods by `kitlib.api.validation`, the objects around them by their own few rules.

A workload's pod template is checked as the pod that it will become; the paths name the template.

Source: pkg/apis/{apps,core,policy,scheduling}/validation; apimachinery ValidateObjectMeta.
"""

from __future__ import annotations

import re

from kitlib.api import validation as rules
from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.core import Container, Namespace, Node, Pod, PodTemplateSpec, ResourceList, ResourceQuota
from kitlib.api.defaults import set_defaults
from kitlib.api.meta import KubeObject, KubeStruct, LabelSelector, ObjectMeta
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.selectors import LabelSelectorMatcher, SelectorError
from kitlib.api.serialize import deepcopy, to_dict
from kitlib.api.validation import FieldError
from kitlib.kubelet.qos import compute_pod_qos

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

Errors = list[FieldError]


def validate(obj: KubeObject, old: KubeObject | None, *, subresource: str = "") -> Errors:
    """Everything that is wrong with a defaulted object.

    Args:
        obj: as it would be stored.
        old: as it stands, for an update; None for a new one.
        subresource: "resize" where only a pod's resources may change.
    """
    if isinstance(obj, Pod):
        if not isinstance(old, Pod):
            return list(rules.validate_pod_create(obj))
        if subresource == "resize":
            return _resize(obj, old)
        return list(rules.validate_pod_update(obj, old))
    errors = _meta(obj)
    if isinstance(obj, Deployment | ReplicaSet | StatefulSet | DaemonSet):
        errors += _workload(obj, old)
    elif isinstance(obj, PodDisruptionBudget):
        errors += _budget(obj)
    elif isinstance(obj, Node):
        errors += _amounts(obj.status.capacity, "status.capacity")
        errors += _amounts(obj.status.allocatable, "status.allocatable")
    elif isinstance(obj, ResourceQuota):
        errors += _amounts(obj.spec.hard, "spec.hard")
    return errors


def _meta(obj: KubeObject) -> Errors:
    """Source: ValidateObjectMeta."""
    meta = obj.metadata
    if not meta.name:
        if meta.generate_name:
            return []
        return [FieldError("FieldValueRequired", "metadata.name", "", "name or generateName is required")]
    if isinstance(obj, Namespace):
        if len(meta.name) > 63:
            return [FieldError("FieldValueInvalid", "metadata.name", meta.name, "must be no more than 63 bytes")]
        if not _DNS_LABEL.fullmatch(meta.name):
            return [FieldError("FieldValueInvalid", "metadata.name", meta.name, _LABEL_TEXT)]
    elif len(meta.name) > 253:
        return [FieldError("FieldValueInvalid", "metadata.name", meta.name, "must be no more than 253 bytes")]
    elif not _DNS_SUBDOMAIN.fullmatch(meta.name):
        return [FieldError("FieldValueInvalid", "metadata.name", meta.name, _SUBDOMAIN_TEXT)]
    return []


def _workload(obj: Deployment | ReplicaSet | StatefulSet | DaemonSet, old: KubeObject | None) -> Errors:
    """Source: ValidateDeploymentSpec and its siblings."""
    errors: Errors = []
    spec = obj.spec
    if not isinstance(obj, DaemonSet) and obj.spec.replicas is not None and obj.spec.replicas < 0:
        detail = "must be greater than or equal to 0"
        errors.append(FieldError("FieldValueInvalid", "spec.replicas", obj.spec.replicas, detail))
    selector = spec.selector
    if selector is None:
        errors.append(FieldError("FieldValueRequired", "spec.selector", "", ""))
    else:
        errors += _selector(selector, spec.template, obj.kind)
    if old is not None and getattr(old, "spec", None) is not None and old.spec.selector != selector:  # type: ignore[attr-defined]
        errors.append(FieldError("FieldValueInvalid", "spec.selector", _shown(selector), "field is immutable"))
    errors += _template(spec.template)
    return errors


def _selector(selector: LabelSelector, template: PodTemplateSpec, kind: str) -> Errors:
    if not selector.match_labels and not selector.match_expressions:
        detail = f"empty selector is invalid for {kind.lower()}"
        return [FieldError("FieldValueInvalid", "spec.selector", _shown(selector), detail)]
    try:
        matcher = LabelSelectorMatcher(selector)
    except SelectorError as error:
        return [FieldError("FieldValueInvalid", "spec.selector", _shown(selector), str(error))]
    if not matcher.matches(template.metadata.labels):
        labels, detail = template.metadata.labels, "`selector` does not match template `labels`"
        return [FieldError("FieldValueInvalid", "spec.template.metadata.labels", labels, detail)]
    return []


def _template(template: PodTemplateSpec) -> Errors:
    """The template's errors: those of the pod that it makes, with the template's paths."""
    meta = ObjectMeta(
        name="template", namespace="default", labels=template.metadata.labels, annotations=template.metadata.annotations
    )
    pod = set_defaults(Pod(metadata=meta, spec=deepcopy(template.spec)))
    found = [
        FieldError(error.type, f"spec.template.{error.field}", error.value, error.detail)
        for error in rules.validate_pod_create(pod)
    ]
    if template.spec.restart_policy not in ("", "Always"):
        policy = template.spec.restart_policy
        detail = 'supported values: "Always"'
        found.append(FieldError("FieldValueNotSupported", "spec.template.spec.restartPolicy", policy, detail))
    return found


def _budget(obj: PodDisruptionBudget) -> Errors:
    """Source: ValidatePodDisruptionBudgetSpec."""
    errors: Errors = []
    spec = obj.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        errors.append(FieldError("FieldValueInvalid", "spec", _shown(spec), detail))
    for name, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if isinstance(value, int) and value < 0:
            detail = "must be greater than or equal to 0"
            errors.append(FieldError("FieldValueInvalid", f"spec.{name}", value, detail))
        if isinstance(value, str) and not re.fullmatch(r"[0-9]+%", value):
            detail = "a valid percent string must be a numeric string followed by an ending '%'"
            errors.append(FieldError("FieldValueInvalid", f"spec.{name}", value, detail))
        elif isinstance(value, str) and int(value[:-1]) > 100:
            errors.append(FieldError("FieldValueInvalid", f"spec.{name}", value, "must not be greater than 100%"))
    return errors


def _amounts(amounts: ResourceList, path: str) -> Errors:
    return [
        FieldError("FieldValueInvalid", f"{path}[{name}]", str(amount), "must be greater than or equal to 0")
        for name, amount in amounts.items()
        if amount.sign() < 0
    ]


def _resize(new: Pod, old: Pod) -> Errors:
    """Only CPU and memory of containers may change, and the QoS class stays. Source: ValidatePodResize."""
    errors: Errors = []
    if compute_pod_qos(new) != compute_pod_qos(old):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(FieldError("FieldValueInvalid", "spec", compute_pod_qos(new), detail))
    alike = deepcopy(new)
    for mine, theirs in zip(_containers(alike), _containers(old), strict=False):
        for kind in ("requests", "limits"):
            changed, standing = getattr(mine.resources, kind), getattr(theirs.resources, kind)
            others = {name for name in {*changed, *standing} if name not in ("cpu", "memory")}
            if all(changed.get(name) == standing.get(name) for name in others):
                setattr(mine.resources, kind, standing)
    if alike.spec != old.spec:
        errors.append(FieldError("FieldValueForbidden", "spec", "", "only cpu and memory resources are mutable"))
    return errors + [error for error in rules.validate_pod_create(deepcopy(new)) if "resources" in error.field]


def _containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.containers, *pod.spec.init_containers)


def _shown(value: object) -> object:
    return to_dict(value) if isinstance(value, KubeStruct) else value
