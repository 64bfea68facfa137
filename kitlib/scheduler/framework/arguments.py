"""The validation of plugin arguments, with kube-scheduler's messages.

Source: pkg/scheduler/apis/config/validation validation_pluginargs.go, apis/config/v1 defaults.go; strict decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kitlib.api.names import is_qualified_name
from kitlib.api.release import Release

Found = Iterator[FieldError]
_FIELDS = {
    "DefaultPreemption": ("minCandidateNodesPercentage", "minCandidateNodesAbsolute"),
    "InterPodAffinity": ("hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"),
    "NodeAffinity": ("addedAffinity",),
    "NodeResourcesBalancedAllocation": ("resources",),
    "NodeResourcesFit": ("ignoredResources", "ignoredResourceGroups", "scoringStrategy"),
    "PodTopologySpread": ("defaultConstraints", "defaultingType"),
    "VolumeBinding": ("bindTimeoutSeconds", "shape"),
}
STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


def argument_problems(plugin: str, arguments: Mapping[str, Any], path: str) -> list[str]:
    """Return the messages about one plugin's arguments; [] = they are valid.

    Args:
        plugin: the plugin's name; the arguments of a user's own plugin are not checked.
        arguments: the value of `pluginConfig[].args`.
        path: the path of the arguments in messages, for instance `pluginConfig[0].args`.
    """
    known = _FIELDS.get(plugin)
    if known is None:
        return []
    unknown = [name for name in arguments if name not in (*known, "apiVersion", "kind")]
    if unknown:
        return [f'{path}: strict decoding error: unknown field "{name}"' for name in unknown]
    wrong = list(_types(arguments, path))
    if wrong:
        return [str(error) for error in wrong]
    check = _CHECKS.get(plugin)
    return [str(error) for error in check(arguments, path)] if check is not None else []


def check_arguments(plugin: str, arguments: Mapping[str, Any], path: str) -> None:
    """Check one plugin's arguments.

    Raises:
        KitError: the arguments are not valid; the error has all messages of `argument_problems`.
    """
    problems = argument_problems(plugin, arguments, path)
    if problems:
        raise KitError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


_WHOLE = (
    *("minCandidateNodesPercentage", "minCandidateNodesAbsolute", "hardPodAffinityWeight", "bindTimeoutSeconds"),
    *("weight", "maxSkew", "minDomains", "utilization", "score"),
)
_LISTS = ("resources", "shape", "defaultConstraints", "ignoredResources", "ignoredResourceGroups")


def _types(data: Any, path: str) -> Found:
    """Yield an error for each field, at any depth, that is not the whole number or list that it must be."""
    for name, value in data.items() if isinstance(data, Mapping) else ():
        where = f"{path}.{name}"
        if name in _WHOLE and (isinstance(value, bool) or not isinstance(value, int)):
            yield invalid(where, value, "a whole number is expected")
        elif name in _LISTS and not isinstance(value, list):
            yield invalid(where, value, "a list is expected")
        elif isinstance(value, Mapping):
            yield from _types(value, where)
        elif isinstance(value, list):
            for i, one in enumerate(value):
                yield from _types(one, f"{where}[{i}]")


def _preemption(args: Mapping[str, Any], path: str) -> Found:
    share, least = args.get("minCandidateNodesPercentage", 10), args.get("minCandidateNodesAbsolute", 100)
    share_path, least_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    if not 0 <= share <= 100:
        yield invalid(share_path, share, "not in valid range [0, 100]")
    if least < 0:
        yield invalid(least_path, least, "not in valid range [0, inf)")
    if share == least == 0:
        yield invalid(share_path, share, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield invalid(least_path, least, "cannot be zero at the same time as minCandidateNodesPercentage")


def _pod_affinity(args: Mapping[str, Any], path: str) -> Found:
    weight = args.get("hardPodAffinityWeight", 1)
    if not 0 <= weight <= 100:
        yield invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")


def _spread(args: Mapping[str, Any], path: str) -> Found:
    kind, listed = args.get("defaultingType", "System"), args.get("defaultConstraints") or []
    if kind not in ("System", "List"):
        yield not_supported(f"{path}.defaultingType", kind, ("System", "List"))
    elif kind == "System" and listed:
        yield invalid(f"{path}.defaultingType", kind, "when .defaultConstraints are not empty")
    seen: list[tuple[Any, Any]] = []
    for i, one in enumerate(listed):
        where = f"{path}.defaultConstraints[{i}]"
        if one.get("maxSkew", 0) <= 0:
            yield invalid(f"{where}.maxSkew", one.get("maxSkew", 0), "not in valid range (0, inf)")
        key, action = one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")
        if not key:
            yield required(f"{where}.topologyKey", "can not be empty")
        yield from (invalid(f"{where}.topologyKey", key, text) for text in (is_qualified_name(key) if key else ()))
        if not action:
            yield required(f"{where}.whenUnsatisfiable", "can not be empty")
        elif action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield not_supported(f"{where}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        if one.get("labelSelector") is not None:
            text = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(f"{where}.labelSelector", text)
        if (key, action) in seen:
            yield duplicate(where, f"{{{key}, {action}}}")
        seen.append((key, action))


def _balanced(args: Mapping[str, Any], path: str) -> Found:
    seen = set()
    for i, one in enumerate(args.get("resources") or ()):
        if one.get("name") in seen:
            yield duplicate(f"{path}.resources[{i}].name", one.get("name"))
        seen.add(one.get("name"))
        if one.get("weight", 1) != 1:
            yield invalid(f"{path}.resources[{i}].weight", one["weight"], "must be 1")


def _fit(args: Mapping[str, Any], path: str) -> Found:
    for i, name in enumerate(args.get("ignoredResources") or ()):
        yield from (invalid(f"{path}.ignoredResources[{i}]", name, text) for text in is_qualified_name(name))
    for i, name in enumerate(args.get("ignoredResourceGroups") or ()):
        where = f"{path}.ignoredResourceGroups[{i}]"
        if "/" in name:
            yield invalid(where, name, "resource group name can't contain '/'")
        yield from (invalid(where, name, text) for text in is_qualified_name(name))
    strategy = args.get("scoringStrategy")
    if strategy is None:
        return
    where, kind = f"{path}.scoringStrategy", strategy.get("type", "LeastAllocated")
    if kind not in STRATEGIES:
        yield not_supported(f"{where}.type", kind, STRATEGIES)
    for i, one in enumerate(strategy.get("resources") or ()):
        weight = one.get("weight", 1)
        if not 0 < weight <= 100:
            text = f"resource weight of {one.get('name', '')} not in valid range (0, 100]"
            yield invalid(f"{where}.resources[{i}].weight", weight, text)
    ratio = strategy.get("requestedToCapacityRatio")
    if kind == "RequestedToCapacityRatio":
        if ratio is None:
            text = "must be specified when type is RequestedToCapacityRatio"
            yield required(f"{where}.requestedToCapacityRatio", text)
        else:
            yield from _shape(ratio.get("shape") or [], f"{where}.requestedToCapacityRatio.shape")
    elif ratio is not None:
        text = "must be nil when type is not RequestedToCapacityRatio"
        yield forbidden(f"{where}.requestedToCapacityRatio", text)


def _shape(points: Sequence[Mapping[str, Any]], path: str) -> Found:
    if not points:
        yield required(path, "at least one point must be specified")
    uses = [point.get("utilization", 0) for point in points]
    for i in range(1, len(uses)):
        if uses[i - 1] >= uses[i]:
            yield invalid(f"{path}[{i}].utilization", uses[i], "values must be sorted in increasing order")
            break
    for i, point in enumerate(points):
        if not 0 <= uses[i] <= 100:
            yield invalid(f"{path}[{i}].utilization", uses[i], "not in valid range [0, 100]")
        if not 0 <= point.get("score", 0) <= 10:
            yield invalid(f"{path}[{i}].score", point["score"], "not in valid range [0, 10]")


def _volumes(args: Mapping[str, Any], path: str) -> Found:
    seconds = args.get("bindTimeoutSeconds", 600)
    if seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{path}.bindTimeoutSeconds", seconds, text)
    if args.get("shape") is None:
        return
    if Release.followed().enabled("StorageCapacityScoring"):
        yield from _shape(args["shape"], f"{path}.shape")
    else:
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield invalid(f"{path}.shape", args["shape"], text)


_CHECKS: dict[str, Callable[[Mapping[str, Any], str], Found]] = {
    "DefaultPreemption": _preemption,
    "InterPodAffinity": _pod_affinity,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _spread,
    "VolumeBinding": _volumes,
}
