"""Which cluster events may help a pod that a plugin rejected, and what makes the plugin dismiss an event.

A plugin registers kinds of events; its queueing hint looks at the object before and after and says whether the pod is
worth another try. Releases without queueing hints try at every registered event. A plugin of the user's says the same
with an `events` method; where it has none, everything that happens lets its pods try again.

Source: plugins' EventsToRegister and isSchedulableAfter… functions; KEP-4247.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kitlib.api.claims import ClaimError, claims_of
from kitlib.api.core import Node, Pod
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.api.selectors import (
    LabelSelectorMatcher,
    matches_required_node_affinity,
    repels_scheduling,
    untolerated_taint,
)
from kitlib.scheduler.framework.dra_manager import Claims
from kitlib.scheduler.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    NODE,
    POD,
    PV,
    PVC,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    UNSCHEDULED_POD,
    VOLUME_ATTACHMENT,
    WILDCARD,
    Action,
    ClusterEvent,
)
from kitlib.scheduler.framework.pod_info import PodInfo, amounts
from kitlib.scheduler.plugins.dynamicresources.plugin import NAME as DYNAMIC_RESOURCES
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.queue.scheduling_queue import Hint, Registrations

Registered = tuple[ClusterEvent, Hint | None]
_CHANGED = Action.ADD | Action.UPDATE
_EVERYTHING: list[Registered] = [(ClusterEvent(WILDCARD, Action.ALL), None)]


def registrations(profile: Profile, release: Release, claims: Claims | None = None) -> Registrations:
    """The events of all plugins of a profile.

    Args:
        profile: whose plugins. release: without queueing hints every event counts that is registered.
        claims: in which the hints of DynamicResources look up a pod's claims.
    """
    hints = release.enabled("SchedulerQueueingHints")
    found: dict[str, list[Registered]] = {}
    for plugin in profile.plugins:
        own = getattr(plugin, "events", None)
        listed = list(own()) if own is not None else EVENTS.get(plugin.name, _EVERYTHING)
        if plugin.name == DYNAMIC_RESOURCES:
            listed = device_events(claims or Claims())
        found[plugin.name] = [(event, hint if hints else None) for event, hint in listed]
    return found


def _room_made(pod: Pod, old: Any, new: Any) -> bool:
    """A pod that held something of what the pod needs is gone from its node, or needs less; or the pod itself does.

    Source: noderesources isSchedulableAfterPodEvent.
    """
    other = new if new is not None else old
    if not isinstance(other, Pod):
        return True
    if new is None:
        return bool(other.spec.node_name)
    if _uid(other) == _uid(pod):
        return True
    if not other.spec.node_name or not isinstance(old, Pod):
        return False
    before, after = pod_requests(old), pod_requests(other)
    wanted = pod_requests(pod)
    return any(
        name in before and (name not in after or after[name] < before[name])
        for name, amount in wanted.items()
        if not amount.is_zero()
    )


def _node_has_room(pod: Pod, old: Any, new: Any) -> bool:
    """The node as a whole is large enough, and did not offer as much before. Source: isSchedulableAfterNodeChange."""
    if not isinstance(new, Node):
        return True
    wanted, has = amounts(pod_requests(pod)), amounts(new.status.allocatable)
    if any(has.get(name, 0) < amount for name, amount in wanted.items() if amount):
        return False
    if not isinstance(old, Node):
        return True
    had = amounts(old.status.allocatable)
    return any(had.get(name, 0) < has.get(name, 0) for name in {*wanted, "pods"})


def _affinity_came_true(pod: Pod, old: Any, new: Any) -> bool:
    """Source: nodeaffinity isSchedulableAfterNodeChange."""
    if not matches_required_node_affinity(pod, new):
        return False
    return old is None or not matches_required_node_affinity(pod, old)


def _is_named(pod: Pod, old: Any, new: Any) -> bool:
    """Source: nodename isSchedulableAfterNodeChange."""
    return bool(pod.spec.node_name) and new.name == pod.spec.node_name


def _uncordoned(pod: Pod, old: Any, new: Any) -> bool:
    """Source: nodeunschedulable isSchedulableAfterNodeChange."""
    return not new.spec.unschedulable and (old is None or old.spec.unschedulable)


def _taint_gone(pod: Pod, old: Any, new: Any) -> bool:
    """Source: tainttoleration isSchedulableAfterNodeChange."""

    def repelled(node: Node) -> bool:
        return untolerated_taint(node.spec.taints, pod.spec.tolerations, repels_scheduling) is not None

    return not repelled(new) and (old is None or repelled(old))


def _ports_freed(pod: Pod, old: Any, new: Any) -> bool:
    """Source: nodeports isSchedulableAfterPodDeleted."""
    if not isinstance(old, Pod) or not old.spec.node_name:
        return False
    freed = {(protocol, port) for _, protocol, port in PodInfo(old).host_ports}
    return any((protocol, port) in freed for _, protocol, port in PodInfo(pod).host_ports)


def _is_itself(pod: Pod, old: Any, new: Any) -> bool:
    """The change is one of the pod's own."""
    return isinstance(new, Pod) and _uid(new) == _uid(pod)


def _gates_gone(pod: Pod, old: Any, new: Any) -> bool:
    """Source: schedulinggates isSchedulableAfterUpdatePodSchedulingGatesEliminated."""
    return _is_itself(pod, old, new) and not new.spec.scheduling_gates


def _spread_pod(pod: Pod, old: Any, new: Any) -> bool:
    """A pod that a constraint counts came, went, or changed its labels. Source: isSchedulableAfterPodChange."""
    other = new if new is not None else old
    if _uid(other) == _uid(pod):
        return True
    if other.metadata.namespace != pod.metadata.namespace:
        return False
    selectors = [
        LabelSelectorMatcher(one.label_selector)
        for one in pod.spec.topology_spread_constraints
        if one.when_unsatisfiable == "DoNotSchedule"
    ]

    def counted(seen: Any) -> list[bool]:
        return [seen is not None and one.matches(seen.metadata.labels) for one in selectors]

    if old is None or new is None:
        return any(counted(other))
    return counted(old) != counted(new)


def _spread_node(pod: Pod, old: Any, new: Any) -> bool:
    """A node with all of the labels came, went, or changed them. Source: isSchedulableAfterNodeChange."""
    keys = [c.topology_key for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]

    def domains(node: Any) -> list[str] | None:
        found = [node.metadata.labels.get(key) for key in keys] if node is not None else [None]
        return None if None in found else found  # type: ignore[return-value]

    before, after = domains(old), domains(new)
    if old is not None and new is not None:
        return before != after or (after is not None and old.spec.taints != new.spec.taints)
    return (before if new is None else after) is not None


def _neighbour(pod: Pod, old: Any, new: Any) -> bool:
    """A pod that an affinity term means came, or one that an anti-affinity term means left.

    Source: interpodaffinity isSchedulableAfterPodChange.
    """
    other = new if new is not None else old
    if _uid(other) == _uid(pod):
        return True
    info = PodInfo(pod)
    namespaces: Mapping[str, Mapping[str, str]] = {other.metadata.namespace: {}}

    def meant(terms: Iterable[Any], seen: Any) -> bool:
        return seen is not None and any(term.matches(seen, namespaces) for term in terms)

    if meant(info.required_affinity, new) and not meant(info.required_affinity, old):
        return True
    if meant(info.required_anti_affinity, old) and not meant(info.required_anti_affinity, new):
        return True
    # a pod that left may have kept this one away by a term of its own
    return new is None and any(term.matches(pod, {}) for term in PodInfo(other).required_anti_affinity)


def _neighbour_node(pod: Pod, old: Any, new: Any) -> bool:
    """A node came, or changed, that has a label which a term looks at. Source: isSchedulableAfterNodeChange."""
    info = PodInfo(pod)
    keys = {term.topology_key for term in (*info.required_affinity, *info.required_anti_affinity)}
    labels = new.metadata.labels
    if old is not None:
        return any(labels.get(key) != old.metadata.labels.get(key) for key in keys)
    return not keys or any(key in labels for key in keys)


def device_events(claims: Claims) -> list[Registered]:
    """What may help a pod that waits for its claims. Source: DynamicResources.EventsToRegister."""
    return [
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE), None),
        (ClusterEvent(RESOURCE_CLAIM, _CHANGED), partial(claim_changed, claims)),
        (ClusterEvent(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM), partial(_claims_made, claims)),
        (ClusterEvent(DEVICE_CLASS, _CHANGED), None),
        (ClusterEvent(RESOURCE_SLICE, _CHANGED), None),
    ]


def claim_changed(claims: Claims, pod: Pod, old: Any, new: Any) -> bool:
    """Devices have become free, or a claim of the pod's has come or got another status.

    Source: isSchedulableAfterClaimChange.
    """
    try:
        mine = [claim.metadata.uid for _, claim in claims_of(pod, claims.find)]
    except ClaimError:
        return False
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return True
    return new.metadata.uid in mine and (old is None or old.status != new.status)


def _claims_made(claims: Claims, pod: Pod, old: Any, new: Any) -> bool:
    """The pod's own claims are all there now. Source: isSchedulableAfterPodChange."""
    if not _is_itself(pod, old, new):
        return False
    try:
        list(claims_of(new, claims.find))
    except ClaimError:
        return False
    return True


def _uid(pod: Pod) -> str:
    return pod.metadata.uid or pod.key


_ITSELF_TOLERATES: Registered = (ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_TOLERATION), _is_itself)
_STORAGE = (PVC, PV, STORAGE_CLASS, CSI_NODE, CSI_DRIVER, CSI_STORAGE_CAPACITY, VOLUME_ATTACHMENT)


def _storage(*resources: str, delete: tuple[str, ...] = ()) -> list[Registered]:
    return [
        (ClusterEvent(resource, _CHANGED | Action.DELETE if resource in delete else _CHANGED), None)
        for resource in resources
    ]


EVENTS: Mapping[str, list[Registered]] = {
    "SchedulingGates": [(ClusterEvent(UNSCHEDULED_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED), _gates_gone)],
    "PrioritySort": [],
    "NodeUnschedulable": [
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _uncordoned),
        _ITSELF_TOLERATES,
    ],
    "NodeName": [(ClusterEvent(NODE, Action.ADD), _is_named)],
    "TaintToleration": [
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _taint_gone),
        _ITSELF_TOLERATES,
    ],
    "NodeAffinity": [(ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), _affinity_came_true)],
    "NodePorts": [
        (ClusterEvent(POD, Action.DELETE), _ports_freed),
        (ClusterEvent(NODE, Action.ADD), None),
    ],
    "NodeResourcesFit": [
        (ClusterEvent(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN), _room_made),
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE), _node_has_room),
    ],
    "VolumeRestrictions": [
        (ClusterEvent(POD, Action.DELETE), None),
        (ClusterEvent(NODE, Action.ADD), None),
        *_storage(PVC),
    ],
    "NodeVolumeLimits": [
        (ClusterEvent(POD, Action.DELETE), None),
        *_storage(CSI_NODE, PVC, VOLUME_ATTACHMENT, delete=(VOLUME_ATTACHMENT,)),
    ],
    "VolumeBinding": [
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None),
        *_storage(*_STORAGE[:-1]),
    ],
    "VolumeZone": [
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None),
        *_storage(PVC, PV, STORAGE_CLASS),
    ],
    "PodTopologySpread": [
        (ClusterEvent(POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL), _spread_pod),
        (
            ClusterEvent(NODE, Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT),
            _spread_node,
        ),
    ],
    "InterPodAffinity": [
        (ClusterEvent(POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL), _neighbour),
        (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), _neighbour_node),
    ],
    "DefaultPreemption": [],
    "NodeResourcesBalancedAllocation": [],
    "ImageLocality": [],
    "DefaultBinder": [],
}
"""Plugin -> its events with their hints."""
