"""The topology manager, which aligns the CPUs, the memory and the devices of a container to the same NUMA nodes.

Every resource manager provides hints, the sets of NUMA nodes that can serve a container. The topology manager forms
all combinations of one hint of each resource, intersects the hints of each combination, and selects the best
intersection. Depending on its policy it rejects the pod if the best one is not preferred. The managers then allocate
from the nodes of the best one.

Source: kubelet topologymanager (HintMerger, policies, scopes); KEP-693, KEP-3545.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Protocol

from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import containers_of
from kitlib.api.release import Release
from kitlib.kubelet.cm.topologymanager.hints import Hints, TopologyHint, narrower
from kitlib.kubelet.config.options import LEAST_MAX_NUMA_NODES, MAX_NUMA_NODES, is_on
from kitlib.kubelet.qos.qos_class import pod_level_managed

ANY = TopologyHint(None, True)
IMPOSSIBLE = NOTHING_CHOSEN = TopologyHint(None, False)
PREFER_CLOSEST = "prefer-closest-numa-nodes"
REFUSED = "Resources cannot be allocated with Topology locality"
POD_LEVEL_REFUSED = "pod with pod-level resources failed admission under pod-scope topology manager"
NEAR, FAR = 10, 20
"""The kernel's default distances, of a node to itself and to another, for a machine that declares none."""


class AdmissionProblem(KitError):
    """A pod that the kubelet rejects permanently.

    Args:
        reason: the reason in the pod's status.
        message: the message in the pod's status.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class HintProvider(Protocol):
    """A resource manager."""

    def hints(self, pod: Pod, container: Container) -> Hints:
        """Return the hints for a container by resource; {} = no preference."""
        ...

    def pod_hints(self, pod: Pod) -> Hints:
        """Return the hints for the whole pod by resource; {} = no preference."""
        ...

    def allocate(self, pod: Pod, container: Container, hint: TopologyHint) -> None:
        """Allocate for a container, from the hinted nodes as far as possible.

        Raises:
            KitError: the request cannot be satisfied.
        """
        ...

    def allocate_pod(self, pod: Pod, hint: TopologyHint) -> None:
        """Allocate for a pod with pod-level resources as a whole.

        Raises:
            KitError: the request cannot be satisfied.
        """
        ...


class TopologyManager:
    """Admits pods according to a policy.

    Args:
        policy: "none", "best-effort", "restricted" or "single-numa-node".
        scope: "container" or "pod".
        nodes: the machine's NUMA nodes.
        options: `--topology-manager-policy-options`.
        distances: node -> its distances to all nodes, for `prefer-closest-numa-nodes`.
        providers: the resource managers, in the order in which they are called.
        release: the release that determines the feature gates; None = the latest.

    Attributes:
        hints_seen: the hints of the last admitted or rejected pod: container ("" = the whole pod) -> the hints of each
            resource and the merged one, as in the kubelet's log.

    Raises:
        KitError: the machine has more NUMA nodes than the policy handles.
    """

    def __init__(
        self,
        policy: str,
        scope: str,
        nodes: Iterable[int],
        providers: Sequence[HintProvider],
        options: Mapping[str, str] | None = None,
        distances: Mapping[int, Sequence[int]] | None = None,
        release: Release | None = None,
    ) -> None:
        self.policy, self.scope, self.providers, self.release = policy, scope, providers, release
        self.nodes = frozenset(nodes)
        self.hints_seen: dict[str, str] = {}
        self._distances = distances or {}
        self._closest = is_on(options or {}, PREFER_CLOSEST) and policy != "single-numa-node"
        most = int((options or {}).get(MAX_NUMA_NODES, LEAST_MAX_NUMA_NODES))
        if policy != "none" and len(self.nodes) > most:
            raise KitError(f"unsupported on machines with more than {most} NUMA Nodes")

    def admit(self, pod: Pod) -> dict[str, TopologyHint]:
        """Allocate for all containers, init containers first.

        Returns:
            Container -> the hint that the managers allocated by.

        Raises:
            AdmissionProblem: the policy rejects the pod.
            KitError: a manager cannot satisfy a request; the caller has to release the earlier allocations.

        Source: scope_container.go, scope_pod.go Admit; admitPolicyNone.
        """
        chosen: dict[str, TopologyHint] = {}
        whole: TopologyHint | None = None
        self.hints_seen = {}
        if self.policy != "none" and self.scope == "pod":
            offered = [provider.pod_hints(pod) for provider in self.providers]
            whole, admitted = self.merge(offered)
            self.hints_seen[""] = _shown(offered, whole)
            by_pod = pod_level_managed(pod, self.release)
            if not admitted:
                raise AdmissionProblem("TopologyAffinityError", POD_LEVEL_REFUSED if by_pod else REFUSED)
            if by_pod:
                for provider in self.providers:
                    provider.allocate_pod(pod, whole)
                return {container.name: whole for container in containers_of(pod)}
        # In the scope container the hints of a container depend on the allocations of those before it, so hints and
        # allocation alternate. If a later container fails, the caller releases what the earlier ones have.
        for container in containers_of(pod):
            hint = NOTHING_CHOSEN if self.policy == "none" else whole
            if hint is None:
                hint = self._accepted(container, [provider.hints(pod, container) for provider in self.providers])
            chosen[container.name] = hint
            for provider in self.providers:
                provider.allocate(pod, container, hint)
        return chosen

    def _accepted(self, container: Container, hints: Sequence[Hints]) -> TopologyHint:
        best, admitted = self.merge(hints)
        self.hints_seen[container.name] = _shown(hints, best)
        if not admitted:
            raise AdmissionProblem("TopologyAffinityError", REFUSED)
        return best

    def merge(self, hints: Sequence[Hints]) -> tuple[TopologyHint, bool]:
        """Return the best combination of the providers' hints, and whether the policy admits it.

        Source: Policy.Merge.
        """
        offered = _by_resource(hints)
        if self.policy == "single-numa-node":
            offered = [[h for h in some if h.preferred and (h.nodes is None or len(h.nodes) == 1)] for some in offered]
            best = self._best(offered)
            # All nodes together are no choice; upstream returns "any node", so the providers use their defaults.
            if best.nodes == self.nodes:
                best = TopologyHint(None, best.preferred)
            return best, best.preferred
        best = self._best(offered)
        return best, best.preferred or self.policy == "best-effort"

    def _best(self, offered: Sequence[Sequence[TopologyHint]]) -> TopologyHint:
        """Return the best intersection of one hint of each resource. Source: HintMerger.Merge."""
        wanted = _most_needed(offered)
        best: TopologyHint | None = None
        for combination in product(*offered):
            # An empty intersection is never a candidate. If all are empty, the result is "all nodes, not preferred".
            found = self._intersection(combination)
            if found.nodes:
                best = found if best is None else self._better(best, found, wanted)
        return best or TopologyHint(self.nodes, False)

    def _intersection(self, combination: Iterable[TopologyHint]) -> TopologyHint:
        """Return the common nodes of hints; preferred if all are preferred and name the same nodes.

        Source: mergePermutation.
        """
        combination = list(combination)
        named = [hint.nodes for hint in combination if hint.nodes is not None]
        same = all(nodes == named[0] for nodes in named)
        return TopologyHint(self.nodes.intersection(*named), same and all(hint.preferred for hint in combination))

    def _better(self, current: TopologyHint, candidate: TopologyHint, wanted: int) -> TopologyHint:
        """Return the better of two hints; `wanted` is the result of `_most_needed`.

        A preferred hint is better than one that is not. Of two preferred hints the narrower is better. Of two others
        the better is the one whose number of nodes is nearest to `wanted` without exceeding it.

        Source: HintMerger.compare.
        """
        if current.preferred != candidate.preferred:
            return current if current.preferred else candidate
        assert current.nodes is not None
        assert candidate.nodes is not None
        have, offers = len(current.nodes), len(candidate.nodes)
        # Upstream's cases 1, 2 (equal counts) and 3cc. A current hint above `wanted` is replaced only by a narrower
        # one, so the search moves down towards `wanted`; one below it moves up (cases 3b, 3ca), but never past it (3a).
        if current.preferred or have > wanted or offers == have:
            return self._fitter(current, candidate)
        if have == wanted or offers > wanted:
            return current
        return candidate if offers > have else current

    def _fitter(self, current: TopologyHint, candidate: TopologyHint) -> TopologyHint:
        """Return the narrower hint, or with `prefer-closest-numa-nodes` of two equally wide hints the closer one.

        Source: NUMAInfo.Closest, NUMAInfo.Narrowest.
        """
        one, other = current.nodes or frozenset(), candidate.nodes or frozenset()
        if one == other:
            return current
        if self._closest and len(one) == len(other) and self._apart(one) != self._apart(other):
            return current if self._apart(one) < self._apart(other) else candidate
        return current if narrower(one, other) else candidate

    def _apart(self, nodes: frozenset[int]) -> float:
        """Return the nodes' average distance. Source: NUMADistances.CalculateAverageFor."""
        pairs = [(a, b) for a in nodes for b in nodes]
        return sum(self._distance(a, b) for a, b in pairs) / len(pairs)

    def _distance(self, one: int, other: int) -> int:
        row = self._distances.get(one)
        if row is not None and other < len(row):
            return row[other]
        return NEAR if one == other else FAR


def _shown(offered: Sequence[Hints], best: TopologyHint) -> str:
    """Return the hints of each resource and the merged one in one line; `[0] true` is NUMA node 0, preferred."""
    parts = [
        f"{resource}: {'no preference' if hints is None else ', '.join(map(str, hints)) or 'no place'}"
        for some in offered
        for resource, hints in some.items()
    ]
    return "; ".join([*parts, f"merged: {best if best.nodes is not None else f'any {str(best.preferred).lower()}'}"])


def _by_resource(hints: Sequence[Hints]) -> list[list[TopologyHint]]:
    """Return one list for every resource of every provider. Source: filterProvidersHints.

    No preference becomes a preferred hint for any node, and an empty list one that is not preferred, which makes all
    combinations not preferred.
    """
    found: list[list[TopologyHint]] = []
    for offered in hints:
        if not offered:
            found.append([ANY])
        for some in offered.values():
            found.append([ANY] if some is None else some or [IMPOSSIBLE])
    return found


def _most_needed(offered: Iterable[Iterable[TopologyHint]]) -> int:
    """Return the number of nodes that the most demanding resource needs at least. Source: maxOfMinAffinityCounts."""
    return max((min((len(h.nodes) for h in some if h.nodes is not None), default=0) for some in offered), default=0)
