"""Nodes: their conditions and `spec.unschedulable` become taints for the scheduler and taint eviction.

A node that is not ready or does not respond gets a NoSchedule taint at once, and a NoExecute taint when the eviction
rate of its zone allows it.

Source: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass, processTaintBaseEviction,
monitorNodeHealth, classifyNodes, reconcileNodeLabels, nodeConditionToTaintKeyStatusMap).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from kitlib.api.core import Node, Pod, Taint
from kitlib.api.meta import Condition, with_condition
from kitlib.api.release import is_newer_than_known
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record
from kitlib.controllers.controller import Controller, Handler, Key, Manager
from kitlib.controllers.informers import Delta
from kitlib.controllers.node_health import NODE_MONITOR_PERIOD, NodeHealthMap, ready_condition_of
from kitlib.controllers.node_zones import Zones
from kitlib.kubelet.loop.node_conditions import PRESSURES, pressure_condition, ready_condition, status_message

EVICTION_PERIOD = 0.1
"""The interval in seconds between checks of the nodes that wait for a taint. Source: scheduler.NodeEvictionPeriod."""
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_NO_SCHEDULE = frozenset({*_BY_CONDITION.values(), UNSCHEDULABLE})
_ZONES: Key = ("zones", "")
_HEALTH: Key = ("health", "")
_NO_EXECUTE = {"False": NOT_READY, "Unknown": UNREACHABLE}
_OLDER_LABELS = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}
"""The older names of node labels, which always have the same values. Source: labelReconcileInfo."""


class NodeLifecycleController(Controller):
    """The controller of nodes' health and of the taints that follow from it."""

    name: ClassVar[str] = "node-controller"

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self._recovered: dict[Key, float] = {}
        self._zones = Zones()
        self._known: dict[str, Node] = {}
        self._versions: dict[str, str] = {}
        self._health = NodeHealthMap(self.api.release)
        self.api.leases.on_stop = lambda name: self.queue.add(_HEALTH)

    def handlers(self) -> Mapping[str, Handler]:
        return {"Node": self._on_node}

    def _on_node(self, change: Delta) -> None:
        self.queue.add(("", change.new.name))

    def _classify(self, name: str, node: Node | None) -> None:
        """Record an event for a new or deleted node. Source: classifyNodes, RecordNodeEvent."""
        if node is not None and name not in self._known:
            self._known[name] = node
            self.event(node, "Normal", "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
        elif node is None and name in self._known:
            gone = self._known.pop(name)
            self._versions.pop(name, None)
            self.event(gone, "Normal", "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")

    def _compare_release(self, node: Node) -> None:
        """Record an event once for a kubelet of a release that the kit does not know; Kubernetes has no such event."""
        version = str((node.status.node_info or {}).get("kubeletVersion") or "")
        if version == self._versions.get(node.name):
            return
        self._versions[node.name] = version
        if is_newer_than_known(version):
            text = f"Node {node.name} is of {version}: not known here, decided as {self.api.release}"
            self.event(node, "Warning", "UnknownRelease", text)

    def sync(self, key: Key) -> None:
        """Update the node's taints; taints of other owners are kept."""
        if key == _ZONES:
            self._taint_waiting()
            return
        if key == _HEALTH:
            self._monitor_node_health()
            return
        node: Node | None = self.find(Node, key)
        self._classify(key[1], node)
        if node is None:
            self._zones.drop(key[1])
            self._assess()
            return
        self._compare_release(node)
        if not self.api.leases.is_on_time(node.name):
            self.queue.add_after(_HEALTH, NODE_MONITOR_PERIOD)
        wanted = {
            _BY_CONDITION[c.type, c.status] for c in node.status.conditions if (c.type, c.status) in _BY_CONDITION
        }
        if node.spec.unschedulable:
            wanted.add(UNSCHEDULABLE)
        ready = next((c.status for c in node.status.conditions if c.type == "Ready"), None)
        executes = _NO_EXECUTE.get(ready or "")
        if self._zones.put(node, executes is None, self.steady_now().timestamp()):
            self._assess()
        standing = {t.key for t in node.spec.taints if t.effect == "NoSchedule" and t.key in _NO_SCHEDULE}
        executing = {t.key for t in node.spec.taints if t.effect == "NoExecute" and t.key in _NO_EXECUTE.values()}
        # A node without the condition Ready is new: its taints wait for a status or the end of the grace period.
        wanted_executing = executing if ready is None else self._executing(node.name, executes, executing)
        if not executes and executing - wanted_executing and not self._monitored(key):
            wanted_executing |= executing
        labels = older_labels(node)
        if wanted == standing and wanted_executing == executing and labels.items() <= node.metadata.labels.items():
            return
        changed = deepcopy(node)
        changed.metadata.labels |= labels
        kept = [
            t
            for t in node.spec.taints
            if not (t.effect == "NoSchedule" and t.key in _NO_SCHEDULE - wanted)
            and not (t.effect == "NoExecute" and t.key in executing - wanted_executing)
        ]
        now = self.now()
        made = [Taint(key=key, effect="NoSchedule", time_added=now) for key in sorted(wanted - standing)]
        made += [Taint(key=key, effect="NoExecute", time_added=now) for key in sorted(wanted_executing - executing)]
        changed.spec.taints = kept + made
        self.api.store.update(changed)

    def _monitor_node_health(self) -> None:
        """Mark nodes without a sign of life for the grace period, and repeat the check while there are nodes to watch.

        Nodes on virtual time need no check, because their kubelets are never late. Source: monitorNodeHealth.
        """
        leases, store = self.api.leases, self.api.store
        watched = [node for node in store.list(Node, copy=False) if not leases.is_on_time(node.name)]
        for node in watched:
            created = node.metadata.creation_timestamp or store.now()
            age = max(store.now() - created, timedelta())
            silent = self._health.is_silent(node, leases.renew_time(node.name), store.steady_now(), age)
            ready = ready_condition_of(node)
            if silent and (ready is None or ready.status != "Unknown"):
                mark_unreachable(self.api, node.name)
        self._health.keep_only({node.name for node in watched})
        if watched:
            self.queue.add_after(_HEALTH, NODE_MONITOR_PERIOD)

    def _executing(self, name: str, wanted: str | None, standing: set[str]) -> set[str]:
        """Return the NoExecute taints that the node may have now; a first one waits for the rate of its zone.

        Source: processTaintBaseEviction.
        """
        if wanted is None or self._zones.suspended:
            self._zones.cancel(name)
            return set()
        if standing:  # an existing taint may change its reason without the zone's rate
            return {wanted}
        self._zones.request(name)
        self.queue.add_after(_ZONES, EVICTION_PERIOD)
        return set()

    def _assess(self) -> None:
        """Update the states of zones after a change of a node; queue all nodes if full disruption begins or ends."""
        before = self._zones.suspended
        self._zones.assess(self.steady_now().timestamp())
        if self._zones.suspended != before:
            # Nodes that could not report while the network was down get a full grace period. Source: handleDisruption.
            if before:
                self._health.restart(self.api.store.steady_now())
            for name in self._zones.names():
                self.queue.add(("", name))
        self.queue.add_after(_ZONES, EVICTION_PERIOD)

    def _taint_waiting(self) -> None:
        """Add the NoExecute taint to waiting nodes at the rates of their zones. Source: doNoExecuteTaintingPass."""
        now = self.steady_now().timestamp()
        for zone in self._zones.zones.values():
            while zone.waiting and zone.limiter.try_accept(now):
                name = next(iter(zone.waiting))
                del zone.waiting[name]
                self._taint(name)
            wait = zone.limiter.wait(now)
            if zone.waiting and wait < float("inf"):
                self.queue.add_after(_ZONES, wait)

    def _taint(self, name: str) -> None:
        node: Node | None = self.find(Node, ("", name))
        ready = next((c.status for c in node.status.conditions if c.type == "Ready"), "") if node is not None else ""
        if node is not None and ready in _NO_EXECUTE:
            changed = deepcopy(node)
            taint = Taint(key=_NO_EXECUTE[ready], effect="NoExecute", time_added=self.now())
            changed.spec.taints = [*node.spec.taints, taint]
            self.api.store.update(changed)

    def _monitored(self, key: Key) -> bool:
        """Return whether a monitor period has passed since the node's recovery; else queue the node for its end.

        Source: monitorNodeHealth, markNodeAsReachable, --node-monitor-period.
        """
        now = self.steady_now().timestamp()
        since = self._recovered.setdefault(key, now)
        if now - since < NODE_MONITOR_PERIOD:
            self.queue.add_after(key, NODE_MONITOR_PERIOD - (now - since))
            return False
        del self._recovered[key]
        return True


def put_condition(api: APIServer, node: Node, condition: Condition) -> Node:
    """Write a condition of a node in place of the one of the same type, and return the stored node."""
    node.status.conditions = with_condition(node.status.conditions, condition)
    return api.update_status(node)


def mark_unreachable(api: APIServer, name: str) -> None:
    """Mark a node whose kubelet posts no status: its conditions become Unknown, its pods become not ready.

    Source: tryUpdateNodeHealth, MarkPodsNotReady.
    """
    node: Node | None = api.store.find(Node, name, "")
    if node is None:
        return
    now = api.store.now()
    standing = {condition.type: condition for condition in node.status.conditions}
    for kind in ("Ready", *PRESSURES):
        before = standing.get(kind)
        if before is not None and before.status == "Unknown":
            continue
        unknown = Condition(type=kind, status="Unknown", last_transition_time=now)
        if before is None:
            unknown.reason, unknown.message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
            unknown.last_heartbeat_time = node.metadata.creation_timestamp
        else:
            unknown.reason, unknown.message = "NodeStatusUnknown", "Kubelet stopped posting node status."
            unknown.last_heartbeat_time = before.last_heartbeat_time
        node.status.conditions = with_condition(node.status.conditions, unknown)
    node = api.update_status(node)
    if "Ready" not in standing or standing["Ready"].status != "True":
        return
    record(api, node, "Normal", "NodeNotReady", status_message(name, "NodeNotReady"), "node-controller")
    for pod in api.store.list(Pod):
        if pod.spec.node_name == name and _put_ready(pod, "False", now):
            record(api, api.update_status(pod), "Warning", "NodeNotReady", "Node is not ready", "node-controller")


def older_labels(node: Node) -> dict[str, str]:
    """Return the older labels that a node must have. Source: reconcileNodeLabels."""
    return {_OLDER_LABELS[key]: value for key, value in node.metadata.labels.items() if key in _OLDER_LABELS}


def mark_ready(api: APIServer, name: str, posted: Iterable[Condition] = ()) -> None:
    """Post the status of a node that is ready again, and of its pods with ready containers and readiness gates.

    Args:
        api: the API server.
        name: the node's name.
        posted: the node's conditions in the kubelet; () = no resource pressure.

    Source: GeneratePodReadyCondition.
    """
    node: Node | None = api.store.find(Node, name, "")
    if node is not None:
        now = api.store.now()
        known = {condition.type: condition for condition in posted if condition.status != "Unknown"}
        for kind in PRESSURES:
            held = kind in known and known[kind].status == "True"
            node.status.conditions = with_condition(node.status.conditions, pressure_condition(kind, held, now))
        standing = put_condition(api, node, ready_condition(now))
        record(api, standing, "Normal", "NodeReady", status_message(name, "NodeReady"), "kubelet")
    for pod in api.store.list(Pod):
        held_by = {condition.type for condition in pod.status.conditions if condition.status == "True"}
        wanted = {"ContainersReady", *(gate.condition_type for gate in pod.spec.readiness_gates)}
        if pod.spec.node_name == name and wanted <= held_by and _put_ready(pod, "True", api.store.now()):
            api.update_status(pod)


def _put_ready(pod: Pod, status: str, now: datetime) -> bool:
    """Set the status of the pod's condition Ready, in place, and return whether it has changed."""
    ready = next((condition for condition in pod.status.conditions if condition.type == "Ready"), None)
    if ready is None or ready.status == status:
        return False
    ready.status, ready.last_transition_time = status, now
    return True
