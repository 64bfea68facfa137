"""Plugins with code that is loaded with the first pod that they concern.

A profile asks each plugin for its points, its events and the part of a pod that it reads before there is any pod. A
`PluginDescription` has these answers without the code. The plugin itself is a subclass of its description, so both give
the same answers; `points` alone is written twice, and a test compares it with the methods of the plugin.

    class VolumeZoneDescription(PluginDescription):      # plugins/descriptions.py
        name = "VolumeZone"
        implementation = "volume_zone.VolumeZone"
        points = frozenset({"pre_filter", "filter"})

    class VolumeZone(VolumeZoneDescription):             # plugins/volume_zone.py
        def pre_filter(self, info, context): ...
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from kitlib.api.core import Node, Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, FailedCycle, Plugin, PreFilterResult, Scores
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import PostFilterResult
from kitlib.scheduler.framework.status import SUCCESS, Rows, Status, Verdicts

_SKIPPED = PreFilterResult(SKIP)


class PluginDescription(Plugin):
    """The data of a plugin that a profile needs before the plugin's code is loaded.

    `concerns` also decides about the other points: PreEnqueue lets a pod pass that the plugin does not concern, and
    PreFilter and PreScore skip it.
    """

    implementation: ClassVar[str] = ""
    """The module and the class of the plugin, below the package of the plugins."""
    points: ClassVar[frozenset[str]] = frozenset()
    """The methods of the extension points that the plugin overrides."""

    def affected_by_placement(self, info: PodInfo, context: Context) -> Affected | None:
        return None if self.concerns(info.pod) else Affected.NOTHING

    def scores_every_pod(self, release: Release) -> bool:
        """Return whether a pod that the plugin does not concern gets 0 points on each node, instead of no score."""
        return False


class OnDemandPlugin(PluginDescription):
    """A plugin that is its description until a pod comes that it concerns.

    `on_demand` makes the class for one description.
    """

    def __init__(self, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__(arguments)
        self._loaded: Plugin | None = None

    def load(self) -> Plugin:
        """Return the plugin with its code, the same one each time."""
        if self._loaded is None:
            module, _, name = self.implementation.rpartition(".")
            made: type[Plugin] = getattr(import_module(f"kitlib.scheduler.plugins.{module}"), name)
            self._loaded = made(self.arguments)
        return self._loaded

    def takes_part(self, point: str) -> bool:
        return point in self.points

    def pre_enqueue_in(self, pod: Pod, context: Context) -> Status:
        return self.load().pre_enqueue_in(pod, context) if self.concerns(pod) else SUCCESS

    def pre_filter(self, info: PodInfo, context: Context) -> PreFilterResult:
        return self.load().pre_filter(info, context) if self.concerns(info.pod) else _SKIPPED

    def filter(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Verdicts:
        return self.load().filter(state, info, context, rows)

    def pre_score(self, info: PodInfo, context: Context, rows: Rows) -> Any:
        if self.concerns(info.pod):
            return self.load().pre_score(info, context, rows)
        return None if self.scores_every_pod(context.release) else SKIP

    def score(self, state: Any, info: PodInfo, context: Context, rows: Rows) -> Scores:
        if self.concerns(info.pod):
            return self.load().score(state, info, context, rows)
        return super().score(state, info, context, rows)

    def normalize(self, state: Any, scores: Scores) -> Scores:
        return self.load().normalize(state, scores) if "normalize" in self.points else scores

    def reserve(self, info: PodInfo, node: Node) -> Status:
        return self.load().reserve(info, node)

    def unreserve(self, info: PodInfo, node: Node) -> None:
        self.load().unreserve(info, node)

    def permit(self, info: PodInfo, node: Node) -> Status:
        return self.load().permit(info, node)

    def pre_bind(self, info: PodInfo, node: Node) -> Status:
        return self.load().pre_bind(info, node)

    def pre_bind_again(self, info: PodInfo, node: Node, waited_ms: int) -> Status:
        return self.load().pre_bind_again(info, node, waited_ms)

    def bind(self, info: PodInfo, node: Node) -> Status:
        return self.load().bind(info, node)

    def post_bind(self, info: PodInfo, node: Node) -> None:
        self.load().post_bind(info, node)

    def post_filter(self, cycle: FailedCycle, info: PodInfo, context: Context) -> PostFilterResult:
        return self.load().post_filter(cycle, info, context)

    def commit_post_filter(self, effect: Any, info: PodInfo, context: Context) -> None:
        self.load().commit_post_filter(effect, info, context)


def on_demand(description: type[PluginDescription]) -> type[OnDemandPlugin]:
    """Return the class of the plugin with this description, for the registry of a profile."""
    return type(f"OnDemand{description.name}", (OnDemandPlugin, description), {})
