"""A pod as the scheduler sees it: its requests as integers, its affinity terms made ready for matching.

Source: kube-scheduler framework types.go (PodInfo, AffinityTerm, calculateResource), util/pod_resources.go.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kitlib.api.core import Pod, PodAffinityTerm, ResourceList
from kitlib.api.meta import LabelSelector
from kitlib.api.podresources import add_to, pod_requests
from kitlib.api.release import Release
from kitlib.api.resource import Quantity
from kitlib.api.selectors import LabelSelectorMatcher

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024
_NON_MISSING: ResourceList = {
    "cpu": Quantity.from_milli(DEFAULT_MILLI_CPU),
    "memory": Quantity.from_int(DEFAULT_MEMORY, "BinarySI"),
}
_OF_AMOUNTS = ("requests", "non_zero", "balanced", "scored", "signature")
"""What of a pod's info follows from the amounts that its containers request."""
Amounts = dict[str, int]
"""Resource -> milli-CPU of CPU, whole units of everything else."""
HostPort = tuple[str, str, int]
"""Address, protocol, port."""


def amounts(resources: ResourceList) -> Amounts:
    """A resource list as integers. Source: framework Resource.Add."""
    return {name: q.milli_value() if name == "cpu" else q.value() for name, q in resources.items()}


EVERYTHING = LabelSelectorMatcher(LabelSelector())


class Term:
    """One affinity term, ready to be matched against pods.

    Attributes:
        topology_key: whose values make the domains.
        weight: of a preferred term; 0 = required.

    Source: framework AffinityTerm.Matches.
    """

    __slots__ = ("_unrolled", "key", "namespace_selector", "namespaces", "selector", "topology_key", "weight")

    def __init__(self, term: PodAffinityTerm, pod: Pod, weight: int = 0) -> None:
        self.selector = LabelSelectorMatcher(term.label_selector)
        self.topology_key, self.weight = term.topology_key, weight
        self.namespace_selector = (
            LabelSelectorMatcher(term.namespace_selector) if term.namespace_selector is not None else None
        )
        own = not term.namespaces and term.namespace_selector is None
        self.namespaces = frozenset({pod.metadata.namespace} if own else term.namespaces)
        self.key = (self.selector, self.namespace_selector, self.namespaces)
        self._unrolled = False

    def unrolled(self, namespace_labels: Mapping[str, Mapping[str, str]], *, keep_selector: bool) -> Term:
        """The term of an incoming pod: its namespace selector is replaced by the namespaces that it selects.

        Args:
            namespace_labels: namespace -> labels, of those that exist.
            keep_selector: KitNamespaceSelectorAskedTwice: the selector stays and is asked about empty labels, so that
                one with negative operators (NotIn, DoesNotExist) alone selects every namespace.

        Source: interpodaffinity mergeAffinityTermNamespacesIfNotEmpty, which takes the term by value.
        """
        chosen = self.namespace_selector
        if chosen is None or chosen.everything or self._unrolled:
            return self
        made = copy.copy(self)
        selected = (name for name, labels in namespace_labels.items() if chosen.matches(labels))
        made.namespaces = self.namespaces.union(selected)
        if not (keep_selector and chosen.matches({})):
            made.namespace_selector = None
        else:
            made.namespace_selector = EVERYTHING
        made._unrolled = True
        made.key = (made.selector, made.namespace_selector, made.namespaces)
        return made

    def matches(self, pod: Pod, namespace_labels: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether a pod is meant by the term."""
        namespace = pod.metadata.namespace
        if namespace not in self.namespaces:
            chosen = self.namespace_selector
            if chosen is None or not chosen.matches(namespace_labels.get(namespace, {})):
                return False
        return self.selector.matches(pod.metadata.labels)


def resize_conditions(pod: Pod) -> list[tuple[str, str]]:
    """What the kubelet says of a resize, on which the pod's requests depend."""
    return [(c.type, c.reason) for c in pod.status.conditions if c.type.startswith("PodResize")]


def _terms(terms: Iterable[PodAffinityTerm], pod: Pod) -> tuple[Term, ...]:
    return tuple(Term(term, pod) for term in terms)


@dataclass(eq=False)
class PodInfo:
    """A pod with what is computed from its spec once.

    Attributes:
        pod: the object.
        release: whose rules its requests follow.
        row: the node's row while it stands on one.
        states: what the PreFilter plugins of its cycle made, by their names, for the points that come later; None = it
            is in no cycle.
        kind: the same for pods that are alike in everything that the scheduler looks at; None = nobody has looked.
        prepared: what plugins have computed from the pod and the nodes alone; pods of a kind share it.
    """

    pod: Pod
    release: Release = field(default_factory=Release.followed)
    row: int = -1
    states: Mapping[str, Any] | None = None
    kind: Hashable = None
    prepared: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def requests(self) -> Amounts:
        """Effective requests. Source: framework PodInfo.CalculateResource."""
        return amounts(pod_requests(self.pod, use_status=True, release=self.release))

    @cached_property
    def signature(self) -> tuple[Any, ...]:
        """What the resource plugins look at: pods with the same signature get the same columns."""
        return tuple(sorted(self.requests.items())), self.scored, tuple(sorted(self.balanced.items()))

    @cached_property
    def non_zero(self) -> tuple[int, int]:
        """Milli-CPU and bytes of memory for scoring: containers that request nothing count as 100m and 200Mi."""
        if not self.release.enabled("KitNonZeroCountsSidecars") and self.pod.spec.init_containers:
            return self._non_zero_without_sidecars()
        if self._requests_all_that_is_scored():
            listed = self.requests
        else:
            listed = amounts(pod_requests(self.pod, use_status=True, non_missing=_NON_MISSING, release=self.release))
        return listed.get("cpu", 0), listed.get("memory", 0)

    def _requests_all_that_is_scored(self) -> bool:
        """Whether every container says what it requests, so that nothing is assumed, and the kubelet nothing else."""
        if self.pod.status.container_statuses:
            return False
        for container in (*self.pod.spec.containers, *self.pod.spec.init_containers):
            if not _NON_MISSING.keys() <= container.resources.requests.keys():
                return False
        return True

    def _non_zero_without_sidecars(self) -> tuple[int, int]:
        """The containers' sum, or the largest step of the initialisation: what stays of it is not added.

        Source: framework calculateResource (1.23 to 1.31).
        """
        spec, together = self.pod.spec, self.release.enabled("KitRequestsCountSidecars")
        cpu = memory = 0
        for container in spec.containers:
            one = amounts(container.resources.requests)
            cpu += one.get("cpu", DEFAULT_MILLI_CPU)
            memory += one.get("memory", DEFAULT_MEMORY)
        sidecars: ResourceList = {}
        for container in spec.init_containers:
            moment = dict(container.resources.requests)
            if together:
                add_to(moment, sidecars)
                if container.restart_policy == "Always":
                    sidecars = moment
            one = amounts(moment)
            cpu = max(cpu, one.get("cpu", DEFAULT_MILLI_CPU))
            memory = max(memory, one.get("memory", DEFAULT_MEMORY))
        overhead = amounts(spec.overhead)
        return cpu + overhead.get("cpu", 0), memory + overhead.get("memory", 0)

    @cached_property
    def balanced(self) -> Amounts:
        """What balanced allocation counts of an incoming pod: its requests, but for the overhead of older releases."""
        if not self.release.enabled("KitScoringRoundsOverhead"):
            return self.requests
        listed = amounts(pod_requests(self.pod, exclude_overhead=True, release=self.release))
        for name, quantity in self.pod.spec.overhead.items():
            listed[name] = listed.get(name, 0) + quantity.value()
        return listed

    @cached_property
    def scored(self) -> tuple[int, int]:
        """The same of an incoming pod: there the containers count, not the pod-level requests.

        Source: noderesources calculatePodResourceRequest.
        """
        rounds = self.release.enabled("KitScoringRoundsOverhead")
        spec = self.pod.spec
        if not (rounds or spec.resources or spec.init_containers or self.pod.status.container_statuses):
            return self.non_zero  # nothing of what they count in another way is there
        listed = amounts(
            pod_requests(
                self.pod,
                non_missing=_NON_MISSING,
                skip_pod_level=self.release.enabled("KitScoreSkipsPodLevel"),
                exclude_overhead=rounds,
                release=self.release,
            )
        )
        cpu, memory = listed.get("cpu", 0), listed.get("memory", 0)
        if rounds and not self.release.enabled("KitFitScoreIgnoresOverhead"):
            overhead = self.pod.spec.overhead
            cpu += overhead["cpu"].value() if "cpu" in overhead else 0
            memory += overhead["memory"].value() if "memory" in overhead else 0
        return cpu, memory

    @cached_property
    def required_affinity(self) -> tuple[Term, ...]:
        affinity = self.pod.spec.affinity and self.pod.spec.affinity.pod_affinity
        return _terms(affinity.required, self.pod) if affinity else ()

    @cached_property
    def required_anti_affinity(self) -> tuple[Term, ...]:
        affinity = self.pod.spec.affinity and self.pod.spec.affinity.pod_anti_affinity
        return _terms(affinity.required, self.pod) if affinity else ()

    @cached_property
    def preferred_affinity(self) -> tuple[Term, ...]:
        affinity = self.pod.spec.affinity and self.pod.spec.affinity.pod_affinity
        preferred = affinity.preferred if affinity else []
        return tuple(Term(w.pod_affinity_term, self.pod, w.weight) for w in preferred)

    @cached_property
    def preferred_anti_affinity(self) -> tuple[Term, ...]:
        affinity = self.pod.spec.affinity and self.pod.spec.affinity.pod_anti_affinity
        preferred = affinity.preferred if affinity else []
        return tuple(Term(w.pod_affinity_term, self.pod, w.weight) for w in preferred)

    @cached_property
    def has_affinity(self) -> bool:
        """Whether it has any term that other pods must be checked against."""
        spec = self.pod.spec.affinity
        return spec is not None and (spec.pod_affinity is not None or spec.pod_anti_affinity is not None)

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Ports that it takes on its node, of containers and sidecars. Source: util.GetHostPorts."""
        sidecars = self.release.enabled("KitSidecarPortsCount")
        containers = [
            *self.pod.spec.containers,
            *(c for c in self.pod.spec.init_containers if c.restart_policy == "Always" and sidecars),
        ]
        return tuple(
            (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
            for container in containers
            for port in container.ports
            if port.host_port > 0
        )

    def compute(self) -> None:
        """Compute now what is computed when it is asked for, so that the infos of like pods have it."""
        for name, made in vars(PodInfo).items():
            if isinstance(made, cached_property):
                getattr(self, name)

    def like(self, pod: Pod) -> PodInfo:
        """A pod of the same kind: what has been computed of this one holds for it too."""
        made = PodInfo.__new__(PodInfo)
        made.__dict__.update(self.__dict__)
        made.pod, made.row, made.states = pod, -1, None
        return made

    def with_other_amounts(self, pod: Pod) -> PodInfo:
        """A pod that is the same but for the amounts that its containers request."""
        made = self.like(pod)
        for name in _OF_AMOUNTS:
            made.__dict__.pop(name, None)
        for name in _OF_AMOUNTS:
            getattr(made, name)
        return made

    @property
    def uid(self) -> str:
        """The pod's UID, or its key where it has none."""
        return self.pod.metadata.uid or self.pod.key

    @property
    def priority(self) -> int:
        """Source: corev1helpers.PodPriority."""
        return self.pod.spec.priority or 0

    def replace(self, newer: Pod) -> bool:
        """Hold a newer version of the pod, if nothing has changed that is computed from it; whether that was so."""
        same = self.holds_for(newer)
        if same:
            self.pod = newer
        return same

    def holds_for(self, other: Pod) -> bool:
        """Whether what is computed from the pod is the same for another one of its namespace."""
        mine = self.pod
        return (
            mine.spec == other.spec
            and mine.metadata.labels == other.metadata.labels
            and mine.metadata.deletion_timestamp == other.metadata.deletion_timestamp
            and mine.status.container_statuses == other.status.container_statuses
            and (
                mine.status.conditions == other.status.conditions or resize_conditions(mine) == resize_conditions(other)
            )
        )

    @property
    def terminating(self) -> bool:
        """Whether it is on its way out."""
        return self.pod.metadata.deletion_timestamp is not None
