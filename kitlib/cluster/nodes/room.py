"""Checks that a node's reservations and eviction threshold leave memory for its pods.

    allocatable = capacity - kube-reserved - system-reserved - hard eviction threshold (100Mi by default)

Source: kubelet cm.GetNodeAllocatableReservation; eviction defaults of KubeletConfiguration.
"""

from __future__ import annotations

from kitlib.api.core import Node

ENOUGH = 64 * 2**20
"""The memory for pods, in bytes, that needs no warning; the pause container and a shell take about 10 MiB."""
_MIB = 2**20


def shortage(node: Node) -> str:
    """Return a sentence if a node has little memory for pods because most of it is reserved; else ""."""
    status = node.status
    if "memory" not in status.capacity or "memory" not in status.allocatable:
        return ""
    whole, left = status.capacity["memory"].value(), status.allocatable["memory"].value()
    if left >= ENOUGH or whole - left < left:
        return ""
    return (
        f"node {node.name}: reservations and the hard eviction threshold leave pods {left // _MIB} MiB of "
        f"{whole // _MIB} MiB; give it more memory, or a smaller threshold: "
        'kubelet=["--eviction-hard=memory.available<10Mi"]'
    )
