"""The predicates of the kubelet: it repeats checks of the scheduler and adds its own.

A pod that names its node in the manifest bypasses the scheduler, and labels, taints and ports may change between the
scheduler's decision and the kubelet's check. A failed check makes the pod Failed, permanently. Only the first reason is
reported; for a critical pod only the reasons that preemption cannot remove.

Source: kubelet lifecycle predicateAdmitHandler.Admit, generalFilter; scheduler AdmissionCheck; sysctl patternAllowlist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kitlib.api.core import Node, Pod
from kitlib.api.meta import ObjectMeta
from kitlib.api.node_declared_features import discover, missing, required_to_schedule
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.api.selectors import matches_required_node_affinity, untolerated_taint
from kitlib.kubelet.qos.qos_class import is_critical_pod, is_static_pod

GOOS = "linux"
_ORDER = ("pods", "cpu", "memory", "ephemeral-storage")
"""The order of the checks of resources; all others follow. Source: noderesources.Fits."""
OS_LABEL = "kubernetes.io/os"
ANY_ADDRESS = "0.0.0.0"
NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
NODE_NAME = "node(s) didn't match the requested node name"
NODE_PORTS = "node(s) didn't have free ports for the requested pod ports"
TAINTS = "node(s) had taints that the pod didn't tolerate"


class PodRefusal(NamedTuple):
    """The rejection of a pod: the reason and the message of its status."""

    reason: str
    message: str


class Room(NamedTuple):
    """The resources of a node: the allocatable amounts, and the sums that its admitted pods request, in thousandths."""

    allocatable: Mapping[str, int]
    asked: Mapping[str, int]


def asked_of(pod: Pod, release: Release) -> dict[str, int]:
    """Return what a pod takes of its node, in thousandths: its requests, and one of the pods."""
    requests = pod_requests(pod, release=release)
    return {"pods": 1000, **{name: amount.milli_value() for name, amount in requests.items()}}


def check_sysctls(pod: Pod, unsafe: Sequence[str], release: Release) -> PodRefusal | None:
    """Check the sysctls of a pod; `unsafe` = those that the node's administrator allows besides the safe ones."""
    context = pod.spec.security_context
    if context is None or not context.sysctls:
        return None
    from kitlib.kubelet.loop.sysctls import FORBIDDEN, forbidden_sysctl  # loaded with the first sysctl

    text = forbidden_sysctl(pod, unsafe, release)
    return PodRefusal(FORBIDDEN, text) if text else None


def check_features(pod: Pod, release: Release) -> PodRefusal | None:
    """Check the declared features that a pod needs. Source: lifecycle declaredFeaturesAdmitHandler.Admit."""
    lacking = missing(required_to_schedule(pod.spec, release), discover(release), release)
    if not lacking:
        return None
    text = f"Pod requires node features that are not available: {', '.join(lacking)}"
    return PodRefusal("PodFeatureUnsupported", text)


def check_room(
    pod: Pod, wanted: Mapping[str, int], room: Room, node: Node, others: Sequence[Pod], release: Release
) -> tuple[PodRefusal | None, list[Pod]]:
    """Return the rejection of a pod that does not fit, or the pods to preempt for a critical pod that lacks resources.

    Args:
        pod: the pod to admit.
        wanted: its requests in thousandths, by resource.
        room: the resources of the node.
        node: the node, with its labels and taints.
        others: the admitted pods.
        release: the release with the rules.

    Source: lifecycle generalFilter, predicateAdmitHandler.Admit; preemption HandleAdmissionFailure.
    """
    lacking, refused = _missing_resources(wanted, room)
    other = next(general_filter(pod, node, others, release), None)
    if not is_critical_pod(pod):
        return refused or other, []
    if other is not None or refused is None:
        return other, []
    from kitlib.kubelet.loop.preemption import make_room  # for a critical pod that lacks room

    victims, problem = make_room(pod, others, lacking, release)
    return PodRefusal("UnexpectedAdmissionError", problem) if problem else None, victims


def _missing_resources(wanted: Mapping[str, int], room: Room) -> tuple[dict[str, int], PodRefusal | None]:
    """Return the missing resources (milli-CPU, bytes, pieces) and the rejection for the first of them.

    Source: lifecycle removeMissingExtendedResources.
    """
    lacking: dict[str, int] = {}
    refused: PodRefusal | None = None
    for name in sorted(wanted, key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n)):
        amount, most, used = wanted[name], room.allocatable.get(name, 0), room.asked.get(name, 0)
        # Extended resources that the node does not have may be cluster-level resources, which nodes do not know.
        if not amount or used + amount <= most or ("/" in name and name not in room.allocatable):
            continue
        scale = 1 if name == "cpu" else 1000
        lacking[name] = (amount - (most - used)) // scale
        figures = f"requested: {amount // scale}, used: {used // scale}, capacity: {most // scale}"
        refused = refused or PodRefusal(f"OutOf{name}", f"Node didn't have enough resource: {name}, {figures}")
    return lacking, refused


def node_of(name: str, known: Node | None) -> Node:
    """Return the node of the API server, or else as the kubelet registers it. Source: getNodeAnyWay, initialNode."""
    if known is not None:
        return known
    labels = {"kubernetes.io/hostname": name, OS_LABEL: GOOS}
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def check_platform(pod: Pod, node: Node, release: Release) -> PodRefusal | None:
    """Check what preemption cannot change, and therefore first: operating system and policies of groups."""
    own = str((node.status.node_info or {}).get("operatingSystem") or node.metadata.labels.get(OS_LABEL) or GOOS)
    label = pod.metadata.labels.get(OS_LABEL)
    if label is not None and label != own:
        text = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return PodRefusal("PodOSSelectorNodeLabelDoesNotMatch", text)
    if pod.spec.os is not None and pod.spec.os.name != own:
        return PodRefusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    context = pod.spec.security_context
    strict = context is not None and context.supplemental_groups_policy == "Strict"
    if strict and release.enabled("SupplementalGroupsPolicy"):  # beta and on since 1.33
        features = node.status.features or {}
        if features.get("supplementalGroupsPolicy") is False:
            text = "SupplementalGroupsPolicy=Strict is not supported in this node"
            return PodRefusal("SupplementalGroupsPolicyNotSupported", text)
    return None


def general_filter(pod: Pod, node: Node, others: Iterable[Pod], release: Release) -> Iterator[PodRefusal]:
    """Yield the failures other than resources, in the kubelet's order.

    Args:
        pod: the pod to admit.
        node: the node, with its labels and taints.
        others: the admitted pods.
        release: the release with the rules.
    """
    if not matches_required_node_affinity(pod, node):
        yield _failed("NodeAffinity", NODE_AFFINITY)
    if pod.spec.node_name and pod.spec.node_name != node.name:
        yield _failed("NodeName", NODE_NAME)
    wanted = host_ports(pod, release)
    if wanted and any(_conflict(one, host_ports(other, release)) for other in others for one in wanted):
        yield _failed("NodePorts", NODE_PORTS)
    executes = untolerated_taint(
        node.spec.taints, pod.spec.tolerations, lambda taint: taint.effect == "NoExecute", release
    )
    if executes is not None and not is_static_pod(pod):
        yield _failed("TaintToleration", TAINTS)


def _failed(predicate: str, why: str) -> PodRefusal:
    return PodRefusal(predicate, f"Predicate {predicate} failed: {why}")


HostPort = tuple[str, str, int]
"""Address, protocol, number."""


def host_ports(pod: Pod, release: Release) -> list[HostPort]:
    """Return the ports that a pod takes on its node. Source: scheduler util.GetHostPorts."""
    containers = list(pod.spec.containers)
    if release.enabled("KitSidecarPortsCount"):
        containers += [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    return [
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in containers
        for port in container.ports
        if port.host_port > 0
    ]


def _conflict(wanted: HostPort, taken: Iterable[HostPort]) -> bool:
    """Return whether a host port is taken; 0.0.0.0 conflicts with every address.

    Source: framework HostPortInfo.CheckConflict.
    """
    address = wanted[0]
    return any(one[1:] == wanted[1:] and (ANY_ADDRESS in (address, one[0]) or address == one[0]) for one in taken)
