"""Observations of a real kubelet over minutes: the actions on its node, and the files, events and statuses after them.

The kit's kubelet goes through the same actions at the same times on a simulated kernel of the same machine. How the
programs in the containers behaved (exit codes, memory usage when the node was short of memory) is an input, derived
from
the observation. The kubelet's reactions are compared:

* `qos`: the successive values of the files of kubepods and of the QoS-level cgroups;
* `made`: the first values of the files of every other cgroup, as a sorted list because cases do not record pod UIDs;
* `events`: the events of each object in order, with their annotations; `order`: the order of eviction events of all
  objects;
* `statuses`: the successive statuses of each pod, without dates and ids;
* `conditions`: the successive conditions of the node;
* `refused`: the API server's errors for rejected resizes.

Differences that the machine, the runtime or the observation causes are listed in `DIFFERENCES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from kitlib.conformance._kubelet_replay import KubeletReplay
from kitlib.conformance.runner import CaseDifference, KnownDifference
from kitlib.kubelet.cm.cgroup_names import NODE_ALLOCATABLE_CGROUP

FILE = "kubelet_dynamics"
RELEASE = "1.36"
INPUTS = frozenset({"case", "kind", "what", "cgroupVersion", "driver", "kubeletConfiguration", "machine", "standalone"})
FILES = ("cpu.shares", "cpu.weight", "cpu.cfs_quota_us", "cpu.max", "memory.limit_in_bytes", "memory.max")
KEY_EVENTS = ("EvictionThresholdMet", "Evicted", "NodeHasInsufficientMemory", "Preempting")
_ABOUT_PODS = re.compile(r"^(pods|Pod) \".* is (forbidden|invalid): ")
_OTHERS = ("KubeAPIReadyz", "ClusterIPNotAllocated")


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Replay the case's actions on the kit's node and return the digest of its timeline."""
    return {"timeline": digest(KubeletReplay(case, FILES).run())}


def reduce(name: str, value: Any) -> Any:
    """Return the digest of an observed timeline; any other field is returned unchanged."""
    return digest(value) if name == "timeline" and isinstance(value, list) else value


# Digests: what of a timeline is compared.


def digest(timeline: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the comparable part of a timeline: events, statuses, conditions and files, without times and ids."""
    events = [e for e in timeline if e["kind"] == "event" and e["reason"] not in _OTHERS and _first(e, timeline)]
    statuses: dict[str, list[Any]] = {}
    for entry in timeline:
        if entry["kind"] == "pod":
            statuses.setdefault(entry["pod"], []).append(_status(entry["status"]))
    nodes = [{kind: list(one) for kind, one in e["conditions"].items()} for e in timeline if e["kind"] == "node"]
    return {
        "qos": _qos(timeline),
        "made": _made(timeline),
        "events": _events(events),
        "order": [e["reason"] for e in events if e["reason"] in KEY_EVENTS],
        "statuses": {pod: _steps(some) for pod, some in statuses.items()},
        "conditions": _distinct([_pressures(node) for node in nodes]),
        "refused": [e["message"] for e in timeline if e["kind"] == "error" and _ABOUT_PODS.search(e["message"])],
    }


def _first(event: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether an entry is a new event: an event whose count grew is not, except for EvictionThresholdMet."""
    if event["count"] in (None, 1):
        return True
    return event["reason"] == "EvictionThresholdMet"


def _events(events: Sequence[Mapping[str, Any]]) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = {}
    for event in events:
        message = _without_runtimes_words(event["message"]) if event["reason"] == "ResizeError" else event["message"]
        told = [event["type"], event["reason"], message, event["field"] or "", dict(event["annotations"] or {})]
        some = found.setdefault(event["object"], [])
        if told not in some or event["reason"] == "EvictionThresholdMet":
            some.append(told)
    return found


def _qos(timeline: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for entry in timeline:
        if entry["kind"] == "file" and entry["file"] in FILES and _above_pods(entry["cgroup"]):
            values.setdefault(f"{entry['cgroup']} {entry['file']}", []).append(entry["value"])
    return {name: _distinct(some) for name, some in values.items()}


def _made(timeline: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the first values of the files of each pod's and container's cgroup."""
    first: dict[str, dict[str, str]] = {}
    for entry in timeline:
        if entry["kind"] == "file" and entry["file"] in FILES and not _above_pods(entry["cgroup"]):
            first.setdefault(entry["cgroup"], {}).setdefault(entry["file"], entry["value"])
    return sorted(first.values(), key=lambda files: sorted(files.items()))


def _above_pods(cgroup: str) -> bool:
    leaf = cgroup.rpartition("/")[2]
    return leaf.removesuffix(".slice").rpartition("-")[2] in (NODE_ALLOCATABLE_CGROUP, "burstable", "besteffort")


def _status(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod's status without machine-specific fields and zero values."""
    conditions = {
        c["type"]: [c["status"], c.get("reason") or "", _without_runtimes_words(c.get("message") or "", c["type"])]
        for c in status.get("conditions") or ()
    }
    made: dict[str, Any] = {"phase": status.get("phase"), "conditions": conditions}
    made |= {name: status[name] for name in ("reason", "message", "allocatedResources") if status.get(name)}
    for name in ("initContainerStatuses", "containerStatuses"):
        made[name] = [_container(one) for one in status.get(name, ())]
    return {name: one for name, one in made.items() if one}


def _without_runtimes_words(message: str, condition: str = "") -> str:
    """Return the kubelet's message about a failed resize without the runtime's own error text."""
    if "cannot decrease memory limits" in message or condition not in ("", "PodResizeInProgress"):
        return message
    said, sign, _ = message.partition(',"error":')
    return f"{said}{sign}…" if sign else "…" if condition and message else message


def _container(status: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: status.get(name) for name in ("name", "ready", "started", "restartCount", "resources")}
    for name in ("state", "lastState"):
        made[name] = {
            kind: {key: value for key, value in one.items() if key in ("reason", "message", "exitCode")}
            for kind, one in (status.get(name) or {}).items()
        }
    return {name: one for name, one in made.items() if one}


def _steps(statuses: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the successive distinct statuses, from the first that the kubelet wrote.

    Intermediate steps of the start (sandbox, image pull) are left out: the kit starts a pod in one step.
    """
    written = [status for status in statuses if status.get("conditions") or status.get("reason")]
    return _distinct([one for one in written if one.get("phase") != "Pending" or not _starting(one)])


def _starting(status: Mapping[str, Any]) -> bool:
    return any(
        one.get("state", {}).get("waiting", {}).get("reason") == "ContainerCreating"
        for one in status.get("containerStatuses", ())
    )


def _pressures(conditions: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: list(one) for name, one in conditions.items() if name != "Ready"}


def _distinct(values: Sequence[Any]) -> list[Any]:
    return [value for value, _ in groupby(values)]


# What differs for other reasons than the kubelet's rules.


def _not_sampled(case: Mapping[str, Any], difference: CaseDifference) -> bool:
    """Return whether the observed values are a subsequence of the kit's values with the same last value.

    The observer polled the files, so it misses values that were replaced between two polls.
    """
    del case
    if not difference.field.startswith("timeline.qos."):
        return False
    seen, all_values = json.loads(difference.expected), json.loads(difference.found or "[]")
    rest = iter(all_values)  # `in` consumes the iterator, so that a subsequence is found
    return bool(all_values) and all(value in rest for value in seen) and seen[-1] == all_values[-1]


DIFFERENCES = (KnownDifference("observation: a value stood for less than the time between two looks", _not_sampled),)


def attribute(case: Mapping[str, Any], difference: CaseDifference) -> str:
    """Return the known reason of a difference that the kubelet does not cause; "" = it is a failure."""
    return next((one.reason for one in DIFFERENCES if one.holds(case, difference)), "")
