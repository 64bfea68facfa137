"""A pod as the scheduler sees it: its requests as integers, its affinity terms parsed for matching.

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
"""The attributes of `PodInfo` that follow from the amounts that the containers request."""
Amounts = dict[str, int]
"""Resource -> amount: milli-CPU of CPU, whole units of other resources."""
HostPort = tuple[str, str, int]
"""Address, protocol, port."""


def amounts(resources: ResourceList) -> Amounts:
    """Return a resource list as integers. Source: framework Resource.Add."""
    return {name: q.milli_value() if name == "cpu" else q.value() for name, q in resources.items()}


EVERYTHING = LabelSelectorMatcher(LabelSelector())


class Term:
    """One affinity term, parsed for matching.

    Attributes:
        topology_key: the label whose values are the domains.
        weight: the weight of a preferred term; 0 = a required term.

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
        """Return an incoming pod's term with the namespace selector replaced by the namespaces that it selects.

        Args:
            namespace_labels: namespace -> labels, of the namespaces that exist.
            keep_selector: whether the selector stays and is matched against empty labels, so that one with negative
                operators alone (NotIn, DoesNotExist) selects every namespace (KitNamespaceSelectorAskedTwice).

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
        """Return whether the term selects a pod."""
        namespace = pod.metadata.namespace
        if namespace not in self.namespaces:
            chosen = self.namespace_selector
            if chosen is None or not chosen.matches(namespace_labels.get(namespace, {})):
                return False
        return self.selector.matches(pod.metadata.labels)


def resize_conditions(pod: Pod) -> list[tuple[str, str]]:
    """Return type and reason of the kubelet's conditions about a resize, on which the pod's requests depend."""
    return [(c.type, c.reason) for c in pod.status.conditions if c.type.startswith("PodResize")]


def _terms(terms: Iterable[PodAffinityTerm], pod: Pod) -> tuple[Term, ...]:
    return tuple(Term(term, pod) for term in terms)


@dataclass(eq=False)
class PodInfo:
    """A pod with the values that are computed from its spec once.

    Attributes:
        pod: the object.
        release: the release whose rules its requests follow.
        row: the row of its node; -1 = it has none.
        states: plugin -> the state from its PreFilter, for later extension points; None = the pod is in no cycle.
        kind: a value that is equal for pods that the scheduler cannot distinguish; None = not determined.
        prepared: values that plugins have computed from the pod and the nodes alone; pods of a kind share them.
    """

    pod: Pod
    release: Release = field(default_factory=Release.followed)
    row: int = -1
    states: Mapping[str, Any] | None = None
    kind: Hashable = None
    prepared: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def requests(self) -> Amounts:
        """The effective requests. Source: framework PodInfo.CalculateResource."""
        return amounts(pod_requests(self.pod, use_status=True, release=self.release))

    @cached_property
    def signature(self) -> tuple[Any, ...]:
        """The values that the resource plugins read: pods with the same signature get the same columns."""
        return tuple(sorted(self.requests.items())), self.scored, tuple(sorted(self.balanced.items()))

    @cached_property
    def non_zero(self) -> tuple[int, int]:
        """The milli-CPU and bytes of memory for scoring: a container without a request counts as 100m or 200Mi."""
        if not self.release.enabled("KitNonZeroCountsSidecars") and self.pod.spec.init_containers:
            return self._non_zero_without_sidecars()
        if self._requests_all_that_is_scored():
            listed = self.requests
        else:
            listed = amounts(pod_requests(self.pod, use_status=True, non_missing=_NON_MISSING, release=self.release))
        return listed.get("cpu", 0), listed.get("memory", 0)

    def _requests_all_that_is_scored(self) -> bool:
        """Return whether every container requests CPU and memory, so that no default applies."""
        # A status can add requests to those of the specification; only a resize can make it replace them.
        if self.pod.status.container_statuses and (self.pod.status.resize or resize_conditions(self.pod)):
            return False
        for container in (*self.pod.spec.containers, *self.pod.spec.init_containers):
            if not _NON_MISSING.keys() <= container.resources.requests.keys():
                return False
        return True

    def _non_zero_without_sidecars(self) -> tuple[int, int]:
        """Return the larger of the containers' sum and the largest init step; sidecars are not added to the sum.

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
        """The requests of an incoming pod for balanced allocation; older releases count the overhead differently."""
        if not self.release.enabled("KitScoringRoundsOverhead"):
            return self.requests
        listed = amounts(pod_requests(self.pod, exclude_overhead=True, release=self.release))
        for name, quantity in self.pod.spec.overhead.items():
            # value(), not milli_value(): these releases add an overhead of CPU in whole cores to milli-CPU
            listed[name] = listed.get(name, 0) + quantity.value()
        return listed

    @cached_property
    def scored(self) -> tuple[int, int]:
        """The milli-CPU and bytes of memory for scoring an incoming pod, in some releases without pod-level requests.

        Source: noderesources calculatePodResourceRequest.
        """
        rounds = self.release.enabled("KitScoringRoundsOverhead")
        spec = self.pod.spec
        if not (rounds or spec.resources or spec.init_containers or self.pod.status.container_statuses):
            return self.non_zero  # the pod has nothing that the two count differently
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
        """Whether the pod has affinity terms against which other pods must be matched."""
        spec = self.pod.spec.affinity
        return spec is not None and (spec.pod_affinity is not None or spec.pod_anti_affinity is not None)

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """The host ports of the containers and sidecars. Source: util.GetHostPorts."""
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
        """Compute all cached properties now, so that copies made with `like` share them."""
        for name, made in vars(PodInfo).items():
            if isinstance(made, cached_property):
                getattr(self, name)

    def like(self, pod: Pod) -> PodInfo:
        """Return the info of a pod of the same kind, which shares the values computed so far."""
        made = PodInfo.__new__(PodInfo)
        made.__dict__.update(self.__dict__)
        made.pod, made.row, made.states = pod, -1, None
        return made

    def with_other_amounts(self, pod: Pod) -> PodInfo:
        """Return the info of a pod that differs only in the amounts that its containers request."""
        made = self.like(pod)
        for name in _OF_AMOUNTS:
            made.__dict__.pop(name, None)
        for name in _OF_AMOUNTS:
            getattr(made, name)
        return made

    @property
    def uid(self) -> str:
        """The pod's UID, or its key if it has none."""
        return self.pod.metadata.uid or self.pod.key

    @property
    def priority(self) -> int:
        """Source: corev1helpers.PodPriority."""
        return self.pod.spec.priority or 0

    def replace(self, newer: Pod) -> bool:
        """Take over a newer version of the pod if all computed values stay valid; return whether they do."""
        same = self.holds_for(newer)
        if same:
            self.pod = newer
        return same

    def holds_for(self, other: Pod) -> bool:
        """Return whether the computed values also hold for another pod of the same namespace."""
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
        """Whether the pod's deletion has begun."""
        return self.pod.metadata.deletion_timestamp is not None
