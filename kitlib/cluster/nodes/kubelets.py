"""The owner of a node's kubelet: the kit for nodes that it made, another program for all other Node objects.

A Node that is created through the API belongs to its creator (a kubelet, kubemark, kwok), or has no kubelet, as in
Kubernetes. The kit writes neither its status nor its Lease nor its pods, unless the annotation asks for a kubelet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from kitlib.api.core import Node
from kitlib.api.errors import KitError, NotFound

KUBELET = "kitlib.dev/kubelet"
"""The annotation of a new Node object that makes the kit run a kubelet for it; its value is "true"."""
N = TypeVar("N")


def asks_for_kubelet(node: Node) -> bool:
    """Return whether a new Node object asks the kit to make the machine and to run its kubelet."""
    return node.metadata.annotations.get(KUBELET) == "true"


def node_of(nodes: Mapping[str, N], name: str, *, stored: bool) -> N:
    """Return the machine behind a Node object; the name is optional if there is only one.

    Args:
        nodes: the kit's own, by name.
        name: the node's name; "" = the only one.
        stored: whether a Node object has the name.

    Raises:
        NotFound: no Node object has the name.
        KitError: the name is needed, or another program runs that node's kubelet.
    """
    if name in nodes:
        return nodes[name]
    if not name and len(nodes) == 1:
        return next(iter(nodes.values()))
    if not name:
        names = ", ".join(sorted(nodes)) if nodes else "none"
        raise KitError(f"node(name): the name is required, because this cluster has {len(nodes)} nodes: {names}")
    if stored:
        raise KitError(
            f'nodes "{name}": kitlib does not run the kubelet of this node, so its kernel cannot be inspected; to get '
            f'a kubelet, create the Node with the annotation {KUBELET}: "true"'
        )
    raise NotFound("nodes", name)
