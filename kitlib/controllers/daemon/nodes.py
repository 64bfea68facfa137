"""The nodes on which a DaemonSet's pod should run, and the pod for a node.

Source: pkg/controller/daemon (NodeShouldRunDaemonPod, predicates, NewPod), util/daemonset_util.go
(AddOrUpdateDaemonPodTolerations, ReplaceDaemonSetPodNodeNameNodeAffinity, GetTargetNodeName, CreatePodTemplate).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kitlib.api.apps import DaemonSet
from kitlib.api.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
)
from kitlib.api.release import Release
from kitlib.api.selectors import matches_required_node_affinity, repels_scheduling, untolerated_taint
from kitlib.controllers.history import REVISION_LABEL
from kitlib.controllers.pod_control import pod_from_template

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class Placement(NamedTuple):
    """The decision for a node: `should_run`, it should have a pod; `should_continue`, an existing pod may stay."""

    should_run: bool
    should_continue: bool


def node_should_run(daemon_set: DaemonSet, nodes: Iterable[Node], release: Release) -> dict[str, Placement]:
    """Return the decision for the DaemonSet's pod by node name. Source: NodeShouldRunDaemonPod."""
    pod = Pod(spec=daemon_set.spec.template.spec)
    tolerations = new_pod(daemon_set, "", "").spec.tolerations
    found = {}
    for node in nodes:
        if pod.spec.node_name not in ("", node.name) or not matches_required_node_affinity(pod, node):
            found[node.name] = Placement(False, False)
        elif untolerated_taint(node.spec.taints, tolerations, repels_scheduling, release) is None:
            found[node.name] = Placement(True, True)
        else:
            stays = untolerated_taint(node.spec.taints, tolerations, _evicts, release) is None
            found[node.name] = Placement(False, stays)
    return found


def _evicts(taint: Taint) -> bool:
    return taint.effect == "NoExecute"


def target_node(pod: Pod) -> str:
    """Return the node that the pod is bound to or that its affinity names; "" = none. Source: GetTargetNodeName."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    if affinity and affinity.required:
        for term in affinity.required.node_selector_terms:
            for requirement in term.match_fields:
                if requirement.key == "metadata.name" and requirement.values:
                    return requirement.values[0]
    return ""


def new_pod(daemon_set: DaemonSet, node: str, revision_hash: str) -> Pod:
    """Return the pod for a node; the node is in its affinity, for the scheduler."""
    pod = pod_from_template(daemon_set.spec.template, daemon_set)
    if revision_hash:
        generation = daemon_set.metadata.annotations.get("deprecated.daemonset.template.generation", "1")
        pod.metadata.labels |= {REVISION_LABEL: revision_hash, "pod-template-generation": generation}
    tolerated = [*_TOLERATED, *([_ON_HOST_NETWORK] if pod.spec.host_network else [])]
    for key, effect in tolerated:
        if not any(t.key == key and t.effect == effect for t in pod.spec.tolerations):
            pod.spec.tolerations.append(Toleration(key=key, operator="Exists", effect=effect))
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
    affinity = pod.spec.affinity = pod.spec.affinity or Affinity()
    node_affinity = affinity.node_affinity = affinity.node_affinity or NodeAffinity()
    terms = node_affinity.required.node_selector_terms if node_affinity.required else [NodeSelectorTerm()]
    node_affinity.required = NodeSelector(
        node_selector_terms=[
            NodeSelectorTerm(match_expressions=term.match_expressions, match_fields=[field]) for term in terms
        ]
    )
    return pod
