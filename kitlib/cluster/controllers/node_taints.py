"""Nodes: their conditions and `spec.unschedulable` become taints, which is what the scheduler looks at.

Source: pkg/controller/nodelifecycle (doNoScheduleTaintingPass, nodeConditionToTaintKeyStatusMap).
"""

from __future__ import annotations

from kitlib.api.core import Node, Taint
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission.apiserver import APIServer

_BY_CONDITION = {
    ("Ready", "False"): "node.kubernetes.io/not-ready",
    ("Ready", "Unknown"): "node.kubernetes.io/unreachable",
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_OURS = {*_BY_CONDITION.values(), _UNSCHEDULABLE}


def sync(api: APIServer) -> None:
    """Bring every node's taints in line; those that somebody else set stay."""
    for node in api.store.list(Node, copy=False):
        wanted = {
            _BY_CONDITION[c.type, c.status] for c in node.status.conditions if (c.type, c.status) in _BY_CONDITION
        }
        if node.spec.unschedulable:
            wanted.add(_UNSCHEDULABLE)
        standing = {t.key for t in node.spec.taints if t.effect == "NoSchedule" and t.key in _OURS}
        if wanted != standing:
            changed = deepcopy(node)
            changed.spec.taints = [t for t in node.spec.taints if t.effect != "NoSchedule" or t.key not in _OURS]
            changed.spec.taints += [Taint(key=key, effect="NoSchedule") for key in sorted(wanted)]
            api.store.update(changed)
