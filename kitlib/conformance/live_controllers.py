"""Scenarios of a live kube-controller-manager 1.36.2: pods, statuses, events and errors after every step.

Some results depend on timing or chance, so one recording cannot determine them:

* The order of events: components write at the same time.
* The choice among equal nodes: kube-scheduler chooses at random. Only the nodes of DaemonSet pods are compared.
* The steps of a rollout: they depend on which pod becomes ready first. The first and the last size of every ReplicaSet
  and the direction are compared.
* The message and the count of a combined event.
* The order of an object's conditions: it depends on which of two syncs saw a change first.
* `RETRIED`: the number of retries before the recording ended, by the event's reason.
* `UNRECORDED`: fields of a status or a quota that the recording leaves out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, is_condition_true
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy, from_dict, to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.kinds import resource
from kitlib.apiserver.store.names import SUFFIX_ALPHABET
from kitlib.cluster.control_plane.options import ClusterOptions, SimulationOptions
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.hollow import HollowNode, mark_running
from kitlib.cluster.nodes.kubelets import KUBELET
from kitlib.cluster.nodes.plan import NodePlan

FILE = "live_controllers"
RELEASE = "1.36"
INPUTS = frozenset({"name", "nodes", "steps"})
NAMESPACE = "ctl"
DELAY = 0.5
"""Seconds until a bound pod runs, and until a terminating pod is deleted, as the recording's fake kubelets had it."""
TICK, QUIET, LONG_QUIET, LONGEST = 0.25, 3.0, 12.0, 60.0
LONG = frozenset({"namespace-delete", "quota-deployment", "statefulset-claims"})
"""Scenarios that were recorded after 12 s without changes; the others were recorded after 3 s."""
KINDS = (
    *("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob"),
    *("PodDisruptionBudget", "PersistentVolumeClaim", "PersistentVolume", "ResourceQuota", "HorizontalPodAutoscaler"),
)
UNRECORDED = frozenset(
    {"observedGeneration", "collisionCount", "currentRevision", "updateRevision", "count/configmaps"}
)
"""`count/configmaps`: the recording's API server creates one ConfigMap more in each namespace than upstream's."""
RETRIED = frozenset({"FailedCreate", "FailedScheduling", "FailedBinding", "NoPods", "UnmanagedPods"})
_COMBINED = "(combined from similar events): "
_SCALED = re.compile(r"^Scaled (up|down) replica set (\S+) from (\d+) to (\d+)$")


class StandIn(HollowNode):
    """A node of the recording: a bound pod runs after `DELAY`, a terminating pod is deleted after `DELAY`.

    A pod with the annotation `fk/ready: "false"` runs without being ready.
    """

    def __init__(self, plan: NodePlan, release: Release) -> None:
        super().__init__(plan, release)
        self._api: APIServer | None = None
        self._seconds = 0.0
        self._due: dict[tuple[str, bool], tuple[float, Pod]] = {}

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Schedule the start or the deletion of each changed pod."""
        self._api = api
        for pod in pods.take().changed:
            leaving = pod.metadata.deletion_timestamp is not None
            if leaving or pod.status.phase == "Pending":
                self._due.setdefault((pod.metadata.uid, leaving), (self._seconds + DELAY, pod))

    def advance(self, seconds: float) -> None:
        """Start and delete the pods that are due."""
        self._seconds += seconds
        for key, (at, noted) in list(self._due.items()):
            if at > self._seconds + 1e-9 or self._api is None:  # the seconds are a sum of inexact ticks
                continue
            del self._due[key]
            pod: Pod | None = self._api.store.find(Pod, noted.name, noted.namespace)
            if pod is None or pod.metadata.uid != noted.metadata.uid:
                continue
            if key[1]:
                self._api.delete(Pod, pod.name, pod.namespace)
            elif pod.metadata.deletion_timestamp is None and pod.status.phase == "Pending":
                self._start(self._api, deepcopy(pod))

    def _start(self, api: APIServer, pod: Pod) -> None:
        mark_running(pod, api.store.now())
        if pod.metadata.annotations.get("fk/ready") == "false":
            for condition in pod.status.conditions:
                if condition.type in ("Ready", "ContainersReady"):
                    condition.status = "False"
            for status in pod.status.container_statuses:
                status.ready = False
        api.update_status(pod)


class RecordedCluster(SimulatedCluster):
    """A simulated cluster of the recording's nodes."""

    def _make_node(self, node_plan: NodePlan) -> Any:
        return StandIn(node_plan, self.release)


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Replay a scenario and return the observation of every step."""
    replay = ControllerReplay(case)
    return {"observed": [replay.step(step) for step in case["steps"]]}


def compare(case: dict[str, Any], field: str, expected: Any, found: Any) -> bool:
    """Return whether two recordings are equal apart from the exceptions that the module's docstring lists."""
    if field != "observed" or len(expected) != len(found):
        return False
    return all(comparable(left) == comparable(right) for left, right in zip(expected, found, strict=True))


class ControllerReplay:
    """The replay of one scenario on its own cluster."""

    def __init__(self, case: dict[str, Any]) -> None:
        self._quiet = LONG_QUIET if case["name"] in LONG else QUIET
        nodes = [from_dict(_node(one)) for one in case["nodes"]]
        self._cluster = RecordedCluster(ClusterOptions.of(nodes), SimulationOptions(kubelets=False, tick=TICK))
        self._cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self._cluster.advance(TICK)
        self._sets: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._seen = self._cluster.api.store.version

    def step(self, step: dict[str, Any]) -> dict[str, Any]:
        """Perform a step's actions, wait until nothing changes, and return the observation."""
        errors: list[str] = []
        for action in self._actions(step):
            try:
                action()
            except KitError as error:
                errors.append(str(error))
        self._wait()
        return {"error": errors, **self._observe()}

    def _actions(self, step: dict[str, Any]) -> Iterable[Any]:
        cluster, do = self._cluster, step["do"]
        if do == "apply":
            return [lambda one=one: cluster.create(_placed(one)) for one in step["objects"]]
        if do == "patch":
            place = NAMESPACE if resource(step["kind"]).namespaced else ""
            return [lambda: cluster.patch(step["kind"], step["name"], step["patch"], place)]
        if do == "delete":
            place = NAMESPACE if resource(step["kind"]).namespaced else ""
            return [lambda: cluster.delete(step["kind"], step["name"], place)]
        if do == "evict":
            return [lambda: cluster.evict(step["name"], NAMESPACE)]
        if do in ("evictone", "deleteone"):
            name = self._of_app(step["app"])[0].name
            if do == "evictone":
                return [lambda: cluster.evict(name, NAMESPACE)]
            return [lambda: cluster.delete("Pod", name, NAMESPACE)]
        if do == "costs":
            pods = self._of_app(step["app"])
            key = "controller.kubernetes.io/pod-deletion-cost"
            return [
                lambda pod=pod, cost=cost: cluster.patch(
                    "Pod", pod.name, {"metadata": {"annotations": {key: cost}}}, NAMESPACE
                )
                for pod, cost in zip(pods, step["values"], strict=False)
            ]
        raise KitError(f"unknown step {do!r}")

    def _of_app(self, app: str) -> list[Pod]:
        return sorted(self._cluster.pods(NAMESPACE, {"app": app}), key=lambda pod: str(pod.name))

    def _wait(self) -> None:
        """Advance the cluster until pods and statuses have not changed for `QUIET` or `LONG_QUIET` seconds."""
        quiet, passed, before = 0.0, 0.0, ""
        while quiet < self._quiet and passed < LONGEST:
            self._cluster.advance(TICK)
            passed += TICK
            now = json.dumps([self._pods(), self._objects()], default=str)
            quiet = quiet + TICK if now == before else 0.0
            before = now

    def _observe(self) -> dict[str, Any]:
        self._number_sets()
        return {"events": self._events(), "objects": self._objects(), "pods": self._pods()}

    def _number_sets(self) -> None:
        """Name new ReplicaSets of Deployments DEPLOYMENT-RS1, -RS2, … in the order of their creation."""
        for replica_set in self._cluster.list("ReplicaSet"):
            owner = next((ref.name for ref in replica_set.metadata.owner_references if ref.kind == "Deployment"), None)
            if owner is not None and replica_set.name not in self._sets:
                self._count[owner] = self._count.get(owner, 0) + 1
                self._sets[replica_set.name] = f"{owner}-RS{self._count[owner]}"

    def _named(self, text: str) -> str:
        """Return the text with the recording's names in place of generated ones."""
        for name, short in self._sets.items():
            text = text.replace(name, short)
        suffix = f"-[{SUFFIX_ALPHABET}]{{5}}(?![a-z0-9])"
        return re.sub(rf"({'|'.join(map(re.escape, self._prefixes()))}){suffix}", r"\1-*", text)

    def _prefixes(self) -> list[str]:
        kinds = ("ReplicaSet", "DaemonSet", "ReplicationController", "Job")
        names = {self._sets.get(one.name, one.name) for kind in kinds for one in self._cluster.list(kind)}
        return sorted(names | set(self._sets.values()), key=len, reverse=True) or ["\0"]

    def _pods(self) -> list[list[Any]]:
        self._number_sets()
        key = "controller.kubernetes.io/pod-deletion-cost"
        found = []
        for pod in self._cluster.pods():
            ready = is_condition_true(pod.status.conditions, "Ready")
            tag = pod.spec.containers[0].image.rpartition(":")[2]
            leaving = pod.metadata.deletion_timestamp is not None
            cost = pod.metadata.annotations.get(key, "")
            found.append([self._named(pod.name), pod.spec.node_name, pod.status.phase, ready, tag, leaving, cost])
        return sorted(found)

    def _objects(self) -> dict[str, Any]:
        found = {}
        for kind in KINDS:
            for obj in self._cluster.list(kind):
                found[f"{kind} {self._named(obj.name)}"] = self._status(obj)
        for namespace in self._cluster.list("Namespace"):
            if namespace.name not in (NAMESPACE, "default", "kube-node-lease", "kube-public", "kube-system"):
                found[f"Namespace {namespace.name}"] = self._status(namespace)
        return found

    def _status(self, obj: KubeObject) -> dict[str, Any]:
        data = to_dict(obj)
        status = {k: v for k, v in data.get("status", {}).items() if v and k not in UNRECORDED}
        if "conditions" in status:
            status["conditions"] = [
                [c["type"], c["status"], c.get("reason", ""), self._named(c.get("message", ""))]
                for c in status["conditions"]
            ]
        if obj.kind == "ResourceQuota":
            for part in ("hard", "used"):
                status[part] = {k: v for k, v in status.get(part, {}).items() if k not in UNRECORDED}
        if "disruptedPods" in status:
            status["disruptedPods"] = sorted(map(self._named, status["disruptedPods"]))
        if obj.kind == "Deployment":
            status["revision"] = obj.metadata.annotations.get("deployment.kubernetes.io/revision", "")
        spec = data.get("spec", {})
        if obj.kind in ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"):
            status["spec.replicas"] = spec.get("replicas", 1)
        return status

    def _events(self) -> list[list[Any]]:
        """Return the events since the last step, without those of nodes and kubelets."""
        found = []
        for event in self._cluster.events():
            about = event.involved_object
            if int(event.metadata.resource_version) <= self._seen or about.kind == "Node":
                continue
            if event.source.get("component") == "kubelet":
                continue
            message = self._named(event.message)
            found.append([about.kind, self._named(about.name), event.type, event.reason, message, event.count])
        self._seen = self._cluster.api.store.version
        return found


def comparable(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step's observation without the values that one recording cannot determine."""
    pods = step["pods"]
    owned_by_daemon = tuple(f"{key.split(' ', 1)[1]}-*" for key in step["objects"] if key.startswith("DaemonSet "))
    return {
        "error": step["error"],
        "objects": {name: _sorted_conditions(status) for name, status in step["objects"].items()},
        "pods": sorted(
            json.dumps([name, node if name in owned_by_daemon else bool(node), *rest]) for name, node, *rest in pods
        ),
        "events": _comparable_events(step["events"]),
    }


def _sorted_conditions(status: dict[str, Any]) -> dict[str, Any]:
    if "conditions" not in status:
        return status
    return {**status, "conditions": sorted(status["conditions"])}


def _comparable_events(events: Iterable[list[Any]]) -> list[str]:
    found: list[str] = []
    sizes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    combined: set[str] = set()
    for kind, name, type_, reason, message, count in events:
        if reason == "Scheduled":
            message = re.sub(r" to \S+$", " to NODE", message)
        scaled = _SCALED.match(message.removeprefix(_COMBINED)) if reason == "ScalingReplicaSet" else None
        if message.startswith(_COMBINED):
            combined.add(json.dumps([kind, name, type_, reason]))
        elif scaled is not None:
            way, replica_set, before, after = scaled.groups()
            sizes.setdefault((replica_set, way), []).append((int(before), int(after)))
        elif reason in RETRIED:
            combined.add(json.dumps([kind, name, type_, reason, message]))
        else:
            found.append(json.dumps([kind, name, type_, reason, message, count]))
    for (replica_set, way), steps in sizes.items():
        ends = [step[0] for step in steps], [step[1] for step in steps]
        ends_of = (min(ends[0]), max(ends[1])) if way == "up" else (max(ends[0]), min(ends[1]))
        found.append(json.dumps(["ScalingReplicaSet", replica_set, way, *ends_of]))
    return sorted([*found, *combined])


def _node(one: dict[str, Any]) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": one["name"], **one.get("labels", {})}
    spec = {key: one[key] for key in ("taints", "unschedulable") if key in one}
    capacity = {"cpu": one["cpu"], "memory": one["memory"], "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": one["name"], "labels": labels, "annotations": {KUBELET: "true"}},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def _placed(one: dict[str, Any]) -> dict[str, Any]:
    """Return the object in the scenario's namespace, unless it names another one or is cluster-scoped."""
    if not resource(one["kind"]).namespaced or one["metadata"].get("namespace"):
        return one
    return {**one, "metadata": {**one["metadata"], "namespace": NAMESPACE}}
