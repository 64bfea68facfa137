"""The Node object that a kubelet registers: capacity, allocatable, first conditions, addresses, images.

Source: kubelet nodestatus (MachineInfo, Images), kubelet_node_status.go (initialNode).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol

from kitlib.api.core import ContainerImage, Node, Secret
from kitlib.api.node_declared_features import discover
from kitlib.api.resource import Quantity
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.cm.node_allocatable import node_status
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.node_conditions import first_conditions
from kitlib.kubelet.pods.objects import SERVICE, Reference, TokenReference
from kitlib.node.common.network import NodeNetwork

MAX_IMAGES = 50
"""The maximum number of images in a node's status. Source: KubeletConfiguration nodeStatusMaxImages."""


def node_object(plan: NodePlan, config: NodeConfig, now: datetime, network: NodeNetwork | None = None) -> Node:
    """Return the Node object that the kubelet registers; without a network it has no IP address."""
    node = plan.node()
    settings = config.settings
    found = node_status(plan.machine, config.reservations, settings.max_pods, settings.pods_per_core)
    offered = {name: Quantity.from_int(n, "DecimalSI") for name, n in plan.offered.items()}
    node.status.capacity = {**found.capacity, **offered}
    node.status.allocatable = {**found.allocatable, **offered}
    node.status.conditions = first_conditions(now)
    put_addresses(node, network)
    node.status.images = image_list(plan.images)
    node.status.declared_features = discover(config.gates)
    node.status.node_info = {
        "kubeletVersion": f"v{config.release.name}.0",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
    return node


def put_addresses(node: Node, network: NodeNetwork | None) -> None:
    """Set the node's addresses and pod range. Source: nodestatus.NodeAddress, nodeipam updateCIDRsAllocation."""
    node.status.addresses = [{"type": "Hostname", "address": node.name}]
    if network is not None:
        node.status.addresses.insert(0, {"type": "InternalIP", "address": network.address})
        if network.pods:
            node.spec.pod_cidr, node.spec.pod_cidrs = network.pods, [network.pods]


def image_list(images: Iterable[Image]) -> list[ContainerImage]:
    """Return images as a node's status lists them, the largest first. Source: nodestatus.Images."""
    ordered = sorted(images, key=lambda image: -image.size)[:MAX_IMAGES]
    return [ContainerImage(names=[image.name], size_bytes=image.size) for image in ordered]


class TokenSource(Protocol):
    """The tokens of a node; see `projected_tokens.ProjectedTokens`."""

    def find(self, api: APIServer, reference: Reference) -> Secret | None: ...


def find_object(api: APIServer, tokens: Callable[[], TokenSource], one: Reference) -> object | None:
    """Return an object that a pod refers to: a token of the node, which is not stored, or one of the store.

    A Service without a name refers to all of its namespace.
    """
    if TokenReference.parse(one) is not None:
        return tokens().find(api, one)
    if one.kind == SERVICE and not one.name:
        return api.store.list(SERVICE, namespace=one.namespace, copy=False)
    return api.store.find(one.kind, one.name, one.namespace, copy=False)
