"""NodeAffinity: node selectors and node affinity, required and preferred.

Source: plugins/nodeaffinity; component-helpers scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitlib.api.core import NodeAffinity as Affinity
from kitlib.api.core import NodeSelectorTerm, Pod
from kitlib.api.selectors import matches_required_node_affinity
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.events import NODE, ActionType, ClusterEvent, Registered
from kitlib.scheduler.framework.plugin import (
    SKIP,
    Affected,
    Context,
    Plugin,
    PreFilterResult,
    Reads,
    Scores,
    default_normalize,
)
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts

NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT = "pod affinity terms conflict"


def node_affinity_of(pod: Pod) -> Affinity | None:
    """Return the pod's node affinity, or None."""
    return pod.spec.affinity.node_affinity if pod.spec.affinity else None


class NodeAffinity(Plugin):
    """The plugin that filters and scores nodes by their labels and names.

    Args:
        arguments: addedAffinity, a node affinity that every pod of the profile has in addition to its own.
    """

    name = "NodeAffinity"
    reads = Reads.ALL_BUT_AMOUNTS
    depends_on = "node"
    missing_score_state = 'reading "PreScoreNodeAffinity" from cycleState: not found'

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected:
        return Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [(ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL), _affinity_came_true)]

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        added = self.arguments.get("addedAffinity")
        self.added: Affinity | None = None
        if added:
            pod = from_dict({"metadata": {"name": "x"}, "spec": {"affinity": {"nodeAffinity": dict(added)}}}, Pod)
            self.added = node_affinity_of(pod)

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        affinity = node_affinity_of(info.pod)
        required = affinity.required if affinity else None
        if required is None and not info.pod.spec.node_selector and not (self.added and self.added.required):
            return PreFilterResult(SKIP)
        nodes = None
        if required and context.release.enabled("KitPreFilterNodeNames"):
            strict = context.release.enabled("KitAnyConflictingTermRejects")
            nodes = _only_nodes(required.node_selector_terms, strict=strict)
        if nodes is not None and not nodes:
            status = Status(Code.UnschedulableAndUnresolvable, (CONFLICT,), self.name)
            return PreFilterResult(status=status)
        return PreFilterResult(nodes=nodes)

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        if self.added is not None and self.added.required is not None:
            allowed = context.snapshot.columns.selected_by(self.added.required)
            found.reject(~allowed[rows], Code.UnschedulableAndUnresolvable, ENFORCED)
        fits = required_matches(info.pod, context, rows)
        found.reject(~fits, Code.UnschedulableAndUnresolvable, NO_MATCH)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        terms = [
            (p.weight, p.preference)
            for affinity in (self.added, node_affinity_of(info.pod))
            for p in (affinity.preferred if affinity else ())
        ]
        if not terms and context.release.enabled("KitNodeAffinityScoreSkips"):
            return SKIP
        return [term for term in terms if term[0]]

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        table = context.snapshot
        total = np.zeros(len(rows), np.int64)
        for weight, term in state:
            total += weight * table.at(rows, table.columns.matched_by(term))
        return total

    def normalize(self, state: Any, scores: Scores) -> Scores:
        return default_normalize(scores)


def required_matches(pod: Pod, context: Context, rows: Rows) -> NDArray[np.bool_]:
    """Return a mask of the rows that the pod's node selector and required affinity allow."""
    table = context.snapshot
    fits = np.ones(len(rows), np.bool_)
    for key, value in pod.spec.node_selector.items():
        column = table.columns.label(key)
        fits &= table.at(rows, column.codes) == column.numbers.get(value, -2)  # -1 is a node without the label
    affinity = node_affinity_of(pod)
    if affinity is not None and affinity.required is not None:
        fits &= table.at(rows, table.columns.selected_by(affinity.required))
    return fits


def _only_nodes(terms: list[NodeSelectorTerm], *, strict: bool) -> frozenset[str] | None:
    """Return the node names that the terms' `metadata.name` fields allow; None = a term allows all.

    Source: NodeAffinity.PreFilter.
    """
    found: set[str] = set()
    for term in terms:
        names: set[str] | None = None
        for requirement in term.match_fields:
            if requirement.key == "metadata.name" and requirement.operator == "In":
                values = set(requirement.values)
                names = values if names is None else names & values
        if names is None:
            return None
        if not names and strict:
            return frozenset()
        found |= names
    return frozenset(found) if terms else None


def _affinity_came_true(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the node matches the pod now and did not before.

    Source: nodeaffinity isSchedulableAfterNodeChange.
    """
    if not matches_required_node_affinity(pod, new):
        return False
    return old is None or not matches_required_node_affinity(pod, old)
