"""Profiles: the plugins, their order, their weights and their arguments.

Source: apis/config/v1 default_plugins.go, apis/config/validation; KubeSchedulerConfiguration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kitlib.api.boundary import guarded
from kitlib.api.errors import KitError
from kitlib.scheduler.configuration import check_configuration
from kitlib.scheduler.framework.arguments import check_arguments
from kitlib.scheduler.framework.framework import Framework
from kitlib.scheduler.framework.on_demand import on_demand
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.plugins.default_binder import DefaultBinder
from kitlib.scheduler.plugins.default_preemption import DefaultPreemption
from kitlib.scheduler.plugins.descriptions import (
    DynamicResourcesDescription,
    NodeVolumeLimitsDescription,
    VolumeBindingDescription,
    VolumeRestrictionsDescription,
    VolumeZoneDescription,
)
from kitlib.scheduler.plugins.image_locality import ImageLocality
from kitlib.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from kitlib.scheduler.plugins.node_affinity import NodeAffinity
from kitlib.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from kitlib.scheduler.plugins.node_name import NodeName
from kitlib.scheduler.plugins.node_ports import NodePorts
from kitlib.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from kitlib.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kitlib.scheduler.plugins.node_unschedulable import NodeUnschedulable
from kitlib.scheduler.plugins.pod_topology_spread import PodTopologySpread
from kitlib.scheduler.plugins.priority_sort import PrioritySort
from kitlib.scheduler.plugins.scheduling_gates import SchedulingGates
from kitlib.scheduler.plugins.taint_toleration import TaintToleration

REGISTRY: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        SchedulingGates,
        PrioritySort,
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        on_demand(VolumeRestrictionsDescription),
        on_demand(NodeVolumeLimitsDescription),
        on_demand(VolumeBindingDescription),
        on_demand(VolumeZoneDescription),
        PodTopologySpread,
        InterPodAffinity,
        on_demand(DynamicResourcesDescription),
        DefaultPreemption,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DefaultBinder,
        NodeDeclaredFeatures,
    )
}
"""Every plugin by name, in the default order; the code of an `on_demand` plugin is loaded with the first pod for it."""

DEFAULT_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "VolumeBinding": 1,
}
DEFAULT_SCHEDULER = "default-scheduler"
POINTS = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "queue_sort",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
}
"""The extension points' names in a configuration and in `Plugin`; `multiPoint` means all of them."""


@dataclass
class Profile(Framework):
    """One profile of a KubeSchedulerConfiguration: the plugins with their arguments, points and weights."""

    weights: dict[str, int] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    name: str = DEFAULT_SCHEDULER

    @classmethod
    def default(cls, **arguments: Mapping[str, Any]) -> Profile:
        """Return a profile of the default plugins with their weights.

        Args:
            arguments: plugin name -> the plugin's arguments.
        """
        return cls([kind(arguments.get(name)) for name, kind in REGISTRY.items()])

    @classmethod
    def from_configuration(
        cls, data: Mapping[str, Any], *, own: Sequence[type[Plugin]] = (), percentage: int | None = None
    ) -> Profile:
        """Return a profile of a KubeSchedulerConfiguration.

        Args:
            data: an entry of `profiles`.
            own: the classes of the user's own plugins.
            percentage: the percentage of nodes to score if the entry has none; None = all.

        Raises:
            KitError: a plugin is unknown, a weight is out of range, or arguments are not valid.
        """
        known = {**REGISTRY, **{plugin.name: plugin for plugin in own}}
        arguments: dict[str, Mapping[str, Any]] = {}
        for i, one in enumerate(data.get("pluginConfig") or ()):
            if one.get("name") not in known:
                raise KitError(f'pluginConfig[{i}].name: Invalid value: "{one.get("name")}": unknown plugin')
            if one["name"] in arguments:
                raise KitError(f'pluginConfig[{i}]: Duplicate value: "{one["name"]}"')
            given = one.get("args") or {}
            check_arguments(one["name"], given, f"pluginConfig[{i}].args")
            arguments[one["name"]] = given
        order, weights = list(REGISTRY), dict(DEFAULT_WEIGHTS)
        points: dict[str, list[str]] = {}
        off: dict[str, set[str]] = {}
        alone: list[str] = []
        for point, sets in (data.get("plugins") or {}).items():
            if point != "multiPoint" and point not in POINTS:
                raise KitError(f"plugins.{point}: unknown field")
            for one in (sets or {}).get("disabled") or ():
                names = list(order) if one["name"] == "*" else [one["name"]]
                for name in names:
                    if name not in known:
                        raise KitError(f'plugins.{point}.disabled: Invalid value: "{name}": unknown plugin')
                    if point == "multiPoint":
                        order = [other for other in order if other != name]
                    else:
                        off.setdefault(POINTS[point], set()).add(name)
                    weights.pop(name, None) if point in ("multiPoint", "score") else None
            for one in (sets or {}).get("enabled") or ():
                name, weight = one["name"], one.get("weight")
                if name not in known:
                    raise KitError(f'plugins.{point}.enabled: Invalid value: "{name}": unknown plugin')
                if point == "multiPoint":
                    if name not in order:
                        order.append(name)
                else:
                    if name in points.get(POINTS[point], ()):
                        raise KitError(f'plugins.{point}.enabled: plugin "{name}" already registered as "{name}"')
                    points.setdefault(POINTS[point], []).append(name)
                    alone.append(name)
                if point in ("multiPoint", "score"):
                    if weight is not None and not _is_weight(weight):
                        where = f"plugins.{point}.enabled[{name}].weight"
                        raise KitError(f"{where}: Invalid value: {weight!r}: a whole number from 0 to {2**31 - 1}")
                    if known[name]().takes_part("score"):
                        weights[name] = int(weight or weights.get(name) or 1)
        own_percentage = data.get("percentageOfNodesToScore", percentage)
        if own_percentage is not None and (not _is_weight(own_percentage) or own_percentage > 100):
            raise KitError(f"percentageOfNodesToScore: Invalid value: {own_percentage}: not in valid range [0-100]")
        every = list(dict.fromkeys([*order, *alone]))
        plugins = [known[name](arguments.get(name)) for name in every]
        name = data.get("schedulerName", DEFAULT_SCHEDULER)
        return cls(plugins, weights, name, own_percentage, points, off, frozenset(order))

    @classmethod
    @guarded("KubeSchedulerConfiguration")
    def load(
        cls, configuration: Mapping[str, Any], *, own: Sequence[type[Plugin]] = (), adaptive: bool = False
    ) -> dict[str, Profile]:
        """Return all profiles of a KubeSchedulerConfiguration, by scheduler name.

        Args:
            configuration: the document, as a mapping.
            own: the classes of the user's own plugins.
            adaptive: whether a document without percentageOfNodesToScore means a cluster's default (0), not all nodes.

        Raises:
            KitError: the kind is another one, two profiles have the same name, or a profile is not valid.

        Source: apis/config/validation ValidateKubeSchedulerConfiguration.
        """
        check_configuration(configuration)
        kind = configuration.get("kind", "KubeSchedulerConfiguration")
        if kind != "KubeSchedulerConfiguration":
            raise KitError(f'kind: Invalid value: "{kind}": expected KubeSchedulerConfiguration')
        percentage = configuration.get("percentageOfNodesToScore")
        if percentage is None and adaptive:
            percentage = 0
        found: dict[str, Profile] = {}
        for i, one in enumerate(configuration.get("profiles") or [{}]):
            made = cls.from_configuration(one, own=own, percentage=percentage)
            if made.name in found:
                raise KitError(f'profiles[{i}].schedulerName: Duplicate value: "{made.name}"')
            found[made.name] = made
        return found


def _is_weight(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 2**31 - 1
