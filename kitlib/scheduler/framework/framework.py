"""The plugins of a profile at each extension point, in their order.

Source: framework runtime frameworkImpl (expandMultiPointPlugins).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kitlib.api.release import Release
from kitlib.scheduler.framework.events import Registered
from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.plugin import Context, FailedCycle, Nominated, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.post_filter import NOOP, PostFilterResult
from kitlib.scheduler.framework.status import Code


@dataclass
class Framework:
    """The plugins of one profile.

    Attributes:
        plugins: the plugins, in the order in which they run.
        weights: Score plugin -> weight.
        name: the profile's `schedulerName`.
        percentage: `percentageOfNodesToScore`; None = all nodes, 0 = by the number of nodes, as a cluster's default.
        points: extension point -> names enabled there by name; they override or join those enabled for all points.
        off: extension point -> names disabled there.
        everywhere: the names enabled for all points; None = all plugins.
    """

    plugins: list[Plugin]
    weights: dict[str, int] = field(default_factory=dict)
    name: str = ""
    percentage: int | None = None
    points: dict[str, list[str]] = field(default_factory=dict)
    off: dict[str, set[str]] = field(default_factory=dict)
    everywhere: frozenset[str] | None = None
    _at: dict[str, list[Plugin]] = field(default_factory=dict, repr=False, compare=False)
    _plugins_then: list[Plugin] = field(default_factory=list, repr=False, compare=False)
    _weights_then: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _enabled: dict[str, tuple[list[Plugin], Release, list[Plugin]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def at(self, point: str) -> list[Plugin]:
        """Return the plugins that take part at an extension point, in order."""
        if self._plugins_then != self.plugins:
            self._plugins_then = list(self.plugins)
            self._at.clear()
        if point == "score" and self._weights_then != self.weights:
            self._weights_then = dict(self.weights)
            self._at.pop("score", None)
        found = self._at.get(point)
        if found is None:
            found = [plugin for plugin in self.plugins if plugin.takes_part(point)]
            if self.everywhere is not None:
                found = self._ordered(point, found)
            if point == "score":
                found = [plugin for plugin in found if self.weights.get(plugin.name)]
            self._at[point] = found
        return found

    def enabled(self, point: str, release: Release) -> list[Plugin]:
        """Return the plugins at a point whose feature gate the release enables."""
        found, known = self.at(point), self._enabled.get(point)
        if known is None or known[0] is not found or known[1] is not release:
            have = [p for p in found if not p.feature_gate or release.enabled(p.feature_gate)]
            known = self._enabled[point] = found, release, have
        return known[2]

    def _ordered(self, point: str, found: list[Plugin]) -> list[Plugin]:
        """Return plugins in the order of an extension point.

        Plugins that are enabled both by name at the point and for all points come first, then the others that are
        enabled for all points, then those enabled only at the point. Source: framework runtime expandMultiPointPlugins.
        """
        assert self.everywhere is not None
        named = self.points.get(point, [])
        places = {name: i for i, name in enumerate(named)}
        first = sorted((p for p in found if p.name in places), key=lambda p: places[p.name])
        override = [p for p in first if p.name in self.everywhere]
        off = self.off.get(point, set())
        rest = [p for p in found if p.name in self.everywhere and p.name not in off and p.name not in places]
        return [*override, *rest, *(p for p in first if p.name not in self.everywhere)]


def build_queueing_hint_map(framework: Framework, context: Context) -> dict[str, list[Registered]]:
    """Return plugin -> the events that it registers; without queueing hints each of them counts.

    Source: scheduler.go buildQueueingHintMap.
    """
    hints = context.release.enabled("SchedulerQueueingHints")
    return {
        plugin.name: [(event, hint if hints else None) for event, hint in plugin.events_to_register(context)]
        for plugin in framework.plugins
    }


def run_post_filter_plugins(
    framework: Framework, info: PodInfo, context: Context, filters: FilterOutcome, nominated: Nominated
) -> PostFilterResult | None:
    """Ask one plugin after the other for a way to make room; return None if none is asked.

    A success, an error, or the answer that nothing can help ends the sequence; otherwise the reasons are joined.
    Source: RunPostFilterPlugins; schedule_one.go schedulingCycle.
    """
    release = context.release
    if filters.status.code is Code.Error or not len(context.snapshot):
        return None
    cycle = FailedCycle(framework, filters, nominated)
    reasons: list[str] = []
    effects: dict[str, object] = {}
    answer: PostFilterResult | None = None
    plugins = framework.enabled("post_filter", release)
    for plugin in plugins:
        found = plugin.post_filter(cycle, info, context)
        if found.effect is not None:
            effects[plugin.name] = found.effect
        if found.code is not Code.Unschedulable:
            found.effects = effects
            return found
        reasons += [found.message] if found.message else []
        if found.nominating_mode != NOOP:
            answer = found
    if not plugins:
        return None
    return PostFilterResult(
        Code.Unschedulable,
        ", ".join(reasons),
        answer.candidates if answer is not None else {},
        answer.best if answer is not None else (),
        answer.nominating_mode if answer is not None else NOOP,
        effects=effects,
    )


def commit_post_filter(framework: Framework, info: PodInfo, context: Context, effects: Mapping[str, object]) -> None:
    """Carry out the effects of PostFilter plugins."""
    for plugin in framework.plugins:
        if plugin.name in effects:
            plugin.commit_post_filter(effects[plugin.name], info, context)
