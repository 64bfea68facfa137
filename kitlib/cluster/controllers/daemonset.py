"""DaemonSets: one pod on every node that its pods may run on; the scheduler places each on its own node.

Source: pkg/controller/daemon (NodeShouldRunDaemonPod, util.AddOrUpdateDaemonPodTolerations,
util.ReplaceDaemonSetPodNodeNameNodeAffinity).
"""

from __future__ import annotations

from kitlib.api.apps import DaemonSet
from kitlib.api.core import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Toleration,
)
from kitlib.api.selectors import matches_required_node_affinity, repels_scheduling, untolerated_taint
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import create, is_active, is_ready, owned_pods, pod_from, set_status

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


def sync(api: APIServer) -> None:
    """Give every node its pod of every DaemonSet, and take away those that no longer belong."""
    for one in api.store.list(DaemonSet, copy=False):
        if one.metadata.deletion_timestamp is None:
            _sync(api, one)


def _sync(api: APIServer, one: DaemonSet) -> None:
    standing: dict[str, list[Pod]] = {}
    for pod in owned_pods(api, one):
        standing.setdefault(target(pod), []).append(pod)
    wanted = [node for node in api.store.list(Node, copy=False) if belongs(one, node)]
    names = {node.name for node in wanted}
    for name, pods in standing.items():
        for pod in pods if name not in names else pods[1:]:
            if pod.metadata.deletion_timestamp is None:
                api.delete(Pod, pod.name, pod.namespace, grace=None)
    for node in wanted:
        if not standing.get(node.name):
            create(api, _pod_for(one, node.name), one)
    pods = [pod for pod in owned_pods(api, one) if is_active(pod)]
    ready = sum(map(is_ready, pods))
    status = {
        "desiredNumberScheduled": len(wanted),
        "currentNumberScheduled": sum(target(pod) in names for pod in pods),
        "numberReady": ready,
        "numberAvailable": ready,
        "observedGeneration": one.metadata.generation,
    }
    set_status(api, api.store.get(DaemonSet, one.name, one.namespace), status)


def belongs(one: DaemonSet, node: Node) -> bool:
    """Whether the node should run the DaemonSet's pod: selector and affinity fit, taints are tolerated."""
    pod = _pod_for(one, node.name)
    if not matches_required_node_affinity(pod, node):
        return False
    return untolerated_taint(node.spec.taints, pod.spec.tolerations, repels_scheduling) is None


def target(pod: Pod) -> str:
    """The node that the pod is bound to, or that its affinity names."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    if affinity and affinity.required:
        for term in affinity.required.node_selector_terms:
            for requirement in term.match_fields:
                if requirement.key == "metadata.name" and requirement.values:
                    return requirement.values[0]
    return ""


def _pod_for(one: DaemonSet, node: str) -> Pod:
    pod = pod_from(one.spec.template, one, prefix=f"{one.name}-")
    for key, effect in _TOLERATED:
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
