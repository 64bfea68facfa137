"""What an observed timeline says about its inputs: the pods' manifests, what their programs did, the machine's figures.

The cases hold what was done (`action`) and what was seen. What the programs did (how long they ran, with which code
they ended, whether the kernel killed them), which values were written into files by hand, and how much memory was
left when the kubelet looked, are inputs of the kubelet; they are read off what was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kitlib.api.core import TERMINAL_PHASES, Pod, PodStatus
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict

Entry = Mapping[str, Any]
IMAGE = "localhost/hog:2"
STATIC = {"kubernetes.io/config.source": "file"}
FOREVER = "trap 'sleep 0.1; exit' TERM; sleep infinity & wait"
"""What the observer's program does: it runs until it is asked to end, and then does so at once, with code 0."""
_EVICTED = re.compile(r"available: (\d+)Ki\. Container (\S+) was using (\d+)Ki")
_TOLERATES_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
_SOON = 2.0
"""Seconds within which a value that was written by hand is seen."""


class Attempt(NamedTuple):
    """One run of a container.

    Attributes:
        seconds: how long it ran; None = until it was asked to end, or to the end of the case.
        code: exit code.
        oom: whether the kernel killed any of it for memory.
    """

    seconds: float | None
    code: int = 0
    oom: bool = False

    @property
    def command(self) -> str:
        """The same in words that the simulated runtime understands."""
        return FOREVER if self.seconds is None else f"sleep {max(self.seconds, 0.1)}; exit {self.code}"


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


def attempts(name: str, timeline: Sequence[Entry]) -> dict[str, list[Attempt]]:
    """Container of a pod -> its runs, one after another."""
    runs: dict[str, dict[str, Attempt]] = {}
    asked = False
    for entry in timeline:
        if entry["kind"] == "event" and entry["object"] == name and entry["reason"] == "Killing":
            asked = True
        if entry["kind"] != "pod" or entry["pod"] != name:
            continue
        asked = asked or bool(entry.get("deletion"))
        for status in _container_statuses(entry):
            known = runs.setdefault(status["name"], {})
            for which in ("lastState", "state"):
                for identity, run in _runs(status, status.get(which) or {}):
                    ended = run.seconds is not None
                    if identity not in known or (known[identity].seconds is None and ended and not asked):
                        known[identity] = run if not asked else Attempt(None)
    return {container: list(found.values()) for container, found in runs.items()}


def _container_statuses(entry: Entry) -> Iterator[Entry]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from entry["status"].get(kind) or ()


def _runs(status: Entry, state: Mapping[str, Any]) -> Iterator[tuple[str, Attempt]]:
    ended = state.get("terminated")
    if ended and ended.get("startedAt"):
        seconds = (_date(ended["finishedAt"]) - _date(ended["startedAt"])).total_seconds()
        identity = ended.get("containerID") or status.get("containerID") or ""
        yield identity, Attempt(seconds, ended["exitCode"], ended.get("reason") == "OOMKilled")
    elif state.get("running"):
        yield status.get("containerID") or "", Attempt(None)


def _date(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def pod_of(action: Entry, name: str, timeline: Sequence[Entry], *, static: bool = False, version: int = 1) -> Pod:
    """A pod as the observer made it: containers c0, c1, … of the observer's program, or the manifest that is given.

    Tolerations are not in the cases: a pod that was not refused for the node's condition tolerates it.
    """
    manifest = action.get("manifest") or action.get("object")
    seen = [entry for entry in timeline if entry["kind"] == "pod" and entry["pod"] == name]
    runs = attempts(name, timeline)
    if not isinstance(manifest, Mapping):
        manifest = {"spec": _spec(action.get("resources") or [{}], seen, name, timeline)}
    spec = dict(manifest["spec"]) | {"nodeName": "node"}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_programmed(one, runs) for one in spec[kind]]
    annotations = STATIC if static else {}
    uid = f"uid-{name}" if version == 1 else f"uid-{name}-{version}"
    metadata = {"name": name, "namespace": "default", "uid": uid, "generation": 1, "annotations": annotations}
    pod: Pod = set_defaults(from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, Pod))
    pod.status = PodStatus(phase="Pending")
    return pod


def _programmed(container: Mapping[str, Any], runs: Mapping[str, Sequence[Attempt]]) -> dict[str, Any]:
    first = next(iter(runs.get(container["name"], ())), Attempt(None))
    return {**container, "image": container.get("image", IMAGE), "command": ["sh", "-c", first.command], "args": []}


def _spec(resources: Sequence[Entry], seen: Sequence[Entry], name: str, timeline: Sequence[Entry]) -> dict[str, Any]:
    refused = any(
        e["kind"] == "event" and e["object"] == name and e["reason"] == "Evicted" and not e["annotations"]
        for e in timeline
    )
    names = _names(seen, "containerStatuses") or [f"c{i}" for i in range(len(resources))]
    return {
        "initContainers": [_init_container(one, seen) for one in _names(seen, "initContainerStatuses")],
        "containers": [{"name": n, "resources": one} for n, one in zip(names, resources, strict=False)],
        "restartPolicy": _restart_policy(name, seen, timeline),
        "terminationGracePeriodSeconds": next((e["grace"] for e in seen if e.get("grace")), 5),
        "tolerations": [] if refused else [_TOLERATES_PRESSURE],
    }


def _names(seen: Sequence[Entry], kind: str) -> list[str]:
    return next(([one["name"] for one in e["status"][kind]] for e in seen if e["status"].get(kind)), [])


def _init_container(name: str, seen: Sequence[Entry]) -> dict[str, Any]:
    """An init container that runs, or is started again, beside a regular one is a sidecar."""
    made: dict[str, Any] = {"name": name}
    for entry in seen:
        beside = any(one.get("started") for one in entry["status"].get("containerStatuses") or ())
        for one in entry["status"].get("initContainerStatuses") or ():
            if one["name"] != name:
                continue
            if one.get("resources"):
                made["resources"] = {
                    key: one["resources"][key] for key in ("requests", "limits") if key in one["resources"]
                }
            state = one.get("state") or {}
            if beside and ("running" in state or "waiting" in state):
                made["restartPolicy"] = "Always"
    return made


def _restart_policy(name: str, seen: Sequence[Entry], timeline: Sequence[Entry]) -> str:
    """A pod that came to its end by itself is not started again: never, or after a failure only."""
    ended_by_kubelet = any(
        e["kind"] == "event" and e["object"] == name and e["reason"] in ("Killing", "Evicted", "Preempting")
        for e in timeline
    ) or any(e.get("deletion") or e["status"].get("reason") for e in seen)
    if ended_by_kubelet or not any(e["status"].get("phase") in TERMINAL_PHASES for e in seen):
        return "Always"
    restarted = any(one.get("restartCount") for e in seen for one in e["status"].get("containerStatuses") or ())
    return "OnFailure" if restarted else "Never"


def shortages(timeline: Sequence[Entry]) -> list[Shortage]:
    """The figures in the messages of evictions: measured on the machine, and an input of the kubelet's decision."""
    found = []
    for entry in timeline:
        figures = _EVICTED.search(entry.get("message") or "") if entry.get("reason") == "Evicted" else None
        if figures is not None:
            available, usage = (int(figures[i]) * 1024 for i in (1, 3))
            found.append(Shortage(entry["t"], available, entry["object"], usage))
    return found


def hand_written(action: Entry, timeline: Sequence[Entry], files: Sequence[str]) -> tuple[str, str, str] | None:
    """Cgroup, file and value that were written by hand; None where the action is something else.

    Where the action does not hold them it names the file, and the value is what that file is seen to show next.
    """
    if all(action.get(key) is not None for key in ("cgroup", "file", "value")):
        return str(action["cgroup"]), str(action["file"]), str(action["value"])
    named = [file for file in sorted(files, key=len, reverse=True) if file in action["what"]]
    for entry in timeline:
        if named and entry["kind"] == "file" and 0 <= entry["t"] - action["t"] <= _SOON and entry["file"] == named[0]:
            return entry["cgroup"], entry["file"], entry["value"]
    return None


def pod_of_cgroup(cgroup: str, timeline: Sequence[Entry]) -> tuple[str, str]:
    """Pod and container whose cgroup it was on the observed machine; ("", "") = no pod's. A pod's own: no container."""
    for entry in timeline:
        if entry["kind"] != "pod":
            continue
        for status in _container_statuses(entry):
            identity = (status.get("containerID") or "").rpartition("://")[2]
            if identity and identity in cgroup:
                return entry["pod"], status["name"]
            made = (e["cgroup"] for e in timeline if identity and e["kind"] in ("file", "cgroup-made"))
            if any(one.startswith(f"{cgroup}/") and identity in one for one in made):
                return entry["pod"], ""
    return "", ""


def with_transition_period(case: Mapping[str, Any]) -> Mapping[str, Any]:
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
