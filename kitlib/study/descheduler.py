"""The pods that the descheduler evicts because of their topology spread constraints.

    spread_evictions(cluster.list("Node"), cluster.list("Pod"))

The scheduler evaluates a constraint once, when it places a pod. A later imbalance persists until the descheduler evicts
pods of the largest domains; their controllers create new pods, which the scheduler places. A run moves the minimum
number of pods from a large domain to a small one: the large domain stays at or above the average, the small one at or
below it, and at most half of the excess skew is moved.

Source: descheduler pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint (Balance, topologyIsBalanced,
balanceDomains, sortDomains). Its PodFitsAnyOtherNode checks node affinity, taints and requests; the kit runs all
filters of the scheduler except the spread constraints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kitlib.api.core import TERMINAL_PHASES, Node, Pod, TopologySpreadConstraint
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.scheduler import Scheduler

HARD = ("DoNotSchedule",)
"""The default of the plugin's argument `constraints`."""


class Domain(NamedTuple):
    """A value of the topology key and its matching pods; the last pod is evicted first."""

    value: str
    pods: list[Pod]


def spread_evictions(
    nodes: Sequence[Node],
    pods: Iterable[Pod],
    *,
    constraints: Sequence[str] = HARD,
    release: Release | str | None = None,
) -> list[Pod]:
    """Return the pods that one run evicts.

    Args:
        nodes: the cluster's nodes.
        pods: the cluster's pods.
        constraints: values of `whenUnsatisfiable` to handle: "DoNotSchedule", "ScheduleAnyway".
        release: release of the scheduler that checks whether an evicted pod fits on another node.
    """
    placed = [p for p in pods if p.spec.node_name and p.status.phase not in TERMINAL_PHASES]
    found: dict[str, Pod] = {}
    for namespace, constraint in _constraints(placed, constraints):
        matches = LabelSelectorMatcher(constraint.label_selector).matches
        counted = [
            p
            for p in placed
            if p.metadata.namespace == namespace
            and p.metadata.deletion_timestamp is None
            and matches(p.metadata.labels)
        ]
        domains = _domains(nodes, counted, constraint.topology_key)
        sizes = [len(domain.pods) for domain in domains]
        if domains and max(sizes) - min(sizes) > constraint.max_skew:
            low = _below_average(nodes, domains, constraint.topology_key)
            for pod in _surplus(domains, constraint.max_skew):
                if _fits_on(pod, low, nodes, placed, release):
                    found[pod.metadata.uid or pod.key] = pod
    return list(found.values())


def _constraints(pods: Sequence[Pod], wanted: Sequence[str]) -> list[tuple[str, TopologySpreadConstraint]]:
    """Return the distinct pairs of namespace and constraint."""
    found: list[tuple[str, TopologySpreadConstraint]] = []
    for pod in pods:
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable in wanted and (pod.metadata.namespace, constraint) not in found:
                found.append((pod.metadata.namespace, constraint))
    return found


def _domains(nodes: Sequence[Node], pods: Sequence[Pod], key: str) -> list[Domain]:
    """Return the domains of all nodes, empty ones included, by size; the last pod of each is evicted first."""
    where = {node.name: node.metadata.labels[key] for node in nodes if key in node.metadata.labels}
    found = {value: Domain(value, []) for value in where.values()}
    for pod in pods:
        if pod.spec.node_name in where:
            found[where[pod.spec.node_name]].pods.append(pod)
    for domain in found.values():
        domain.pods.sort(key=_reluctance, reverse=True)
    return sorted(found.values(), key=lambda one: len(one.pods))


def _reluctance(pod: Pod) -> tuple[bool, int]:
    """Return the sort key of eviction: pods with node affinity or selector last, then by priority.

    Source: sortDomains.
    """
    return bool(pod.spec.node_selector or pod.spec.affinity), pod.spec.priority or 0


def _surplus(domains: list[Domain], max_skew: int) -> list[Pod]:
    """Return the pods to evict so that all domains are within the skew; removes them from `domains`.

    Source: balanceDomains.
    """
    average = sum(len(domain.pods) for domain in domains) / len(domains)
    low, high, leaving = 0, len(domains) - 1, list[Pod]()
    while low < high:
        if len(domains[high].pods) <= average:
            high -= 1
        # As upstream, the loop's condition is not checked again after the step of `high`.
        skew = len(domains[high].pods) - len(domains[low].pods)
        most = min(
            math.ceil(len(domains[high].pods) - average),
            math.ceil(average - len(domains[low].pods)),
            math.ceil((skew - max_skew) / 2),
        )
        if skew <= max_skew or most <= 0:
            low += 1
            continue
        going = domains[high].pods[-most:]
        del domains[high].pods[-most:]
        domains[low].pods.extend(going)
        leaving += going
    return leaving


def _below_average(nodes: Sequence[Node], domains: Sequence[Domain], key: str) -> set[str]:
    """Return the nodes of the domains below the average size. Source: filterNodesBelowIdealAvg."""
    average = sum(len(domain.pods) for domain in domains) / len(domains)
    low = {domain.value for domain in domains if len(domain.pods) < average}
    return {node.name for node in nodes if node.metadata.labels.get(key) in low}


def _fits_on(
    pod: Pod, names: set[str], nodes: Sequence[Node], placed: Sequence[Pod], release: Release | str | None
) -> bool:
    """Return whether a node of `names`, other than the pod's own, passes all filters except topology spread."""
    asked = deepcopy(pod)
    asked.spec.node_name = ""
    asked.spec.topology_spread_constraints = []
    others = [one for one in placed if one is not pod]
    decision = Scheduler([*nodes], others, release=Release.of(release)).explain(asked)
    return any(name in names and name != pod.spec.node_name for name in decision.feasible)
