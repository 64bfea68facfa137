"""The container runtime on the simulated kernel: a container is one process that follows its workload.

The runtime creates a container's cgroup with the files that the kubelet requests, and removes it after the container
has ended, as containerd does when a task is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import count
from signal import SIGKILL
from typing import TYPE_CHECKING

from kitlib.api.container import LifecycleHandler, PodSecurityContext, SecurityContext
from kitlib.api.core import Container, LinuxContainerUser, Pod
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.images.container_gc import DeadContainer
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.interfaces import ContainerProblem, Ended, RunningHook, Usage
from kitlib.kubelet.prober.worker import Answer, ProbeType
from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.node.common.errors import CgroupError
from kitlib.node.common.network import PodNetwork
from kitlib.node.common.workload import FOREVER, Child, Phase, Workload, WorkloadError
from kitlib.node.simulated.commands import behaviour_of, not_found, workload_of
from kitlib.node.simulated.kernel import Kernel
from kitlib.node.simulated.process import Process
from kitlib.node.simulated.programs import Run

if TYPE_CHECKING:
    from kitlib.kubelet.pods.volume_files import Files
    from kitlib.node.simulated.container_machine import ProcessOne
    from kitlib.node.simulated.shell.machine import Data

BYTES_PER_INODE = 16384
"""Bytes of a disk for each inode. Source: mke2fs.conf, inode_ratio."""
PAUSE = Workload((Phase(FOREVER, memory=256 * 1024),), name="pause")


class SimulatedRuntime:
    """The simulated container runtime. Implements `kitlib.kubelet.loop.interfaces.ContainerRuntime`.

    Args:
        kernel: the kernel on which the processes run.
        images: declared images, initially all on the node. Other images can be used too, and take no space, as on a
            real node of the kit, whose own root file system replaces every image.
        network: source of the pods' addresses; None = pods have no address.
        note: function that receives a pod, a container and a note for the user about its program.
        missing: patterns of the names of images that no registry has.
    """

    name = "simulated"
    mounts_recursively = True

    def __init__(
        self,
        kernel: Kernel,
        images: Iterable[Image] = (),
        network: PodNetwork | None = None,
        note: Callable[[Pod, Container, str], None] = lambda pod, container, text: None,
        missing: Sequence[str] = (),
    ) -> None:
        self.kernel, self._network, self._note, self._missing = kernel, network, note, missing
        self._known = {image.name: image for image in images}
        self._images = dict(self._known)
        self._made_of: dict[str, tuple[str, float]] = {}
        self._dead: dict[str, list[DeadContainer]] = {}
        self._instances = count(1)
        self._pids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._paths: dict[str, str] = {}
        self._outer: dict[str, str] = {}
        self._volumes: dict[str, int] = {}
        self._system_ooms: list[tuple[str, int]] = []
        self._environments: dict[str, dict[str, str]] = {}
        self._containers: dict[str, Container] = {}
        self.allocatable: int | None = None
        self._written: dict[str, dict[str, Data | None]] = {}
        self._seen: dict[str, dict[str, str]] = {}
        self.runs: dict[str, list[Run]] = {}
        self._files: dict[tuple[str, str], Files] = {}
        self._stopping: dict[str, float] = {}
        self._codes: dict[str, int] = {}
        kernel.after_kill = self._after_kill

    def user(self, pod: Pod, container: Container) -> LinuxContainerUser:
        """Return the user that the manifest names, or root, the default of most images.

        Source: kubelet determineEffectiveSecurityContext, convertToRuntimeSecurityContext; in containerd the own
        group comes first.
        """
        own, whole = container.security_context or SecurityContext(), pod.spec.security_context or PodSecurityContext()
        user = whole.run_as_user if own.run_as_user is None else own.run_as_user
        group = whole.run_as_group if own.run_as_group is None else own.run_as_group
        more = [*([] if whole.fs_group is None else [whole.fs_group]), *whole.supplemental_groups]
        groups = list(dict.fromkeys([group or 0, *more]))
        return LinuxContainerUser(uid=user or 0, gid=group or 0, supplemental_groups=groups)

    def run_sandbox(self, pod: Pod, identity: str, cgroup: Cgroup, oom_score_adj: int) -> str:
        """Start a pod's pause container and return the pod's address."""
        has_own = self._network is not None and not pod.spec.host_network
        address = self._network.take(identity) if self._network is not None and has_own else ""
        self._spawn(PAUSE, identity, cgroup, oom_score_adj)
        return address

    def start(
        self, pod: Pod, container: Container, identity: str, cgroup: Cgroup, oom_score_adj: int, env: Mapping[str, str]
    ) -> None:
        """Start a container in its cgroup.

        Raises:
            ContainerProblem: the workload is invalid, or the kernel rejects a setting of its cgroup.
        """
        missing = not_found(pod, container)
        if missing:
            raise ContainerProblem("RunContainerError", missing)
        try:
            seen = self._seen[identity] = self._shown(pod, container, env, cgroup)
            workload = workload_of(pod, container, env, seen)
        except WorkloadError as error:
            raise ContainerProblem("CreateContainerConfigError", str(error)) from error
        try:
            self._spawn(workload, identity, cgroup, oom_score_adj, self._tmpfs(pod, container))
        except CgroupError as error:
            raise ContainerProblem("CreateContainerError", str(error)) from error
        self._made_of[identity] = container.image, self.kernel.now
        self._environments[identity] = dict(env)
        self._containers[identity], self._written[identity] = container, {}
        self.runs[identity] = [*self.runs.get(identity, ())[-1:], Run(pod, container, dict(env), seen, self.kernel.now)]
        if workload.note:
            self._note(pod, container, workload.note)

    def _tmpfs(self, pod: Pod, container: Container) -> dict[str, int | None]:
        """Return the sizes in bytes of the memory-backed volumes that are mounted in a container, by name."""
        if not container.volume_mounts:
            return {}
        from kitlib.node.simulated.mounts import mounts_of  # loaded with the first mount

        return {m.name: m.size for m in mounts_of(pod, container, self.allocatable) if m.kind == "tmpfs"}

    def _shown(self, pod: Pod, container: Container, env: Mapping[str, str], cgroup: Cgroup) -> dict[str, str]:
        """Return the content of the files that the node shows in a container, by path: volumes, two files of /proc."""
        machine = self.kernel.machine
        own = next((file.value for file in cgroup.values() if file.name == "cpuset.cpus" and file.value), "")
        return self._files_of(pod, container, env) | {
            "/proc/self/nproc": f"{len(parse_cpus(own)) if own else machine.cores}\n",
            "/proc/meminfo": f"MemTotal:       {machine.memory // 1024} kB\n",
        }

    def _files_of(self, pod: Pod, container: Container, env: Mapping[str, str]) -> dict[str, str]:
        """Return the text of the files in a container's mounted volumes, by path."""
        if not container.volume_mounts:
            return {}
        from kitlib.kubelet.pods.volume_files import mounted  # loaded with the first mount

        files = mounted(container, lambda name: self.volume(pod, name), env)
        return {path: file.data.decode(errors="replace") for path, file in files.items()}

    def environment(self, identity: str) -> Mapping[str, str]:
        """Return the environment of a running container: its manifest's variables and those of its devices."""
        return self._environments.get(identity, {})

    def write_volume(self, pod: Pod, volume: str, files: Files) -> None:
        """Replace the contents of a pod's volume by these files."""
        self._files[pod.metadata.uid, volume] = files

    def volume(self, pod: Pod, volume: str) -> Files:
        """Return the files that the kubelet has written to a volume."""
        return self._files.get((pod.metadata.uid, volume), {})

    def forget(self, pod: Pod) -> None:
        """Remove the volumes of a deleted pod."""
        for volume in pod.spec.volumes:
            self._files.pop((pod.metadata.uid, volume.name), None)

    def _spawn(
        self,
        workload: Workload,
        identity: str,
        cgroup: Cgroup,
        oom_score_adj: int,
        tmpfs: Mapping[str, int | None] | None = None,
    ) -> None:
        inside = cgroup
        for level in (cgroup,) if cgroup.inner is None else (cgroup, cgroup.inner):
            inside = level
            self.kernel.cgroups.makedirs(level.path)
            for file in level.values():
                if file.written and not self.kernel.cgroups.lacks(file.name):
                    self.kernel.cgroups.write(level.path, file.name, file.value)
        pid = self.kernel.spawn(workload, inside.path, oom_score_adj, tmpfs=tmpfs)
        self._pids[identity], self._names[pid], self._paths[identity] = pid, identity, inside.path
        if inside is not cgroup:
            self._outer[identity] = cgroup.path

    def update(self, identity: str, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Write files of a running container's cgroup."""
        for file in files:
            self.kernel.cgroups.write(cgroup.path, file.name, file.value)

    def stop(self, identity: str, grace: float = 0.0) -> None:
        """Stop a container: after SIGTERM when its process has finished, after `grace` seconds by SIGKILL."""
        pid = self._pids.get(identity)
        process = self.kernel.processes.get(pid or 0)
        if pid is not None and process is not None and min(grace, process.workload.tidying) > 0:
            self._stop_within(identity, process, grace)
            return
        if pid is not None:
            if process is not None:
                self._leave_behind(identity, process)
                if grace > 0:  # without it the code is that of an unknown container, and no caller reads a sandbox's
                    self._codes[identity] = process.workload.tidy_code
            self._forget(identity)
            self.kernel.kill(pid)
        self._stopping.pop(identity, None)
        self._volumes.pop(identity, None)
        if self._network is not None:
            self._network.give_back(identity)
        self._remove(identity)

    def _stop_within(self, identity: str, process: Process, grace: float) -> None:
        """Send SIGTERM now and SIGKILL after the grace period, which a second call restarts.

        Source: containerd criService.stopContainer, whose earlier call the kubelet cancels.
        """
        since = self._stopping.setdefault(identity, self.kernel.now)
        left = process.workload.tidying - (self.kernel.now - since)
        code = process.workload.tidy_code if left < grace else 128 + SIGKILL
        self.kernel.end_in(process.pid, min(left, grace), code)

    def power_off(self, pods: Sequence[Pod]) -> None:
        """End all containers at once; volumes on disk remain, those in memory end with their pods' cgroups."""
        volumes = dict(self._volumes)
        for identity in list(self._pids):
            self.stop(identity)
        self._volumes, self._codes = volumes, {}

    def exit_code(self, identity: str) -> int:
        """Return the exit code of a stopped container; 137 if it is unknown."""
        return self._codes.pop(identity, 128 + SIGKILL)

    def ended(self) -> list[Ended]:
        """Return the containers that have exited by themselves since the last call."""
        found = []
        for gone in self.kernel.exits():
            if gone.where == "/":
                self._system_ooms.append((gone.process.name, gone.process.pid))
            identity = self._names.get(gone.process.pid)
            if identity is not None and not gone.child:
                oom = gone.oom or self._has_oom_kills(identity)
                self._leave_behind(identity, gone.process)
                self._forget(identity)
                self._remove(identity)
                if identity in self._stopping:
                    self._stopping.pop(identity, None)
                    self._volumes.pop(identity, None)
                    # The kubelet has stopped it and asks for `exit_code`: it is not reported as an exit by itself.
                    self._codes[identity] = gone.code
                    continue
                found.append(Ended(id=identity, at=gone.at, code=gone.code, oom=oom))
        return found

    def _has_oom_kills(self, identity: str) -> bool:
        """Return whether the OOM killer has ended a process of a container, which need not have been its last one.

        Source: containerd handleContainerExit; the TaskOOM event sets the reason, whatever the exit code is later.
        """
        path = self._paths.get(identity, "")
        return path in self.kernel.memory.counters and bool(self.kernel.memory.counters[path].oom_kill)

    def _after_kill(self, process: Process, child: Child, seconds: float) -> Workload | None:
        from kitlib.node.simulated.kills import after_kill  # loaded with the first kill of a script's program

        return after_kill(self.runs[self._names[process.pid]][-1], child, seconds)

    def system_ooms(self) -> list[tuple[str, int]]:
        """Return name and id of the processes killed since the last call because the machine ran out of memory."""
        found, self._system_ooms = self._system_ooms, []
        return found

    def usage(self, identity: str) -> Usage:
        """Return a container's usage, zero if it does not run; volumes keep what earlier instances wrote."""
        process = self.kernel.processes.get(self._pids.get(identity, 0))
        if process is None:
            return Usage()
        wants = process.wants
        child = self.kernel.processes.get(process.child)
        memory = process.memory + (child.memory if child is not None else 0) + self.kernel.tmpfs.size(process.charged)
        working = memory + process.active + (child.active if child is not None else 0)
        volumes = wants.volume
        if volumes or identity in self._volumes:
            volumes = self._volumes[identity] = max(volumes, self._volumes.get(identity, 0))
        return Usage(
            process.average(),
            working,
            process.tasks,
            memory,
            rootfs=wants.disk,
            logs=wants.logs,
            volumes=volumes,
            inodes=wants.inodes,
        )

    def signals(self) -> Mapping[str, Observation]:
        """Return the machine's remaining memory (inactive page cache counts as free), process ids and disk.

        Where images have no disk of their own imagefs shows what nodefs does.
        """
        machine = self.kernel.machine
        working = self.kernel.memory.working_set("/")
        seen = {"memory.available": Observation(machine.memory - working, machine.memory)}
        if machine.max_pid:
            seen["pid.available"] = Observation(machine.max_pid - self.kernel.processes_in("/"), machine.max_pid)
        if machine.ephemeral_storage:
            seen |= self._disks(machine.ephemeral_storage, machine.image_storage)
        return seen

    def _disks(self, node: int, dedicated: int) -> dict[str, Observation]:
        """Return the signals of the disks: logs and volumes are on nodefs, images and writable layers on imagefs."""
        used, dead = [self.usage(identity) for identity in self._pids], self.dead()
        logs = sum(one.logs + one.volumes for one in used) + sum(one.logs for one in dead)
        layers = sum(one.rootfs for one in used) + sum(one.layer for one in dead)
        layers += sum(image.size for image in self._images.values())
        inodes = sum(one.inodes for one in used) + sum(one.inodes for one in dead)
        disks = {"nodefs": (node, logs, 0), "imagefs": (dedicated, layers, inodes)}
        if not dedicated:
            disks = dict.fromkeys(disks, (node, logs + layers, inodes))
        seen = {}
        for disk, (size, space, files) in disks.items():
            seen[f"{disk}.available"] = Observation(max(size - space, 0), size)
            seen[f"{disk}.inodesFree"] = Observation(size // BYTES_PER_INODE - files, size // BYTES_PER_INODE)
        return seen

    # Images, and what containers leave behind.

    def images(self) -> Sequence[Image]:
        """Return the images on the node."""
        return list(self._images.values())

    def pull(self, image: str) -> Image | None:
        """Pull an image to the node; return None for an undeclared one.

        Raises:
            ContainerProblem: the disk has no space for it, or no registry has it.
        """
        wanted = self._known.get(image)
        if wanted is None and any(fnmatchcase(image, pattern) for pattern in self._missing):
            from kitlib.node.simulated import registry

            raise ContainerProblem("ErrImagePull", registry.not_found(image))
        if wanted is None or image in self._images:
            return wanted
        disk = self.signals().get("imagefs.available")
        if disk is not None and disk.available < wanted.size:
            text = f'failed to pull and unpack image "{image}": failed to extract layer: no space left on device'
            raise ContainerProblem("ErrImagePull", text)
        self._images[image] = wanted
        return wanted

    def remove_image(self, image: str) -> None:
        self._images.pop(image, None)

    def dead(self, identity: str = "") -> Sequence[DeadContainer]:
        """Return the ended instances of a container, or of all, with the sizes of their files; oldest first."""
        if identity:
            return self._dead.get(identity, ())
        return [one for instances in self._dead.values() for one in instances]

    def remove_dead(self, instance: str) -> None:
        """Remove an ended instance."""
        identity = instance.partition("/")[0]
        left = [one for one in self._dead.pop(identity, ()) if one.id != instance]
        if left:
            self._dead[identity] = left
        elif identity not in self._pids:
            self.runs.pop(identity, None)

    def _leave_behind(self, identity: str, process: Process) -> None:
        """Record an ended instance with the sizes of its files; a pause container has none."""
        if identity in self._made_of:
            (image, created), wants = self._made_of.pop(identity), process.wants
            made = f"{identity}/{next(self._instances)}"
            dead = DeadContainer(made, identity, created, image, wants.disk, wants.logs, wants.inodes)
            self._dead.setdefault(identity, []).append(dead)

    def probe(self, identity: str, pod: Pod, container: Container, kind: ProbeType, seconds: float) -> Answer:
        """Return a probe's result, declared by the pod's annotation or implied by the container's command."""
        started, env = self._containers.get(identity, container), self.environment(identity)
        from kitlib.node.simulated.probes import answer

        shown = self._seen.get(identity, {}) | self._files_of(pod, started, env)
        return answer(
            pod, started, kind, seconds, env, self._written.setdefault(identity, {}), shown, self._process_one(identity)
        )

    def run_hook(self, identity: str, pod: Pod, container: Container, handler: LifecycleHandler) -> RunningHook:
        """Start a lifecycle hook of a running container."""
        from kitlib.node.simulated import hooks

        started, env, now = self._containers.get(identity, container), self.environment(identity), self.kernel.now
        shown = self._seen.get(identity, {}) | self._files_of(pod, started, env)
        written = self._written.setdefault(identity, {})
        since, process = now - self.runs[identity][-1].began, self._process_one(identity)
        return hooks.begin(pod, started, handler, since, env, written, shown, lambda: self.kernel.now, process)

    def _process_one(self, identity: str) -> ProcessOne:
        from kitlib.node.simulated.signals import process_one  # loaded with the first command in a container

        return process_one(self.kernel, self._pids.get(identity, 0))

    def made_files(self, pod: Pod, container: Container, identity: str, seconds: float) -> Mapping[str, Data | None]:
        """Return the files that a container's command has created `seconds` after its start: content by path."""
        started = self._containers.get(identity, container)
        seen, kills = self._seen.get(identity), self.runs[identity][-1].kills if identity in self.runs else ()
        return behaviour_of(pod, started, self.environment(identity), seen, kills).files_at(seconds)

    def written_files(self, identity: str) -> dict[str, Data | None]:
        """Return the files that commands in a container have written; callers that run one add to them."""
        return self._written.setdefault(identity, {})

    def pid(self, identity: str) -> int:
        """Return the id of the container's process; 0 if it does not run."""
        pid = self._pids.get(identity, 0)
        return pid if pid in self.kernel.processes else 0

    def _forget(self, identity: str) -> None:
        self._names.pop(self._pids.pop(identity), None)

    def _remove(self, identity: str) -> None:
        if identity in self.runs and self.runs[identity][-1].ended is None:
            self.runs[identity][-1].ended = self.kernel.now
        self._environments.pop(identity, None)
        self._containers.pop(identity, None)
        self._written.pop(identity, None)
        self._seen.pop(identity, None)
        for path in (self._paths.pop(identity, ""), self._outer.pop(identity, "")):
            if path and self.kernel.cgroups.exists(path):
                self.kernel.cgroups.rmdir(path)
