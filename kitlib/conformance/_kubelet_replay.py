"""The kit's kubelet on a simulated kernel, driven by the actions of an observed timeline.

Actions: a pod is created, deleted, or resized (with the API server's checks first), the file of a static pod is
rewritten,
a cgroup file is written by hand. A process that was killed appears as a run of its container (`Attempt`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kitlib.api.core import Container, Node, NodeStatus, Pod, PodStatus
from kitlib.api.errors import Forbidden, Invalid
from kitlib.api.meta import Condition, ObjectMeta
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.pod_resize import check_node, validate_pod_resize
from kitlib.conformance._kubelet_inputs import (
    IMAGE,
    Attempt,
    Shortage,
    attempts,
    hand_written,
    pod_of,
    pod_of_cgroup,
    shortages,
    with_transition_period,
)
from kitlib.conformance._observed import START, Observer
from kitlib.conformance.kubelet_files import controllers, node_config
from kitlib.kubelet.cm.cgroup_levels import container_id
from kitlib.kubelet.cm.cgroup_names import NODE_ALLOCATABLE_CGROUP
from kitlib.kubelet.cm.cgroup_tree import Cgroup
from kitlib.kubelet.cm.node_allocatable import node_status
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.thresholds import MEMORY, Observation
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.interfaces import Ended, Usage
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.loop.node_conditions import first_conditions, first_events
from kitlib.node.common.errors import CgroupError
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.runtime import SimulatedRuntime
from kitlib.node.simulated.system import SimulatedSystem

TICK = 0.5


class _ObservedRuntime(SimulatedRuntime):
    """The simulated runtime with the memory figures and the container exits of the observed machine."""

    def __init__(self, replay: KubeletReplay, kernel: Kernel) -> None:
        super().__init__(kernel, [Image(IMAGE, 2**20)])
        self._replay = replay
        self._started: dict[str, int] = {}

    def start(
        self, pod: Pod, container: Container, identity: str, cgroup: Cgroup, oom_score_adj: int, env: Mapping[str, str]
    ) -> None:
        """Start a container with the program of its next observed run."""
        count = self._started.get(identity, 0)
        self._started[identity] = count + 1
        run = self._replay.run_of(pod.name, container.name, count)
        program = msgspec.structs.replace(container, command=["sh", "-c", run.command], args=[])
        super().start(pod, program, identity, cgroup, oom_score_adj, env)

    def ended(self) -> list[Ended]:
        """Return the containers that have exited, marked as OOM-killed where the observed ones were."""
        found = []
        for ended in super().ended():
            owner, container = self._replay.owner(ended.id)
            run = self._replay.run_of(owner, container, self._started.get(ended.id, 1) - 1)
            found.append(
                Ended(id=ended.id, at=ended.at, code=ended.code, oom=ended.oom or run.oom, message=ended.message)
            )
        return found

    def signals(self) -> Mapping[str, Observation]:
        """Return the eviction signals, with available memory as observed on the machine during a shortage."""
        seen, now = dict(super().signals()), self._replay.shortage()
        if now is not None:
            seen[MEMORY] = Observation(now.available, self.kernel.machine.memory)
        return seen

    def usage(self, identity: str) -> Usage:
        """Return a container's usage; for the pod of the current shortage, its observed memory usage."""
        found, now = super().usage(identity), self._replay.shortage()
        if now is not None and self._replay.owner(identity)[0] == now.pod:
            return found._replace(memory=now.usage, anonymous=now.usage)
        return found


class KubeletReplay(Observer):
    """The replay of one case: a kubelet's reports, kept as a timeline in the form of the observed one.

    Implements `kitlib.kubelet.loop.interfaces.Reports`.

    Args:
        case: a case of `kubelet_dynamics`.
        files: names of the cgroup files to record.
    """

    def __init__(self, case: Mapping[str, Any], files: Sequence[str]) -> None:
        self._case, self._timeline, self._names = case, list[dict[str, Any]](), files
        self._config = node_config(with_transition_period(case))
        self._began = next((e["t"] for e in case["timeline"] if e.get("reason") == "Starting"), 0.0)
        self._shortages = shortages(case["timeline"])
        self._runs: dict[str, dict[str, list[Attempt]]] = {}
        self._pods: dict[str, Pod] = {}
        self._versions: dict[str, int] = {}
        self._files: dict[tuple[str, str], str] = {}
        self._kernel = Kernel(self._config.machine, case["cgroupVersion"], controllers(case))
        self._conditions = {c.type: c for c in first_conditions(START) if c.type != "Ready"}

    def run(self) -> list[dict[str, Any]]:
        """Perform the case's actions and return the resulting timeline."""
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
        return self._timeline

    def _pass_until(self, moment: float) -> None:
        while self._kernel.now < moment:
            self._kernel.advance(min(TICK, moment - self._kernel.now))
            self._kubelet.tick()
            self._look()

    def _act(self, action: Mapping[str, Any]) -> None:
        verb, _, rest = action["what"].partition(" ")
        words = rest.split()
        name = next((word for word in words if word in self._pods), words[0] if words else "")
        known, resources = name in self._pods, action.get("resources")
        written = hand_written(action, self._case["timeline"], self._names)
        if written is not None:
            self._write(*written)
        elif name and not known and (verb in ("create", "add") or resources):
            self._create(action, name)
        elif known and verb in ("delete", "remove", "rm"):
            self._delete(name)
        elif known and resources and verb in ("resize", "patch"):
            self._resize(name, resources)
        elif known and (resources or action.get("manifest")):  # a static pod's rewritten file defines another pod
            self._kubelet.sync([pod for other, pod in self._pods.items() if other != name])
            self._create(action, name)

    def _create(self, action: Mapping[str, Any], name: str) -> None:
        version = self._versions[name] = self._versions.get(name, 0) + 1
        static = bool(self._case.get("standalone"))
        pod = pod_of(action, name, self._case["timeline"], static=static, version=version)
        self._runs[name] = attempts(name, self._case["timeline"])
        self._pods[name] = pod
        entry = {"kind": "pod", "pod": name, "status": {"phase": "Pending", "qosClass": pod.status.qos_class}}
        self._timeline.append(entry)

    def _delete(self, name: str) -> None:
        data, status = to_dict(self._pods[name]), self._pods[name].status
        grace = self._pods[name].spec.termination_grace_period_seconds
        data["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace}
        gone: Pod = from_dict(data, Pod)
        gone.status = status
        self._pods[name] = gone

    def _resize(self, name: str, resources: Sequence[Mapping[str, Any]]) -> None:
        """Resize a pod as the API server does: a rejected resize becomes an entry `error` and changes nothing."""
        standing = self._pods[name]
        data = to_dict(standing)
        for container, wanted in zip(data["spec"]["containers"], resources, strict=False):
            container["resources"] = wanted
        data["metadata"]["generation"] = data["metadata"].get("generation", 1) + 1
        resized: Pod = from_dict(data, Pod)
        resized.status = standing.status
        offered = node_status(self._config.machine, self._config.reservations, self._config.settings.max_pods)
        node = Node(metadata=ObjectMeta(name="node"), status=NodeStatus(allocatable=offered.allocatable))
        try:
            errors = validate_pod_resize(resized, standing, self._config.gates)
            if errors:
                raise Invalid("Pod", name, errors)
            check_node(resized, node, self._config.gates)
        except (Forbidden, Invalid) as error:
            self._timeline.append({"kind": "error", "what": "resize", "message": str(error)})
            return
        self._pods[name] = resized

    def _write(self, cgroup: str, file: str, value: str) -> None:
        """Write a cgroup file by hand; a write that the kernel rejects has no effect."""
        owner, container = pod_of_cgroup(cgroup, self._case["timeline"])
        path = f"/{cgroup.lstrip('/')}"
        if owner in self._pods:
            tree, pod = self._kubelet.wanted, self._pods[owner]
            identity = container_id(pod.metadata.uid, container)
            own = [
                c for c in tree.of_pod(pod.metadata.uid) if (c.container == container if container else c.kind == "pod")
            ]
            path = own[0].path if own else next((p for p in self._kernel.cgroups.paths() if identity in p), path)
        try:
            self._kernel.cgroups.write(path, file, value)
        except CgroupError:
            return

    def run_of(self, pod: str, container: str, count: int) -> Attempt:
        """Return the n-th run of a container.

        Args:
            pod: the pod's name.
            container: the container's name.
            count: number of earlier starts of the container, from 0; beyond the observed runs the container runs
                without end.
        """
        known = self._runs.get(pod, {}).get(container, [])
        return known[count] if count < len(known) else Attempt(None)

    def shortage(self) -> Shortage | None:
        """Return the current memory shortage, if any: from ten seconds before the kubelet saw it until the eviction."""
        now = self._kernel.now + self._began
        return next((shortage for shortage in self._shortages if shortage.at - 10 < now), None)

    def owner(self, identity: str) -> tuple[str, str]:
        """Return the pod and the name of a container, by container id; both "" if the kubelet does not know the id."""
        for worker in self._kubelet.workers:
            for state in worker.states:
                if state.id == identity:
                    return worker.pod.name, state.container.name
        return "", ""

    def _look(self) -> None:
        for path in self._kernel.cgroups.paths():
            if path != "/" and NODE_ALLOCATABLE_CGROUP in path:
                for file in self._names:
                    if not self._kernel.cgroups.lacks(file) and file in self._kernel.cgroups.files(path):
                        text = self._kernel.cgroups.read(path, file)
                        if self._files.get((path, file)) != text:
                            self._files[path, file] = text
                            cgroup = path.lstrip("/")
                            self._timeline.append({"kind": "file", "cgroup": cgroup, "file": file, "value": text})

    # What the kubelet reports.

    def event(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Record an event, except in standalone mode, where no API server stores it."""
        if reason == "Evicted" and about is not None:
            self._shortages = [shortage for shortage in self._shortages if shortage.pod != about.name]
        if self._case.get("standalone"):
            return
        told = {"type": kind, "reason": reason, "message": message, "field": field, "annotations": annotations}
        entry = {"kind": "event", "object": "node" if about is None else about.name, "count": 1, **told}
        self._timeline.append(entry)

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Record a pod's status."""
        if pod.name in self._pods:
            self._pods[pod.name].status = status
        data = to_dict(Pod(status=status)).get("status", {})
        self._timeline.append({"kind": "pod", "pod": pod.name, "status": data})

    def gone(self, pod: Pod) -> None:
        """Drop a deleted pod."""
        self._pods.pop(pod.name, None)

    def condition(self, condition: Condition) -> None:
        """Record a condition of the node."""
        self._conditions[condition.type] = condition
        self._note_node()

    def _note_node(self) -> None:
        if not self._case.get("standalone"):
            shown = {kind: [c.status, c.reason, c.message] for kind, c in sorted(self._conditions.items())}
            self._timeline.append({"kind": "node", "conditions": shown})
