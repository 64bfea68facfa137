"""Facts that are observed by trying, on a cluster that is discarded afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kitlib.api.core import Pod
from kitlib.api.errors import Forbidden, Invalid, NotFound
from kitlib.api.podresources import pod_requests
from kitlib.api.serialize import to_dict
from kitlib.lab.checks import Facts, Wrong


def as_applied(pod: Pod) -> dict[str, Any]:
    """Return a pod's manifest without the fields that the cluster added."""
    plain = to_dict(pod)
    kept = {
        key: plain["metadata"][key]
        for key in ("name", "namespace", "labels", "annotations")
        if key in plain["metadata"]
    }
    spec = {key: one for key, one in plain["spec"].items() if key not in ("nodeName", "priority", "preemptionPolicy")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


class Experiment(Facts):
    """Facts about a cluster that the check may change.

    Predictions that are observed at the start get the cluster as the learner found it; trials and second situations
    get the learner's replayed one.
    """

    def let_pass(self, seconds: float) -> None:
        """Advance the cluster by this many seconds."""
        self._cluster.advance(seconds)

    def drain(self, node: str, seconds: float) -> list[str]:
        """Drain a node for at most `seconds`, as kubectl does, and return the evicted pods."""
        from kitlib.study.drain import drain

        return [row["pod"] for row in drain(self._cluster, node, seconds) if row["answer"] == "gone"]

    def resize(self, name: str, containers: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
        """Resize a pod in place."""
        self._cluster.resize(name, containers)

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Create or change objects.

        Raises:
            Wrong: the API server refuses one of them, because an object that the learner's manifest names is gone.
        """
        try:
            self._cluster.apply(list(manifests))
        except (Forbidden, Invalid, NotFound) as error:
            names = ", ".join(f"{one['kind']} {one['metadata']['name']}" for one in manifests)
            raise Wrong(
                f"{names} cannot be created again: {error}",
                "manifests that the API server accepts at any time",
                "an object that your manifest names must stay, here a PriorityClass or a claim of your own",
            ) from error

    def delete(self, kind: str, name: str) -> None:
        """Delete an object without a grace period."""
        with suppress(NotFound):
            self._cluster.delete(kind, name, grace=0 if kind == "Pod" else None)

    def patch(self, kind: str, name: str, patch: Mapping[str, Any]) -> None:
        """Change fields of an object."""
        self._cluster.patch(kind, name, patch)

    def manifest(self, name: str, *, new_name: str = "", **work: str) -> dict[str, Any]:
        """Return a pod's manifest as the learner wrote it.

        Args:
            name: the pod's name.
            new_name: name in the returned manifest; "" = unchanged.
            work: container -> declared workload that replaces the original one.
        """
        from kitlib.node.common.workload import ANNOTATION

        made = as_applied(self.pod(name))
        made["metadata"]["name"] = new_name or name
        if work:
            annotations = made["metadata"].setdefault("annotations", {})
            annotations.update({ANNOTATION + container: text for container, text in work.items()})
        return made

    def bind(self, name: str, node: str) -> None:
        """Bind a pod to a node, as a scheduler outside the cluster does."""
        self._cluster.bind(name, node)

    def add_node_like(self, node: str, name: str, *, without: str = "") -> None:
        """Add a node with the capacity, taints and labels of another one, except its host name and one more label."""
        like, own = self.node(node), ("kubernetes.io/hostname", without)
        labels = {key: value for key, value in like.metadata.labels.items() if key not in own}
        taints = [{"key": one.key, "value": one.value or "", "effect": one.effect} for one in like.spec.taints]
        capacity = like.status.capacity
        one = {"name": name, "cpus": capacity["cpu"].value(), "memory": str(capacity["memory"])}
        self._cluster.add_nodes([{**one, "labels": labels, "taints": taints}])

    def free_cpu(self, node: str) -> int:
        """Return the allocatable CPU of a node that no pod there requests, in milli-CPU."""
        pods = [pod for pod in self.pods() if pod.spec.node_name == node and not pod.metadata.deletion_timestamp]
        asked = [cpu.milli_value() for pod in pods if (cpu := pod_requests(pod).get("cpu"))]
        return int(self.node(node).status.allocatable["cpu"].milli_value()) - sum(asked)

    def finalize(self, namespace: str) -> None:
        """Remove a namespace's own finalizer through its `finalize` subresource, whatever it still contains."""
        found = self._cluster.get("Namespace", namespace)
        found.spec.finalizers = []
        self._cluster.api.update(found, "finalize")
        self.let_pass(1)

    def make_again(self, name: str, seconds: float = 5, **work: str) -> None:
        """Delete a pod and create it again from the learner's manifest, with other workloads for named containers."""
        made = self.manifest(name, **work)
        self.delete("Pod", name)
        self.let_pass(1)
        self.apply(made)
        self.let_pass(seconds)

    def neighbour(self, node: str, work: str, name: str = "neighbour", **requests: str) -> None:
        """Start another team's pod on a node, with the given requests or none."""
        from kitlib.node.common.workload import ANNOTATION

        container = {"name": "main", "image": "example/neighbour:1", "resources": {"requests": requests}}
        metadata = {"name": name, "annotations": {f"{ANNOTATION}main": work}}
        spec = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def end_process(self, name: str, container: str = "main") -> None:
        """Kill a container's process; the pod's restart policy applies."""
        self._cluster.node(self.pod(name).spec.node_name).signal(name, container, 9)

    def restart_kubelet(self, node: str) -> None:
        """Restart a node's kubelet with unchanged settings: each pod is admitted again."""
        self._cluster.node(node).restart_kubelet()

    def runs(self, name: str, hint: str = "") -> Pod:
        """Return the pod; it must run, and no container of it may have been OOM-killed.

        Raises:
            Wrong: the pod does not run, or a container was OOM-killed.
        """
        pod = self.pod(name)
        self.spared(pod, hint)
        self.needs_to_run(pod, hint)
        return pod

    def cpu_usage(self, name: str, seconds: float = 10, container: str = "") -> float:
        """Return a pod's average usage in milli-CPU over the next `seconds`, from its cgroup's CPU counter.

        Args:
            name: the pod's name.
            seconds: the duration.
            container: name of the container; "" = the pod as a whole.
        """
        before = self._cpu_seconds(name, container)
        self.let_pass(seconds)
        found = (self._cpu_seconds(name, container) - before) / seconds * 1000
        self._note("cpu usage", f"default/{name}", found)
        return round(found, 1)

    def gets_cpu(self, name: str, millicores: float, expected: str, hint: str = "", *, container: str = "") -> None:
        """Require that a pod uses at least 95% of an amount of CPU over the next ten seconds.

        Args:
            name: the pod's name.
            millicores: the amount, in milli-CPU.
            expected: the amount as text, for the message.
            hint: the next step for the learner.
            container: name of the container; "" = the pod as a whole.

        Raises:
            Wrong: the pod, or the container, uses less.
        """
        used = self.cpu_usage(name, container=container)
        self.spared(self.pod(name))
        who = f"{container} of {name}" if container else name
        self.expect(used >= 0.95 * millicores, found=f"{who} uses {used:.0f}m of CPU", expected=expected, hint=hint)

    def busy_replica(self, of: str, seconds: float, hint: str, **work: str) -> str:
        """Start another pod from a learner's manifest, require that it runs undisturbed, and return its name.

        Args:
            of: name of the learner's pod.
            seconds: time that the replica runs before it is looked at.
            hint: the next step for the learner.
            work: container -> declared workload that replaces the original one.

        Raises:
            Wrong: the replica does not run, a container was OOM-killed, or a native sidecar was restarted.
        """
        name = f"{of}-2"
        self.apply(self.manifest(of, new_name=name, **work))
        self.let_pass(seconds)
        pod = self.runs(name, hint)
        restarted = [status.name for status in pod.status.init_container_statuses if status.restart_count]
        self.expect(
            not restarted, found=f"{', '.join(restarted)} of {name} was restarted", expected=f"{name} running on"
        )
        return name

    def _cpu_seconds(self, name: str, container: str) -> float:
        return self.cpu_stat(self.pod(name), container)["usage_usec"] / 1e6

    def write_cgroup(self, pod: Pod, file: str, value: str) -> None:
        """Write a file of a pod's own cgroup directly."""
        node = self._cluster.node(pod.spec.node_name)
        own = next(c for c in node.tree().of_pod(pod.metadata.uid) if c.kind == "pod")
        node.write(own.path, file, value)
