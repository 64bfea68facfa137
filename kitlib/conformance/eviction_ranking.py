"""Cases of eviction: thresholds parsed and crossed, pods ranked for each pressure, the evicted pod's message."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.eviction import ranking
from kitlib.kubelet.eviction.thresholds import (
    Observation,
    ThresholdError,
    ThresholdValue,
    node_conditions,
    parse_threshold_config,
    thresholds_met,
)

FILE = "eviction_ranking"
RELEASE = "1.36"
INPUTS = frozenset(
    {
        "kind",
        "pods",
        "stats",
        "observations",
        "enforceNodeAllocatable",
        "evictionHard",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "evictionMinimumReclaim",
    }
)
MI = 2**20


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Check one case of any of the three kinds."""
    return {"parse": _parse, "met": _met, "rank": _rank}[case["kind"]](case)


def _parse(case: dict[str, Any]) -> dict[str, Any]:
    try:
        found = parse_threshold_config(
            case["enforceNodeAllocatable"] or (),
            case["evictionHard"],
            case["evictionSoft"],
            case["evictionSoftGracePeriod"],
            case["evictionMinimumReclaim"],
        )
    except ThresholdError as error:
        return {"error": str(error)}
    shown = []
    for threshold in sorted(found, key=lambda t: (t.signal, t.grace_period)):
        period = threshold.grace_period
        one: dict[str, Any] = {
            "signal": threshold.signal,
            "operator": "LessThan",
            "value": _value(threshold.value),
            "gracePeriodSeconds": int(period) if period == int(period) else period,
        }
        if threshold.min_reclaim is not None:
            one["minReclaim"] = _value(threshold.min_reclaim)
        shown.append(one)
    return {"thresholds": shown}


def _value(value: ThresholdValue) -> dict[str, Any]:
    return {"quantity": str(value.quantity)} if value.quantity is not None else {"percentage": value.percentage}


def _met(case: dict[str, Any]) -> dict[str, Any]:
    thresholds = parse_threshold_config((), case["evictionHard"], min_reclaim=case["evictionMinimumReclaim"])
    seen = {name: Observation(one["available"], one["capacity"]) for name, one in case["observations"].items()}
    met = thresholds_met(thresholds, seen)
    return {
        "thresholdBytes": {t.signal: t.value.of(seen[t.signal].capacity) for t in thresholds if t.signal in seen},
        "met": sorted(t.signal for t in met),
        "metWithMinReclaim": sorted(t.signal for t in thresholds_met(thresholds, seen, min_reclaim=True)),
        "nodeConditions": sorted(node_conditions(met)),
    }


def _rank(case: dict[str, Any]) -> dict[str, Any]:
    pods = [set_defaults(from_dict(pod, Pod)) for pod in case["pods"]]
    stats = {one["podUID"]: _stats(one) for one in case["stats"] or ()}
    thresholds = parse_threshold_config((), {"memory.available": "100Mi"})
    seen = {"memory.available": Observation(90 * MI, 2**40)}
    messages = {}
    for pod in pods:
        message, annotations = ranking.eviction_message("memory", pod, stats.get(pod.metadata.uid), thresholds, seen)
        messages[pod.name] = {"message": message, "annotations": annotations}
    return {
        "memory": _names(ranking.rank_memory_pressure(pods, stats)),
        "pid": _names(ranking.rank_pid_pressure(pods, stats)),
        "disk": _names(ranking.rank_disk_pressure(pods, stats, volumes=False)),
        "evictionMessageMemory": messages,
    }


def _stats(given: dict[str, Any]) -> ranking.PodStats:
    return ranking.PodStats(
        given.get("memoryWorkingSetBytes"),
        given.get("processCount"),
        [
            ranking.ContainerStats(
                one["name"], one.get("memoryWorkingSetBytes"), one.get("rootfsUsedBytes"), one.get("logsUsedBytes")
            )
            for one in given.get("containers") or ()
        ],
    )


def _names(groups: list[list[Pod]]) -> list[list[str]]:
    return [sorted(pod.name for pod in group) for group in groups]
