"""NodeVolumeLimits: a CSI driver attaches a limited number of volumes to one node.

Source: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kitlib.api.core import Pod
from kitlib.api.persistent_volume import class_name
from kitlib.api.storage import CSINode
from kitlib.scheduler.framework.plugin import SKIP, Context, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.framework.volumes import claim_names, claims_used
from kitlib.scheduler.plugins.descriptions import NodeVolumeLimitsDescription

Attached = tuple[str, str]
"""A CSI driver and a volume's handle."""
EXCEEDED = "node(s) exceed max volume count"


@dataclass
class AttachedVolumesState:
    """A cycle's view of attached volumes.

    Attributes:
        needed: the (driver, volume) pairs of the pod.
        attached: node -> the (driver, volume) pairs of its VolumeAttachments.
    """

    needed: set[Attached]
    attached: dict[str, set[Attached]]


class NodeVolumeLimits(NodeVolumeLimitsDescription):
    """The plugin that compares the attached volumes of each driver with the CSINode's allocatable count."""

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        if not claims_used(info.pod):
            return PreFilterResult(SKIP)
        needed = attachable(info.pod, context)
        return PreFilterResult(AttachedVolumesState(needed, _attachments(context)) if needed else SKIP)

    def filter(self, state: AttachedVolumesState, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            name = context.snapshot.names[row]
            csi_node = context.volumes.csi_nodes.get(name)
            absent = _absent_driver(state, csi_node, context)
            if absent:
                found.reject_row(place, Code.Unschedulable, (f"{absent} CSI driver is not installed on the node",))
                continue
            if any(used + more > most for _, used, more, most in attach_counts(state, int(row), context)):
                found.reject_row(place, Code.Unschedulable, (EXCEEDED,))
        return found


def attach_counts(state: AttachedVolumesState, row: int, context: Context) -> Iterator[tuple[str, int, int, int]]:
    """Yield (driver, attached volumes, additional volumes of the pod, limit) for each driver with a limit."""
    csi_node = context.volumes.csi_nodes.get(context.snapshot.names[row])
    drivers = [(one.name, one.allocatable) for one in (csi_node.spec.drivers if csi_node else ())]
    limits = {name: has.count for name, has in drivers if has is not None and has.count is not None}
    if not limits:
        return
    standing = {one for other in context.snapshot.pods[row].values() for one in attachable(other.pod, context)}
    # a volume of the pod that is attached, but that no pod on the node uses, counts twice: as attached and as the pod's
    used = _by_driver(standing | state.attached.get(context.snapshot.names[row], set()))
    more = _by_driver(state.needed - standing)
    yield from ((driver, used[driver], count, limits[driver]) for driver, count in more.items() if driver in limits)


def _absent_driver(state: AttachedVolumesState, csi_node: CSINode | None, context: Context) -> str:
    """Return a driver that the pod's volumes need, that must be installed and is not on this node; "" = none.

    If several drivers are missing, kube-scheduler names any of them; here it is the first by name.

    Source: checkCSIDriverOnNode; KEP-5030.
    """
    if not context.release.enabled("VolumeLimitScaling"):
        return ""
    there = {driver.name for driver in csi_node.spec.drivers} if csi_node is not None else set()
    for name in sorted({driver for driver, _ in state.needed} - there):
        driver = context.volumes.drivers.get(name)
        if driver is not None and driver.spec.prevent_pod_scheduling_if_missing:
            return name
    return ""


def _attachments(context: Context) -> dict[str, set[Attached]]:
    """Return node -> volumes that VolumeAttachments attach to it. Source: getNodeVolumeAttachmentInfo."""
    found: dict[str, set[Attached]] = {}
    for attachment in context.volumes.attachments.values():
        volume = context.volumes.volumes.get(attachment.spec.source.persistent_volume_name or "")
        if volume is not None and volume.spec.csi is not None and attachment.spec.attacher:
            attached = attachment.spec.attacher, volume.spec.csi.volume_handle
            found.setdefault(attachment.spec.node_name, set()).add(attached)
    return found


def attachable(pod: Pod, context: Context) -> set[Attached]:
    """Return (driver, volume) of all volumes that the pod needs; one that does not exist yet counts by its claim.

    Source: filterAttachableVolumes, getCSIDriverInfo.
    """
    found: set[Attached] = set()
    for name in claim_names(pod):
        claim = context.volumes.claim(pod.namespace, name)
        if claim is None:
            continue
        volume = context.volumes.volumes.get(claim.spec.volume_name)
        if volume is not None:
            csi = volume.spec.csi
            if csi is not None and csi.driver and csi.volume_handle:
                found.add((csi.driver, csi.volume_handle))
            continue
        storage_class = context.volumes.classes.get(class_name(claim))
        if storage_class is not None and storage_class.provisioner:
            found.add((storage_class.provisioner, f"{claim.namespace}/{claim.name}"))
    return found


def _by_driver(volumes: Iterable[Attached]) -> Counter[str]:
    return Counter(driver for driver, _ in volumes)
