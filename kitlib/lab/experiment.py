"""Facts that a prediction observes by trying: on a cluster of its own, which is thrown away afterwards."""

from __future__ import annotations

from collections.abc import Mapping

from kitlib.api.core import Pod
from kitlib.lab.checks import Facts


class Experiment(Facts):
    """Facts about a cluster of its own, as the learner found it, which may be tried out to see what happens.

    Only predictions that are observed at the start get one; it is thrown away afterwards.
    """

    def let_pass(self, seconds: float) -> None:
        """Let the cluster run for so long."""
        self._cluster.advance(seconds)

    def drain(self, node: str, seconds: float) -> list[str]:
        """Drain a node for so long, as kubectl does; the pods that went."""
        from kitlib.study.drain import drain

        return [row["pod"] for row in drain(self._cluster, node, seconds) if row["answer"] == "gone"]

    def resize(self, name: str, containers: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
        """Resize a pod in place."""
        self._cluster.resize(name, containers)

    def cpu_usage(self, name: str, seconds: float = 10, namespace: str = "default") -> float:
        """Milli-CPU that a pod uses per second over the next `seconds`, from its cgroup's own counter."""
        before = self._cpu_seconds(name, namespace)
        self.let_pass(seconds)
        found = (self._cpu_seconds(name, namespace) - before) / seconds * 1000
        self._note("cpu usage", f"{namespace}/{name}", found)
        return round(found, 1)

    def _cpu_seconds(self, name: str, namespace: str) -> float:
        return self.cpu_stat(self.pod(name, namespace))["usage_usec"] / 1e6

    def write_cgroup(self, pod: Pod, file: str, value: str) -> None:
        """Write a file of a pod's own cgroup by hand."""
        node = self._cluster.node(pod.spec.node_name)
        own = next(c for c in node.tree().of_pod(pod.metadata.uid) if c.kind == "pod")
        node.write(own.path, file, value)
