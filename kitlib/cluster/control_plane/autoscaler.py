"""A cluster autoscaler: it adds a node to a zone for a pod that remains unschedulable and fits on the new node.

The scheduler decides whether the pod fits, with the new node in its snapshot, as the real autoscaler does with its own
copy of the scheduler. Gated pods are ignored. Nodes are never removed.

Source: kubernetes/autoscaler cluster-autoscaler core/scaleup (orchestrator), estimator, its events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.cluster.nodes.plan import NodePlan, plan

if TYPE_CHECKING:
    from kitlib.cluster.control_plane.scheduling import ClusterScheduler

ZONE = "topology.kubernetes.io/zone"
BACKOFF = 300.0
"""The back-off in seconds of a group after a failed node. Source: --initial-node-group-backoff-duration."""


@dataclass
class Autoscaler:
    """An autoscaler with one node group per zone; all groups have the same kind of node.

    Attributes:
        zones: the zones, in the order of preference.
        node: the specification of a node.
        most: the maximum number of nodes per group.
        after: the seconds for which a pod must have been unschedulable.
        takes: the seconds until a new node exists.
    """

    zones: Sequence[str]
    node: Mapping[str, Any] = field(default_factory=dict)
    most: int = 1
    after: float = 30
    takes: float = 0
    _since: dict[str, float] = field(default_factory=dict, repr=False)
    _told: set[str] = field(default_factory=set, repr=False)
    _ordered: list[tuple[float, NodePlan]] = field(default_factory=list, repr=False)
    _made: dict[str, int] = field(default_factory=dict, repr=False)
    _shunned: dict[str, float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, given: Autoscaler | Mapping[str, Any] | None) -> Autoscaler | None:
        """Return an autoscaler with these arguments.

        Raises:
            KitError: an argument is unknown.
        """
        if given is None or isinstance(given, Autoscaler):
            return given
        try:
            return cls(**given)
        except TypeError as error:
            raise KitError(f"autoscaler: {error}") from error

    def sync(
        self,
        api: APIServer,
        scheduler: ClusterScheduler,
        now: float,
        register: Callable[[NodePlan], Node],
        add: Callable[[NodePlan], None],
    ) -> None:
        """Check the unschedulable pods, order nodes, and add the ordered nodes that are due.

        Args:
            api: the cluster's API server.
            scheduler: the cluster's scheduler.
            now: the time of the cluster's clock, in seconds.
            register: returns the Node object of a plan.
            add: adds a planned node to the cluster.
        """
        pending = {pod.metadata.uid: pod for pod in api.store.list(Pod, copy=False) if _is_unschedulable(pod)}
        self._since = {uid: self._since.get(uid, now) for uid in pending}
        due = [one for one in self._ordered if one[0] <= now]
        for one in due:
            self._ordered.remove(one)
            self._bring(api, one[1], now, pending.values(), add)
        if due or self._ordered:  # the scheduler must try a new node before a pod gets NotTriggerScaleUp
            return
        for uid, pod in pending.items():
            if now - self._since[uid] >= self.after:
                self._help(api, scheduler, pod, now, register)
                if self._ordered:
                    return

    def _bring(
        self, api: APIServer, wanted: NodePlan, now: float, waiting: Iterable[Pod], add: Callable[[NodePlan], None]
    ) -> None:
        """Add an ordered node; if that fails, back off from its group."""
        try:
            add(wanted)
        except KitError as error:
            zone = wanted.labels[ZONE]
            self._made[zone] -= 1
            self._shunned[zone] = now + BACKOFF
            for pod in waiting:
                message = f"Scale-up failed for group {zone}: {error}"
                record(api, pod, "Warning", "FailedToScaleUpGroup", message)

    def _help(
        self,
        api: APIServer,
        scheduler: ClusterScheduler,
        pod: Pod,
        now: float,
        register: Callable[[NodePlan], Node],
    ) -> None:
        for zone in self.zones:
            have = self._made.get(zone, 0)
            if have >= self.most or now < self._shunned.get(zone, 0):
                continue
            (wanted,) = plan([{**self.node, "name": f"{zone}-auto-{have + 1}"}], labels={ZONE: zone})
            # The pod does not fit on the new node, or it fits on an existing one by now.
            if scheduler.explain(pod, [register(wanted)]).suggested_host != wanted.name:
                continue
            self._made[zone] = have + 1
            self._ordered.append((now + self.takes, wanted))
            message = f"pod triggered scale-up: [{{{zone} {have}->{have + 1} (max: {self.most})}}]"
            record(api, pod, "Normal", "TriggeredScaleUp", message)
            return
        if pod.metadata.uid not in self._told:
            self._told.add(pod.metadata.uid)
            message = "pod didn't trigger scale-up: no node group would give it a node that it fits on"
            record(api, pod, "Normal", "NotTriggerScaleUp", message)


def _is_unschedulable(pod: Pod) -> bool:
    return (
        not pod.spec.node_name
        and pod.metadata.deletion_timestamp is None
        and any(
            c.type == "PodScheduled" and c.status == "False" and c.reason == "Unschedulable"
            for c in pod.status.conditions
        )
    )
