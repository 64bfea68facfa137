"""Count the statuses of budgets and quotas that the cluster has not written, by the controllers' own rules.

Source: pkg/controller/disruption (trySync), pkg/controller/resourcequota (syncResourceQuota); registry/core/pod
eviction.go checkAndDecrement, which also ignores a status of an older generation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kitlib.api.core import PersistentVolumeClaim, Pod, ResourceQuota, Service
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kitlib.api.selectors import LabelSelectorMatcher

SHOWN = 3
"""Maximum number of names in a sentence."""
_POD_AMOUNTS = ("pods", "cpu", "memory", "ephemeral-storage", "count/pods")
_POD_PREFIXES = ("requests.", "limits.", "hugepages-")


def fill_in_statuses(
    objects: Sequence[KubeObject], is_read: Callable[[type[KubeObject]], bool]
) -> dict[tuple[str, str], str]:
    """Fill in the missing numbers of budgets and quotas; return kind and key of each -> the obstacle, "" without one.

    Args:
        objects: all objects of the cluster.
        is_read: returns whether all objects of a kind are among them.
    """
    counted = {}
    budgets = [item for item in objects if isinstance(item, PodDisruptionBudget) and not _is_counted(item)]
    if budgets:
        pods = [item for item in objects if isinstance(item, Pod)]
        workloads = {obj.metadata.uid: obj for obj in objects if obj.metadata.uid}
        for budget in budgets:
            counted["PodDisruptionBudget", budget.key] = _count(pods, budget, workloads)
    for quota in [item for item in objects if isinstance(item, ResourceQuota)]:
        missing = [name for name in quota.spec.hard if name not in quota.status.used]
        quota.status.hard = quota.status.hard or dict(quota.spec.hard)
        if missing:
            counted["ResourceQuota", quota.key] = _count_quota(objects, is_read, quota, missing)
    return counted


def _is_counted(budget: PodDisruptionBudget) -> bool:
    """Return whether the disruption controller has written the status, for the present spec.

    A server prints the required numbers of a status as 0 before the controller has written them.
    """
    status = budget.status
    unwritten = PodDisruptionBudgetStatus(observed_generation=status.observed_generation)
    return status.observed_generation >= (budget.metadata.generation or 0) and (
        bool(status.observed_generation) or status != unwritten
    )


def _count(everywhere: Sequence[Pod], budget: PodDisruptionBudget, workloads: dict[str, KubeObject]) -> str:
    """Count a budget by its pods; return the obstacle, "" if there was none."""
    from kitlib.api.apiextensions import CustomResourceDefinition
    from kitlib.controllers.disruption import counted_status, expected_pods
    from kitlib.controllers.informers import controller_of

    pods = budgeted(everywhere, budget)
    silent = [pod.name for pod in pods if _is_silent(pod)]
    if silent:
        return f"{listed(silent)} {'report' if len(silent) > 1 else 'reports'} no Ready condition"
    if not isinstance(budget.spec.min_available, int):  # an integer needs no workload
        above = [reference for pod in pods if (reference := controller_of(pod)) is not None]
        sets = [workloads[one.uid] for one in above if one.uid in workloads]
        above += [reference for item in sets if (reference := controller_of(item)) is not None]
        unread = dict.fromkeys(f"{one.kind} {one.name}" for one in above if one.uid not in workloads)
        if unread:
            return f"{listed(list(unread))} {'were' if len(unread) > 1 else 'was'} not read"
    definitions = [obj for obj in workloads.values() if isinstance(obj, CustomResourceDefinition)]
    try:
        expected = expected_pods(budget, pods, workloads.get, definitions)
    except KitError as error:
        return str(error)
    budget.status = counted_status(budget, pods, expected, budget.status.disrupted_pods)
    return ""


def _is_silent(pod: Pod) -> bool:
    """Return whether it is unknown if a pod is ready: a kubelet writes the condition before a pod is Running."""
    running = bool(pod.spec.node_name) and pod.status.phase in ("", "Running")
    return running and not any(condition.type == "Ready" for condition in pod.status.conditions)


def budgeted(pods: Sequence[Pod], budget: PodDisruptionBudget) -> list[Pod]:
    """Return the pods that a budget selects."""
    matcher, space = LabelSelectorMatcher(budget.spec.selector), budget.namespace or "default"
    return [pod for pod in pods if pod.namespace == space and matcher.matches(pod.metadata.labels)]


def _count_quota(
    objects: Sequence[KubeObject],
    is_read: Callable[[type[KubeObject]], bool],
    quota: ResourceQuota,
    missing: Sequence[str],
) -> str:
    """Count the missing amounts of a quota by the objects of its namespace; return the obstacle, "" without one."""
    from kitlib.apiserver.admission.quota import used
    from kitlib.apiserver.store.kinds import Kinds

    kinds, space = Kinds(lambda: ()), quota.namespace or "default"
    counted = [(obj, kinds.of(obj)) for obj in objects if obj.namespace == space]
    read = {kind.qualified for _, kind in counted} | {"pods"}
    read |= {"services"} if is_read(Service) else set()
    read |= {"persistentvolumeclaims"} if is_read(PersistentVolumeClaim) else set()
    known = [name for name in missing if _counted_resource(name) in read]
    total = used(quota, counted)
    quota.status.used = {**quota.status.used, **{name: total[name] for name in known}}
    unread = [name for name in missing if name not in known]
    return f"objects of {listed(unread)} were not read" if unread else ""


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


def listed(names: Sequence[str]) -> str:
    """Return the first names and the number of the others."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
