"""DeferredPodScheduling: a running pod whose resize is deferred needs room on its own node; it is not bound again.

Source: plugins/deferredpodscheduling of 1.37; KEP-5836.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kitlib.api.core import Node, Pod
from kitlib.api.podresources import is_resize_deferred
from kitlib.scheduler.framework.events import NODE, ActionType, ClusterEvent, Registered
from kitlib.scheduler.framework.plugin import Context, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts

DISABLED = "node had resize preemption disabled"
FITS = "pod resize fits, waiting for Kubelet actuation"


class DeferredPodScheduling(Plugin):
    """The plugin for deferred resizes: Filter asks whether the node allows preemption, Permit refuses to bind again."""

    name = "DeferredPodScheduling"
    depends_on = "node"

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(NODE, ActionType.UPDATE_NODE_PREEMPTION_POLICY), _allows_again),
            (ClusterEvent(NODE, ActionType.ADD), _allows_again),
        ]

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        closed = np.array([not _allows(context.snapshot.nodes[row]) for row in rows], np.bool_)
        found.reject(closed, Code.UnschedulableAndUnresolvable, DISABLED)
        return found

    def permit(self, info: PodInfo, node: Node) -> Status:
        return Status(Code.UnschedulableAndUnresolvable, (FITS,))


def _allows(node: Node) -> bool:
    policy = node.spec.pod_preemption_policy
    return policy is None or not policy.disable_resize_preemption


def _allows_again(pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the pod's own node allows preemption for resizes and did not before.

    Source: isSchedulableAfterNodeChange, isSchedulableAfterNodeAdd.
    """
    if not isinstance(new, Node) or not is_resize_deferred(pod) or pod.spec.node_name != new.name:
        return False
    return _allows(new) and not (isinstance(old, Node) and _allows(old))
