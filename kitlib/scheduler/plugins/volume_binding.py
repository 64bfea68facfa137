"""VolumeBinding: the pod's claims are bound to volumes that the node can use, or could be bound or provisioned there.

Claims of a class with `volumeBindingMode: WaitForFirstConsumer` are bound when the pod is placed: an unbound volume
that fits and is usable on the node is taken, otherwise one would be provisioned, if the class allows the node's
topology and (for drivers that publish it) enough capacity is left there.

Source: plugins/volumebinding (volume_binding.go, binder.go); KEP-1472.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kitlib.api.core import Node, PersistentVolume, PersistentVolumeClaim
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.storage import TopologySelectorTerm
from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts
from kitlib.scheduler.framework.volumes import (
    NO_PROVISIONER,
    Volumes,
    claim_names,
    fits_claim,
    usable_on,
    waits_for_consumer,
)

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
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

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        claims, volumes = Claims(), context.volumes
        for name in claim_names(info.pod):
            claim = volumes.claim(info.pod.namespace, name)
            if claim is None:
                return self._rejected(f'persistentvolumeclaim "{name}" not found')
            if claim.metadata.deletion_timestamp is not None:
                return self._rejected(f'persistentvolumeclaim "{name}" is being deleted')
            if claim.status.phase == "Lost":
                volume = claim.spec.volume_name
                return self._rejected(
                    f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
                )
            if claim.spec.volume_name:
                claims.bound.append(claim)
            elif waits_for_consumer(claim, volumes):
                claims.to_bind.append(claim)
            else:
                return self._rejected(UNBOUND_IMMEDIATE)
        return PreFilterResult(claims if claims.bound or claims.to_bind else SKIP)

    def _rejected(self, reason: str) -> PreFilterResult:
        return PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, (reason,), self.name))

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            reasons = problems(state, context.snapshot.nodes[row], context.volumes)
            if reasons:
                found.reject_row(place, Code.UnschedulableAndUnresolvable, reasons)
        return found


def problems(claims: Claims, node: Node, volumes: Volumes) -> tuple[str, ...]:
    """Why the claims cannot be served on a node; () = they can. Source: FindPodVolumes."""
    reasons: list[str] = []
    for claim in claims.bound:
        volume = volumes.volumes.get(claim.spec.volume_name)
        if volume is None:
            reasons.append(VOLUME_MISSING)
        elif not usable_on(volume, node):
            reasons.append(NODE_CONFLICT)
    taken: set[str] = set()
    for claim in sorted(claims.to_bind, key=_size):
        volume = _find(claim, node, volumes, taken)
        if volume is not None:
            taken.add(volume.name)
            continue
        reason = _provisioning(claim, node, volumes)
        if reason:
            reasons.append(reason)
    return tuple(dict.fromkeys(reasons))


def _size(claim: PersistentVolumeClaim) -> int:
    asked = claim.spec.resources.requests.get("storage")
    return asked.value() if asked is not None else 0


def _find(claim: PersistentVolumeClaim, node: Node, volumes: Volumes, taken: set[str]) -> PersistentVolume | None:
    """The smallest free volume that fits."""
    fitting = [
        volume
        for volume in volumes.volumes.values()
        if volume.name not in taken
        and volume.status.phase in ("", "Available")
        and fits_claim(volume, claim)
        and usable_on(volume, node)
    ]
    return min(
        fitting, key=lambda v: v.spec.capacity["storage"].value() if "storage" in v.spec.capacity else 0, default=None
    )


def _provisioning(claim: PersistentVolumeClaim, node: Node, volumes: Volumes) -> str:
    """Why no volume could be provisioned there; "" = one could. Source: checkVolumeProvisions, hasEnoughCapacity."""
    storage_class = volumes.classes.get(claim.spec.storage_class_name or "")
    if storage_class is None or not storage_class.provisioner or storage_class.provisioner == NO_PROVISIONER:
        return BIND_CONFLICT
    if storage_class.allowed_topologies and not any(
        _in_topology(term, node) for term in storage_class.allowed_topologies
    ):
        return BIND_CONFLICT
    driver = volumes.drivers.get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return ""
    size = _size(claim)
    for capacity in volumes.capacities:
        if capacity.storage_class_name != storage_class.name:
            continue
        limit = capacity.maximum_volume_size or capacity.capacity
        if limit is None or limit.value() < size or capacity.node_topology is None:
            continue
        if LabelSelectorMatcher(capacity.node_topology).matches(node.metadata.labels):
            return ""
    return NO_SPACE


def _in_topology(term: TopologySelectorTerm, node: Node) -> bool:
    return all(node.metadata.labels.get(one.key) in one.values for one in term.match_label_expressions)
