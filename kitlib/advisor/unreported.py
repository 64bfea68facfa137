"""Statuses that the cluster has not written: an absent number is not 0.

A dump may lack statuses because a controller or kubelet has not written them yet, because a tool removed them, or
because the objects are manifests. Budgets and quotas are counted by the controllers' own rules as far as the dump has
what they count (`counted_statuses`); where it does not, answers say that the number is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kitlib.advisor.counted_statuses import budgeted, listed
from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import Gap
from kitlib.api.core import Pod, ResourceQuota
from kitlib.api.meta import KubeObject
from kitlib.api.policy import PodDisruptionBudget

CLUSTER, KIT, UNKNOWN = "the cluster", "the kit", "not known"
"""The possible sources of the numbers in a status."""


def counted_by(dump: Dump, obj: KubeObject) -> str:
    """Return who counted the numbers in the status of a budget or quota."""
    why = dump.uncounted.get((obj.kind, obj.key))
    return CLUSTER if why is None else UNKNOWN if why else KIT


def unreported(dump: Dump) -> Iterator[Gap]:
    """Yield the statuses that no answer can rely on, for the whole cluster."""
    yield from unreported_amounts(dump)
    silent = [node.name for node in dump.nodes if not any(c.type == "Ready" for c in node.status.conditions)]
    if silent:
        why = f"{listed(silent)} {'report' if len(silent) > 1 else 'reports'} no Ready condition"
        yield Gap("Node", "status.conditions", f"whether the kubelets run: {why}", decides=False)
    for budget in dump.of(PodDisruptionBudget):
        yield from budget_gap(dump, budget)
    for quota in dump.of(ResourceQuota):
        why = dump.uncounted.get((quota.kind, quota.key), "")
        if why:
            yield Gap("ResourceQuota", "status.used", f"the usage of {quota.key}: {why}")


def unreported_amounts(dump: Dump) -> Iterator[Gap]:
    """Yield a gap if nodes report no allocatable amounts, which the scheduler reads as 0."""
    empty = dump.nodes_without_amounts
    if empty:
        why = f"{listed(empty)} {'report' if len(empty) > 1 else 'reports'} none, so that no pod fits there"
        yield Gap("Node", "status.allocatable", why)


def budget_gaps(dump: Dump, pods: Iterable[Pod]) -> Iterator[Gap]:
    """Yield the gaps of the budgets that select one of these pods."""
    keys = {pod.key for pod in pods}
    for budget in dump.of(PodDisruptionBudget):
        if (budget.kind, budget.key) in dump.uncounted and any(pod.key in keys for pod in budgeted(dump.pods, budget)):
            yield from budget_gap(dump, budget)


def budget_gap(dump: Dump, budget: PodDisruptionBudget) -> Iterator[Gap]:
    """Yield a gap if the cluster has not counted a budget: a deciding one if the kit cannot count it either."""
    why = dump.uncounted.get((budget.kind, budget.key))
    if why is None:
        return
    said = f"the cluster has not counted budget {budget.key} yet; "
    said += f"it is not known how many disruptions it allows: {why}" if why else "it is counted here by its pods"
    yield Gap("PodDisruptionBudget", "status", said, decides=bool(why))
