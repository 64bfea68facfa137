"""VolumeZone: a bound volume that is labelled with a zone or region can only be used on nodes there.

Source: plugins/volumezone.
"""

from __future__ import annotations

from typing import Any

from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.framework.volumes import claim_names

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


class VolumeZone(Plugin):
    """Compares zone labels of volumes with those of nodes; a label may list several, `a__b`."""

    name = "VolumeZone"

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        wanted: list[tuple[str, frozenset[str]]] = []
        for name in claim_names(info.pod):
            claim = context.volumes.claim(info.pod.namespace, name)
            volume = context.volumes.volumes.get(claim.spec.volume_name) if claim is not None else None
            if volume is not None:
                labels = volume.metadata.labels
                wanted += [(key, frozenset(labels[key].split(_SEPARATOR))) for key in LABELS if key in labels]
        return PreFilterResult(wanted or SKIP)

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            labels = context.snapshot.nodes[row].metadata.labels
            if not any(key in labels for key in LABELS):
                continue  # a node without zones is no zone's enemy
            for key, values in state:
                value = labels.get(key, labels.get(_BETA.get(key, ""), None))
                if value is None or value not in values:
                    found.reject_row(place, Code.UnschedulableAndUnresolvable, (CONFLICT,))
                    break
        return found
