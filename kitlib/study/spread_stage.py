"""Zones and nodes on which one kind of pod spreads: change them by hand, see what its constraint makes of it.

    state = Spread.grid(zones=3, nodes=4)
    state, decision = state.place()            # the next pod, where the scheduler puts it
    state.domains()                            # counts and skew of every domain

A state never changes; every action gives another one, so that `UndoHistory` can go back and forth between them. Counts
and skew are those that the plugin PodTopologySpread works with.
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
"""The CPU request of each pod, the running ones and the next one: they are of one kind."""
TAINT = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}
_GATES = {
    "min_domains": ("minDomains", "MinDomainsInPodTopologySpread"),
    "node_affinity_policy": ("nodeAffinityPolicy", "NodeInclusionPolicyInPodTopologySpread"),
    "node_taints_policy": ("nodeTaintsPolicy", "NodeInclusionPolicyInPodTopologySpread"),
}


@dataclass(frozen=True)
class Spread:
    """Zones, nodes, the pods that stand there, and the constraint of the next one.

    Attributes:
        layout: (zone, its nodes), in order.
        placed: the node of every matching pod, in the order in which they came.
        max_skew, min_domains, topology_key, when_unsatisfiable: as in the constraint; min_domains None = not set.
        node_affinity_policy, node_taints_policy: `Honor`, `Ignore` or "" = not set.
        excluded: nodes that the pod's node affinity rules out.
        tainted: with a taint that it does not tolerate.
        full: without room for one more.
        release: whose scheduler decides.
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
        """`zones` zones of `nodes` nodes each, without a pod."""
        named = [f"zone{z + 1}" for z in range(zones)]
        return cls(tuple((zone, tuple(f"{zone}-{n + 1}" for n in range(nodes))) for zone in named), **more)

    @classmethod
    def of(cls, scenario: Scenario, release: Release | str | None = None) -> Spread:
        """A scenario whose pod in question spreads over zones.

        Raises:
            KitError: it has no constraint, or a node has no zone.
        """
        pod = scenario.question
        if not pod.spec.topology_spread_constraints:
            raise KitError(f"pod {pod.key}: spec.topologySpreadConstraints: Required value")
        one = pod.spec.topology_spread_constraints[0]
        zones: dict[str, list[str]] = {}
        for node in scenario.nodes:
            if ZONE not in node.metadata.labels:
                raise KitError(f"node {node.name}: metadata.labels[{ZONE}]: Required value")
            zones.setdefault(node.metadata.labels[ZONE], []).append(node.name)
        loose = deepcopy(pod)
        loose.spec.topology_spread_constraints = []
        by_hand = scenario.release(release)
        # every filter is asked about every node, as in 1.24, so that a full node that is also excluded says both
        found = scenario.scheduler(by_hand.with_gates({"KitAllFiltersRun": True})).explain(loose)
        said = {node: {status.plugin for status in found.statuses(node)} for node in found.nodes}
        matcher = LabelSelectorMatcher(one.label_selector)
        return cls(
            tuple((zone, tuple(nodes)) for zone, nodes in zones.items()),
            placed=tuple(
                p.spec.node_name for p in scenario.pods if p.spec.node_name and matcher.matches(p.metadata.labels)
            ),
            max_skew=one.max_skew,
            min_domains=one.min_domains,
            topology_key=one.topology_key,
            when_unsatisfiable=one.when_unsatisfiable,
            node_affinity_policy=one.node_affinity_policy or "",
            node_taints_policy=one.node_taints_policy or "",
            excluded=frozenset(n for n, plugins in said.items() if "NodeAffinity" in plugins),
            tainted=frozenset(n for n, plugins in said.items() if "TaintToleration" in plugins),
            full=frozenset(n for n, plugins in said.items() if "NodeResourcesFit" in plugins),
            release=by_hand,
        )

    @property
    def nodes(self) -> list[str]:
        """All node names."""
        return [node for _, nodes in self.layout for node in nodes]

    def counts(self) -> list[list[int]]:
        """Per zone, the matching pods on each of its nodes."""
        return [[self.placed.count(node) for node in nodes] for _, nodes in self.layout]

    def marks(self, node: str) -> list[str]:
        """What holds for a node: `excluded by node affinity`, `tainted`, `full`."""
        words = (
            ("excluded by node affinity", self.excluded),
            ("tainted", self.tainted),
            ("full", self.full),
        )
        return [word for word, nodes in words if node in nodes]

    def pod(self) -> Pod:
        """The next pod.

        Raises:
            Invalid: the API server would refuse it.
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
        """A scheduler that sees the nodes and the pods; it is only asked, never changed."""
        nodes = [_node(name, zone, name in self.tainted) for zone, names in self.layout for name in names]
        pods = [_standing(number, name) for number, name in enumerate(self.placed)]
        pods += [pod_of({"name": f"filler-{name}", "node": name, "cpu": "3950m"}) for name in sorted(self.full)]
        return Scheduler(nodes, pods, release=self.release)

    def decide(self) -> Decision:
        """What the scheduler makes of the next pod."""
        return self.scheduler.explain(self.pod())

    def domains(self) -> list[dict[str, Any]]:
        """Every domain: its name, its matching pods, how many of them count, the skew with one more, whether that is
        allowed.

        Source: PodTopologySpread.Filter.
        """
        pod, scheduler = self.pod(), self.scheduler
        asked = deepcopy(pod)
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
            rows.append(row)
        return rows

    def _domains(self) -> dict[str, tuple[str, ...]]:
        if self.topology_key == HOSTNAME:
            return {node: (node,) for node in self.nodes}
        return dict(self.layout)

    def ignored(self) -> list[str]:
        """Fields that are set and that the release does not look at, with the gate that would make it."""
        found = []
        for name, (spelled, gate) in _GATES.items():
            if getattr(self, name) and not self.release.enabled(gate):
                found.append(f"{spelled} (feature gate {gate})")
        return found

    def place(self) -> tuple[Spread, Decision]:
        """The next pod goes where the scheduler puts it; nothing changes where it finds no node."""
        decision = self.decide()
        return (self.add(decision.suggested_host) if decision.suggested_host else self), decision

    def add(self, node: str) -> Spread:
        """One matching pod more on a node, whatever the scheduler thinks."""
        self._known(node)
        return replace(self, placed=(*self.placed, node))

    def remove(self, node: str) -> Spread:
        """One matching pod less on a node.

        Raises:
            KitError: there is none.
        """
        self._known(node)
        if node not in self.placed:
            raise KitError(f"node {node}: no matching pod stands there")
        last = len(self.placed) - 1 - self.placed[::-1].index(node)
        return replace(self, placed=self.placed[:last] + self.placed[last + 1 :])

    def move(self, start: str, end: str) -> Spread:
        """One matching pod goes from a node to another; all others stay the same.

        Raises:
            KitError: there is none.
        """
        self._known(end)
        left = self.remove(start).placed
        last = len(self.placed) - 1 - self.placed[::-1].index(start)
        return replace(self, placed=(*left[:last], end, *left[last:]))

    def toggle(self, what: str, node: str) -> Spread:
        """Exclude, taint or fill a node, or take that back.

        Args:
            what: `excluded`, `tainted` or `full`.
        """
        self._known(node)
        return replace(self, **{what: getattr(self, what) ^ {node}})

    def resize(self, zones: int, nodes: int) -> Spread:
        """Another number of zones and of nodes in each; pods on nodes that go are gone."""
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
        """Other fields of the constraint, another release."""
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
    """States that one can go back and forth between."""

    def __init__(self, first: T) -> None:
        self._states: list[T] = [first]
        self._at = 0

    @property
    def now(self) -> T:
        """The state that one stands at."""
        return self._states[self._at]

    @property
    def can_undo(self) -> bool:
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        return self._at < len(self._states) - 1

    def do(self, state: T) -> T:
        """A new state; what was undone before is forgotten. One that equals the present is none."""
        if state != self.now:
            self._states[self._at + 1 :] = [state]
            self._at += 1
        return state

    def undo(self) -> T:
        """The state before; the first one stays the first."""
        self._at = max(self._at - 1, 0)
        return self.now

    def redo(self) -> T:
        """The state that was undone; the last one stays the last."""
        self._at = min(self._at + 1, len(self._states) - 1)
        return self.now

    def states(self) -> Sequence[T]:
        """All of them, in order."""
        return tuple(self._states)
