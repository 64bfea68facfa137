"""The time since a node's last sign of life: a new status or a renewed Lease.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (nodeHealthData, tryUpdateNodeHealth).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from kitlib.api.core import Node
from kitlib.api.meta import Condition
from kitlib.api.release import Release

NODE_MONITOR_PERIOD = 5.0
"""The interval in seconds between checks of the nodes' health. Source: --node-monitor-period."""
NODE_STARTUP_GRACE_PERIOD = 60.0
"""The grace period in seconds of a node that has never posted a status. Source: --node-startup-grace-period."""


def monitor_grace_period(release: Release) -> float:
    """Return the seconds without a sign of life after which a node is Unknown. Source: --node-monitor-grace-period."""
    seconds = release.default("nodeMonitorGracePeriodSeconds")
    assert isinstance(seconds, int)
    return float(seconds)


@dataclass
class NodeHealth:
    """The last signs of life of one node.

    Attributes:
        probe: the time of the last observed change.
        ready: the condition Ready at `probe`; None = the node had none.
        renew_time: the Lease's renewTime at `probe`; None = no Lease.
    """

    probe: datetime
    ready: Condition | None
    renew_time: datetime | None = None


class NodeHealthMap:
    """The health of all nodes that are watched.

    Args:
        release: the release with the grace period.
    """

    def __init__(self, release: Release) -> None:
        self._grace = monitor_grace_period(release)
        self._nodes: dict[str, NodeHealth] = {}

    def is_silent(self, node: Node, renew_time: datetime | None, now: datetime, age: timedelta) -> bool:
        """Record a node's status and Lease, and return whether neither has changed for the grace period.

        Only the time at which a change is observed counts, not the times in the objects: a node's clock may be wrong.

        Args:
            node: the stored Node.
            renew_time: the Lease's renewTime; None = no Lease.
            now: the time of a monotonic clock.
            age: the age of the Node object.
        """
        ready = ready_condition_of(node)
        known = self._nodes.get(node.name)
        if known is None:
            known = NodeHealth(now - age if ready is None else now, ready)
        elif (known.ready is None) != (ready is None) or _heartbeat(known.ready) != _heartbeat(ready):
            known = NodeHealth(now, ready)
        if renew_time is not None and (known.renew_time is None or known.renew_time < renew_time):
            known.renew_time, known.probe = renew_time, now
        self._nodes[node.name] = known
        grace = self._grace if ready is not None else NODE_STARTUP_GRACE_PERIOD
        return now - known.probe > timedelta(seconds=grace)

    def keep_only(self, names: Collection[str]) -> None:
        """Forget all other nodes, which are deleted."""
        self._nodes = {name: health for name, health in self._nodes.items() if name in names}

    def restart(self, now: datetime) -> None:
        """Restart the grace period of every node. Source: handleDisruption, where full disruption ends."""
        for health in self._nodes.values():
            health.probe = now


def ready_condition_of(node: Node) -> Condition | None:
    """Return the node's condition Ready; None where it has none."""
    return next((condition for condition in node.status.conditions if condition.type == "Ready"), None)


def _heartbeat(ready: Condition | None) -> datetime | None:
    return ready.last_heartbeat_time if ready is not None else None
