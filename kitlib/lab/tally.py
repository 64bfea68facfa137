"""The real part of a lesson or a lab: pods, files and kills of real nodes, beside simulations and predictions.

real: 6 pods, 214 files read, 1 kill; simulated: 2 clusters; 3 predictions compared
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kitlib.advisor.forecast import kills_in
from kitlib.api.errors import KitError
from kitlib.cluster.control_plane.polling import PollingCluster


@dataclass
class Tally:
    """The activity of the clusters of one lesson or lab.

    Attributes:
        pods: number of pods with a container that started on a real node.
        files: number of cgroup files that were read from real nodes.
        kills: number of processes that the OOM killer killed on real nodes.
        clusters: number of real clusters.
        simulated: number of simulated clusters.
        predictions: number of predictions that were compared with observed values.
    """

    pods: int = 0
    files: int = 0
    kills: int = 0
    clusters: int = 0
    simulated: int = 0
    predictions: int = 0

    def add(self, cluster: Any) -> None:
        """Count a cluster that has been closed or replaced."""
        self._count(cluster)

    def with_open(self, clusters: Iterable[Any]) -> Tally:
        """Return a copy that includes open clusters, which are counted again when they end."""
        copy = replace(self)
        for cluster in clusters:
            copy._count(cluster)
        return copy

    def _count(self, cluster: Any) -> None:
        if not isinstance(cluster, PollingCluster):  # the type of all real clusters, also closed ones
            self.simulated += 1
            return
        self.clusters += 1
        with suppress(KitError):  # the counts of a lost cluster cannot be read
            started = {event.involved_object.uid for event in cluster.events() if event.reason == "Started"}
            self.pods += len(started)
        for one in cluster.nodes:
            with suppress(KitError):
                node: Any = cluster.node(one.name)
                self.files += node.cgroupfs.files_read
                self.kills += len(kills_in(node.kernel_log()))

    def __str__(self) -> str:
        parts = []
        if self.clusters:
            real = (_count(self.pods, "pod"), f"{_count(self.files, 'file')} read", _count(self.kills, "kill"))
            parts.append(f"real: {', '.join(real)}")
        if self.simulated:
            parts.append(f"simulated: {_count(self.simulated, 'cluster')}")
        if self.predictions:
            parts.append(f"{_count(self.predictions, 'prediction')} compared")
        return "; ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
