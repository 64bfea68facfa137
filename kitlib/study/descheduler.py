"""Which pods the descheduler evicts because of their topology spread constraints.

    spread_evictions(cluster.list("Node"), cluster.list("Pod"))

The scheduler looks at a constraint once, when a pod is placed. What becomes uneven later stays so, until the
descheduler evicts pods of the fullest domains; their controllers make new ones, and the scheduler places those. It
takes no more than it needs: down to the average, up to the average, and half of what the skew is too large.

Source: descheduler pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint (Balance, topologyIsBalanced,
balanceDomains, sortDomains). Its PodFitsAnyOtherNode looks at node affinity, taints and requests; here all filters of
the scheduler are asked but the spread constraints themselves.
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
"""The constraints that are looked at by default (`constraints` of its arguments)."""


class Domain(NamedTuple):
    """A value of the topology key, and the matching pods there; the last of them goes first."""

    value: str
    pods: list[Pod]


def spread_evictions(
    nodes: Sequence[Node],
    pods: Iterable[Pod],
    *,
    constraints: Sequence[str] = HARD,
    release: Release | str | None = None,
) -> list[Pod]:
    """The pods that one run evicts.

    Args:
        nodes, pods: of the cluster.
        constraints: which are looked at: "DoNotSchedule", "ScheduleAnyway".
        release: whose scheduler is asked whether an evicted pod fits elsewhere.
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
        sizes = [len(one.pods) for one in domains]
        if domains and max(sizes) - min(sizes) > constraint.max_skew:
            low = _below_average(nodes, domains, constraint.topology_key)
            for pod in _surplus(domains, constraint.max_skew):
                if _fits_on(pod, low, nodes, placed, release):
                    found[pod.metadata.uid or pod.key] = pod
    return list(found.values())


def _constraints(pods: Sequence[Pod], wanted: Sequence[str]) -> list[tuple[str, TopologySpreadConstraint]]:
    """(Namespace, constraint), each once."""
    found: list[tuple[str, TopologySpreadConstraint]] = []
    for pod in pods:
        for one in pod.spec.topology_spread_constraints:
            if one.when_unsatisfiable in wanted and (pod.metadata.namespace, one) not in found:
                found.append((pod.metadata.namespace, one))
    return found


def _domains(nodes: Sequence[Node], pods: Sequence[Pod], key: str) -> list[Domain]:
    """Every domain that a node has, empty ones too, by size; in each the pods that go first stand last."""
    where = {node.name: node.metadata.labels[key] for node in nodes if key in node.metadata.labels}
    found = {value: Domain(value, []) for value in where.values()}
    for pod in pods:
        if pod.spec.node_name in where:
            found[where[pod.spec.node_name]].pods.append(pod)
    for domain in found.values():
        domain.pods.sort(key=_reluctance, reverse=True)
    return sorted(found.values(), key=lambda one: len(one.pods))


def _reluctance(pod: Pod) -> tuple[bool, int]:
    """Pods with a node affinity or selector stay longer, then those of higher priority. Source: sortDomains."""
    return bool(pod.spec.node_selector or pod.spec.affinity), pod.spec.priority or 0


def _surplus(domains: list[Domain], max_skew: int) -> list[Pod]:
    """The pods that must leave so that the domains are within the skew. Source: balanceDomains."""
    average = sum(len(one.pods) for one in domains) / len(domains)
    low, high, leaving = 0, len(domains) - 1, list[Pod]()
    while low < high:
        if len(domains[high].pods) <= average:
            high -= 1
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
    """The nodes of the domains that could take more. Source: filterNodesBelowIdealAvg."""
    average = sum(len(one.pods) for one in domains) / len(domains)
    low = {one.value for one in domains if len(one.pods) < average}
    return {node.name for node in nodes if node.metadata.labels.get(key) in low}


def _fits_on(
    pod: Pod, names: set[str], nodes: Sequence[Node], placed: Sequence[Pod], release: Release | str | None
) -> bool:
    """Whether one of these nodes, other than its own, would take the pod."""
    asked = deepcopy(pod)
    asked.spec.node_name = ""
    asked.spec.topology_spread_constraints = []
    others = [one for one in placed if one is not pod]
    decision = Scheduler([*nodes], others, release=Release.of(release)).explain(asked)
    return any(name in names and name != pod.spec.node_name for name in decision.feasible)
