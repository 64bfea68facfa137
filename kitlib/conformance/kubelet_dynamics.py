"""Observations of a real kubelet over minutes: what was done to its node, and its files, events and statuses after it.

The kit's kubelet goes through the same actions at the same times on a simulated kernel of the same machine. What the
programs in the containers did (exit codes, memory in use when the node was short of it) is an input, taken from the
observation; what the kubelet made of it is compared:

* `qos`: the values that the files of kubepods and of the QoS cgroups showed, one after another;
* `made`: what the files of every other cgroup showed first, as a sorted list: the UIDs of pods are not in the cases;
* `events`: of each object the events in order, with their annotations; `order`: of those about evictions among all;
* `statuses`: of each pod, one after another, without dates and ids;
* `conditions`: of the node, one after another.

What differs for a reason of the machine, of the runtime or of the observation is listed in `DIFFERENCES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from kitlib.api.core import Pod, PodStatus
from kitlib.api.defaults import set_defaults
from kitlib.api.meta import Condition
from kitlib.api.serialize import from_dict, to_dict
from kitlib.conformance._observed import START
from kitlib.conformance.kubelet_files import controllers, node_config
from kitlib.conformance.runner import Difference
from kitlib.kubelet.cm.cgroup_names import NODE_ALLOCATABLE_CGROUP
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.thresholds import MEMORY, Observation
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.interfaces import Usage
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.loop.node_conditions import first_conditions, first_events
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.runtime import SimulatedRuntime
from kitlib.node.simulated.system import SimulatedSystem

FILE = "kubelet_dynamics"
INPUTS = frozenset({"case", "kind", "what", "cgroupVersion", "driver", "kubeletConfiguration", "machine", "standalone"})
TICK = 0.5
IMAGE = "localhost/hog:2"
FILES = ("cpu.shares", "cpu.weight", "cpu.cfs_quota_us", "cpu.max", "memory.limit_in_bytes", "memory.max")
KEY_EVENTS = ("EvictionThresholdMet", "Evicted", "NodeHasInsufficientMemory", "Preempting")
_OTHERS = ("KubeAPIReadyz", "ClusterIPNotAllocated")
_EVICTED = re.compile(r"available: (\d+)Ki\. Container (\S+) was using (\d+)Ki")
_TOLERATES_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


def check(case: dict[str, Any]) -> dict[str, Any]:
    """The digest of what the kit's node shows while the case's actions are done to it."""
    return {"timeline": _Replay(case).run()}


def reduce(name: str, value: Any) -> Any:
    """The digest of an observed timeline."""
    return digest(value) if name == "timeline" and isinstance(value, list) else value


# Digests: what of a timeline is compared.


def digest(timeline: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What an observed timeline shows, without times and ids."""
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
        "conditions": _distinct([_pressures(one) for one in nodes]),
    }


def _first(event: Mapping[str, Any], timeline: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an entry is the event itself and not its count's growth; evictions are told anew each time."""
    if event["count"] in (None, 1):
        return True
    return event["reason"] == "EvictionThresholdMet"


def _events(events: Sequence[Mapping[str, Any]]) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = {}
    for one in events:
        told = [one["type"], one["reason"], one["message"], one["field"] or "", dict(one["annotations"] or {})]
        some = found.setdefault(one["object"], [])
        if told not in some or one["reason"] == "EvictionThresholdMet":
            some.append(told)
    return found


def _qos(timeline: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for entry in timeline:
        if entry["kind"] == "file" and entry["file"] in FILES and _above_pods(entry["cgroup"]):
            values.setdefault(f"{entry['cgroup']} {entry['file']}", []).append(entry["value"])
    return {name: _distinct(some) for name, some in values.items()}


def _made(timeline: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What each cgroup of a pod or of a container showed when it was new."""
    first: dict[str, dict[str, str]] = {}
    for entry in timeline:
        if entry["kind"] == "file" and entry["file"] in FILES and not _above_pods(entry["cgroup"]):
            first.setdefault(entry["cgroup"], {}).setdefault(entry["file"], entry["value"])
    return sorted(first.values(), key=lambda files: sorted(files.items()))


def _above_pods(cgroup: str) -> bool:
    leaf = cgroup.rpartition("/")[2]
    return leaf.removesuffix(".slice").rpartition("-")[2] in (NODE_ALLOCATABLE_CGROUP, "burstable", "besteffort")


def _status(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status without what only the machine knows; zero values are left out."""
    conditions = {c["type"]: [c["status"], c.get("reason") or "", c.get("message") or ""] for c in status.get(
        "conditions", ())}  # fmt: skip
    made: dict[str, Any] = {"phase": status.get("phase"), "conditions": conditions}
    made |= {name: status[name] for name in ("reason", "message", "allocatedResources") if status.get(name)}
    for name in ("initContainerStatuses", "containerStatuses"):
        made[name] = [_container(one) for one in status.get(name, ())]
    return {name: one for name, one in made.items() if one}


def _container(status: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: status.get(name) for name in ("name", "ready", "started", "restartCount", "resources")}
    for name in ("state", "lastState"):
        made[name] = {
            kind: {key: value for key, value in one.items() if key in ("reason", "message", "exitCode")}
            for kind, one in (status.get(name) or {}).items()
        }
    return {name: one for name, one in made.items() if one}


def _steps(statuses: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The statuses one after another, from the first that the kubelet wrote.

    A pod that is on its way to run shows how far it is (sandbox, image); the kit starts it at one instant.
    """
    written = [one for one in statuses if one.get("conditions") or one.get("reason")]
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


# The replay.


class Shortage(NamedTuple):
    """Memory runs short: the figures of the machine when the kubelet saw it.

    Attributes:
        at: seconds of the case.
        available: bytes.
        pod: that used most, as it turned out.
        usage: bytes.
    """

    at: float
    available: int
    pod: str
    usage: int


class _ObservedRuntime(SimulatedRuntime):
    """The simulated runtime, with the memory figures of the observed machine."""

    def __init__(self, replay: _Replay, kernel: Kernel) -> None:
        super().__init__(kernel, [Image(IMAGE, 2**20)])
        self._replay = replay

    def signals(self) -> Mapping[str, Observation]:
        """What is left of memory as the observed machine showed it."""
        seen, now = dict(super().signals()), self._replay.shortage()
        if now is not None:
            seen[MEMORY] = Observation(now.available, self.kernel.machine.memory)
        return seen

    def usage(self, identity: str) -> Usage:
        """What a container uses; of the one that the shortage is about what it was seen to use."""
        found, now = super().usage(identity), self._replay.shortage()
        if now is not None and self._replay.owner(identity) == now.pod:
            return found._replace(memory=now.usage, anonymous=now.usage)
        return found


class _Replay:
    """One case. Implements `kitlib.kubelet.loop.interfaces.Reports`; keeps a timeline like the observed one."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        self._case, self._timeline = case, list[dict[str, Any]]()
        self._config = node_config(_with_transition_period(case))
        self._began = next((e["t"] for e in case["timeline"] if e.get("reason") == "Starting"), 0.0)
        self._shortages = _shortages(case["timeline"])
        self._pods: dict[str, Pod] = {}
        self._files: dict[tuple[str, str], str] = {}
        self._kernel = Kernel(self._config.machine, case["cgroupVersion"], controllers(case))
        self._conditions = {c.type: c for c in first_conditions(START) if c.type != "Ready"}

    def run(self) -> dict[str, Any]:
        """Do the actions; the digest of what was seen."""
        settings: KubeletSettings = self._config.settings
        system = SimulatedSystem(self._kernel, settings.cgroup_driver)
        for told in first_events("node", settings, self._case["cgroupVersion"]):
            self.event(None, told.kind, told.reason, told.message)
        runtime = _ObservedRuntime(self, self._kernel)
        clock: Callable[[], float] = lambda: self._kernel.now  # noqa: E731
        self._kubelet = Kubelet(self._config, self._kernel.cgroups, runtime, self, clock, system=system)
        self._note_node()
        self._look()
        for action in (e for e in self._case["timeline"] if e["kind"] == "action"):
            self._pass_until(action["t"] - self._began)
            self._act(action)
            self._kubelet.sync(list(self._pods.values()))
            self._look()
        return digest(self._timeline)

    def _pass_until(self, moment: float) -> None:
        while self._kernel.now < moment:
            self._kernel.advance(min(TICK, moment - self._kernel.now))
            self._kubelet.tick()
            self._look()

    def _act(self, action: Mapping[str, Any]) -> None:
        verb, _, name = action["what"].partition(" ")
        if verb == "create" and name:
            self._pods[name] = pod = _pod(name, action["resources"], self._case["timeline"])
            entry = {"kind": "pod", "pod": name, "status": {"phase": "Pending", "qosClass": pod.status.qos_class}}
            self._timeline.append(entry)
        elif verb == "resize" and name in self._pods and action.get("resources"):
            data = to_dict(self._pods[name])
            for container, wanted in zip(data["spec"]["containers"], action["resources"], strict=False):
                container["resources"] = wanted
            data["metadata"]["generation"] = data["metadata"].get("generation", 1) + 1
            resized: Pod = from_dict(data, Pod)
            resized.status = self._pods[name].status
            self._pods[name] = resized
        elif verb == "delete" and name in self._pods:
            pod = self._pods[name]
            data = to_dict(pod)
            data["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
            gone: Pod = from_dict(data, Pod)
            gone.status = pod.status
            self._pods[name] = gone

    def shortage(self) -> Shortage | None:
        """The figures of memory that hold now: from ten seconds before the kubelet saw them until it has evicted."""
        now = self._kernel.now + self._began
        return next((one for one in self._shortages if one.at - 10 < now), None)

    def owner(self, identity: str) -> str:
        """The pod of a container."""
        for worker in self._kubelet.workers:
            if any(state.id == identity for state in worker.states):
                return worker.pod.name
        return ""

    def _look(self) -> None:
        for path in self._kernel.cgroups.paths():
            if path != "/" and NODE_ALLOCATABLE_CGROUP in path:
                for file in FILES:
                    if not self._kernel.cgroups.lacks(file) and file in self._kernel.cgroups.files(path):
                        text = self._kernel.cgroups.read(path, file)
                        if self._files.get((path, file)) != text:
                            self._files[path, file] = text
                            cgroup = path.lstrip("/")
                            self._timeline.append({"kind": "file", "cgroup": cgroup, "file": file, "value": text})

    # What the kubelet reports.

    def now(self) -> datetime:
        """Always the same date: dates are not compared."""
        return START

    def event(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Keep an event."""
        told = {"type": kind, "reason": reason, "message": message, "field": field, "annotations": annotations}
        entry = {"kind": "event", "object": "node" if about is None else about.name, "count": 1, **told}
        self._timeline.append(entry)
        if reason == "Evicted" and about is not None:
            self._shortages = [one for one in self._shortages if one.pod != about.name]

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Keep a status."""
        self._pods[pod.name].status = status
        data = to_dict(Pod(status=status)).get("status", {})
        self._timeline.append({"kind": "pod", "pod": pod.name, "status": data})

    def gone(self, pod: Pod) -> None:
        """The object goes."""
        self._pods.pop(pod.name, None)

    def condition(self, condition: Condition) -> None:
        """Keep a condition of the node."""
        self._conditions[condition.type] = condition
        self._note_node()

    def images(self, images: Sequence[Image]) -> None:
        """Nothing."""

    def _note_node(self) -> None:
        shown = {kind: [c.status, c.reason, c.message] for kind, c in sorted(self._conditions.items())}
        self._timeline.append({"kind": "node", "conditions": shown})


def _with_transition_period(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """The case with the setting that it does not record: evictionPressureTransitionPeriod, in whole ten seconds.

    It is read off the observation: from the last eviction to the end of the pressure.
    """
    evicted = [e["t"] for e in case["timeline"] if e.get("reason") == "Evicted" and e["annotations"]]
    over = [e["t"] for e in case["timeline"] if e.get("reason") == "NodeHasSufficientMemory"]
    if not evicted or not over or over[-1] < evicted[-1]:
        return case
    period = int(over[-1] - evicted[-1]) // 10 * 10
    configuration = {"evictionPressureTransitionPeriod": f"{period}s", **case["kubeletConfiguration"]}
    return {**case, "kubeletConfiguration": configuration}


def _pod(name: str, resources: Sequence[Mapping[str, Any]], timeline: Sequence[Mapping[str, Any]]) -> Pod:
    """A pod as the observer made them: containers c0, c1, … of the observer's program.

    Tolerations are not in the cases: a pod that was not refused for the node's condition tolerates it.
    """
    refused = any(
        e["kind"] == "event" and e["object"] == name and e["reason"] == "Evicted" and not e["annotations"]
        for e in timeline
    )
    spec: dict[str, Any] = {
        "containers": [
            {"name": f"c{i}", "image": IMAGE, "resources": one, "command": ["sh", "-c", _program(name, i, timeline)]}
            for i, one in enumerate(resources)
        ],
        "terminationGracePeriodSeconds": 5,
        "nodeName": "node",
        "tolerations": [] if refused else [_TOLERATES_PRESSURE],
    }
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1}
    pod: Pod = set_defaults(from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, Pod))
    pod.status = PodStatus(phase="Pending")
    return pod


def _program(name: str, number: int, timeline: Sequence[Mapping[str, Any]]) -> str:
    """What a container's program did: it ended by itself after some seconds with a code, or ran until it was asked.

    Asked to end, the observer's program does so at once, with code 0.
    """
    for entry in timeline:
        if entry["kind"] == "event" and entry["object"] == name and entry["reason"] == "Killing":
            break
        if entry["kind"] != "pod" or entry["pod"] != name:
            continue
        if entry["deletion"]:
            break
        statuses = entry["status"].get("containerStatuses", ())
        ended = statuses[number].get("state", {}).get("terminated") if number < len(statuses) else None
        if ended:
            seconds = (_date(ended["finishedAt"]) - _date(ended["startedAt"])).total_seconds()
            return f"sleep {max(seconds, 0.1)}; exit {ended['exitCode']}"
    return "trap 'sleep 0.1; exit' TERM; sleep infinity"


def _date(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _shortages(timeline: Sequence[Mapping[str, Any]]) -> list[Shortage]:
    """The figures in the messages of evictions: measured on the machine, and an input of the kubelet's decision."""
    found = []
    for entry in timeline:
        figures = _EVICTED.search(entry.get("message") or "") if entry.get("reason") == "Evicted" else None
        if figures is not None:
            available, usage = (int(figures[i]) * 1024 for i in (1, 3))
            found.append(Shortage(entry["t"], available, entry["object"], usage))
    return found


# What differs for other reasons than the kubelet's rules.


class Known(NamedTuple):
    """A difference that is not the kubelet's: why, and whether one is such."""

    reason: str
    holds: Callable[[Mapping[str, Any], Difference], bool]


def _not_sampled(case: Mapping[str, Any], difference: Difference) -> bool:
    """Values that stood for less than the time between two looks: the seen ones come in the same order."""
    del case
    if not difference.field.startswith("timeline.qos."):
        return False
    seen, all_values = json.loads(difference.expected), json.loads(difference.found or "[]")
    rest = iter(all_values)
    return bool(all_values) and all(value in rest for value in seen) and seen[-1] == all_values[-1]


DIFFERENCES = (Known("observation: a value stood for less than the time between two looks", _not_sampled),)


def attribute(case: Mapping[str, Any], difference: Difference) -> str:
    """Why a difference is none of the kubelet's; "" = it is a mistake."""
    return next((one.reason for one in DIFFERENCES if one.holds(case, difference)), "")
