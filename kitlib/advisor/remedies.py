"""The smallest change that lets a pending pod in: every proposal is tried by scheduling the pod again.

Changes are looked for in the pod (a request lowered, a toleration, a selector or constraint relaxed) and in the nodes
(a cordon lifted, a node more). Single changes come first, then pairs, then triples; as soon as some of a size help,
those are the answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kitlib.advisor.dump import Dump, unbound
from kitlib.api.core import Node, Pod, Toleration, WeightedPodAffinityTerm
from kitlib.api.podresources import pod_requests
from kitlib.api.resource import Format, Quantity
from kitlib.api.selectors import repels_scheduling, tolerates_all
from kitlib.api.serialize import deepcopy
from kitlib.scheduler.scheduler import Scheduler

MOST_TRIED = 400
MOST_LABELLED = 20
"""Nodes that are tried with other labels."""
CORDON = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes:
        text: what to do.
        kind: `gate`, `request`, `toleration`, `affinity`, `spread`, `port`, `cordon`, `label` or `node`.
        pod: changes the pod in place.
        nodes: gives other nodes; None = the cluster's own.
        about: what is changed, where several changes of it go ever further; only the least that helps is an answer.
    """

    text: str
    kind: str
    pod: Callable[[Pod], None] | None = None
    nodes: Callable[[list[Node]], list[Node]] | None = None
    about: str = ""


@dataclass(frozen=True)
class Remedy:
    """Changes that together let the pod in, and the node that it then goes to."""

    changes: tuple[Change, ...]
    node: str

    def __str__(self) -> str:
        return f"{' and '.join(change.text for change in self.changes)}: it goes to {self.node}"


def remedies(dump: Dump, pod: Pod, *, most: int = 5, scheduler: Scheduler | None = None) -> list[Remedy]:
    """The smallest changes that help, at most `most` of them; [] where none was found, or none is needed.

    Args:
        dump: the cluster.
        pod: the pod that waits.
        most: how many are listed.
        scheduler: `dump.scheduler(without=pod)`, where it was asked before; it is as before afterwards.
    """
    scheduler = scheduler or dump.scheduler(without=pod)
    if scheduler.explain(unbound(pod)).suggested_host:
        return []
    candidates = list(changes(dump, pod, scheduler))
    tried = 0
    for size in (1, 2, 3):
        found: list[Remedy] = []
        answered: set[frozenset[str]] = set()
        for chosen in itertools.combinations(candidates, size):
            if tried >= MOST_TRIED or len(found) >= most:
                break
            subjects = frozenset(change.about or change.text for change in chosen)
            if len(subjects) < size or sum(c.nodes is not None for c in chosen) > 1 or subjects in answered:
                continue
            tried += 1
            node = _try(dump, scheduler, pod, chosen)
            if node:
                found.append(Remedy(chosen, node))
                answered.add(subjects)
        if found:
            return found
    return []


def _try(dump: Dump, scheduler: Scheduler, pod: Pod, chosen: tuple[Change, ...]) -> str:
    """The node that the pod goes to then; the scheduler sees the cluster's own nodes afterwards."""
    changed = unbound(pod)
    for change in chosen:
        if change.pod is not None:
            change.pod(changed)
    others = next((change.nodes for change in chosen if change.nodes is not None), None)
    if others is None:
        return scheduler.explain(changed).suggested_host
    scheduler.set_nodes(others(dump.nodes))
    node = scheduler.explain(changed).suggested_host
    scheduler.set_nodes(dump.nodes)
    return node


def changes(dump: Dump, pod: Pod, scheduler: Scheduler) -> Iterator[Change]:
    """All single changes worth trying, the cheapest kind first.

    Args:
        dump, pod: the cluster and who waits.
        scheduler: that sees the cluster without the pod.
    """
    yield from _gates(pod)
    yield from _tolerations(dump, pod)
    yield from _constraints(pod)
    yield from _selectors(pod)
    yield from _labels(dump, pod)
    yield from _affinities(pod)
    yield from _ports(pod)
    yield from _requests(dump, pod, scheduler)
    yield from _cordons(dump)
    yield from _more_nodes(dump, pod)


def _gates(pod: Pod) -> Iterator[Change]:
    if pod.spec.scheduling_gates:

        def ungate(changed: Pod) -> None:
            changed.spec.scheduling_gates = []

        names = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        yield Change(f"remove the scheduling gates ({names})", "gate", ungate)


def _labels(dump: Dump, pod: Pod) -> Iterator[Change]:
    """Label a node with what the pod's nodeSelector asks for and it lacks."""
    for node in dump.nodes[:MOST_LABELLED]:
        missing = {k: v for k, v in pod.spec.node_selector.items() if node.metadata.labels.get(k) != v}
        if not missing:
            continue

        def label(nodes: list[Node], name: str = node.name, more: dict[str, str] = missing) -> list[Node]:
            return [_labelled(one, more) if one.name == name else one for one in nodes]

        listed = ", ".join(f"{key}={value}" for key, value in missing.items())
        yield Change(f"label node {node.name} with {listed}", "label", nodes=label, about="label a node")


def _labelled(node: Node, more: dict[str, str]) -> Node:
    made = deepcopy(node)
    made.metadata.labels = {**made.metadata.labels, **more}
    return made


def _tolerations(dump: Dump, pod: Pod) -> Iterator[Change]:
    seen: set[tuple[str, str, str]] = set()
    for node in dump.nodes:
        for taint in node.spec.taints:
            key = (taint.key, taint.value, taint.effect)
            ours = taint.key.startswith("node.kubernetes.io/")  # conditions pass; tolerating them helps nobody
            if key in seen or ours or not repels_scheduling(taint):
                continue
            if tolerates_all(pod.spec.tolerations, taint, dump.release):
                continue
            seen.add(key)
            wanted = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
            if not taint.value:
                wanted = Toleration(key=taint.key, operator="Exists", effect=taint.effect)
            spelled = f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"

            def tolerate(changed: Pod, wanted: Toleration = wanted) -> None:
                changed.spec.tolerations = [*changed.spec.tolerations, wanted]

            yield Change(f"tolerate the taint {spelled}", "toleration", tolerate)


def _constraints(pod: Pod) -> Iterator[Change]:
    for i, constraint in enumerate(pod.spec.topology_spread_constraints):
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        for skew in (constraint.max_skew + 1, constraint.max_skew + 2):

            def widen(changed: Pod, i: int = i, skew: int = skew) -> None:
                changed.spec.topology_spread_constraints[i].max_skew = skew

            text = f"raise maxSkew of {constraint.topology_key} to {skew}"
            yield Change(text, "spread", widen, about=f"maxSkew {i}")

        def soften(changed: Pod, i: int = i) -> None:
            changed.spec.topology_spread_constraints[i].when_unsatisfiable = "ScheduleAnyway"
            changed.spec.topology_spread_constraints[i].min_domains = None

        yield Change(f"let {constraint.topology_key} be spread with ScheduleAnyway", "spread", soften)


def _selectors(pod: Pod) -> Iterator[Change]:
    for key, value in pod.spec.node_selector.items():

        def unselect(changed: Pod, key: str = key) -> None:
            changed.spec.node_selector.pop(key)

        yield Change(f"drop nodeSelector {key}={value}", "affinity", unselect)


def _affinities(pod: Pod) -> Iterator[Change]:
    affinity = pod.spec.affinity
    if affinity is None:
        return
    if affinity.node_affinity is not None and affinity.node_affinity.required is not None:

        def unbind(changed: Pod) -> None:
            changed.spec.affinity.node_affinity.required = None  # type: ignore[union-attr]

        yield Change("drop the required node affinity", "affinity", unbind)
    for side, name in (("pod_affinity", "pod affinity"), ("pod_anti_affinity", "pod anti-affinity")):
        terms = getattr(affinity, side)
        for i, term in enumerate(terms.required if terms is not None else ()):

            def prefer(changed: Pod, side: str = side, i: int = i) -> None:
                terms = getattr(changed.spec.affinity, side)
                softened = WeightedPodAffinityTerm(weight=100, pod_affinity_term=terms.required[i])
                terms.required = [*terms.required[:i], *terms.required[i + 1 :]]
                terms.preferred = [*terms.preferred, softened]

            yield Change(f"make the required {name} on {term.topology_key} a preference", "affinity", prefer)


def _ports(pod: Pod) -> Iterator[Change]:
    if any(port.host_port for container in pod.spec.containers for port in container.ports):

        def close(changed: Pod) -> None:
            for container in changed.spec.containers:
                for port in container.ports:
                    port.host_port = 0

        yield Change("drop the host ports", "port", close)


def _requests(dump: Dump, pod: Pod, scheduler: Scheduler) -> Iterator[Change]:
    """Lower a request to what the nodes have left: the most that any node has, then what others have."""
    asked = pod_requests(pod, release=dump.release)
    for name, amount in asked.items():
        if not any(name in c.resources.requests for c in pod.spec.containers):
            continue
        room = _room(scheduler, name)
        for most in [left for left in room if 0 < left < amount.nano][:4]:

            def lower(changed: Pod, name: str = name, cut: int = amount.nano - most) -> None:
                holders = [c for c in changed.spec.containers if name in c.resources.requests]
                largest = max(holders, key=lambda c: c.resources.requests[name].nano)
                standing = largest.resources.requests[name]
                largest.resources.requests[name] = _floor(name, max(0, standing.nano - cut), standing.format)

            text = f"request {_floor(name, most, amount.format)} {name} instead of {amount}"
            yield Change(text, "request", lower, about=f"request {name}")


def _left(node: Node, name: str) -> int:
    return node.status.allocatable[name].nano if name in node.status.allocatable else 0


def _room(scheduler: Scheduler, name: str) -> list[int]:
    """What nodes have left of a resource as the scheduler counts it, in billionths; the most first, each once."""
    table, nano = scheduler.snapshot, 10**6 if name == "cpu" else 10**9
    left = table.column(name, table.allocatable) - table.column(name, table.requested)
    return [amount * nano for amount in sorted(set(left.tolist()), reverse=True)]


def _floor(name: str, nano: int, notation: Format) -> Quantity:
    if name == "cpu":
        return Quantity.from_milli(nano // 10**6, notation)
    return Quantity.from_int(nano // 10**9, notation)


def _cordons(dump: Dump) -> Iterator[Change]:
    for node in dump.nodes:
        if node.spec.unschedulable:

            def uncordon(nodes: list[Node], name: str = node.name) -> list[Node]:
                return [_open(one) if one.name == name else one for one in nodes]

            yield Change(f"uncordon node {node.name}", "cordon", nodes=uncordon)


def _open(node: Node) -> Node:
    made = deepcopy(node)
    made.spec.unschedulable = False
    made.spec.taints = [taint for taint in made.spec.taints if taint.key != CORDON]
    return made


def _more_nodes(dump: Dump, pod: Pod) -> Iterator[Change]:
    """One node more of every kind that there is: same labels (but its own name), taints and allocatable.

    The smallest that helps is the answer; where the pod asks for more than any node has, one of that size.
    """
    seen: set[str] = set()
    for node in sorted(dump.nodes, key=_size):
        labels = {k: v for k, v in node.metadata.labels.items() if k != "kubernetes.io/hostname"}
        taints = [t for t in node.spec.taints if t.key != CORDON]
        kind = repr((sorted(labels.items()), taints, sorted((n, q.nano) for n, q in node.status.allocatable.items())))
        if kind in seen:
            continue
        seen.add(kind)

        def add(nodes: list[Node], like: Node = node) -> list[Node]:
            made = _open(like)
            made.metadata.name = f"{like.name}-more"
            made.metadata.labels = {**like.metadata.labels, "kubernetes.io/hostname": made.metadata.name}
            return [*nodes, made]

        yield Change(f"add a node like {node.name}", "node", nodes=add, about="add a node")
    asked = pod_requests(pod, release=dump.release)
    largest = {name: max((_left(node, name) for node in dump.nodes), default=0) for name in asked}
    beyond = {name: amount for name, amount in asked.items() if amount.nano > largest[name] > 0}
    if beyond:
        like = max(dump.nodes, key=_size)

        def enlarge(nodes: list[Node]) -> list[Node]:
            made = _open(like)
            made.metadata.name = f"{like.name}-more"
            made.metadata.labels = {**like.metadata.labels, "kubernetes.io/hostname": made.metadata.name}
            made.status.allocatable = {**made.status.allocatable, **beyond}
            return [*nodes, made]

        listed = " and ".join(f"{amount} {name}" for name, amount in beyond.items())
        yield Change(f"add a node with {listed} left for pods", "node", nodes=enlarge, about="add a node")


def _size(node: Node) -> tuple[int, int, int]:
    return len(node.status.allocatable), _left(node, "cpu"), _left(node, "memory")
