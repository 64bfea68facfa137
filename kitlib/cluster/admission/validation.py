"""Validation of what is applied: pods by `kitlib.api.validation`, the objects around them by their own few rules.

A workload's pod template is checked as the pod that it will become; the paths name the template.

Source: pkg/apis/{apps,core,policy,resource,scheduling}/validation; apimachinery ValidateObjectMeta.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kitlib.api import validation as rules
from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.core import Container, Namespace, Node, Pod, PodTemplateSpec, ResourceList, ResourceQuota
from kitlib.api.defaults import set_defaults
from kitlib.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kitlib.api.meta import KubeObject, LabelSelector, ObjectMeta
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.api.validation import devices
from kitlib.api.validation.fields import (
    Errors,
    FieldError,
    annotation_keys,
    dns_label,
    dns_subdomain,
    each,
    forbidden,
    invalid,
    label_selector,
    labels,
    not_supported,
    required,
)
from kitlib.kubelet.qos.qos_class import compute_pod_qos

_NOT_NEGATIVE = "must be greater than or equal to 0"
_ADMIN = "resource.kubernetes.io/admin-access"


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
    elif isinstance(obj, ResourceClaim | ResourceClaimTemplate | DeviceClass | ResourceSlice):
        errors += _devices(obj, old)
    return errors


def _meta(obj: KubeObject) -> Errors:
    """Source: ValidateObjectMeta."""
    meta = obj.metadata
    found = labels(meta.labels, "metadata.labels") + annotation_keys(meta.annotations, "metadata.annotations")
    if meta.name:
        rule = dns_label if isinstance(obj, Namespace) else dns_subdomain
        return [*each("metadata.name", meta.name, rule(meta.name)), *found]
    return found if meta.generate_name else [required("metadata.name", "name or generateName is required"), *found]


def _workload(obj: Deployment | ReplicaSet | StatefulSet | DaemonSet, old: KubeObject | None) -> Errors:
    """Source: ValidateDeploymentSpec and its siblings."""
    errors: Errors = []
    if not isinstance(obj, DaemonSet) and obj.spec.replicas is not None and obj.spec.replicas < 0:
        errors.append(invalid("spec.replicas", obj.spec.replicas, _NOT_NEGATIVE))
    selector = obj.spec.selector
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        errors += _selector(selector, obj.spec.template, obj.kind)
    if old is not None and getattr(old, "spec", None) is not None and old.spec.selector != selector:  # type: ignore[attr-defined]
        errors.append(invalid("spec.selector", selector, "field is immutable"))
    return errors + _template(obj.spec.template)


def _selector(selector: LabelSelector, template: PodTemplateSpec, kind: str) -> Errors:
    errors = label_selector(selector, "spec.selector")
    if errors:
        return errors
    if not selector.match_labels and not selector.match_expressions:
        return [invalid("spec.selector", selector, f"empty selector is invalid for {kind.lower()}")]
    if not LabelSelectorMatcher(selector).matches(template.metadata.labels):
        detail = "`selector` does not match template `labels`"
        return [invalid("spec.template.metadata.labels", template.metadata.labels, detail)]
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
        found.append(not_supported("spec.template.spec.restartPolicy", template.spec.restart_policy, ["Always"]))
    return found


def _budget(obj: PodDisruptionBudget) -> Errors:
    """Source: ValidatePodDisruptionBudgetSpec."""
    errors: Errors = []
    spec = obj.spec
    if spec.min_available is not None and spec.max_unavailable is not None:
        errors.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name, value in (("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)):
        if isinstance(value, int) and value < 0:
            errors.append(invalid(f"spec.{name}", value, _NOT_NEGATIVE))
        if isinstance(value, str) and not re.fullmatch(r"[0-9]+%", value):
            detail = "a valid percent string must be a numeric string followed by an ending '%'"
            errors.append(invalid(f"spec.{name}", value, detail))
        elif isinstance(value, str) and int(value[:-1]) > 100:
            errors.append(invalid(f"spec.{name}", value, "must not be greater than 100%"))
    return errors + label_selector(spec.selector, "spec.selector")


def _devices(
    obj: ResourceClaim | ResourceClaimTemplate | DeviceClass | ResourceSlice, old: KubeObject | None
) -> Errors:
    """Claims and templates never change once they stand. Source: pkg/apis/resource/validation."""
    if isinstance(obj, DeviceClass):
        return devices.device_class(obj)
    if isinstance(obj, ResourceSlice):
        return devices.slice_spec(obj.spec, old.spec if isinstance(old, ResourceSlice) else None, "spec")
    if isinstance(old, ResourceClaim | ResourceClaimTemplate):
        spec = getattr(obj, "spec", None)
        return [] if spec == old.spec else [invalid("spec", spec, "field is immutable")]
    if isinstance(obj, ResourceClaimTemplate):
        return devices.claim_spec(obj.spec.spec, "spec.spec")
    return devices.claim_spec(obj.spec, "spec") if isinstance(obj, ResourceClaim) else []


def admin_access(obj: ResourceClaim | ResourceClaimTemplate, labels: Mapping[str, str]) -> Errors:
    """Claims with access to devices that others use are for namespaces that allow it. Source: AuthorizedForAdmin."""
    if labels.get(_ADMIN) == "true":
        return []
    claim = obj.spec.spec if isinstance(obj, ResourceClaimTemplate) else obj.spec
    path = "spec.spec" if isinstance(obj, ResourceClaimTemplate) else "spec"
    detail = f"admin access to devices requires the `{_ADMIN}: true` label on the containing namespace"
    return [
        forbidden(f"{path}.devices.requests[{i}].exactly.adminAccess", detail)
        for i, request in enumerate(claim.devices.requests)
        if request.exactly is not None and request.exactly.admin_access
    ]


def _amounts(amounts: ResourceList, path: str) -> Errors:
    return [invalid(f"{path}[{name}]", q, _NOT_NEGATIVE) for name, q in amounts.items() if q.sign() < 0]


def _resize(new: Pod, old: Pod) -> Errors:
    """Only CPU and memory of containers may change, and the QoS class stays. Source: ValidatePodResize."""
    errors: Errors = []
    if compute_pod_qos(new) != compute_pod_qos(old):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(invalid("spec", compute_pod_qos(new), detail))
    alike = deepcopy(new)
    for mine, theirs in zip(_containers(alike), _containers(old), strict=False):
        for kind in ("requests", "limits"):
            changed, standing = getattr(mine.resources, kind), getattr(theirs.resources, kind)
            others = {name for name in {*changed, *standing} if name not in ("cpu", "memory")}
            if all(changed.get(name) == standing.get(name) for name in others):
                setattr(mine.resources, kind, standing)
    if alike.spec != old.spec:
        errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors + [error for error in rules.validate_pod_create(deepcopy(new)) if "resources" in error.field]


def _containers(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.containers, *pod.spec.init_containers)
