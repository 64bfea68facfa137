"""The container runtime on the simulated kernel: a container is one process that follows its workload.

It makes a container's cgroup with the files that the kubelet asks for, and removes it when the container has ended, as
containerd does when a task is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from signal import SIGKILL

from kitlib.api.core import Container, Pod
from kitlib.kubelet.cgroup_tree import Cgroup, CgroupFile
from kitlib.kubelet.eviction_thresholds import Observation
from kitlib.kubelet.loop.interfaces import ContainerProblem, Ended, Usage
from kitlib.node.simulated.cgroupfs import CgroupError
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.process import Process
from kitlib.node.simulated.workloads import FOREVER, Phase, Workload, WorkloadError, workload_of

BYTES_PER_INODE = 16384
"""How many bytes of a disk there are for one file. Source: mke2fs.conf, inode_ratio."""
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
        self._volumes: dict[str, int] = {}
        self._system_ooms: list[tuple[str, int]] = []
        self._environments: dict[str, dict[str, str]] = {}
        self._stopping: set[str] = set()

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
        """Have a container end: when its process has tidied up after SIGTERM, after `grace` seconds at the latest."""
        pid = self._pids.get(identity)
        process = self.kernel.processes.get(pid or 0)
        if pid is not None and process is not None and min(grace, process.workload.tidying) > 0:
            self._stop_within(identity, process, grace)
            return
        if pid is not None:
            self._forget(identity)
            self.kernel.kill(pid)
        self._stopping.discard(identity)
        self._volumes.pop(identity, None)
        self._remove(identity)

    def _stop_within(self, identity: str, process: Process, grace: float) -> None:
        """SIGTERM now, SIGKILL when the grace period is over; asked a second time it can only become shorter."""
        left = process.workload.tidying
        if identity in self._stopping:
            left = process.phase_ends - self.kernel.now
        self._stopping.add(identity)
        self.kernel.end_in(process.pid, min(left, grace), 0 if left < grace else 128 + SIGKILL)

    def ended(self) -> list[Ended]:
        """The containers that have ended by themselves since the last call."""
        found = []
        for gone in self.kernel.exits():
            if gone.where == "/":
                self._system_ooms.append((gone.process.name, gone.process.pid))
            identity = self._names.get(gone.process.pid)
            if identity is not None:
                self._forget(identity)
                self._remove(identity)
                if identity in self._stopping:
                    self._stopping.discard(identity)
                    self._volumes.pop(identity, None)
                    continue
                found.append(Ended(id=identity, at=gone.at, code=gone.code, oom=gone.oom))
        return found

    def system_ooms(self) -> list[tuple[str, int]]:
        """Name and id of the processes that were killed since the last call because the machine's memory was full."""
        found, self._system_ooms = self._system_ooms, []
        return found

    def usage(self, identity: str) -> Usage:
        """What a container uses; nothing where it does not run. A volume keeps what a restarted container wrote."""
        process = self.kernel.processes.get(self._pids.get(identity, 0))
        if process is None:
            return Usage()
        wants = process.wants
        volumes = wants.volume
        if volumes or identity in self._volumes:
            volumes = self._volumes[identity] = max(volumes, self._volumes.get(identity, 0))
        return Usage(
            process.rate,
            process.memory,
            process.tasks,
            process.memory,
            rootfs=wants.disk,
            logs=wants.logs,
            volumes=volumes,
            inodes=wants.inodes,
        )

    def signals(self) -> Mapping[str, Observation]:
        """What is left of the machine's memory (page cache counts as free), process ids and disk.

        Images and containers share the disk, so imagefs shows what nodefs does.
        """
        machine = self.kernel.machine
        working = self.kernel.memory.anonymous("/")
        seen = {"memory.available": Observation(machine.memory - working, machine.memory)}
        if machine.max_pid:
            seen["pid.available"] = Observation(machine.max_pid - self.kernel.processes_in("/"), machine.max_pid)
        if machine.ephemeral_storage:
            used = [self.usage(identity) for identity in self._pids]
            files = machine.ephemeral_storage // BYTES_PER_INODE
            space = machine.ephemeral_storage - sum(one.rootfs + one.logs + one.volumes for one in used)
            left = files - sum(one.inodes for one in used)
            for disk in ("nodefs", "imagefs"):
                seen[f"{disk}.available"] = Observation(space, machine.ephemeral_storage)
                seen[f"{disk}.inodesFree"] = Observation(left, files)
        return seen

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
