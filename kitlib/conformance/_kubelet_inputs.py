"""The inputs of the kubelet that an observed timeline implies: pod manifests, program behaviour, memory figures.

A case records what was done to the node (`action`) and what was observed. Three inputs of the kubelet are not recorded
and are derived from the observations: how the programs behaved (run time, exit code, OOM kill), which values were
written
into cgroup files by hand, and how much memory was available when the kubelet measured it.
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
"""The observed program as a shell script: it runs until SIGTERM and then exits at once with code 0."""
_EVICTED = re.compile(r"available: (\d+)Ki\. Container (\S+) was using (\d+)Ki")
_TOLERATES_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
_SOON = 2.0
"""Seconds after an action within which a value that was written by hand appears in the timeline."""


class Attempt(NamedTuple):
    """One run of a container.

    Attributes:
        seconds: run time; None = until SIGTERM, or to the end of the case.
        code: exit code.
        oom: whether the kernel's OOM killer ended one of its processes.
    """

    seconds: float | None
    code: int = 0
    oom: bool = False

    @property
    def command(self) -> str:
        """The run as a shell command of the simulated runtime."""
        return FOREVER if self.seconds is None else f"sleep {max(self.seconds, 0.1)}; exit {self.code}"


class Shortage(NamedTuple):
    """A memory shortage: the machine's figures when the kubelet detected it.

    Attributes:
        at: time of the eviction in seconds since the start of the case.
        available: available memory in bytes.
        pod: name of the pod that the kubelet evicted.
        usage: memory usage of the evicted pod's container in bytes.
    """

    at: float
    available: int
    pod: str
    usage: int


def attempts(name: str, timeline: Sequence[Entry]) -> dict[str, list[Attempt]]:
    """Return the runs of each container of a pod, by container name and in order.

    A run that ends after the kubelet or a user stopped the pod counts as one without an end: its end is the kubelet's
    doing,
    not an input.
    """
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
                    # An ended run replaces the entry of the same run while it was running, unless the kubelet ended it.
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
    """Return the pod of an action: its manifest if recorded, otherwise containers c0, c1, … of the observed program.

    The cases do not record tolerations: a pod that was not rejected for the node's condition gets a toleration of it.
    """
    manifest = action.get("manifest") or action.get("object")
    seen = [entry for entry in timeline if entry["kind"] == "pod" and entry["pod"] == name]
    runs = attempts(name, timeline)
    if not isinstance(manifest, Mapping):
        manifest = {"spec": _spec(action.get("resources") or [{}], seen, name, timeline)}
    spec = dict(manifest["spec"]) | {"nodeName": "node"}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_programmed(container, runs) for container in spec[kind]]
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
        "initContainers": [_init_container(name, seen) for name in _names(seen, "initContainerStatuses")],
        "containers": [{"name": n, "resources": amounts} for n, amounts in zip(names, resources, strict=False)],
        "restartPolicy": _restart_policy(name, seen, timeline),
        "terminationGracePeriodSeconds": next((e["grace"] for e in seen if e.get("grace")), 5),
        "tolerations": [] if refused else [_TOLERATES_PRESSURE],
    }


def _names(seen: Sequence[Entry], kind: str) -> list[str]:
    return next(([status["name"] for status in e["status"][kind]] for e in seen if e["status"].get(kind)), [])


def _init_container(name: str, seen: Sequence[Entry]) -> dict[str, Any]:
    """Return an init container; one that runs or restarts beside a regular container is a sidecar."""
    made: dict[str, Any] = {"name": name}
    for entry in seen:
        beside = any(status.get("started") for status in entry["status"].get("containerStatuses") or ())
        for status in entry["status"].get("initContainerStatuses") or ():
            if status["name"] != name:
                continue
            if status.get("resources"):
                made["resources"] = {
                    key: status["resources"][key] for key in ("requests", "limits") if key in status["resources"]
                }
            state = status.get("state") or {}
            if beside and ("running" in state or "waiting" in state):
                made["restartPolicy"] = "Always"
    return made


def _restart_policy(name: str, seen: Sequence[Entry], timeline: Sequence[Entry]) -> str:
    """Return the restart policy that the observations imply.

    A pod that ended without the kubelet's intervention was not restarted: Never, or OnFailure if it was restarted
    before.
    """
    ended_by_kubelet = any(
        e["kind"] == "event" and e["object"] == name and e["reason"] in ("Killing", "Evicted", "Preempting")
        for e in timeline
    ) or any(e.get("deletion") or e["status"].get("reason") for e in seen)
    if ended_by_kubelet or not any(e["status"].get("phase") in TERMINAL_PHASES for e in seen):
        return "Always"
    restarted = any(status.get("restartCount") for e in seen for status in e["status"].get("containerStatuses") or ())
    return "OnFailure" if restarted else "Never"


def shortages(timeline: Sequence[Entry]) -> list[Shortage]:
    """Return the memory shortages that eviction messages record.

    The figures were measured on the machine: they are an input of the kubelet's decision.
    """
    found = []
    for entry in timeline:
        figures = _EVICTED.search(entry.get("message") or "") if entry.get("reason") == "Evicted" else None
        if figures is not None:
            available, usage = (int(figures[i]) * 1024 for i in (1, 3))
            found.append(Shortage(entry["t"], available, entry["object"], usage))
    return found


def hand_written(action: Entry, timeline: Sequence[Entry], files: Sequence[str]) -> tuple[str, str, str] | None:
    """Return the cgroup, file and value that an action wrote by hand; None for any other action.

    An action without them names the file in its text; the value is the one that the file shows next.
    """
    if all(action.get(key) is not None for key in ("cgroup", "file", "value")):
        return str(action["cgroup"]), str(action["file"]), str(action["value"])
    named = [file for file in sorted(files, key=len, reverse=True) if file in action["what"]]
    for entry in timeline:
        if named and entry["kind"] == "file" and 0 <= entry["t"] - action["t"] <= _SOON and entry["file"] == named[0]:
            return entry["cgroup"], entry["file"], entry["value"]
    return None


def pod_of_cgroup(cgroup: str, timeline: Sequence[Entry]) -> tuple[str, str]:
    """Return the pod and container of a cgroup on the observed machine.

    The container is "" for a pod's own cgroup; both are "" for a cgroup of no pod.
    """
    for entry in timeline:
        if entry["kind"] != "pod":
            continue
        for status in _container_statuses(entry):
            identity = (status.get("containerID") or "").rpartition("://")[2]
            if identity and identity in cgroup:
                return entry["pod"], status["name"]
            made = (e["cgroup"] for e in timeline if identity and e["kind"] in ("file", "cgroup-made"))
            if any(path.startswith(f"{cgroup}/") and identity in path for path in made):
                return entry["pod"], ""
    return "", ""


def with_transition_period(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the case with evictionPressureTransitionPeriod, which the case does not record.

    It is the time from the last eviction to the end of the pressure condition, rounded down to ten seconds.
    """
    evicted = [e["t"] for e in case["timeline"] if e.get("reason") == "Evicted" and e["annotations"]]
    over = [e["t"] for e in case["timeline"] if e.get("reason") == "NodeHasSufficientMemory"]
    if not evicted or not over or over[-1] < evicted[-1]:
        return case
    period = int(over[-1] - evicted[-1]) // 10 * 10
    configuration = {"evictionPressureTransitionPeriod": f"{period}s", **case["kubeletConfiguration"]}
    return {**case, "kubeletConfiguration": configuration}
