"""The smallest change that helps a pending pod: every proposal is tried by scheduling the pod again.

Proposals concern the pod (pod_changes.py), other pods (other_pods.py), and the cluster (node_changes.py), ordered by
the party that can make them: the pod's author, the namespace's team, the platform. No proposal bypasses a queue, a
quota or a scheduling gate, changes a field that a controller writes, or is rejected by the API server. Single changes
are tried first, then pairs, then triples; the first size with successful changes is the answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from kitlib.advisor.change import OWNERS, Change
from kitlib.advisor.dump import Dump, unbound
from kitlib.advisor.node_changes import cluster_changes
from kitlib.advisor.other_pods import other_pod_changes
from kitlib.advisor.pod_changes import pod_changes
from kitlib.api.core import Pod
from kitlib.kubelet.loop.predicate import check_platform
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.scheduler import Scheduler

MOST_TRIED = 400


@dataclass(frozen=True)
class Remedy:
    """Changes that together help the pod, its node after them, and the pods that it preempts there."""

    changes: tuple[Change, ...]
    node: str
    victims: tuple[str, ...] = ()

    @property
    def owner(self) -> str:
        """The party that makes the change; of several, the one farthest from the pod's author."""
        return max((change.owner for change in self.changes), key=OWNERS.index)

    def __str__(self) -> str:
        room = f", after preempting {', '.join(self.victims)}" if self.victims else ""
        return f"{' and '.join(change.text for change in self.changes)}: it goes to {self.node}{room}"


def remedies(dump: Dump, pod: Pod, *, most: int = 5, scheduler: Scheduler | None = None) -> list[Remedy]:
    """Return the smallest changes that help, the nearest owner first; [] if none was found or is needed.

    Args:
        dump: the cluster.
        pod: the waiting pod; one behind a scheduling gate gets no proposals, since the gate's owner removes it.
        most: maximum number of remedies.
        scheduler: an existing `dump.scheduler(without=pod)`, unchanged afterwards; None = make one.
    """
    scheduler = scheduler or dump.scheduler(without=pod)
    decision = scheduler.explain(unbound(pod))
    if decision.suggested_host or decision.gate is not None:
        return []
    candidates = list(changes(dump, pod, scheduler, decision))
    tried = 0
    for size in (1, 2, 3):
        found: list[Remedy] = []
        answered: set[frozenset[str]] = set()
        for chosen in itertools.combinations(candidates, size):
            if tried >= MOST_TRIED or len(found) >= most:
                break
            subjects = frozenset(change.about or change.text for change in chosen)
            # Two changes of one subject contradict each other, and only one change can replace the list of nodes. For
            # a subject that has an answer, a larger change of it is not the smallest.
            if len(subjects) < size or sum(c.nodes is not None for c in chosen) > 1 or subjects in answered:
                continue
            tried += 1
            remedy = _try(dump, scheduler, pod, chosen)
            if remedy is not None:
                found.append(remedy)
                answered.add(subjects)
        if found:
            return sorted(found, key=lambda one: OWNERS.index(one.owner))
    return []


def changes(dump: Dump, pod: Pod, scheduler: Scheduler, decision: Decision) -> Iterator[Change]:
    """Yield all single changes worth trying, the nearest owner and the cheapest kind first.

    Args:
        dump: the cluster.
        pod: the waiting pod.
        scheduler: a view of the cluster without the pod.
        decision: the decision about the unchanged pod.
    """
    yield from pod_changes(dump, pod, scheduler)
    yield from other_pod_changes(dump, pod, scheduler, decision)
    yield from cluster_changes(dump, pod)


def _try(dump: Dump, scheduler: Scheduler, pod: Pod, chosen: tuple[Change, ...]) -> Remedy | None:
    """Return a remedy if the changes help; the scheduler sees the changed cluster."""
    changed = unbound(pod)
    for change in chosen:
        if change.pod is not None:
            change.pod(changed)
    nodes = next((change.nodes for change in chosen if change.nodes is not None), None)
    swapped = [pair for change in chosen for pair in change.others]
    added = [item for change in chosen for item in change.objects]
    for old, new in swapped:
        scheduler.remove_pod(old)
        if new is not None:
            scheduler.add_pod(new)
    if nodes is not None:
        scheduler.set_nodes(nodes(dump.nodes))
    if added:
        scheduler.set_objects(volumes=[*dump.objects, *added])
    decision = scheduler.explain(changed)
    node = scheduler.node(decision.suggested_host or decision.nominated)
    if added:
        scheduler.set_objects(volumes=dump.objects)
    if nodes is not None:
        scheduler.set_nodes(dump.nodes)
    # The scheduler is shared by all tries, so every change is taken back, the last one first.
    for old, new in reversed(swapped):
        if new is not None:
            scheduler.remove_pod(new)
        scheduler.add_pod(old)
    # A pod of another operating system passes the filters without its selector, and the kubelet refuses it.
    if node is not None and check_platform(changed, node, scheduler.release) is not None:
        return None
    if decision.suggested_host:
        return Remedy(chosen, decision.suggested_host)
    if decision.nominated and any(change.preempts for change in chosen):
        return Remedy(chosen, decision.nominated, tuple(victim.key for victim in decision.victims))
    return None
