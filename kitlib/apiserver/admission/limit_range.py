"""LimitRanger admission: a namespace's defaults for containers, and its minimum, maximum and ratio.

The defaults of all LimitRanges are set first; then the limits of containers and pods are checked. A pod without a
limit is rejected if there is a maximum. The requests of claims are checked when they are created or expanded.

Source: plugin/pkg/admission/limitranger (PodMutateLimitFunc, PodValidateLimitFunc,
PersistentVolumeClaimValidateLimitFunc).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kitlib.api.core import LimitRange, LimitRangeItem, Pod, ResourceList
from kitlib.api.errors import Forbidden
from kitlib.api.persistent_volume import PersistentVolumeClaim
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.api.resource import Quantity
from kitlib.apiserver.admission.attributes import CREATE, AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin


def apply_defaults(pod: Pod, ranges: Iterable[LimitRange]) -> Pod:
    """Set missing requests and limits of containers, in place, and list them in an annotation.

    Source: mergePodResourceRequirements.
    """
    notes: list[str] = []
    for limits in ranges:
        default: ResourceList = {}
        default_request: ResourceList = {}
        for item in limits.spec.limits:
            if item.type == "Container":
                default.update(item.default)
                default_request.update(item.default_request)
        for what, containers in (("container", pod.spec.containers), ("init container", pod.spec.init_containers)):
            for container in containers:
                for kind, own, given in (
                    ("request", container.resources.requests, default_request),
                    ("limit", container.resources.limits, default),
                ):
                    added = sorted(name for name in given if name not in own)
                    own.update({name: given[name] for name in added})
                    if added:
                        notes.append(f"{', '.join(added)} {kind} for {what} {container.name}")
    if notes:
        pod.metadata.annotations["kubernetes.io/limit-ranger"] = f"LimitRanger plugin set: {'; '.join(notes)}"
    return pod


def check(pod: Pod, ranges: Iterable[LimitRange]) -> None:
    """Check that a pod satisfies every LimitRange.

    Raises:
        Forbidden: with all violated constraints.
    """
    errors: list[str] = []
    for limits in ranges:
        for item in limits.spec.limits:
            if item.type == "Container":
                for container in (*pod.spec.containers, *pod.spec.init_containers):
                    errors += _broken(item, container.resources.requests, container.resources.limits)
            elif item.type == "Pod":
                errors += _broken(item, pod_requests(pod), pod_limits(pod))
    _forbid("pods", pod.name, errors)


def check_claim(claim: PersistentVolumeClaim, ranges: Iterable[LimitRange]) -> None:
    """Check that the requests of a claim satisfy every LimitRange; its limits do not count.

    Raises:
        Forbidden: with all violated constraints.
    """
    requests = claim.spec.resources.requests
    errors: list[str] = []
    for limits in ranges:
        for item in limits.spec.limits:
            if item.type == "PersistentVolumeClaim":
                for name, least in sorted(item.min.items()):
                    errors += _minimum(item.type, name, least, requests.get(name), None)
                for name, most in sorted(item.max.items()):
                    errors += _maximum_request(item.type, name, most, requests.get(name))
    _forbid("persistentvolumeclaims", claim.name, errors)


def _forbid(resource: str, name: str, errors: Sequence[str]) -> None:
    if errors:
        raise Forbidden(resource, name, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _broken(item: LimitRangeItem, requests: ResourceList, limits: ResourceList) -> Sequence[str]:
    found: list[str] = []
    for name, least in sorted(item.min.items()):
        found += _minimum(item.type, name, least, requests.get(name), limits.get(name))
    for name, most in sorted(item.max.items()):
        found += _maximum(item.type, name, most, requests.get(name), limits.get(name))
    for name, ratio in sorted(item.max_limit_request_ratio.items()):
        found += _ratio(item.type, name, ratio, requests.get(name), limits.get(name))
    return found


def _minimum(kind: str, name: str, least: Quantity, request: Quantity | None, limit: Quantity | None) -> list[str]:
    rule = f"minimum {name} usage per {kind} is {least}"
    if request is None:
        return [f"{rule}.  No request is specified"]
    if request < least:
        return [f"{rule}, but request is {request}"]
    if limit is not None and limit < least:
        return [f"{rule}, but limit is {limit}"]
    return []


def _maximum(kind: str, name: str, most: Quantity, request: Quantity | None, limit: Quantity | None) -> list[str]:
    rule = f"maximum {name} usage per {kind} is {most}"
    if limit is None:
        return [f"{rule}.  No limit is specified"]
    if limit > most:
        return [f"{rule}, but limit is {limit}"]
    if request is not None and request > most:
        return [f"{rule}, but request is {request}"]
    return []


def _maximum_request(kind: str, name: str, most: Quantity, request: Quantity | None) -> list[str]:
    rule = f"maximum {name} usage per {kind} is {most}"
    if request is None:
        return [f"{rule}.  No request is specified"]
    return [f"{rule}, but request is {request}"] if request > most else []


def _ratio(kind: str, name: str, most: Quantity, request: Quantity | None, limit: Quantity | None) -> list[str]:
    rule = f"{name} max limit to request ratio per {kind} is {most}"
    if request is None or request.is_zero():
        return [f"{rule}, but no request is specified or request is 0"]
    if limit is None or limit.is_zero():
        return [f"{rule}, but no limit is specified or limit is 0"]
    if limit.milli_value() * 1000 > request.milli_value() * most.milli_value():
        return [f"{rule}, but provided ratio is {limit.milli_value() / request.milli_value():f}"]
    return []


class LimitRangerPlugin(AdmissionPlugin):
    """A plugin that checks new and resized pods, and claims, in namespaces with LimitRanges."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if about.operation == CREATE and isinstance(about.new, Pod):
            apply_defaults(about.new, around.store.list(LimitRange, about.new.namespace, copy=False))

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if isinstance(about.new, Pod):
            check(about.new, around.store.list(LimitRange, about.new.namespace, copy=False))
        elif isinstance(about.new, PersistentVolumeClaim):
            check_claim(about.new, around.store.list(LimitRange, about.new.namespace, copy=False))
