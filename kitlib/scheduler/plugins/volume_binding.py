"""VolumeBinding: the pod's claims are bound to volumes that the node can use, or could be bound or provisioned there.

Claims of a class with `volumeBindingMode: WaitForFirstConsumer` are bound when the pod is placed: an unbound volume
that fits and is usable on the node is taken, otherwise one would be provisioned, if the class allows the node's
topology and (for drivers that publish it) enough capacity is left there.

Source: plugins/volumebinding (volume_binding.go, binder.go); KEP-1472.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kitlib.api.core import Node, PersistentVolumeClaim, Pod
from kitlib.api.errors import KitError
from kitlib.api.persistent_volume import class_name
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.storage import TopologySelectorTerm
from kitlib.scheduler.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    NODE,
    PV,
    PVC,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
    Registered,
    changes_of,
)
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, Plugin, PreFilterResult, Reads, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts
from kitlib.scheduler.framework.volumes import (
    NO_PROVISIONER,
    SELECTED_NODE,
    ClaimUse,
    Volumes,
    claims_used,
    find_matching_volume,
    is_for_pod,
    is_fully_bound,
    usable_on,
    waits_for_consumer,
)

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
NODE_CONFLICT = "node conflict"
"""Stands for the release's wording."""
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass
class Claims:
    """A pod's claims, sorted out."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    to_bind: list[PersistentVolumeClaim] = field(default_factory=list)


class VolumeBinding(Plugin):
    """Finds out on which nodes all claims can be served."""

    name = "VolumeBinding"
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = "not found"

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected | None:
        return None if claims_used(info.pod) else Affected.NOTHING

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None),
            *changes_of(PVC, PV, STORAGE_CLASS, CSI_NODE, CSI_DRIVER, CSI_STORAGE_CAPACITY),
        ]

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        used = claims_used(info.pod)
        if not used:
            return PreFilterResult(SKIP)
        claims, volumes = Claims(), context.volumes
        found: list[PersistentVolumeClaim] = []
        for one in used:
            claim = volumes.claim(info.pod.namespace, one.name)
            problem = _problem(one, claim, info.pod)
            if problem or claim is None:
                return self._rejected(problem)
            found.append(claim)
        for claim in found:
            if is_fully_bound(claim):
                claims.bound.append(claim)
            elif not claim.spec.volume_name and waits_for_consumer(claim, volumes):
                claims.to_bind.append(claim)
            else:  # one that the user has bound beforehand waits for the volume controller too
                return self._rejected(UNBOUND_IMMEDIATE)
        return PreFilterResult(claims)

    def _rejected(self, reason: str) -> PreFilterResult:
        return PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, (reason,), self.name))

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        conflict = context.release.text("volume_node_conflict")
        for place, row in enumerate(rows):
            try:
                reasons = problems(state, context.snapshot.nodes[row], context.volumes)
            except ClassError as error:
                found.reject_row(place, Code.Error, (str(error),))
                break
            if reasons:
                words = tuple(conflict if reason is NODE_CONFLICT else reason for reason in reasons)
                found.reject_row(place, Code.UnschedulableAndUnresolvable, words)
        return found

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        return SKIP if context.release.enabled("KitNodeAffinityScoreSkips") else None

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        """Nothing without the gate StorageCapacityScoring: 0 for every node."""
        return np.zeros(len(rows), np.int64)


class ClassError(KitError):
    """A claim's class is missing while a volume is to be provisioned: the cycle ends."""


def _problem(one: ClaimUse, claim: PersistentVolumeClaim | None, pod: Pod) -> str:
    """Why a pod's claim cannot be used at all; "" = it can. Source: podHasPVCs."""
    if claim is None:
        if one.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{one.name}"'
        return f'persistentvolumeclaim "{one.name}" not found'
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{one.name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{one.name}" is being deleted'
    return is_for_pod(claim, pod) if one.ephemeral else ""


def problems(claims: Claims, node: Node, volumes: Volumes) -> tuple[str, ...]:
    """Why the claims cannot be served on a node; () = they can. Source: FindPodVolumes.

    Raises:
        ClassError: a claim that needs a new volume has no class, or one that does not exist.
    """
    reasons: list[str] = []
    missing = False
    for claim in claims.bound:  # Source: checkBoundClaims, which ends at the first
        volume = volumes.volumes.get(claim.spec.volume_name)
        if volume is None:
            missing = True
            break
        if not usable_on(volume, node):
            reasons.append(NODE_CONFLICT)
            break
    reason = _unbound(claims.to_bind, node, volumes)
    return (*reasons, *((reason,) if reason else ()), *((VOLUME_MISSING,) if missing else ()))


def _unbound(claims: list[PersistentVolumeClaim], node: Node, volumes: Volumes) -> str:
    """Why claims without a volume would get none on the node: none fits, and none can be provisioned there."""
    provision: list[PersistentVolumeClaim] = []
    find: list[PersistentVolumeClaim] = []
    for claim in claims:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is not None and selected != node.name:
            return BIND_CONFLICT
        (find if selected is None else provision).append(claim)
    taken: set[str] = set()
    for claim in sorted(find, key=_size):
        listed = (one for one in volumes.volumes.values() if class_name(one) == class_name(claim))
        volume = find_matching_volume(claim, listed, node, taken)
        if volume is not None:
            taken.add(volume.name)
        else:
            provision.append(claim)
    for claim in provision:
        reason = _provisioning(claim, node, volumes)
        if reason:
            return reason
    return ""


def _size(claim: PersistentVolumeClaim) -> int:
    asked = claim.spec.resources.requests.get("storage")
    return asked.value() if asked is not None else 0


def _provisioning(claim: PersistentVolumeClaim, node: Node, volumes: Volumes) -> str:
    """Why no volume could be provisioned there; "" = one could. Source: checkVolumeProvisions, hasEnoughCapacity."""
    name = class_name(claim)
    if not name:
        raise ClassError(f'no class for claim "{claim.namespace}/{claim.name}"')
    storage_class = volumes.classes.get(name)
    if storage_class is None:
        raise ClassError(f'failed to find storage class "{name}"')
    if not storage_class.provisioner or storage_class.provisioner == NO_PROVISIONER:
        return BIND_CONFLICT
    if storage_class.allowed_topologies and not any(
        _in_topology(term, node) for term in storage_class.allowed_topologies
    ):
        return BIND_CONFLICT
    driver = volumes.drivers.get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return ""
    size = _size(claim)
    for capacity in volumes.capacities:
        if capacity.storage_class_name != storage_class.name:
            continue
        limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
        if limit is None or limit.value() < size or capacity.node_topology is None:
            continue
        if LabelSelectorMatcher(capacity.node_topology).matches(node.metadata.labels):
            return ""
    return NO_SPACE


def _in_topology(term: TopologySelectorTerm, node: Node) -> bool:
    return all(node.metadata.labels.get(one.key) in one.values for one in term.match_label_expressions)
