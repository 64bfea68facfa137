"""ResourceQuota: the usage of a namespace's objects, and the check of a new one.

A quota counts only the objects that all of its scopes match. A pod in a terminal phase no longer counts as a pod or
for its resources, but still as an object (`count/pods`). If a quota limits CPU or memory, every container must set
the corresponding request or limit.

Source: apiserver resourcequota.CheckRequest; pkg/quota/v1/evaluator/core (pods.go, services.go,
persistent_volume_claims.go, resource_claims.go);
quota/v1/generic.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import (
    TERMINAL_PHASES,
    PersistentVolumeClaim,
    Pod,
    PodAffinityTerm,
    ResourceList,
    ResourceQuota,
    ScopedResourceSelectorRequirement,
    Service,
)
from kitlib.api.devices import ALL, MAX_RESULTS, DeviceRequest, ResourceClaim
from kitlib.api.errors import Forbidden
from kitlib.api.meta import KubeObject, LabelSelector, LabelSelectorRequirement
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.api.resource import Quantity
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin
from kitlib.apiserver.store.kinds import Resource
from kitlib.kubelet.qos.qos_class import get_pod_qos

ONE = Quantity.from_int(1, "DecimalSI")
_MUST_BE_SET = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_POD_RESOURCES = {
    *_MUST_BE_SET,
    "pods",
    "count/pods",
    "ephemeral-storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
}


def charge(
    obj: KubeObject, kind: Resource, quotas: Iterable[ResourceQuota], old: KubeObject | None = None
) -> list[ResourceQuota]:
    """Charge an object to the quotas that match it.

    Args:
        obj: the new object, or the updated one if `old` is given.
        kind: the resource of the object.
        quotas: the quotas of the namespace, with their usage in `status.used`.
        old: the stored object; None for a new one.

    Returns:
        The quotas with changed usage.

    Raises:
        Forbidden: `exceeded quota: …`, `failed quota: …: must specify …`.
    """
    qualified = kind.qualified
    charged: list[ResourceQuota] = []
    whole = usage(obj, kind)
    before = {} if old is None else usage(old, kind)
    # Only increases are charged; the quota controller lowers the usage. Source: quota.SubtractWithNonNegativeResult.
    increase = {n: more for n, q in whole.items() if (more := q - before[n] if n in before else q).sign() > 0}
    for quota in quotas:
        hard = quota.spec.hard
        if not matches(quota, obj, kind):
            continue
        if isinstance(obj, Pod):
            missing = _unspecified(obj, [name for name in hard if name in _MUST_BE_SET])
            if missing:
                raise Forbidden(qualified, obj.name, f"failed quota: {quota.name}: must specify {missing}")
        # A quota that did not count the old object, because a scope matches only now, gets the whole object.
        delta = increase if old is None or matches(quota, old, kind) else whole
        asked = {name: amount for name, amount in delta.items() if name in hard and not amount.is_zero()}
        if not asked:
            continue
        used = {name: quota.status.used.get(name, ONE - ONE) for name in asked}
        exceeded = [name for name in asked if used[name] + asked[name] > hard[name]]
        if exceeded:
            figures = (asked, used, hard)
            requested, in_use, limited = (_printed({name: f[name] for name in exceeded}) for f in figures)
            why = f"exceeded quota: {quota.name}, requested: {requested}, used: {in_use}, limited: {limited}"
            raise Forbidden(qualified, obj.name, why)
        quota.status.used.update({name: used[name] + asked[name] for name in asked})
        charged.append(quota)
    return charged


def used(quota: ResourceQuota, objects: Iterable[tuple[KubeObject, Resource]]) -> ResourceList:
    """Return the total usage of a quota's resources by the namespace's objects; unused resources are 0.

    Source: quota.CalculateUsage.
    """
    total: ResourceList = {}
    for name, hard in quota.spec.hard.items():
        total[name] = Quantity.from_int(0, hard.format)
    for obj, kind in objects:
        if matches(quota, obj, kind):
            for name, amount in usage(obj, kind).items():
                if name in total:
                    total[name] = total[name] + amount
    return total


def usage(obj: KubeObject, kind: Resource) -> ResourceList:
    """Return the usage of one object, under every name that a quota may count it by."""
    counted = {f"count/{kind.qualified}": ONE}
    if isinstance(obj, Pod):
        return counted | (_pod_usage(obj) if _counts(obj) else {})
    if isinstance(obj, Service):
        counted["services"] = ONE
        if obj.spec.type == "LoadBalancer":
            counted["services.loadbalancers"] = ONE
        if obj.spec.type in ("NodePort", "LoadBalancer"):
            counted["services.nodeports"] = Quantity.from_int(len(obj.spec.ports), "DecimalSI")
    elif isinstance(obj, PersistentVolumeClaim):
        counted["persistentvolumeclaims"] = ONE
        storage = obj.spec.resources.requests.get("storage")
        if storage is not None:
            counted["requests.storage"] = storage
            if obj.spec.storage_class_name:
                prefix = f"{obj.spec.storage_class_name}.storageclass.storage.k8s.io"
                counted |= {f"{prefix}/requests.storage": storage, f"{prefix}/persistentvolumeclaims": ONE}
    elif isinstance(obj, ResourceClaim):
        for request in obj.spec.devices.requests:
            for name, devices in _devices(request).items():
                counted[name] = counted.get(name, ONE - ONE) + Quantity.from_int(devices, "DecimalSI")
    elif kind.plural in ("configmaps", "secrets", "replicationcontrollers", "resourcequotas"):
        counted[kind.plural] = ONE
    return counted


def _devices(request: DeviceRequest) -> dict[str, int]:
    """Return device class -> the maximum number of devices of a request.

    Source: resource_claims.go claimEvaluator.Usage.
    """
    most: dict[str, int] = {}
    for one in [request.exactly, *request.first_available]:
        if one is not None:
            name = f"{one.device_class_name}.deviceclass.resource.k8s.io/devices"
            most[name] = max(most.get(name, 0), MAX_RESULTS if one.allocation_mode == ALL else one.count)
    return most


def matches(quota: ResourceQuota, obj: KubeObject, kind: Resource) -> bool:
    """Return whether the quota counts this object: it limits something the object uses, and all its scopes match."""
    scopes = [ScopedResourceSelectorRequirement(scope_name=s, operator="Exists") for s in quota.spec.scopes]
    if quota.spec.scope_selector is not None:
        scopes += quota.spec.scope_selector.match_expressions
    if isinstance(obj, Pod):
        if not any(name in _POD_RESOURCES or name.startswith(("requests.", "hugepages-")) for name in quota.spec.hard):
            return False
        return all(_in_scope(obj, scope) for scope in scopes)
    if not any(name in quota.spec.hard for name in usage(obj, kind)):
        return False
    if isinstance(obj, PersistentVolumeClaim):
        return all(_is_of_volume_class(obj, scope) for scope in scopes)
    return not scopes


def _is_of_volume_class(claim: PersistentVolumeClaim, scope: ScopedResourceSelectorRequirement) -> bool:
    """Return whether one of a claim's VolumeAttributesClasses is in a scope. Source: pvcMatchesScopeFunc."""
    status = claim.status
    target = status.modify_volume_status.target_volume_attributes_class_name if status.modify_volume_status else ""
    named = (claim.spec.volume_attributes_class_name, status.current_volume_attributes_class_name, target)
    names = [name for name in named if name]
    if scope.scope_name != "VolumeAttributesClass" or scope.operator == "Exists":
        return scope.scope_name == "VolumeAttributesClass" and bool(names)
    return any(_is_selected(scope, name) for name in names or [""])


def _is_selected(scope: ScopedResourceSelectorRequirement, name: str) -> bool:
    """Return whether a scope's operator and values select a name; "" = none."""
    requirement = LabelSelectorRequirement(key=scope.scope_name, operator=scope.operator, values=scope.values)
    labels = {scope.scope_name: name} if name else {}
    return LabelSelectorMatcher(LabelSelector(match_expressions=[requirement])).matches(labels)


def _in_scope(pod: Pod, scope: ScopedResourceSelectorRequirement) -> bool:
    """Return whether a pod is in a scope. Source: podMatchesScopeFunc."""
    name = scope.scope_name
    if name in ("Terminating", "NotTerminating"):
        return _is_terminating(pod) == (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        return _is_best_effort(pod) == (name == "BestEffort")
    if name == "PriorityClass":
        if scope.operator == "Exists":
            return bool(pod.spec.priority_class_name)
        return _is_selected(scope, pod.spec.priority_class_name)
    return name == "CrossNamespacePodAffinity" and _crosses_namespaces(pod)


def _is_terminating(pod: Pod) -> bool:
    return pod.spec.active_deadline_seconds is not None and pod.spec.active_deadline_seconds >= 0


def _is_best_effort(pod: Pod) -> bool:
    return get_pod_qos(pod) == "BestEffort"


def _crosses_namespaces(pod: Pod) -> bool:
    """Return whether an affinity term selects other namespaces. Source: usesCrossNamespacePodAffinity."""
    affinity = pod.spec.affinity
    terms: list[PodAffinityTerm] = []
    for side in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if side is not None:
            terms += side.required + [weighted.pod_affinity_term for weighted in side.preferred]
    return any(term.namespaces or term.namespace_selector is not None for term in terms)


def _counts(pod: Pod) -> bool:
    return pod.status.phase not in TERMINAL_PHASES


def _pod_usage(pod: Pod) -> ResourceList:
    """Return the usage of a pod. Source: podComputeUsageHelper."""
    return {"pods": ONE} | _names(pod_requests(pod), pod_limits(pod))


def _names(requests: ResourceList, limits: ResourceList) -> ResourceList:
    found: ResourceList = {}
    for name, amount in requests.items():
        if name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-"):
            found |= {name: amount, f"requests.{name}": amount}
        elif "/" in name:  # extended resources are counted under requests. only
            found[f"requests.{name}"] = amount
    for name, amount in limits.items():
        if name in ("cpu", "memory", "ephemeral-storage"):
            found[f"limits.{name}"] = amount
    return found


def _unspecified(pod: Pod, required: Iterable[str]) -> str:
    """Return what containers must set and do not: `limits.cpu for: a,b; limits.memory for: a`. Source: Constraints."""
    level = pod.spec.resources
    given_for_all = _names(level.requests, level.limits) if level is not None else {}
    texts = []
    for name in sorted(required):
        lacking = sorted(
            c.name
            for c in (*pod.spec.containers, *pod.spec.init_containers)
            if name not in _names(c.resources.requests, c.resources.limits) and name not in given_for_all
        )
        if lacking:
            texts.append(f"{name} for: {','.join(lacking)}")
    return "; ".join(texts)


def _printed(amounts: ResourceList) -> str:
    return ",".join(f"{name}={amount}" for name, amount in sorted(amounts.items()))


def _is_handled(about: AdmissionAttributes) -> bool:
    """Return whether a write can change what an object uses. Source: `Handles` of the evaluators."""
    new, old = about.new, about.old
    if old is None or about.subresource == "resize":
        return True
    if isinstance(new, Pod) and isinstance(old, Pod):
        return _is_terminating(new) != _is_terminating(old)
    return isinstance(new, Service | PersistentVolumeClaim | ResourceClaim)


class ResourceQuotaPlugin(AdmissionPlugin):
    """A plugin that charges objects in namespaces with quotas."""

    def validate(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if _is_handled(about):
            obj = about.object
            quotas = around.store.list(ResourceQuota, obj.namespace)
            around.charged += charge(obj, around.store.kinds.of(obj), quotas, about.old)
