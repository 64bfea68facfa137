"""Statuses that the cluster has not written: an absent number is not 0.

A dump may lack statuses because a controller or kubelet has not written them yet, because a tool removed them, or
because the objects are manifests. Budgets and quotas are counted here by the controllers' own rules as far as the dump
has what they count; where it does not, answers say that the number is not known.

Source: pkg/controller/disruption (trySync), pkg/controller/resourcequota (syncResourceQuota); registry/core/pod
eviction.go checkAndDecrement, which also ignores a status of an older generation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kitlib.advisor.findings import Gap
from kitlib.api.core import PersistentVolumeClaim, Pod, ResourceQuota, Service
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kitlib.api.selectors import LabelSelectorMatcher

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump

CLUSTER, KIT, UNKNOWN = "the cluster", "the kit", "not known"
"""Who counted the numbers of a status."""
SHOWN = 3
"""Maximum number of names in a gap."""
_POD_AMOUNTS = ("pods", "cpu", "memory", "ephemeral-storage", "count/pods")
_POD_PREFIXES = ("requests.", "limits.", "hugepages-")


def fill_in_statuses(dump: Dump) -> None:
    """Fill in the missing numbers of budgets and quotas, and record in `dump.uncounted` where they come from."""
    budgets = [one for one in dump.of(PodDisruptionBudget) if not _is_counted(one)]
    if budgets:
        workloads = {obj.metadata.uid: obj for obj in dump.objects if obj.metadata.uid}
        for budget in budgets:
            dump.uncounted["PodDisruptionBudget", budget.key] = _count(dump, budget, workloads)
    for quota in dump.of(ResourceQuota):
        missing = [name for name in quota.spec.hard if name not in quota.status.used]
        quota.status.hard = quota.status.hard or dict(quota.spec.hard)
        if missing:
            dump.uncounted["ResourceQuota", quota.key] = _count_quota(dump, quota, missing)


def _is_counted(budget: PodDisruptionBudget) -> bool:
    """Return whether the disruption controller has written the status, for the present spec.

    A server prints the required numbers of a status as 0 before the controller has written them.
    """
    status = budget.status
    unwritten = PodDisruptionBudgetStatus(observed_generation=status.observed_generation)
    return status.observed_generation >= (budget.metadata.generation or 0) and (
        bool(status.observed_generation) or status != unwritten
    )


def _count(dump: Dump, budget: PodDisruptionBudget, workloads: dict[str, KubeObject]) -> str:
    """Count a budget by its pods; return the obstacle, "" if there was none."""
    from kitlib.apiserver.store.kinds import Kinds
    from kitlib.controllers.disruption import counted_status, expected_pods
    from kitlib.controllers.informers import controller_of

    pods = budgeted(dump, budget)
    silent = [pod.name for pod in pods if _is_silent(pod)]
    if silent:
        return f"{_listed(silent)} {'report' if len(silent) > 1 else 'reports'} no Ready condition"
    if not isinstance(budget.spec.min_available, int):  # an integer needs no workload
        above = [reference for pod in pods if (reference := controller_of(pod)) is not None]
        sets = [workloads[one.uid] for one in above if one.uid in workloads]
        above += [reference for one in sets if (reference := controller_of(one)) is not None]
        unread = dict.fromkeys(f"{one.kind} {one.name}" for one in above if one.uid not in workloads)
        if unread:
            return f"{_listed(list(unread))} {'were' if len(unread) > 1 else 'was'} not read"
    kinds = Kinds(lambda: ())
    try:
        expected = expected_pods(budget, pods, workloads.get, lambda obj: kinds.of(obj).qualified)
    except KitError as error:
        return str(error)
    budget.status = counted_status(budget, pods, expected, budget.status.disrupted_pods)
    return ""


def _is_silent(pod: Pod) -> bool:
    """Return whether it is unknown if a pod is ready: a kubelet writes the condition before a pod is Running."""
    running = bool(pod.spec.node_name) and pod.status.phase in ("", "Running")
    return running and not any(one.type == "Ready" for one in pod.status.conditions)


def budgeted(dump: Dump, budget: PodDisruptionBudget) -> list[Pod]:
    """Return the pods that a budget selects."""
    matcher, space = LabelSelectorMatcher(budget.spec.selector), budget.namespace or "default"
    return [pod for pod in dump.pods if pod.namespace == space and matcher.matches(pod.metadata.labels)]


def _count_quota(dump: Dump, quota: ResourceQuota, missing: Sequence[str]) -> str:
    """Count the missing amounts of a quota by the objects of its namespace; return the obstacle, "" without one."""
    from kitlib.apiserver.admission.quota import used
    from kitlib.apiserver.store.kinds import Kinds

    kinds, space = Kinds(lambda: ()), quota.namespace or "default"
    counted = [(obj, kinds.of(obj)) for obj in dump.objects if obj.namespace == space]
    read = {kind.qualified for _, kind in counted} | {"pods"}
    read |= {"services"} if dump.has(Service) else set()
    read |= {"persistentvolumeclaims"} if dump.has(PersistentVolumeClaim) else set()
    known = [name for name in missing if _counted_resource(name) in read]
    total = used(quota, counted)
    quota.status.used = {**quota.status.used, **{name: total[name] for name in known}}
    unread = [name for name in missing if name not in known]
    return f"objects of {_listed(unread)} were not read" if unread else ""


def _counted_resource(name: str) -> str:
    """Return the resource whose objects an amount of a quota counts."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name.startswith("services."):
        return "services"
    if name.endswith(("requests.storage", "persistentvolumeclaims")):
        return "persistentvolumeclaims"
    if name.endswith(".deviceclass.resource.k8s.io/devices"):
        return "resourceclaims.resource.k8s.io"
    return "pods" if name in _POD_AMOUNTS or name.startswith(_POD_PREFIXES) else name


def counted_by(dump: Dump, obj: KubeObject) -> str:
    """Return who counted the numbers in the status of a budget or quota."""
    why = dump.uncounted.get((obj.kind, obj.key))
    return CLUSTER if why is None else UNKNOWN if why else KIT


def unreported(dump: Dump) -> Iterator[Gap]:
    """Yield the statuses that no answer can rely on, for the whole cluster."""
    yield from unreported_amounts(dump)
    silent = [one.name for one in dump.nodes if not any(c.type == "Ready" for c in one.status.conditions)]
    if silent:
        why = f"{_listed(silent)} {'report' if len(silent) > 1 else 'reports'} no Ready condition"
        yield Gap("Node", "status.conditions", f"whether the kubelets run: {why}", decides=False)
    for budget in dump.of(PodDisruptionBudget):
        yield from budget_gap(dump, budget)
    for quota in dump.of(ResourceQuota):
        why = dump.uncounted.get((quota.kind, quota.key), "")
        if why:
            yield Gap("ResourceQuota", "status.used", f"the usage of {quota.key}: {why}")


def unreported_amounts(dump: Dump) -> Iterator[Gap]:
    """Yield a gap if nodes report no allocatable amounts, which the scheduler reads as 0."""
    empty = [one.name for one in dump.nodes if not one.status.allocatable]
    if empty:
        why = f"{_listed(empty)} {'report' if len(empty) > 1 else 'reports'} none, so that no pod fits there"
        yield Gap("Node", "status.allocatable", why)


def budget_gaps(dump: Dump, pods: Iterable[Pod]) -> Iterator[Gap]:
    """Yield the gaps of the budgets that select one of these pods."""
    keys = {pod.key for pod in pods}
    for budget in dump.of(PodDisruptionBudget):
        if (budget.kind, budget.key) in dump.uncounted and any(pod.key in keys for pod in budgeted(dump, budget)):
            yield from budget_gap(dump, budget)


def budget_gap(dump: Dump, budget: PodDisruptionBudget) -> Iterator[Gap]:
    """Yield a gap if the cluster has not counted a budget: a deciding one if the kit cannot count it either."""
    why = dump.uncounted.get((budget.kind, budget.key))
    if why is None:
        return
    said = f"the cluster has not counted budget {budget.key} yet; "
    said += f"it is not known how many disruptions it allows: {why}" if why else "it is counted here by its pods"
    yield Gap("PodDisruptionBudget", "status", said, decides=bool(why))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
