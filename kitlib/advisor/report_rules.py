"""The rules of a report: risks in a cluster, their weight, and their remedy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import counted, look
from kitlib.advisor.node_room import NodeRoom, shown
from kitlib.advisor.other_pods import root_of
from kitlib.advisor.unreported import KIT, UNKNOWN, counted_by
from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.quota import ResourceQuota
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_critical_pod

HIGH, MEDIUM, LOW = "high", "medium", "low"
NEARLY = 0.9
"""Fraction of a quota or node above which it counts as nearly exhausted."""
SHOWN = 5
"""Maximum number of objects in the sentence of a finding."""
SYSTEM = "kube-system"


@dataclass(frozen=True)
class Risk:
    """A finding about a risk.

    Attributes:
        weight: `HIGH`, `MEDIUM` or `LOW`.
        rule: name of the rule.
        text: a sentence with numbers, without a full stop.
        objects: concerned objects, `Kind namespace/name`.
        remedy: the next step.
    """

    weight: str
    rule: str
    text: str
    objects: tuple[str, ...] = ()
    remedy: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return the risk as plain data."""
        return {
            "weight": self.weight,
            "rule": self.rule,
            "text": self.text,
            "objects": list(self.objects),
            "remedy": self.remedy,
        }


def findings_of(dump: Dump, nodes: Sequence[NodeRoom]) -> Iterator[Risk]:
    """Yield the risks in a cluster, except for the waiting pods."""
    live = [pod for pod in dump.pods if pod.status.phase not in TERMINAL_PHASES]
    yield from _nodes(nodes)
    yield from _killed(live)
    yield from _budgets(dump, live)
    yield from _quotas(dump)
    yield from _together(dump, live)
    yield from _without_requests(dump, live)
    yield from _overcommitted(nodes)
    yield from _bare(live)


def _nodes(nodes: Sequence[NodeRoom]) -> Iterator[Risk]:
    for node in nodes:
        bad = [text for text in node.conditions if text != "cordoned"]
        if bad:
            said = f"node {node.name} reports {', '.join(bad)}; {counted(node.pods, 'pod', 'is', 'are')} on it"
            way = "kubectl describe node shows the kubelet's reason; kitlib whatif lose NODE shows where its pods go"
            yield Risk(HIGH, "node is not healthy", said, (f"Node {node.name}",), way)
        elif "cordoned" in node.conditions:
            said = f"node {node.name} is cordoned: new pods do not go there"
            yield Risk(LOW, "node is cordoned", said, (f"Node {node.name}",), "kubectl uncordon where it is over")


def _killed(pods: Sequence[Pod]) -> Iterator[Risk]:
    """Yield the containers that the OOM killer ended last."""
    found = []
    for pod in pods:
        for status in pod.status.container_statuses:
            if look(status.last_state, "terminated", "reason") == "OOMKilled":
                found.append(f"Pod {pod.key}")
    if found:
        said = f"containers of {counted(len(set(found)), 'pod')} were OOM-killed last time: {_listed(found)}"
        way = "raise the memory limit or use less; kitlib whatif pressure POD memory=AMOUNT says what a larger use does"
        yield Risk(HIGH, "containers are OOM-killed", said, tuple(dict.fromkeys(found)), way)


def _budgets(dump: Dump, pods: Sequence[Pod]) -> Iterator[Risk]:
    by_space: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_space[pod.namespace].append(pod)
    for budget in dump.of(PodDisruptionBudget):
        name = f"PodDisruptionBudget {budget.key}"
        matcher = LabelSelectorMatcher(budget.spec.selector)
        covered = [pod for pod in by_space[budget.namespace or "default"] if matcher.matches(pod.metadata.labels)]
        source = counted_by(dump, budget)
        if not covered:
            said = f"{name} selects no pod, so that it protects nothing"
            yield Risk(LOW, "budget protects nothing", said, (name,), "correct its selector or delete it")
        elif source == UNKNOWN:
            why = dump.uncounted[budget.kind, budget.key]
            said = f"{name} is not counted by the cluster yet: whether it blocks drains is not known, {why}"
            way = (
                "read it again when its status.observedGeneration is set, with the workloads of its pods; if it never "
                "is, kube-controller-manager does not run its disruption controller"
            )
            yield Risk(LOW, "budget is not counted", said, (name,), way)
        elif budget.status.disruptions_allowed < 1:
            where = sorted({pod.spec.node_name for pod in covered if pod.spec.node_name})
            said = (
                f"{name} allows no disruption ({budget.status.current_healthy} healthy, "
                f"{budget.status.desired_healthy} needed{', counted here by its pods' if source == KIT else ''}): "
                f"drains of {_listed(where)} do not end"
            )
            way = (
                "more replicas than the budget needs, or maxUnavailable: 1 in place of a minAvailable that equals them"
            )
            yield Risk(MEDIUM, "budget blocks drains", said, (name,), way)


def _quotas(dump: Dump) -> Iterator[Risk]:
    for quota in dump.of(ResourceQuota):
        for name, hard in sorted(quota.status.hard.items()):
            used = quota.status.used.get(name)
            if used is None or not hard.milli_value() or used.milli_value() < NEARLY * hard.milli_value():
                continue
            full = used.milli_value() >= hard.milli_value()
            said = f"ResourceQuota {quota.key}: {used} of {hard} {name} used{', new pods are refused' if full else ''}"
            way = "raise the quota (the platform) or request less"
            rule = "quota is used up" if full else "quota is nearly used up"
            yield Risk(HIGH if full else MEDIUM, rule, said, (f"ResourceQuota {quota.key}",), way)


def _together(dump: Dump, pods: Sequence[Pod]) -> Iterator[Risk]:
    """Yield the workloads with all replicas on one node although there are other nodes."""
    groups: dict[tuple[str, str, str], list[Pod]] = defaultdict(list)
    for pod in pods:
        above = root_of(dump, pod) if pod.spec.node_name and len(dump.nodes) > 1 else None
        if above is not None and above.kind in ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"):
            groups[above.kind, pod.namespace, above.name].append(pod)
    for (kind, space, name), own in sorted(groups.items()):
        where = {pod.spec.node_name for pod in own}
        if len(own) > 1 and len(where) == 1:
            said = f"all {len(own)} pods of {kind} {space}/{name} are on {where.pop()}: the loss of one node stops it"
            way = "topologySpreadConstraints over kubernetes.io/hostname, or a preferred pod anti-affinity"
            yield Risk(MEDIUM, "replicas share one node", said, (f"{kind} {space}/{name}",), way)


def _without_requests(dump: Dump, pods: Sequence[Pod]) -> Iterator[Risk]:
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if get_pod_qos(pod, dump.release) == "BestEffort" and not is_critical_pod(pod):
            found[pod.namespace].append(pod)
    for space, own in sorted(found.items()):
        said = (
            f"{counted(len(own), 'pod')} in {space} {'requests' if len(own) == 1 else 'request'} nothing (BestEffort): "
            f"such pods count as 0 for the scheduler and are evicted and OOM-killed first: "
            f"{_listed([pod.name for pod in own])}"
        )
        way = "requests of CPU and memory in their templates, or a LimitRange with defaultRequest in the namespace"
        yield Risk(LOW if space == SYSTEM else MEDIUM, "pods without requests", said, (f"Namespace {space}",), way)


def _overcommitted(nodes: Sequence[NodeRoom]) -> Iterator[Risk]:
    for node in nodes:
        room = node.allocatable["memory"]
        if room and node.requested["memory"] >= NEARLY * room:
            asked = shown("memory", node.requested["memory"])
            said = f"{asked} of {shown('memory', room)} memory of {node.name} is requested"
            yield Risk(LOW, "node is nearly full", said, (f"Node {node.name}",), "kitlib whatif add NODE shows relief")
        if room and node.memory_limits > room:
            said = (
                f"memory limits on {node.name} add up to {shown('memory', node.memory_limits)} of "
                f"{shown('memory', room)}: if all pods use them, pods are evicted and OOM-killed"
            )
            way = f"requests equal to limits for memory; kitlib whatif pressure {node.name} memory shows who goes first"
            yield Risk(MEDIUM, "memory limits exceed the node", said, (f"Node {node.name}",), way)


def _bare(pods: Sequence[Pod]) -> Iterator[Risk]:
    bare = [f"Pod {pod.key}" for pod in pods if pod.spec.node_name and not pod.metadata.owner_references]
    if bare:
        number, again = counted(len(bare), "pod", "has", "have"), "is" if len(bare) == 1 else "are"
        said = f"{number} no controller and {again} not made again after an eviction: {_listed(bare)}"
        yield Risk(LOW, "pods without a controller", said, tuple(bare), "let a Deployment, StatefulSet or Job run them")


def _listed(names: Sequence[str]) -> str:
    own = list(dict.fromkeys(names))
    return ", ".join(own[:SHOWN]) + (f" and {len(own) - SHOWN} more" if len(own) > SHOWN else "")
