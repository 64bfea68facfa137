"""The interface of a lab's check file: `@check`, `@observed`, the facts that it reads, and `Wrong`.

A check reads a cluster and never changes it. It passes by returning, and fails by raising `Wrong` with what was found,
what was expected, and the hint for this mistake. Everything that it reads is recorded as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import KubeObject
from kitlib.api.podresources import containers_of
from kitlib.api.serialize import deepcopy
from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT, MEMORY_USAGE
from kitlib.lab.history import History, Moment, as_time

UNLIMITED = 2**63 - 1
"""Value of a memory limit in bytes that means no limit."""
CheckFunction = Callable[[Any], None]
ObservedFunction = Callable[[Any], Any]
NeverFunction = Callable[[Moment], str]
"""Returns the violation at a moment; "" = none."""


class Wrong(Exception):
    """Raised if the state does not satisfy the task.

    Args:
        found: the observed state.
        expected: the required state.
        hint: the next step for a learner who made this mistake.
        credit: the part of the points that is earned nevertheless, 0 to 1.
    """

    def __init__(self, found: str, expected: str, hint: str = "", *, credit: float = 0.0) -> None:
        self.found, self.expected, self.hint, self.credit = found, expected, hint, credit
        super().__init__(f"found {found}; expected {expected}")


@dataclass
class Checks:
    """The functions of one check file, by the key of their task or prediction."""

    tasks: dict[str, CheckFunction] = field(default_factory=dict)
    predictions: dict[str, ObservedFunction] = field(default_factory=dict)
    at_start: set[str] = field(default_factory=set)
    trials: set[str] = field(default_factory=set)
    rules: dict[str, NeverFunction] = field(default_factory=dict)
    seconds: dict[str, tuple[str, CheckFunction]] = field(default_factory=dict)

    def check(self, key: str, *, trial: bool = False) -> Callable[[CheckFunction], CheckFunction]:
        """Register the check of a task: `@checks.check("guaranteed")`.

        Args:
            key: the task's key.
            trial: whether the check lets time pass on the cluster; it then gets an `Experiment` and runs after all
                other checks.
        """

        def register(function: CheckFunction) -> CheckFunction:
            if key in self.tasks:
                raise KitError(f"task {key!r} has two checks")
            self.tasks[key] = function
            if trial:
                self.trials.add(key)
            return function

        return register

    def again(self, key: str, situation: str) -> Callable[[CheckFunction], CheckFunction]:
        """Register a second situation of a task: `@checks.again("order", "the next night")`.

        It runs last, on the replayed cluster and from the learner's manifests, if the task passed; its `Wrong` takes
        the task's points. The brief announces it without details.

        Args:
            key: the task's key.
            situation: the words that begin the message of a failure.
        """

        def register(function: CheckFunction) -> CheckFunction:
            self.seconds[key] = situation, function
            return function

        return register

    def never(self, key: str) -> Callable[[NeverFunction], NeverFunction]:
        """Register the function that detects a violation of the rule of that key; it is called at every moment."""

        def register(function: NeverFunction) -> NeverFunction:
            self.rules[key] = function
            return function

        return register

    def observed(self, key: str, *, at_start: bool = False) -> Callable[[ObservedFunction], ObservedFunction]:
        """Register the function that returns the right answer to a prediction.

        Args:
            key: the prediction's key.
            at_start: whether the function gets the cluster as the learner found it, before any change.
        """

        def register(function: ObservedFunction) -> ObservedFunction:
            if key in self.predictions:
                raise KitError(f"prediction {key!r}: only one function can observe it, got two")
            self.predictions[key] = function
            if at_start:
                self.at_start.add(key)
            return function

        return register


class Facts:
    """Read access to a cluster: objects are copied, files are read, and all of it is recorded as evidence.

    Args:
        cluster: a simulated or a real cluster.
        set_up: time on the cluster's clock; pods created before it belong to the setup. None = only those created at
            once.
        variant: the values of the learner's variant.
        history: the changes since the learner began; None = not recorded (real nodes: their replay is).

    Attributes:
        variant: values of the learner's variant.
        evidence: the objects and files that were read.
        remarks: remarks to the learner although the task passed.
    """

    def __init__(
        self,
        cluster: Any,
        set_up: datetime | None = None,
        variant: SimpleNamespace | None = None,
        history: History | None = None,
    ) -> None:
        self._cluster = cluster
        self._set_up = set_up or cluster.clock.start
        self._history = history
        self.variant = variant or SimpleNamespace()
        self.evidence: list[dict[str, Any]] = []
        self.remarks: list[str] = []

    @property
    def replayed(self) -> bool:
        """Whether this cluster was watched from the start; False on real nodes, which others may keep busy."""
        return self._history is not None

    def _note(self, kind: str, what: str, value: Any) -> None:
        self.evidence.append({"kind": kind, "what": what, "value": value})

    # ---- objects

    def find(self, kind: str, name: str, namespace: str = "default") -> KubeObject | None:
        """Return a copy of an object, or None."""
        try:
            found = deepcopy(self._cluster.get(kind, name, namespace))
        except NotFound:
            found = None
        self._note("object", f"{kind} {namespace}/{name}", "present" if found else "absent")
        return found

    def pod(self, name: str, namespace: str = "default") -> Pod:
        """Return a copy of a pod. Raises: Wrong, if it does not exist or is being deleted."""
        found = self.find("Pod", name, namespace)
        if not isinstance(found, Pod):
            raise Wrong(
                f"no pod {namespace}/{name}",
                "the pod to be there",
                "apply its manifest with cluster.apply; the name must be kept",
            )
        self._note("status", f"Pod {namespace}/{name}", {"phase": found.status.phase, "node": found.spec.node_name})
        # Its containers run until the end of the grace period, but nothing stops the deletion.
        self.expect(
            found.metadata.deletion_timestamp is None,
            found=f"pod {name} is being deleted",
            expected="a pod that stays",
            hint="a deletion cannot be undone: wait until the pod is gone, then apply its manifest again",
        )
        return found

    def pods(self, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> list[Pod]:
        """Return copies of the pods with these labels, in one namespace or in all."""
        wanted = dict(labels or {})
        found = [
            deepcopy(pod)
            for pod in self._cluster.list("Pod", namespace)
            if wanted.items() <= pod.metadata.labels.items()
        ]
        self._note("objects", f"pods {namespace or 'everywhere'} {wanted}", [p.key for p in found])
        return found

    def pods_of(self, deployment: str) -> list[Pod]:
        """Return copies of the pods with the label `app` of a Deployment of that name.

        Raises:
            Wrong: the Deployment does not exist or is being deleted, whether its pods remain or not.
        """
        found = self.find("Deployment", deployment)
        self.expect(
            found is not None and found.metadata.deletion_timestamp is None,
            found=f"Deployment {deployment} is gone",
            expected="the Deployment to be there",
            hint="without it, nothing replaces a pod that ends: apply its manifest again",
        )
        return self.pods("default", {"app": deployment})

    def actions(self) -> list[dict[str, Any]]:
        """Return copies of the journal's entries, the learner's actions."""
        return [dict(entry) for entry in self._cluster.journal]

    def nodes(self) -> list[Node]:
        return [deepcopy(node) for node in self._cluster.list("Node")]

    def node(self, name: str) -> Node:
        """Return a copy of a Node. Raises: Wrong, if it does not exist."""
        if isinstance(found := self.find("Node", name, ""), Node):
            return found
        raise Wrong(f"no node {name}", "the node to be there", "a Node that was deleted: lab.reset() starts again")

    def events(self, reason: str = "", involved: str = "") -> list[Any]:
        """Return copies of the Kubernetes events with a reason, about an object of that name."""
        found = [
            deepcopy(event)
            for event in self._cluster.events()
            if reason in ("", event.reason) and involved in ("", event.involved_object.name)
        ]
        self._note("events", f"{reason or 'all'} {involved}", [e.message for e in found[-5:]])
        return found

    # ---- the node's side

    def work(self, pod: Pod, container: str) -> str:
        """Return a container's declared workload, else its command line."""
        from kitlib.node.common.workload import ANNOTATION

        declared = pod.metadata.annotations.get(ANNOTATION + container)
        if declared is not None:
            return declared
        return next((" ".join([*c.command, *c.args]) for c in pod.spec.containers if c.name == container), "")

    def tree(self, node: str) -> Any:
        """Return the cgroup tree of a node, read from its files."""
        return self._cluster.node(node).tree()

    def cgroup(self, pod: Pod, file: str, container: str = "") -> str:
        """Return the content of a file in a pod's cgroup, or in one of its containers' cgroups.

        Raises:
            Wrong: the pod has no such cgroup (it does not run).
        """
        tree = self.tree(pod.spec.node_name) if pod.spec.node_name else None
        for cgroup in tree.of_pod(pod.metadata.uid) if tree else ():
            fits = cgroup.container == container if container else cgroup.kind == "pod"
            if fits and file in cgroup:
                value = str(cgroup[file].value)
                self._note("cgroup file", f"{cgroup.path}/{file}", value)
                return value
        self.spared(pod)
        raise Wrong(f"no cgroup of pod {pod.key} with {file}", "the pod to run on a node", "look at the pod's status")

    def memory_limit(self, pod: Pod, container: str = "") -> int:
        """Return the memory limit in bytes of a pod's cgroup, or of one of its containers', on either cgroup version.

        Raises:
            Wrong: the pod has no such cgroup (it does not run).
        """
        version = self.tree(pod.spec.node_name).version if pod.spec.node_name else 2
        found = self.cgroup(pod, MEMORY_LIMIT[version], container)
        return UNLIMITED if found == "max" else int(found)

    def limit_of_all_pods(self, node: str) -> int:
        """Return the memory limit in bytes of the kubepods cgroup, by which node allocatable is enforced."""
        tree = self.tree(node)
        top = tree.of_kind("kubepods")[0]
        value = str(top[MEMORY_LIMIT[tree.version]].value)
        self._note("cgroup file", f"{top.path}/{MEMORY_LIMIT[tree.version]}", value)
        return UNLIMITED if value == "max" else int(value)

    def cpu_stat(self, pod: Pod, container: str = "") -> dict[str, int]:
        """Return a pod's CPU counters by v2 name: usage_usec of the pod; nr_periods, nr_throttled of all its cgroups.

        Args:
            pod: the pod.
            container: name of the container that usage_usec is of; "" = the pod as a whole.

        Raises:
            Wrong: the pod has no cgroup (it does not run).
        """
        tree = self.tree(pod.spec.node_name) if pod.spec.node_name else None
        found = {"usage_usec": 0, "nr_periods": 0, "nr_throttled": 0}
        cgroups = tree.of_pod(pod.metadata.uid) if tree else ()
        if not tree or not cgroups:
            self.spared(pod)
            raise Wrong(f"no cgroup of pod {pod.key}", "the pod to run on a node", "look at the pod's status")
        node = self._cluster.node(pod.spec.node_name)
        for cgroup in cgroups:
            stat = {key: int(one) for key, one in map(str.split, node.read(cgroup.path, "cpu.stat").splitlines())}
            for key in ("nr_periods", "nr_throttled"):
                found[key] += stat.get(key, 0)
            if cgroup.container == container if container else cgroup.kind == "pod":
                used = int(node.read(cgroup.path, "cpuacct.usage")) // 1000 if tree.version == 1 else stat["usage_usec"]
                found["usage_usec"] = used
        self._note("cpu.stat", pod.key, found)
        return found

    def spared(self, pod: Pod, hint: str = "") -> None:
        """Require that the kernel killed no container of a pod for memory.

        Raises:
            Wrong: it killed one; the message names the limit that was reached.
        """
        for status in [*pod.status.init_container_statuses, *pod.status.container_statuses]:
            ended = (status.last_state.get("terminated") or status.state.get("terminated") or {}).get("reason")
            if ended == "OOMKilled":
                raise Wrong(
                    f"{status.name} of {pod.metadata.name} was OOM-killed{self.limit_reached(pod)}",
                    f"{pod.metadata.name} running on",
                    hint or "a limit needs room above the use of the containers",
                )

    def limit_reached(self, pod: Pod) -> str:
        """Return at which limit of its own the kernel last killed a process of a pod, in words; "" = at none."""
        uid, log = pod.metadata.uid, "\n".join(self.kernel_log(pod.spec.node_name)).replace("_", "-")
        kills = re.findall(
            r"\bmemory: usage \d+kB, limit (\d+)kB(?:(?!memory: usage).)*?oom-memcg=([^,]+),task-memcg=([^,]+)",
            log,
            re.DOTALL,
        )
        limit, where, victim = next((kill for kill in reversed(kills) if uid in kill[2]), ("0", "", ""))
        if uid not in where:
            return ""
        counted = "" if where == victim else " for the whole pod, with its pause container"
        return f" at its own limit of {int(limit) // 1024} MiB{counted}"

    def burst_times(self, pod: Pod, container: str = "main") -> list[float]:
        """Return the duration in seconds of each burst of a container's workload so far."""
        from kitlib.lab.readings.cpu import burst_times

        found = burst_times(self._cluster, pod.name, container)
        self._note("bursts", pod.key, found[-5:])
        return found

    def memory_usage(self, pod: Pod) -> int:
        """Return the bytes that a pod's cgroup uses, page cache included; 0 without a cgroup."""
        if not pod.spec.node_name:
            return 0
        tree = self.tree(pod.spec.node_name)
        for cgroup in tree.of_pod(pod.metadata.uid):
            if cgroup.kind == "pod":
                value = self._cluster.node(pod.spec.node_name).read(cgroup.path, MEMORY_USAGE[tree.version])
                self._note("cgroup file", f"{cgroup.path}/{MEMORY_USAGE[tree.version]}", value)
                return int(value)
        return 0

    def allowed_cpus(self, name: str, container: str = "", namespace: str = "default") -> frozenset[int]:
        """Return the CPUs that a container's process may run on (Cpus_allowed_list of /proc/PID/status).

        Raises:
            Wrong: the container does not run.
        """
        pod = self.pod(name, namespace)
        try:
            text = self._cluster.node(pod.spec.node_name).proc(name, container, namespace)["Cpus_allowed_list"]
        except NotFound:
            raise Wrong(f"pod {pod.key} has no process", "a running container", "look at the pod's status") from None
        self._note("Cpus_allowed_list", pod.key, text)
        return parse_cpus(text)

    def kernel_log(self, node: str) -> list[str]:
        lines = [str(line) for line in self._cluster.node(node).kernel_log()]
        self._note("kernel log", node, lines[-5:])
        return lines

    def oom_score_adj(self, name: str, namespace: str = "default") -> int:
        """Return the oom_score_adj that the kubelet computes for the pod's first container."""
        from kitlib.kubelet.qos.policy import get_container_oom_score_adjust

        pod = self.pod(name, namespace)
        capacity = self.node(pod.spec.node_name).status.capacity["memory"]
        found = get_container_oom_score_adjust(pod, pod.spec.containers[0], capacity.value())
        self._note("oom_score_adj", pod.key, found)
        return found

    def process_score(self, name: str, namespace: str = "default") -> int:
        """Return the oom_score_adj in a pod's /proc, which differs from the kubelet's value if the host refused it.

        Raises:
            Wrong: the pod has no process.
        """
        pod = self.pod(name, namespace)
        try:
            text = self._cluster.node(pod.spec.node_name).proc(name, "", namespace)["oom_score_adj"]
        except NotFound:
            raise Wrong(f"pod {pod.key} has no process", "a running container", "look at the pod's status") from None
        self._note("oom_score_adj of the process", pod.key, text)
        return int(text)

    def is_from_setup(self, pod: Pod) -> bool:
        """Return whether a pod is the one that the learner found, not a later one of the same name."""
        created = pod.metadata.creation_timestamp
        return created is not None and as_time(created) <= self._set_up

    def seconds_since(self, moment: Any) -> float:
        """Return the seconds from a time in a status to now, on the cluster's clock."""
        return (self._cluster.now() - as_time(moment)).total_seconds()

    # ---- the scheduler's side

    def decision(self, name: str, namespace: str = "default", *, release: str = "") -> Any:
        """Return the scheduler's Decision about a pod now; the cluster does not change.

        Args:
            name: the pod's name.
            namespace: the pod's namespace.
            release: the release of the scheduler that decides; "" = the cluster's.
        """
        return self.decision_for(self.pod(name, namespace), release=release)

    def decision_for(self, pod: Pod, *, release: str = "") -> Any:
        """Return the scheduler's Decision about a pod that need not be on the cluster."""
        try:
            found = self._cluster.explain(pod) if not release else self._asked_of(release, pod)
        except KitError as error:  # no such schedulerName
            raise Wrong(f"{pod.metadata.name}: {error}", "a pod that the scheduler can place", "see its spec") from None
        self._note("decision", pod.key, found.message or f"fits {len(found.feasible)} nodes")
        return found

    def _asked_of(self, release: str, pod: Pod) -> Any:
        """Return the Decision of another release's scheduler on the same nodes and pods."""
        from kitlib.scheduler.scheduler import Scheduler

        others = [p for p in self._cluster.list("Pod") if p.metadata.uid != pod.metadata.uid]
        namespaces = self._cluster.list("Namespace")
        return Scheduler(self._cluster.list("Node"), others, release=release, namespaces=namespaces).explain(pod)

    def needs_the_scheduler(self, pod: Pod) -> None:
        """Require that the scheduler placed a pod, and that it runs.

        Raises:
            Wrong: the manifest named the node itself, or the pod does not run there.
        """
        by_hand = self._history.named_its_node(pod) if self._history else ""
        self.expect(
            not by_hand,
            found=f"{pod.metadata.name} was put on {pod.spec.node_name} by hand (spec.nodeName): {by_hand}",
            expected="a pod that the scheduler placed",
            hint="nodeName skips the scheduler: it hides the reasons instead of removing them; leave it out",
        )
        self.needs_to_run(pod)

    def needs_to_run(self, pod: Pod, hint: str = "", *, credit: float = 0.0) -> None:
        """Require that a pod is on a node and runs with the resources of its spec.

        The kubelet keeps the old resources while a resize is pending, so the spec is not what runs (KEP-1287).

        Args:
            pod: the pod.
            hint: the next step in this lab.
            credit: the part of the points that is earned although the pod does not run, 0 to 1.

        Raises:
            Wrong: the pod does not run, or its resize is Deferred or Infeasible.
        """
        on = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
        why = pod.status.reason or pod.status.message
        self.expect(
            bool(pod.spec.node_name) and pod.status.phase == "Running",
            found=f"{pod.metadata.name} is {pod.status.phase or 'Pending'}{on}{f': {why}' if why else ''}",
            expected=f"{pod.metadata.name} running",
            hint=hint or "look at the pod's status and events; a node that just started it needs some seconds",
            credit=credit,
        )
        for status in pod.status.container_statuses:
            ended = (status.last_state.get("terminated") or {}).get("reason")
            self.expect(
                (status.state.get("waiting") or {}).get("reason") != "CrashLoopBackOff",
                found=f"{status.name} of {pod.metadata.name} ends again and again, last {ended}",
                expected="containers that run on",
                hint=f"why does {status.name} end? Every container of the pod must run, also one that you added",
                credit=credit,
            )
        pending = next((c for c in pod.status.conditions if c.type == "PodResizePending"), None)
        if pending is not None:
            raise Wrong(
                f"the resize of {pod.metadata.name} is {pending.reason}: {pending.message}",
                "a pod that runs with the resources of its spec",
                "the node has no room for it now: ask for less, or another pod's request has to become smaller"
                if pending.reason == "Deferred"
                else "this node never grants it to a running pod: make the pod again with what it needs",
            )

    def needs_a_memory_limit(self, pod: Pod, container: str, most: int) -> None:
        """Require that a container, or its pod, has a memory limit of at most `most` MiB.

        Raises:
            Wrong: there is no limit, or a larger one.
        """
        limits = [c.resources.limits.get("memory") for c in containers_of(pod) if c.name == container]
        if pod.spec.resources is not None:
            limits.append(pod.spec.resources.limits.get("memory"))
        bounds = [limit.value() // 2**20 for limit in limits if limit is not None]
        self.expect(
            bool(bounds) and min(bounds) <= most,
            found=f"a limit of {min(bounds)} MiB" if bounds else "no limit",
            expected=f"at most {most} MiB",
            hint="a limit there must be: be generous, not boundless",
        )

    # ---- saying what is wrong

    def remark(self, text: str) -> None:
        """Tell the learner a drawback of the chosen way although the task passes."""
        self.remarks.append(text)

    def expect(self, right: bool, *, found: Any, expected: Any, hint: str = "", credit: float = 0.0) -> None:
        """Raise `Wrong` unless `right`."""
        if not right:
            raise Wrong(str(found), str(expected), hint, credit=credit)
