"""VolumeZone: a bound volume with the label of a zone or region can be used only on nodes of that zone or region.

Source: plugins/volumezone.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.persistent_volume import class_name
from kitlib.scheduler.framework.plugin import SKIP, Context, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Status, Verdicts
from kitlib.scheduler.framework.volumes import claims_used, waits_for_consumer
from kitlib.scheduler.plugins.descriptions import VolumeZoneDescription

CONFLICT = "node(s) had no available volume zone"
LABELS = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_BETA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_SEPARATOR = "__"


class VolumeZone(VolumeZoneDescription):
    """The plugin that compares volumes' zone labels, which may list several zones (`a__b`), with those of nodes."""

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        if not any(not one.ephemeral for one in claims_used(info.pod)):
            return PreFilterResult(SKIP)
        wanted = self._zones(info.pod, context)
        if isinstance(wanted, Status) and context.release.enabled("KitVolumeZonePreFilters"):
            return PreFilterResult(status=wanted)
        return PreFilterResult(wanted or SKIP)

    def _zones(self, pod: Pod, context: Context) -> list[tuple[str, frozenset[str]]] | Status:
        """Return (label, values) of each volume's zone and region, or the problem with a claim. Source: getPVbyPod."""

        def wrong(reason: str) -> Status:
            return Status(Code.UnschedulableAndUnresolvable, (reason,), self.name)

        volumes = context.volumes
        wanted: list[tuple[str, frozenset[str]]] = []
        for one in claims_used(pod):
            if one.ephemeral:
                continue
            claim = volumes.claim(pod.namespace, one.name)
            if claim is None:
                return wrong(f'persistentvolumeclaim "{one.name}" not found')
            if not claim.spec.volume_name:
                name = class_name(claim)
                if not name:
                    return wrong("PersistentVolumeClaim had no pv name and storageClass name")
                if name not in volumes.classes:
                    return wrong(f'storageclass.storage.k8s.io "{name}" not found')
                if not waits_for_consumer(claim, volumes):
                    return wrong("PersistentVolume had no name")
                continue
            volume = volumes.volumes.get(claim.spec.volume_name)
            if volume is None:
                return wrong(f'persistentvolume "{claim.spec.volume_name}" not found')
            labels = volume.metadata.labels
            wanted += [(key, _split(labels[key])) for key in LABELS if key in labels and _split(labels[key])]
        return wanted

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        beta = context.release.enabled("KitBetaZoneLabelsMatch")
        for place, row in enumerate(rows):
            labels = context.snapshot.nodes[row].metadata.labels
            if not any(key in labels for key in LABELS):
                continue  # the node has no zones
            if isinstance(state, Status):
                found.reject_row(place, state.code, state.reasons)
                continue
            for key, values in state:
                value = labels.get(key, labels.get(_BETA.get(key, "")) if beta else None)
                if value is None or value not in values:
                    found.reject_row(place, Code.UnschedulableAndUnresolvable, (CONFLICT,))
                    break
        return found


def _split(label: str) -> frozenset[str]:
    """Return the zones that a label lists; none if one of them is empty. Source: LabelZonesToSet."""
    zones = [zone.strip() for zone in label.split(_SEPARATOR)]
    return frozenset(zones) if all(zones) else frozenset()
