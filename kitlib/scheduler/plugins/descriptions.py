"""The descriptions of the plugins of volumes and devices, which most pods do not need.

Source: the plugins' EventsToRegister; the conditions under which their PreFilter skips a pod.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kitlib.api.core import Pod, Volume
from kitlib.api.release import Release
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
    VOLUME_ATTACHMENT,
    ActionType,
    ClusterEvent,
    Registered,
    changes_of,
)
from kitlib.scheduler.framework.on_demand import PluginDescription
from kitlib.scheduler.framework.plugin import Context, Reads


def uses_claims(pod: Pod) -> bool:
    """Return whether a volume of the pod is a PersistentVolumeClaim or an ephemeral volume, which has one."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return True
    return False


def is_exclusive(volume: Volume) -> bool:
    """Return whether a volume is a disk that only one pod of a node may write."""
    return any((volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.iscsi, volume.rbd))


class VolumeRestrictionsDescription(PluginDescription):
    """The description of VolumeRestrictions."""

    name = "VolumeRestrictions"
    implementation = "volume_restrictions.VolumeRestrictions"
    points = frozenset({"pre_filter", "filter"})
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = 'cannot read "PreFilterVolumeRestrictions" from cycleState'

    def concerns(self, pod: Pod) -> bool:
        return uses_claims(pod) or any(is_exclusive(volume) for volume in pod.spec.volumes)

    def follows_pods(self, release: Release) -> bool:
        return release.enabled("KitVolumeRestrictionsTracksPods")

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(POD, ActionType.DELETE), None),
            (ClusterEvent(NODE, ActionType.ADD), None),
            *changes_of(PVC),
        ]


class NodeVolumeLimitsDescription(PluginDescription):
    """The description of NodeVolumeLimits."""

    name = "NodeVolumeLimits"
    implementation = "node_volume_limits.NodeVolumeLimits"
    points = frozenset({"pre_filter", "filter"})
    reads = Reads.ALL_BUT_AMOUNTS

    def concerns(self, pod: Pod) -> bool:
        return uses_claims(pod)

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(POD, ActionType.DELETE), None),
            *changes_of(CSI_NODE, PVC, VOLUME_ATTACHMENT),
            (ClusterEvent(VOLUME_ATTACHMENT, ActionType.DELETE), None),
        ]


class VolumeBindingDescription(PluginDescription):
    """The description of VolumeBinding."""

    name = "VolumeBinding"
    implementation = "volume_binding.VolumeBinding"
    points = frozenset({"pre_filter", "filter", "pre_score", "score", "reserve", "unreserve", "pre_bind"})
    reads = Reads.ALL_BUT_AMOUNTS
    missing_state = "not found"

    def concerns(self, pod: Pod) -> bool:
        return uses_claims(pod)

    def scores_every_pod(self, release: Release) -> bool:
        # with the gate, upstream's PreScore does not skip pods without claims. Source: VolumeBinding.PreScore
        return release.enabled("StorageCapacityScoring") or not release.enabled("KitNodeAffinityScoreSkips")

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL), None),
            *changes_of(PVC, PV, STORAGE_CLASS, CSI_NODE, CSI_DRIVER, CSI_STORAGE_CAPACITY),
        ]


class VolumeZoneDescription(PluginDescription):
    """The description of VolumeZone."""

    name = "VolumeZone"
    implementation = "volume_zone.VolumeZone"
    points = frozenset({"pre_filter", "filter"})
    reads = Reads.ALL_BUT_AMOUNTS

    def concerns(self, pod: Pod) -> bool:
        return uses_claims(pod)

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        return [
            (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL), None),
            *changes_of(PVC, PV, STORAGE_CLASS),
        ]


class DynamicResourcesDescription(PluginDescription):
    """The description of DynamicResources."""

    name = "DynamicResources"
    implementation = "dynamicresources.plugin.DynamicResources"
    points = frozenset(
        {
            *("pre_enqueue", "pre_filter", "filter", "pre_score", "score", "normalize", "post_filter"),
            *("reserve", "unreserve", "pre_bind"),
        }
    )
    reads = Reads.ALL_BUT_AMOUNTS
    feature_gate = "DynamicResourceAllocation"
    missing_state = "not found"
    needs_verdicts = False

    def concerns(self, pod: Pod) -> bool:
        """Return whether the pod has claims, or requests a resource that a device class may serve."""
        spec = pod.spec
        if spec.resource_claims:
            return True
        # called several times for every pod, so a plain loop without generators
        for containers in (spec.containers, spec.init_containers):
            for container in containers:
                for name in container.resources.requests:
                    if "/" in name:
                        return True
        whole = spec.resources.requests if spec.resources is not None else {}
        return any("/" in name for name in (*spec.overhead, *whole)) if spec.overhead or whole else False

    def events_to_register(self, context: Context) -> Sequence[Registered]:
        changed = ActionType.ADD | ActionType.UPDATE
        node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        return [
            (ClusterEvent(NODE, node), None),
            (ClusterEvent(RESOURCE_CLAIM, changed), partial(_claim_changed, context)),
            (ClusterEvent(POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM), partial(_claims_made, context)),
            (ClusterEvent(DEVICE_CLASS, changed), None),
            (ClusterEvent(RESOURCE_SLICE, changed), None),
        ]


# A hint is asked about pods that the plugin has rejected, so its module is loaded by then.


def _claim_changed(context: Context, pod: Pod, old: Any, new: Any) -> bool:
    from kitlib.scheduler.plugins.claim_hints import claim_changed

    return claim_changed(context.claims, pod, old, new)


def _claims_made(context: Context, pod: Pod, old: Any, new: Any) -> bool:
    from kitlib.scheduler.plugins.claim_hints import claims_made

    return claims_made(context.claims, pod, old, new)
