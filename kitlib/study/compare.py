"""A comparison of one scenario under two releases: the differences, and the gates or behaviours that cause them.

The later release is decided again with one gate at a time set as in the earlier one. A gate is a cause if it changes
the outcome alone. Messages may change without a gate; they are reported separately from decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.api.release import DEFAULTS, GATES, Release
from kitlib.scheduler.decision import Decision
from kitlib.study.scenario import Scenario

Outcome = tuple[Any, ...]
Decide = Callable[[Release], Decision]


@dataclass(frozen=True)
class NodeDifference:
    """The verdicts on one node under both releases: rejection or score ("" = rejected, nothing scored)."""

    node: str
    before: str
    after: str


@dataclass(frozen=True)
class ReleaseComparison:
    """A scenario's decisions under two releases, and the causes of their differences.

    Attributes:
        before, after: the decisions.
        nodes: nodes whose verdict or total score differs.
        gates: (value before, value after) by gate, for gates that change the outcome alone.
        together: gates that change it only together; () if single gates suffice or nothing differs.
        same_decision: whether best nodes and victims are the same; scores and messages may differ.
    """

    before: Decision
    after: Decision
    nodes: Sequence[NodeDifference]
    gates: dict[str, tuple[bool, bool]]
    together: tuple[str, ...]
    same_decision: bool

    @property
    def words_only(self) -> bool:
        """Whether only messages differ."""
        return self.same_decision and not self.gates and not self.together

    def sentence(self) -> str:
        """Return the difference and its cause in one sentence."""
        old, new = self.before.release.name, self.after.release.name
        if self.same_decision:
            same = f"{old} and {new} decide alike: {fate(self.after)}"
            more = " Points or reasons differ." if self.nodes else ""
            more = more or (" Only the message is worded differently." if _message_differs(self) else "")
            return f"{same}.{more}{self._because()}"
        return f"{old}: {fate(self.before)}; {new}: {fate(self.after)}.{self._because()}"

    def _because(self) -> str:
        named = list(self.gates) or list(self.together)
        if not named:
            return ""
        joined = " together with " if self.together else " or "
        return f" This is {joined.join(describe(gate) for gate in named)}."


def compare(scenario: Scenario, before: Release | str, after: Release | str) -> ReleaseComparison:
    """Decide a scenario under two releases and find the gates that cause the difference."""
    return compare_decisions(scenario.decide, scenario.release(before), scenario.release(after))


def compare_decisions(decide: Decide, old: Release, new: Release) -> ReleaseComparison:
    """Compare two releases for anything that can be decided under a release.

    Args:
        decide: returns the decision under a release.
        old: the earlier release.
        new: the later release.
    """
    first, second = decide(old), decide(new)
    same = choice(first) == choice(second)
    look = outcome if same else choice  # what decided the choice is of more interest than what else changed
    have = look(second)
    differing = {g: (old.enabled(g), new.enabled(g)) for g in GATES if old.enabled(g) != new.enabled(g)}
    gates: dict[str, tuple[bool, bool]] = {}
    together: tuple[str, ...] = ()
    if look(first) != have:
        for gate, values in differing.items():
            # The later release with one gate reverted, not the earlier one with one gate set: an unrelated gate of the
            # earlier release could hide the effect.
            if look(decide(new.with_gates({gate: values[0]}))) != have:
                gates[gate] = values
        if not gates and differing:
            together = _smallest(decide, new, {gate: values[0] for gate, values in differing.items()}, look, have)
    nodes = [
        NodeDifference(name, line, other)
        for name in first.nodes
        if (line := verdict(first, name)) != (other := verdict(second, name))
    ]
    return ReleaseComparison(first, second, nodes, gates, together, same)


def _smallest(
    decide: Decide,
    release: Release,
    gates: dict[str, bool],
    look: Callable[[Decision], Outcome],
    have: Outcome,
) -> tuple[str, ...]:
    """Return a minimal set of gates that changes the outcome: each gate is dropped if the rest still changes it."""
    if look(decide(release.with_gates(gates))) == have:
        return ()
    kept = dict(gates)
    for gate in gates:
        fewer = {name: value for name, value in kept.items() if name != gate}
        if fewer and look(decide(release.with_gates(fewer))) != have:
            kept = fewer
    return tuple(kept)


def outcome(decision: Decision) -> Outcome:
    """Return a decision's result without messages: feasible nodes, totals, preemption candidates, rejecting plugins."""
    totals = () if decision.scores is None else tuple(int(total) for total in decision.scores.total)
    candidates = decision.post_filter.candidates if decision.post_filter is not None else {}
    return (
        decision.gate is not None,
        tuple(decision.feasible),
        totals,
        tuple(sorted((name, tuple(sorted(v.pod.key for v in c.victims))) for name, c in candidates.items())),
        tuple(tuple(sorted(s.plugin for s in decision.statuses(node))) for node in decision.nodes),
    )


def verdict(decision: Decision, node: str) -> str:
    """Return one node's verdict: `PodTopologySpread: reason`, or `passes, 523 points`."""
    statuses = decision.statuses(node)
    if statuses:
        return "; ".join(f"{s.plugin}: {s.message}" if s.plugin else s.message for s in statuses)
    if decision.scores is None or len(decision.scores.rows) < 2:
        return "passes"
    place = list(decision.scores.rows).index(decision.nodes.index(node))
    return f"passes, {int(decision.scores.total[place])} points"


def choice(decision: Decision) -> Outcome:
    """Return the pod's best nodes, or its nomination and victims."""
    return decision.gate is not None, tuple(decision.best), decision.nominated, tuple(v.key for v in decision.victims)


def fate(decision: Decision) -> str:
    """Return a clause that says where the pod goes."""
    if decision.gate is not None:
        return "the pod is gated"
    if decision.best:
        return f"the pod goes to {' or '.join(decision.best)}"
    if decision.nominated:
        return f"{', '.join(v.key for v in decision.victims)} must leave {decision.nominated} for the pod"
    return "the pod stays pending"


def _message_differs(difference: ReleaseComparison) -> bool:
    return difference.before.message != difference.after.message


_MEANINGS = {
    "KitDefinitionsShowVersions": "the change that `kubectl get crd` lists the scope and the versions of definitions",
    "KitDescribeStatefulSetPolicies": "the change that `kubectl describe` prints a StatefulSet's service and policies",
    "KitEmptyPodLevelIgnored": "the change that empty pod-level resources do not determine the QoS class",
    "KitMemoryQoSNeedsSettings": "the change that MemoryQoS writes only the values that the kubelet's settings ask for",
    "KitMemoryReservationPolicy": "the change that a reservation policy determines which memory is protected",
    "KitSpreadHonoursNodeAffinity": "the change that the skew ignores nodes that the pod's node affinity excludes",
    "KitSpreadScoreRounded": "the change that the scheduler rounds spread scores instead of truncating them",
    "KitFitUnresolvable": "the change that a request that exceeds the capacity of the node is unresolvable",
    "KitBalancedSkipsBestEffort": "the change that balanced allocation ignores pods without requests",
    "KitBalancedComparesWithout": "the change that balanced allocation compares the node with and without the pod",
    "KitPrioritizedListScores": "the change that the score prefers nodes with the devices that a claim lists first",
    "KitPreFilterNodeNames": "the change that PreFilter can limit the search to named nodes",
    "KitPreScoreSkips": "the change that PreScore can skip a plugin that has nothing to score",
    "KitEmptySpreadSelectorCountsNobody": "the change that an empty selector counts no pods",
    "KitFitChecksOnlyRequested": "the change that the fit check examines only the requested resources",
    "KitFitScoreIgnoresOverhead": "the change that the score for free resources counts the overhead",
    "KitAnyConflictingTermRejects": "the change that one contradictory affinity term does not reject the pod",
    "KitImageLocalityCountsInit": "the change that image locality counts the images of init containers",
    "KitScoringRoundsOverhead": "the change in how scoring counts the overhead",
    "KitPreFilterRejectsEveryNode": "the change that a rejection by PreFilter applies to every node",
    "KitNarrowingPluginsReject": "the change that plugins that exclude nodes in PreFilter count as rejecting plugins",
    "KitMissingNamedNodeFails": "the rule that a missing named node ends the scheduling cycle",
    "KitNoNamedNodePanics": "the defect that the scheduler crashes if no named node exists",
    "KitPostFilterErrorShown": "the change that the event contains the error of a failed preemption",
    "KitWaitsForPreemptedOnly": "the change that the scheduler waits only for the end of preempted pods",
    "KitVictimsSortedAgain": "the change that preemption sorts the victims by importance again",
    "KitVolumeRestrictionsTracksPods": "the change that preemption considers ReadWriteOncePod claims",
    "KitAbsentNodesHaveStatus": "the change that nodes that PreFilter excludes have a separate status",
    "KitPoolKeepsFiveMinutes": "the change that unschedulable pods are retried after five minutes instead of one",
    "KitGatesDepend": "the change that a feature gate requires the feature gates on which it depends",
    "KitNodeAffinityScoreSkips": "the change that node affinity and volume binding skip scoring if they have no terms",
    "KitNamespaceSelectorAskedTwice": "the change that a namespace selector with only negative operators means every "
    "namespace",
    "KitRequestsCountSidecars": "the change that the requests of sidecars count in the requests of a pod",
    "KitNonZeroCountsSidecars": "the change that the score counts the requests of running sidecars",
    "KitScoreSkipsPodLevel": "the change that the score for free resources ignores pod-level requests",
    "KitPodLevelHugePages": "the change that pod-level resources can contain huge pages",
    "KitSidecarPortsCount": "the change that the host ports of sidecars count",
    "KitResizeHasConditions": "the change that pod conditions report a pending resize",
    "KitResizeCountsActuated": "the change that the actual resources of a resized container count",
    "KitResizeCountsAllocated": "the change that the allocated resources of a resized container count, too",
    "KitReadWriteOncePodFilters": "the change that Filter instead of PreFilter rejects ReadWriteOncePod claims in use",
    "KitVolumeZonePreFilters": "the change that PreFilter rejects a pod whose claim is bound to a missing volume",
    "KitBetaZoneLabelsMatch": "the change that a volume's beta zone label matches the node's label without beta",
    "KitAllFiltersRun": "the behavior of 1.24 and 1.25 that all filters run on a rejected node",
}


def describe(gate: str) -> str:
    """Return a gate's description: its name, the behaviour that it stands for, or the default's name."""
    if gate in DEFAULTS:
        return f"the default of {gate}"
    return _MEANINGS.get(gate, f"the feature gate {gate}")
