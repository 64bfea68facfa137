"""The container runtime on the simulated kernel: a container is one process that follows its workload.

It makes a container's cgroup with the files that the kubelet asks for, and removes it when the container has ended, as
containerd does when a task is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.api.core import Container, Pod
from kitlib.kubelet.cgroup_tree import Cgroup, CgroupFile
from kitlib.kubelet.eviction_thresholds import Observation
from kitlib.kubelet.loop.interfaces import ContainerProblem, Ended, Usage
from kitlib.node.simulated.cgroupfs import CgroupError
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.workloads import FOREVER, Phase, Workload, WorkloadError, workload_of

PAUSE = Workload((Phase(FOREVER, memory=256 * 1024),), name="pause")


class SimulatedRuntime:
    """Implements `kitlib.kubelet.loop.interfaces.ContainerRuntime`.

    Args:
        kernel: on which the processes run.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._pids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._paths: dict[str, str] = {}
        self._environments: dict[str, dict[str, str]] = {}

    def run_sandbox(self, pod: Pod, identity: str, cgroup: Cgroup, oom_score_adj: int) -> None:
        """Start a pod's pause container."""
        self._spawn(PAUSE, identity, cgroup, oom_score_adj)

    def start(
        self, pod: Pod, container: Container, identity: str, cgroup: Cgroup, oom_score_adj: int, env: Mapping[str, str]
    ) -> None:
        """Start a container in its cgroup.

        Raises:
            ContainerProblem: where its workload cannot be understood, or the kernel refuses its cgroup.
        """
        try:
            workload = workload_of(pod, container)
        except WorkloadError as error:
            raise ContainerProblem("CreateContainerConfigError", str(error)) from error
        try:
            self._spawn(workload, identity, cgroup, oom_score_adj)
        except CgroupError as error:
            raise ContainerProblem("CreateContainerError", str(error)) from error
        self._environments[identity] = {one.name: one.value for one in container.env if one.value} | dict(env)

    def environment(self, identity: str) -> Mapping[str, str]:
        """The environment of a running container: its manifest's variables, and those of its devices."""
        return self._environments.get(identity, {})

    def _spawn(self, workload: Workload, identity: str, cgroup: Cgroup, oom_score_adj: int) -> None:
        self.kernel.cgroups.makedirs(cgroup.path)
        for file in cgroup.values():
            if file.written:
                self.kernel.cgroups.write(cgroup.path, file.name, file.value)
        pid = self.kernel.spawn(workload, cgroup.path, oom_score_adj)
        self._pids[identity], self._names[pid], self._paths[identity] = pid, identity, cgroup.path

    def update(self, identity: str, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Write these files of a running container's cgroup."""
        for file in files:
            self.kernel.cgroups.write(cgroup.path, file.name, file.value)

    def stop(self, identity: str, grace: float = 0.0) -> None:
        """End a container at once: a simulated process does as SIGTERM asks."""
        pid = self._pids.get(identity)
        if pid is not None:
            self._forget(identity)
            self.kernel.kill(pid)
        self._remove(identity)

    def ended(self) -> list[Ended]:
        """The containers that have ended by themselves since the last call."""
        found = []
        for gone in self.kernel.exits():
            identity = self._names.get(gone.process.pid)
            if identity is not None:
                self._forget(identity)
                self._remove(identity)
                found.append(Ended(id=identity, at=gone.at, code=gone.code, oom=gone.oom))
        return found

    def usage(self, identity: str) -> Usage:
        """What a container uses; nothing where it does not run."""
        process = self.kernel.processes.get(self._pids.get(identity, 0))
        if process is None:
            return Usage()
        return Usage(process.rate, process.memory, 1, process.memory)

    def signals(self) -> Mapping[str, Observation]:
        """memory.available: what is left of the machine's memory; page cache counts as free."""
        whole = self.kernel.machine.memory
        working = sum(process.memory for process in self.kernel.processes.values())
        return {"memory.available": Observation(whole - working, whole)}

    def pid(self, identity: str) -> int:
        """The container's process; 0 where it does not run."""
        pid = self._pids.get(identity, 0)
        return pid if pid in self.kernel.processes else 0

    def _forget(self, identity: str) -> None:
        self._names.pop(self._pids.pop(identity), None)

    def _remove(self, identity: str) -> None:
        path = self._paths.pop(identity, "")
        self._environments.pop(identity, None)
        if path and self.kernel.cgroups.exists(path):
            self.kernel.cgroups.rmdir(path)
