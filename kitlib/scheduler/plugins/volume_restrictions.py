"""VolumeRestrictions: disks that only one pod of a node may use, and claims of access mode ReadWriteOncePod.

Source: plugins/volumerestrictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kitlib.api.core import Pod, Volume
from kitlib.scheduler.framework.plugin import SKIP, Context, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts
from kitlib.scheduler.framework.volumes import claims_used
from kitlib.scheduler.plugins.descriptions import VolumeRestrictionsDescription, is_exclusive

DISK_CONFLICT = "node(s) had no available disk"
ONCE_POD = "ReadWriteOncePod"


class VolumeRestrictions(VolumeRestrictionsDescription):
    """The plugin that compares the pod's disks and claims with those of the pods on each node."""

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        disks = [volume for volume in info.pod.spec.volumes if is_exclusive(volume)]
        in_use = 0
        if context.release.enabled("ReadWriteOncePod"):
            for one in claims_used(info.pod):
                if one.ephemeral:
                    continue
                claim = context.volumes.claim(info.pod.namespace, one.name)
                if claim is None:
                    reason = f'persistentvolumeclaim "{one.name}" not found'
                    return PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, (reason,), self.name))
                if ONCE_POD in claim.spec.access_modes:
                    in_use += _conflicting_references(info.pod.namespace, one.name, context)
        in_use = max(in_use, 0)
        if in_use and not context.release.enabled("KitReadWriteOncePodFilters"):
            reason = context.release.text("read_write_once_pod")
            return PreFilterResult(status=Status(Code.UnschedulableAndUnresolvable, (reason,), self.name))
        if not disks and not in_use:
            return PreFilterResult(SKIP)
        return PreFilterResult((disks, in_use))

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        disks, in_use = state
        found = Verdicts.passing(len(rows))
        if disks:
            for place, row in enumerate(rows):
                others = [other.pod for other in context.snapshot.pods[row].values()]
                if any(_conflict(disk, other) for disk in disks for other in others):
                    found.reject_row(place, Code.Unschedulable, (DISK_CONFLICT,))
        if in_use:  # the other pod may run on any node: all of them are rejected
            every = np.ones(len(rows), np.bool_)
            found.reject(every, Code.Unschedulable, context.release.text("read_write_once_pod"))
        return found


def _conflicting_references(namespace: str, claim: str, context: Context) -> int:
    """Return 1 if a pod uses the claim, less the pods that preemption removes on trial.

    Source: conflictingPVCRefCount.
    """
    removed = sum(_uses(other, namespace, claim) for other in context.removed)
    if not removed or not context.release.enabled("KitVolumeRestrictionsTracksPods"):
        return int(is_pvc_used_by_pods(namespace, claim, context))
    return 1 - removed


def _uses(other: PodInfo, namespace: str, claim: str) -> int:
    if other.pod.namespace != namespace:
        return 0
    return int(any(one.name == claim and not one.ephemeral for one in claims_used(other.pod)))


def is_pvc_used_by_pods(namespace: str, claim: str, context: Context) -> bool:
    """Return whether a pod on any node uses the claim. Source: StorageInfos().IsPVCUsedByPods."""
    key = ("claim", namespace, claim)
    return bool(context.snapshot.counted(key, lambda other: _uses(other, namespace, claim)).any())


def _conflict(volume: Volume, pod: Pod) -> bool:
    """Return whether a pod uses the same disk and not both only read it. Source: isVolumeConflict."""
    return any(_same(volume, other) for other in pod.spec.volumes)


def _same(volume: Volume, other: Volume) -> bool:
    if volume.gce_persistent_disk and other.gce_persistent_disk:
        a, b = volume.gce_persistent_disk, other.gce_persistent_disk
        return a.pd_name == b.pd_name and not (a.read_only and b.read_only)
    if volume.aws_elastic_block_store and other.aws_elastic_block_store:
        return volume.aws_elastic_block_store.volume_id == other.aws_elastic_block_store.volume_id
    if volume.iscsi and other.iscsi:
        c, d = volume.iscsi, other.iscsi
        return c.iqn == d.iqn and not (c.read_only and d.read_only)
    if volume.rbd and other.rbd:
        e, f = volume.rbd, other.rbd
        pools = (e.pool or "rbd", f.pool or "rbd")
        shared = set(e.monitors) & set(f.monitors)
        same = bool(shared) and pools[0] == pools[1] and e.image == f.image
        return same and not (e.read_only and f.read_only)
    return False
