"""NodeVolumeLimits: a CSI driver attaches only so many volumes to one node.

Source: plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kitlib.api.core import Pod
from kitlib.scheduler.framework.plugin import SKIP, Context, Plugin, PreFilterResult
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import Code, Rows, Verdicts
from kitlib.scheduler.framework.volumes import claim_names

EXCEEDED = "node(s) exceed max volume count"


class NodeVolumeLimits(Plugin):
    """Counts attached volumes by driver against the CSINode's allocatable count."""

    name = "NodeVolumeLimits"

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        needed = attachable(info.pod, context)
        return PreFilterResult(needed or SKIP)

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        found = Verdicts.passing(len(rows))
        for place, row in enumerate(rows):
            csi_node = context.volumes.csi_nodes.get(context.snapshot.names[row])
            limits = {
                driver.name: driver.allocatable.count
                for driver in (csi_node.spec.drivers if csi_node else ())
                if driver.allocatable is not None and driver.allocatable.count is not None
            }
            if not limits:
                continue
            standing: set[tuple[str, str]] = set()
            for other in context.snapshot.pods[row].values():
                standing |= attachable(other.pod, context)
            used = _by_driver(standing)
            more = _by_driver(state - standing)
            if any(driver in limits and used[driver] + count > limits[driver] for driver, count in more.items()):
                found.reject_row(place, Code.Unschedulable, (EXCEEDED,))
        return found


def attachable(pod: Pod, context: Context) -> set[tuple[str, str]]:
    """(driver, volume) of all that the pod needs attached; a volume that does not exist yet counts by its claim."""
    found: set[tuple[str, str]] = set()
    for name in claim_names(pod):
        claim = context.volumes.claim(pod.namespace, name)
        if claim is None:
            continue
        volume = context.volumes.volumes.get(claim.spec.volume_name)
        if volume is not None:
            csi = volume.spec.csi
            if csi is not None:
                found.add((csi.driver, csi.volume_handle or volume.name))
            continue
        storage_class = context.volumes.classes.get(claim.spec.storage_class_name or "")
        if storage_class is not None:
            found.add((storage_class.provisioner, f"{claim.namespace}/{claim.name}"))
    return found


def _by_driver(volumes: Iterable[tuple[str, str]]) -> Counter[str]:
    return Counter(driver for driver, _ in volumes)
