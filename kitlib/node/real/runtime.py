"""The container runtime of a real node: crun starts and ends containers, the kernel reports their exits.

The agent is the subreaper of its container: after crun exits, the first process of every container is the agent's
child, and waiting for it gives the exit code. The counter of the container's own cgroup, read before the cgroup is
removed, tells whether the OOM killer ended it.

Source: containerd internal/cri/server (StartContainer, StopContainer, handleContainerExit); OCI runtime-spec.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from kitlib.api.container import LifecycleHandler
from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.kubelet.cm.cgroup_levels import container_id
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile
from kitlib.kubelet.cm.systemd_properties import cgroups_path
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.loop.interfaces import ContainerProblem, Ended, RunningHook, Usage
from kitlib.kubelet.pods.volume_files import Files
from kitlib.kubelet.prober.worker import Answer, ProbeType
from kitlib.node.common.log import Log
from kitlib.node.common.workload import WorkloadError
from kitlib.node.real import mounts, not_granted, oci, spawn, volumes
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.container_streams import ContainerPipes, Started
from kitlib.node.real.exec import start_exec
from kitlib.node.real.killing import Killing
from kitlib.node.real.no_images import NoImages
from kitlib.node.real.oom_counts import OomCounts
from kitlib.node.real.pod_network import PodNamespace, PodNetworks
from kitlib.node.real.power import PowerOff
from kitlib.node.real.probing import Probing
from kitlib.node.real.running import Newest, Running
from kitlib.node.real.state_files import STATE, read, remove
from kitlib.node.real.usage import cpu_seconds, memory_of
from kitlib.node.real.users import CrunUsers

if TYPE_CHECKING:
    from kitlib.node.real.systemd import SystemdCgroupFS

_CRUN = ("/usr/bin/crun", f"--root={STATE}/crun")
_PIECE = 64 * 1024
TIMEOUT = 120.0
"""Timeout of a request to the runtime in seconds. Source: KubeletConfiguration runtimeRequestTimeout."""


class CrunRuntime(NoImages, CrunUsers, PowerOff):
    """The container runtime on crun. Implements `kitlib.kubelet.loop.interfaces.ContainerRuntime`.

    Args:
        cgroups: cgroups of this node.
        machine: declared resources of the node.
        clock: returns seconds.
        release: the kubelet's release.
        lowest_score: the lowest oom_score_adj that this node may set: -1000, or 0 without CAP_SYS_RESOURCE.
        note: function that is called with a pod and a note for its user.
        busy: function that is called every second while crun runs and blocks the node, and after it.
        systemd: cgroups of the systemd driver, which creates containers' scopes; None = the cgroupfs driver.
        networks: the pods' network namespaces; None = pods share the node's.

    Attributes:
        containers: running containers by id.
        refused: oom_score_adj that the host refused, by container id.
        kills: number of containers with OOM kills so far.
        allocatable: the node's allocatable memory in bytes, which limits memory-backed volumes.
    """

    def __init__(
        self,
        cgroups: RealCgroupFS,
        machine: MachineInfo,
        clock: Callable[[], float],
        release: Release,
        *,
        lowest_score: int = -1000,
        note: Callable[[Pod, str], None] = lambda pod, text: None,
        busy: Callable[[], None] = lambda: None,
        systemd: SystemdCgroupFS | None = None,
        networks: PodNetworks | None = None,
    ) -> None:
        self.cgroups, self.machine, self.clock = cgroups, machine, clock
        self.lowest_score, self._note, self._busy, self._systemd = lowest_score, note, busy, systemd
        self._networks = networks
        self.containers: dict[str, Running] = {}
        self.refused: dict[str, int] = Newest()
        self._pids: dict[int, Running] = {}
        self.allocatable = machine.memory
        self.kills, self._oom_counts = 0, OomCounts(cgroups)
        self._ended: list[Ended] = []
        self._codes: dict[str, int] = Newest()
        self._root = f"{STATE}/root"
        self._logs: dict[str, Log] = Newest()
        self._execs: dict[int, Callable[[int], None]] = {}
        self._exec_count = 0
        self._killing = Killing(cgroups, clock)
        self._probing = Probing(self.exec, self._execs.__setitem__, self.pids_of, clock, release)
        mounts.bind_root(self._root)

    def run_sandbox(self, pod: Pod, identity: str, cgroup: Cgroup, oom_score_adj: int) -> str:
        """Start a pod's pause container, which owns the namespaces that the pod's containers share.

        Raises:
            KitError: crun failed, or the pod's network cannot be set up.
        """
        networks = None if pod.spec.host_network else self._networks
        config = oci.bundle(
            root=self._root,
            arguments=list(oci.INIT if pod.spec.share_process_namespace else oci.PAUSE),
            cgroup=cgroup.path if self._systemd is None else cgroups_path(cgroup.path),
            files=self._there(cgroup),
            version=self.cgroups.version,
            oom_score_adj=self._score(identity, oom_score_adj),
            hostname=pod.name,
            environment={},
            own_network=networks is not None,
        )
        self._run(identity, config, cgroup, "pause")
        running = self.containers[identity]
        if networks is None:
            running.place = self._networks.node if self._networks is not None else None
            return ""
        try:
            running.place = networks.add(identity, running.pid)
        except KitError as error:
            self.stop(identity)
            raise KitError(f'failed to setup network for sandbox "{identity}": {error}') from error
        return running.place.address

    def start(
        self, pod: Pod, container: Container, identity: str, cgroup: Cgroup, oom_score_adj: int, env: Mapping[str, str]
    ) -> None:
        """Start a container in its cgroup.

        Raises:
            ContainerProblem: the manifest's settings are invalid, or crun failed.
        """
        try:
            arguments, notes = oci.command(pod, container)
        except WorkloadError as error:
            raise ContainerProblem("CreateContainerConfigError", str(error)) from error
        user, more = oci.user_of(pod, container)
        for text in volumes.make(pod, self.allocatable):
            self._note(pod, text)
        place = self._place_of(pod)
        joined = oci.joined_namespaces(pod, container, self.pid, place is not None and place.pid > 0)
        held = volumes.SubPaths(pod, container, env)
        places, missing = oci.volumes(pod, container, volumes.directory(pod), env, held.sources)
        for text in (*notes, *more, *missing, *not_granted.sentences(pod, container)):
            self._note(pod, text)
        config = oci.bundle(
            root=self._root,
            arguments=arguments,
            cgroup=cgroup.path if self._systemd is None else cgroups_path(cgroup.path),
            files=self._there(cgroup),
            version=self.cgroups.version,
            oom_score_adj=self._score(identity, oom_score_adj),
            hostname=pod.name,
            environment={"HOSTNAME": pod.name, **env},
            user=user,
            directory=container.working_dir or "/tmp",
            join=joined,
            mounts=places,
            shm=volumes.shm(pod),
            terminal=container.tty,
        )
        streams = ContainerPipes(f"{STATE}/console", tty=container.tty, stdin=container.stdin)
        try:
            self._run(identity, config, cgroup, container.name, streams)
            running = self.containers[identity]
            running.output, running.input, running.terminal = streams.keep()
            running.namespace, running.pod, running.place = pod.namespace, pod.name, place
            running.input_once = container.stdin_once and not container.tty
        except (KitError, OSError) as error:
            raise ContainerProblem("CreateContainerError", str(error)) from error
        finally:
            streams.close()
            held.close()

    def update(self, identity: str, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Write files of a running container's cgroup."""
        if self._systemd is not None:
            self._systemd.configure(cgroup, files)
        for file in files:
            self.cgroups.write(cgroup.path, file.name, file.value)

    def stop(self, identity: str, grace: float = 0.0) -> None:
        """Send SIGTERM to a container, and SIGKILL after `grace` seconds; nothing happens if it does not run.

        A second call does not send SIGTERM again, and restarts the grace period.

        Source: containerd criService.stopContainer, whose earlier call the kubelet cancels.
        """
        running = self.containers.get(identity)
        if running is None:
            return
        running.ours = True
        if grace > 0:
            if running.kill_at == float("inf"):
                with suppress(ProcessLookupError):
                    os.kill(running.pid, signal.SIGTERM)
            running.kill_at = self.clock() + grace
        else:
            running.kill_at = self.clock()
            self._killing.kill(running)
            self._await(running)

    def exit_code(self, identity: str) -> int:
        """Return the exit code of a stopped container; 137 if it is unknown."""
        return self._codes.pop(identity, 137)

    def ended(self) -> list[Ended]:
        """Return the containers that have exited by themselves since the last call."""
        self.reap()
        found, self._ended = self._ended, []
        return found

    def usage(self, identity: str) -> Usage:
        """Return a container's CPUs since the last call, working set, number of processes and anonymous memory."""
        running = self.containers.get(identity)
        if running is None:
            return Usage()
        memory, anonymous, _ = memory_of(self.cgroups, running.cgroup)
        with suppress(KitError, ValueError):
            running.sample(self.clock(), cpu_seconds(self.cgroups, running.cgroup))
            return Usage(running.rate, memory, int(self.cgroups.read(running.cgroup, "pids.current")), anonymous)
        return Usage(running.rate, memory, 0, anonymous)

    def signals(self) -> Mapping[str, Observation]:
        """Return memory.available and pid.available of this node: its machine's resources minus its usage."""
        whole = self.machine.memory
        working, _, _ = memory_of(self.cgroups, "/")
        found = {"memory.available": Observation(max(0, whole - working), whole)}
        if self.machine.max_pid:
            with suppress(KitError, ValueError):
                used = int(self.cgroups.read("/", "pids.current"))
                found["pid.available"] = Observation(self.machine.max_pid - used, self.machine.max_pid)
        return found

    def probe(self, identity: str, pod: Pod, container: Container, kind: ProbeType, seconds: float) -> Answer | None:
        """Return a probe's result, declared by the pod's annotation or after some ticks measured; None = not yet."""
        return self._probing.answer(self.containers[identity], pod, container, kind, seconds)

    def run_hook(self, identity: str, pod: Pod, container: Container, handler: LifecycleHandler) -> RunningHook:
        """Start a lifecycle hook of a running container."""
        return self._probing.run_hook(self.containers[identity], pod, container, handler)

    def pid(self, identity: str) -> int:
        """Return the id of a container's first process; 0 if it does not run."""
        running = self.containers.get(identity)
        return running.pid if running is not None else 0

    # What the agent's loop needs.

    def next_kill(self) -> float:
        """Return the time of the next SIGKILL on the clock, in seconds; infinite if none is due."""
        return min(map(self._killing.next_look, self.containers.values()), default=float("inf"))

    def reap(self) -> None:
        """Kill containers whose grace period has passed, and handle every child that has exited."""
        for one, status in self._killing.look(self.containers.values()):
            self._gone(one, status)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            running = self._pids.get(pid)
            if running is not None:
                if self._killing.has_ended(running, status):
                    self._gone(running, status)
            elif pid in self._execs:
                code = os.waitstatus_to_exitcode(status)
                self._execs.pop(pid)(128 - code if code < 0 else code)

    def drain(self, descriptor: int) -> None:
        """Read at most one pipe's content of a container's output, so that endless output does not block the node."""
        running = next((container for container in self.containers.values() if container.output == descriptor), None)
        if running is None:
            return
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._close(running)
            return
        running.log.add(piece)

    def outputs(self) -> list[int]:
        """Return the file descriptors of containers' outputs."""
        return [container.output for container in self.containers.values() if container.output >= 0]

    def logs(self, identity: str) -> bytes:
        """Return the end of a container's output, or of its previous run if it does not run."""
        running = self.containers.get(identity)
        log = running.log if running is not None else self._logs.get(identity)
        return log.text() if log is not None else b""

    def log(self, identity: str, previous: bool = False) -> Log | None:
        """Return a container's output with times; with `previous`, of its previous run; None if there is none."""
        running = self.containers.get(identity)
        if previous:
            return self._logs.get(identity)
        return running.log if running is not None else self._logs.get(identity)

    def ids_of(self, namespace: str, pod: str) -> list[str]:
        """Return the ids of a pod's running containers."""
        return [
            container.id
            for container in self.containers.values()
            if (container.namespace, container.pod) == (namespace, pod)
        ]

    def pids_of(self, namespace: str, pod: str) -> list[int]:
        """Return the process ids of a pod's containers."""
        ids = self.ids_of(namespace, pod)
        return [pid for id_ in ids for pid in self.cgroups.procs(self.containers[id_].cgroup)]

    def exec(
        self, running: Running, command: Sequence[str], *, stdin: bool, tty: bool, ended: Callable[[int], None]
    ) -> Started:
        """Start a command in a running container, with the container's user, rights and environment.

        Args:
            running: the container.
            command: the command's arguments.
            stdin: whether it has a standard input.
            tty: whether it has a terminal.
            ended: function that is called with its exit code.

        Raises:
            KitError: crun failed.
        """
        self._exec_count += 1
        made = start_exec(self._crun, running.id, command, self._exec_count, stdin=stdin, tty=tty)
        self._execs[made.pid] = ended
        return made

    # How it is done.

    def _place_of(self, pod: Pod) -> PodNamespace | None:
        """Return the network namespace of a pod; None = all pods share the node's."""
        sandbox = self.containers.get(container_id(pod.metadata.uid, ""))
        return sandbox.place if sandbox is not None else None

    def _run(
        self,
        identity: str,
        config: dict[str, object],
        cgroup: Cgroup,
        name: str,
        streams: ContainerPipes | None = None,
    ) -> None:
        """Create and start a container with `crun run --detach`."""
        self.cgroups.expect_processes()
        directory = f"{STATE}/bundles/{identity}"
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/config.json", "wb") as file:
            file.write(msgspec.json.encode(config))
        log, pid_file = f"{directory}/log", f"{directory}/pid"
        manager = "cgroupfs" if self._systemd is None else "systemd"
        words = [f"--log={log}", f"--cgroup-manager={manager}", "run", "--detach", f"--bundle={directory}"]
        try:
            options = streams.options if streams is not None else []
            code = self._crun(*words, f"--pid-file={pid_file}", *options, identity, streams=streams)
        except TimeoutError as error:
            self._delete(identity)
            raise KitError("context deadline exceeded") from error
        except OSError as error:  # the limit of processes is reached
            raise KitError(f"crun: {error.strerror}") from error
        if code != 0:
            said = read(log) or f"crun ended with {code}"
            self._delete(identity)
            raise KitError(said[-500:])
        with open(pid_file) as file:
            pid = int(file.read())
        running = Running(identity, cgroup.path, pid, name)
        running.sampled = (self.clock(), 0.0)
        self.containers[identity] = self._pids[pid] = running
        if self._systemd is not None:
            self._systemd.take_over(cgroup)

    def _crun(self, *words: str, streams: ContainerPipes | None = None) -> int:
        """Run crun and return its exit code.

        Raises:
            TimeoutError: crun did not finish in time.
            OSError: crun could not be started.
        """
        output, inputs, errors = streams.given if streams is not None else (-1, -1, -1)
        command = [*_CRUN, *words]
        try:
            return spawn.run(command, output, inputs=inputs, errors=errors, timeout=TIMEOUT, waits=self._busy)
        finally:
            self._busy()

    def _gone(self, running: Running, status: int) -> None:
        oom = self._oom_counts.ended(running.cgroup, [container.cgroup for container in self.containers.values()]) > 0
        self.kills += oom
        code = os.waitstatus_to_exitcode(status)
        while running.output >= 0 and self._more(running):
            pass
        self._close(running)
        running.log.end()
        self._probing.forget(running.id)
        self._logs[running.id] = running.log
        del self.containers[running.id], self._pids[running.pid]
        self._delete(running.id)
        if self._networks is not None:
            self._networks.remove(running.id)
        shown = self._codes[running.id] = 128 - code if code < 0 else code
        if not running.ours:
            self._ended.append(Ended(id=running.id, at=self.clock(), code=shown, oom=oom and shown == 137))

    def _more(self, running: Running) -> bool:
        before = running.log.count, len(running.log.text())
        self.drain(running.output)
        return running.output >= 0 and (running.log.count, len(running.log.text())) != before

    def _delete(self, identity: str) -> None:
        """Remove a container's state of the runtime, its cgroup and its bundle."""
        with suppress(OSError):
            self._crun("delete", "--force", identity)
        remove(f"{STATE}/bundles/{identity}")

    def _await(self, running: Running) -> None:
        """Wait up to 50 ms for a killed process, so that its cgroup can usually be removed in the same tick."""
        deadline = self.clock() + 0.05
        while running.id in self.containers and self.clock() < deadline:
            try:
                pid, status = os.waitpid(running.pid, os.WNOHANG)
            except ChildProcessError:
                return
            if pid:
                if self._killing.has_ended(running, status):
                    self._gone(running, status)
                return
            os.sched_yield()

    def _close(self, running: Running) -> None:
        for descriptor in {running.output, running.input, running.terminal} - {-1}:
            os.close(descriptor)
        running.output = running.input = running.terminal = -1

    def _there(self, cgroup: Cgroup) -> list[CgroupFile]:
        """Return the files of a cgroup that exist on this node: the runtime would fail at the others."""
        return [file for file in cgroup.values() if not self.cgroups.lacks(file.name)]

    def _score(self, identity: str, wanted: int) -> int:
        """Return the oom_score_adj that the host allows; a refused value is recorded in `refused`."""
        if wanted < self.lowest_score:
            self.refused[identity] = wanted
            return self.lowest_score
        self.refused.pop(identity, None)
        return wanted

    def write_volume(self, pod: Pod, volume: str, files: Files) -> None:
        """Replace the contents of a pod's volume by these files."""
        volumes.write(f"{volumes.directory(pod)}/{volume}", files, self.user(pod, pod.spec.containers[0]).uid)

    def forget(self, pod: Pod) -> None:
        """Remove the volumes of a deleted pod."""
        volumes.forget(pod)
