"""A model of zones and nodes with matching pods, to be changed by hand, for PodTopologySpread.

    state = Spread.grid(zones=3, nodes=4)
    state, decision = state.place()            # schedules the next pod
    state.domains()                            # counts and skew of every domain

A state is immutable; every action returns another one, so that `UndoHistory` can go back and forth between them. Counts
and skew are computed by the plugin PodTopologySpread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

from kitlib.api.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    TopologySpreadConstraint,
)
from kitlib.api.errors import Invalid, KitError, NotFound
from kitlib.api.meta import LabelSelector
from kitlib.api.release import Release
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.validation import validate_pod_create
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.plugins.pod_topology_spread import ZONE, PodTopologySpread
from kitlib.scheduler.plugins.spread_domains import HOSTNAME
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import Scenario, node_of, pod_of

LABELS = {"app": "web"}
CPU = "100m"
"""The CPU request of every pod, running or next."""
TAINT = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}
_GATES = {
    "min_domains": ("minDomains", "MinDomainsInPodTopologySpread"),
    "node_affinity_policy": ("nodeAffinityPolicy", "NodeInclusionPolicyInPodTopologySpread"),
    "node_taints_policy": ("nodeTaintsPolicy", "NodeInclusionPolicyInPodTopologySpread"),
}


@dataclass(frozen=True)
class Spread:
    """Zones, nodes, their matching pods, and the spread constraint of the next pod.

    Attributes:
        layout: (zone, names of its nodes), in order.
        placed: node name of every matching pod, in the order of placement.
        max_skew, topology_key, when_unsatisfiable: fields of the constraint.
        min_domains: field of the constraint; None = not set.
        node_affinity_policy, node_taints_policy: `Honor`, `Ignore` or "" = not set.
        excluded: names of the nodes that the pod's node affinity excludes.
        tainted: names of the nodes with a taint that the pod does not tolerate.
        full: names of the nodes without room for another pod.
        release: release of the scheduler.
    """

    layout: tuple[tuple[str, tuple[str, ...]], ...]
    placed: tuple[str, ...] = ()
    max_skew: int = 1
    min_domains: int | None = None
    topology_key: str = ZONE
    when_unsatisfiable: str = "DoNotSchedule"
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    excluded: frozenset[str] = frozenset()
    tainted: frozenset[str] = frozenset()
    full: frozenset[str] = frozenset()
    release: Release = field(default_factory=Release.followed)

    @classmethod
    def grid(cls, zones: int, nodes: int, **more: Any) -> Spread:
        """Return a model without pods, of `zones` zones with `nodes` nodes each."""
        named = [f"zone{z + 1}" for z in range(zones)]
        return cls(tuple((zone, tuple(f"{zone}-{n + 1}" for n in range(nodes))) for zone in named), **more)

    @classmethod
    def of(cls, scenario: Scenario, release: Release | str | None = None) -> Spread:
        """Return a model of a scenario whose pod in question spreads over zones.

        Raises:
            KitError: the pod has no spread constraint, or a node has no zone.
        """
        pod = scenario.question
        if not pod.spec.topology_spread_constraints:
            raise KitError(f"pod {pod.key}: spec.topologySpreadConstraints: Required value")
        constraint = pod.spec.topology_spread_constraints[0]
        zones: dict[str, list[str]] = {}
        for node in scenario.nodes:
            if ZONE not in node.metadata.labels:
                raise KitError(f"node {node.name}: metadata.labels[{ZONE}]: Required value")
            zones.setdefault(node.metadata.labels[ZONE], []).append(node.name)
        loose = deepcopy(pod)
        loose.spec.topology_spread_constraints = []
        by_hand = scenario.release(release)
        # as in 1.24 every filter checks every node, so that a node that is both full and excluded has both marks
        found = scenario.scheduler(by_hand.with_gates({"KitAllFiltersRun": True})).explain(loose)
        said = {node: {status.plugin for status in found.statuses(node)} for node in found.nodes}
        matcher = LabelSelectorMatcher(constraint.label_selector)
        return cls(
            tuple((zone, tuple(nodes)) for zone, nodes in zones.items()),
            placed=tuple(
                p.spec.node_name for p in scenario.pods if p.spec.node_name and matcher.matches(p.metadata.labels)
            ),
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            topology_key=constraint.topology_key,
            when_unsatisfiable=constraint.when_unsatisfiable,
            node_affinity_policy=constraint.node_affinity_policy or "",
            node_taints_policy=constraint.node_taints_policy or "",
            excluded=frozenset(n for n, plugins in said.items() if "NodeAffinity" in plugins),
            tainted=frozenset(n for n, plugins in said.items() if "TaintToleration" in plugins),
            full=frozenset(n for n, plugins in said.items() if "NodeResourcesFit" in plugins),
            release=by_hand,
        )

    @property
    def nodes(self) -> list[str]:
        """The names of all nodes."""
        return [node for _, nodes in self.layout for node in nodes]

    def counts(self) -> list[list[int]]:
        """Return the number of matching pods on each node, as a list for each zone."""
        return [[self.placed.count(node) for node in nodes] for _, nodes in self.layout]

    def marks(self, node: str) -> list[str]:
        """Return a node's marks: `excluded by node affinity`, `tainted`, `full`."""
        words = (
            ("excluded by node affinity", self.excluded),
            ("tainted", self.tainted),
            ("full", self.full),
        )
        return [word for word, nodes in words if node in nodes]

    def pod(self) -> Pod:
        """Return the next pod.

        Raises:
            Invalid: the API server would reject the pod.
        """
        made = pod_of({"name": f"pod-{len(self.placed) + 1}", "cpu": CPU, "labels": LABELS})
        made.spec.topology_spread_constraints = [
            TopologySpreadConstraint(
                max_skew=self.max_skew,
                min_domains=self.min_domains,
                topology_key=self.topology_key,
                when_unsatisfiable=self.when_unsatisfiable,
                node_affinity_policy=self.node_affinity_policy or None,
                node_taints_policy=self.node_taints_policy or None,
                label_selector=LabelSelector(match_labels=dict(LABELS)),
            )
        ]
        if self.excluded:
            rule = NodeSelectorRequirement(key=HOSTNAME, operator="NotIn", values=sorted(self.excluded))
            terms = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[rule])])
            made.spec.affinity = Affinity(node_affinity=NodeAffinity(required=terms))
        errors = validate_pod_create(made)
        if errors:
            raise Invalid("Pod", made.name, errors)
        return made

    @cached_property
    def scheduler(self) -> Scheduler:
        """A scheduler with the model's nodes and pods; it must not be changed."""
        nodes = [_node(name, zone, name in self.tainted) for zone, names in self.layout for name in names]
        pods = [_standing(number, name) for number, name in enumerate(self.placed)]
        pods += [pod_of({"name": f"filler-{name}", "node": name, "cpu": "3950m"}) for name in sorted(self.full)]
        return Scheduler(nodes, pods, release=self.release)

    def decide(self) -> Decision:
        """Return the decision about the next pod."""
        return self.scheduler.explain(self.pod())

    def domains(self) -> list[dict[str, Any]]:
        """Return a row for every domain: its name, its pods, and its state in the plugin.

        Keys: `domain`, `pods` (number of matching pods), `counted` (number of pods that the plugin counts), `skew`
        (skew with one more pod), `allowed` (whether the constraint allows one more), `room` (whether a node of it
        passes the other filters).

        Source: PodTopologySpread.Filter.
        """
        pod, scheduler = self.pod(), self.scheduler
        asked = deepcopy(pod)
        # Filter ignores ScheduleAnyway constraints: as a hard one it is counted, and `allowed` is corrected below.
        asked.spec.topology_spread_constraints[0].when_unsatisfiable = "DoNotSchedule"
        context = scheduler.context
        state = PodTopologySpread().pre_filter(PodInfo(asked, self.release), context).state
        _, values = context.snapshot.label(self.topology_key)
        counted = dict(zip(values, state[0].counts[: len(values)].tolist(), strict=True))
        skew = dict(zip(values, state[0].skews()[: len(values)].tolist(), strict=True))
        standing = dict.fromkeys(self._domains(), 0)
        of_node = {node: domain for domain, nodes in self._domains().items() for node in nodes}
        for node in self.placed:
            standing[of_node[node]] += 1
        strict = self.when_unsatisfiable == "DoNotSchedule"
        rows = []
        for domain, pods in standing.items():
            allowed = not strict or skew[domain] <= self.max_skew
            row = {"domain": domain, "pods": pods, "counted": counted[domain], "skew": skew[domain], "allowed": allowed}
            row["room"] = not all(self.marks(node) for node in self._domains()[domain])
            rows.append(row)
        return rows

    def _domains(self) -> dict[str, tuple[str, ...]]:
        if self.topology_key == HOSTNAME:
            return {node: (node,) for node in self.nodes}
        return dict(self.layout)

    def ignored(self) -> list[str]:
        """Return the fields that are set but that the release ignores, with their feature gates."""
        found = []
        for name, (spelled, gate) in _GATES.items():
            if getattr(self, name) and not self.release.enabled(gate):
                found.append(f"{spelled} (feature gate {gate})")
        return found

    def place(self) -> tuple[Spread, Decision]:
        """Schedule the next pod and return the new state, unchanged if no node is feasible, and the decision."""
        decision = self.decide()
        return (self.add(decision.suggested_host) if decision.suggested_host else self), decision

    def add(self, node: str) -> Spread:
        """Add a matching pod to a node, whatever the scheduler decides."""
        self._known(node)
        return replace(self, placed=(*self.placed, node))

    def remove(self, node: str) -> Spread:
        """Remove the newest matching pod of a node.

        Raises:
            KitError: the node has no matching pod.
        """
        self._known(node)
        if node not in self.placed:
            raise KitError(f"node {node}: no matching pod is on this node")
        last = len(self.placed) - 1 - self.placed[::-1].index(node)
        return replace(self, placed=self.placed[:last] + self.placed[last + 1 :])

    def move(self, start: str, end: str) -> Spread:
        """Move a matching pod from a node to another; the order of pods is kept.

        Raises:
            KitError: the first node has no matching pod.
        """
        self._known(end)
        left = self.remove(start).placed
        last = len(self.placed) - 1 - self.placed[::-1].index(start)
        return replace(self, placed=(*left[:last], end, *left[last:]))

    def toggle(self, what: str, node: str) -> Spread:
        """Exclude, taint or fill a node, or undo that.

        Args:
            what: the attribute to change: `excluded`, `tainted` or `full`.
            node: name of the node.
        """
        self._known(node)
        return replace(self, **{what: getattr(self, what) ^ {node}})

    def resize(self, zones: int, nodes: int) -> Spread:
        """Change the numbers of zones and of nodes in each zone; pods on removed nodes are removed."""
        made = Spread.grid(zones, nodes)
        left = set(made.nodes)
        return replace(
            self,
            layout=made.layout,
            placed=tuple(node for node in self.placed if node in left),
            excluded=self.excluded & left,
            tainted=self.tainted & left,
            full=self.full & left,
        )

    def change(self, **fields: Any) -> Spread:
        """Change fields of the constraint, or the release."""
        return replace(self, **fields)

    def _known(self, node: str) -> None:
        if node not in self.nodes:
            raise NotFound("nodes", node)


@lru_cache(maxsize=4096)
def _node(name: str, zone: str, tainted: bool) -> Node:
    return node_of({"name": name, "zone": zone, "taints": [TAINT] if tainted else []})


@lru_cache(maxsize=4096)
def _standing(number: int, node: str) -> Pod:
    return pod_of({"name": f"pod-{number + 1}", "node": node, "cpu": CPU, "labels": LABELS})


T = TypeVar("T")


class UndoHistory(Generic[T]):
    """A history of states with undo and redo."""

    def __init__(self, first: T) -> None:
        self._states: list[T] = [first]
        self._at = 0

    @property
    def now(self) -> T:
        """The current state."""
        return self._states[self._at]

    @property
    def can_undo(self) -> bool:
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        return self._at < len(self._states) - 1

    def do(self, state: T) -> T:
        """Append a state unless it equals the current one; undone states are discarded."""
        if state != self.now:
            self._states[self._at + 1 :] = [state]
            self._at += 1
        return state

    def undo(self) -> T:
        """Go back to the previous state; at the first one nothing changes."""
        self._at = max(self._at - 1, 0)
        return self.now

    def redo(self) -> T:
        """Return to the state that was undone last; without any, nothing changes."""
        self._at = min(self._at + 1, len(self._states) - 1)
        return self.now

    def states(self) -> Sequence[T]:
        """Return all states in order, undone ones included."""
        return tuple(self._states)
