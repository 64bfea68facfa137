"""The interfaces that the kubelet uses: cgroup files, a container runtime, and a receiver of its reports.

The same kubelet runs on the simulated kernel (`kitlib.node.simulated`) and inside a node container on a real kernel
(`kitlib.node.real`), because it depends on these interfaces only.

Source: the kubelet's cm.CgroupManager, CRI RuntimeService, status.Manager and record.EventRecorder; Dependencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kitlib.api.container import LifecycleHandler
from kitlib.api.core import Container, LinuxContainerUser, Pod, PodStatus
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.images.container_gc import DeadContainer
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.timeline import KubeletTimeline
from kitlib.kubelet.prober.worker import Answer, ProbeType

if TYPE_CHECKING:
    from kitlib.kubelet.pods.volume_files import Files

MINIMUM_GRACE = 2.0
"""Minimum seconds between SIGTERM and SIGKILL. Source: minimumGracePeriodInSeconds."""


class CgroupFS(Protocol):
    """A cgroup file system; paths are those of the node (`/kubepods.slice/…`) without the hierarchy."""

    version: Version

    def exists(self, path: str) -> bool:
        """Return whether a cgroup exists."""
        ...

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies of cgroup v1 that do not contain a cgroup; v2 has one hierarchy with the name ""."""
        ...

    def makedirs(self, path: str) -> None:
        """Make a cgroup and those above it, with all controllers; do nothing if it exists."""
        ...

    def rmdir(self, path: str) -> None:
        """Remove a cgroup that has no processes and no children."""
        ...

    def children(self, path: str) -> list[str]:
        """Return the paths of the cgroups directly below a cgroup."""
        ...

    def read(self, path: str, file: str) -> str:
        """Return a file's content without the final line break."""
        ...

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file.

        Raises:
            KitError: the kernel rejects the value; the message contains path, file, value and errno.
        """
        ...

    def lacks(self, file: str) -> bool:
        """Return whether no cgroup of this node has the file, because the node lacks its controller."""
        ...

    def configure(self, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Set the properties of the cgroup's unit if systemd manages it, before its files are written.

        Raises:
            KitError: systemd rejects the properties.
        """
        ...

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """Return the tree of the files' contents.

        Args:
            driver: the cgroup driver that determines the spelling of names.
            like: a tree whose cgroups are read with its files only, other cgroups with all files; None = all files.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The end of a container's first process.

    Attributes:
        id: the container's id.
        at: the time, in seconds on the node's clock.
        code: the exit code, 0 to 255; 137 = killed by SIGKILL.
        oom: whether the OOM killer has killed a process of the container.
        message: the message of the status.
    """

    id: str
    at: float
    code: int
    oom: bool = False
    message: str = ""


class Usage(NamedTuple):
    """The usage of a container.

    Attributes:
        cpus: the current CPU usage in CPUs.
        memory: the working set in bytes.
        processes: the number of processes.
        anonymous: bytes of memory without page cache.
        rootfs, logs, volumes: bytes written to its own layer, its log, and the pod's local volumes.
        inodes: the number of files.
    """

    cpus: float = 0.0
    memory: int = 0
    processes: int = 0
    anonymous: int = 0
    rootfs: int = 0
    logs: int = 0
    volumes: int = 0
    inodes: int = 0


class ContainerProblem(KitError):
    """A container that cannot be started.

    Args:
        reason: the reason that `kubectl get pods` shows, such as `CreateContainerError`.
        message: the description of the problem.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class RunningHook(Protocol):
    """A running lifecycle hook of a container."""

    def answer(self) -> Answer | None:
        """Return the result; None while it runs."""
        ...

    def cancel(self) -> None:
        """End it if it runs."""
        ...


class ContainerRuntime(Protocol):
    """A container runtime, which starts and stops containers, and makes and removes their cgroups.

    A container's id is `cgroup_levels.container_id(pod UID, its name)`; a pause container's name is "".

    Attributes:
        name: its name, the prefix of the API's container IDs: `containerd`.
        mounts_recursively: whether it can make a volume read-only including the mounts below it.
    """

    name: str
    mounts_recursively: bool

    def user(self, pod: Pod, container: Container) -> LinuxContainerUser:
        """Return the user of a container's first process."""
        ...

    def run_sandbox(self, pod: Pod, identity: str, cgroup: Cgroup, oom_score_adj: int) -> str:
        """Start a pod's pause container; return the pod's IP address, "" = none."""
        ...

    def start(
        self, pod: Pod, container: Container, identity: str, cgroup: Cgroup, oom_score_adj: int, env: Mapping[str, str]
    ) -> None:
        """Start a container in its cgroup; a container that has ended under the same id is restarted.

        Args:
            pod: the container's pod.
            container: the container; the references in its command are already replaced.
            identity: the container's id.
            cgroup: the container's cgroup with its files.
            oom_score_adj: the oom_score_adj of its processes, -1000 to 1000.
            env: all environment variables from the kubelet.

        Raises:
            ContainerProblem: the container cannot be started.
        """
        ...

    def write_volume(self, pod: Pod, volume: str, files: Files) -> None:
        """Replace the files of a pod's volume atomically."""
        ...

    def forget(self, pod: Pod) -> None:
        """Remove the volumes of an ended pod."""
        ...

    def update(self, identity: str, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Write these files of a running container's cgroup (in-place resize, CPU manager)."""
        ...

    def stop(self, identity: str, grace: float = 0.0) -> None:
        """Stop a container within `grace` seconds and remove its cgroup; do nothing if it does not run.

        The call does not wait: `pid` returns 0 as soon as the container has ended. `ended` does not report it.
        """
        ...

    def power_off(self, pods: Sequence[Pod]) -> None:
        """End all containers at once, as when the machine loses power; `ended` does not report them.

        Args:
            pods: the pods of the node, whose volumes in memory are lost.
        """
        ...

    def exit_code(self, identity: str) -> int:
        """Return the exit code of a stopped container; 137 if it is unknown."""
        ...

    def ended(self) -> list[Ended]:
        """Return the containers that have ended by themselves since the last call, in the order of their ends."""
        ...

    def usage(self, identity: str) -> Usage:
        """Return the usage of a container; zeros if it does not run."""
        ...

    def signals(self) -> Mapping[str, Observation]:
        """Return the eviction signals of the machine: memory.available, pid.available, nodefs.available, …."""
        ...

    def probe(self, identity: str, pod: Pod, container: Container, kind: ProbeType, seconds: float) -> Answer | None:
        """Run a probe, or continue it; return its answer, or None while it runs.

        Args:
            identity: the container's id.
            pod: the container's pod, with its addresses.
            container: the container in the manifest.
            kind: the type of the probe.
            seconds: the time since the container's start in seconds.
        """
        ...

    def run_hook(self, identity: str, pod: Pod, container: Container, handler: LifecycleHandler) -> RunningHook:
        """Begin the command or the HTTP request of a hook in a running container."""
        ...

    def pid(self, identity: str) -> int:
        """Return the process id of the container's first process; 0 if it does not run."""
        ...

    def dead(self, identity: str = "") -> Sequence[DeadContainer]:
        """Return the ended instances of a container, or of all containers, that are not removed yet, oldest first."""
        ...

    def remove_dead(self, instance: str) -> None:
        """Remove an ended instance."""
        ...

    def images(self) -> Sequence[Image]:
        """Return the images on the node; [] on nodes without images."""
        ...

    def pull(self, image: str) -> Image | None:
        """Pull an image; None = the runtime does not model this image, and the container can start without it.

        Raises:
            ContainerProblem: the disk has too little space.
        """
        ...

    def remove_image(self, image: str) -> None:
        """Remove an image."""
        ...


class Reports(Protocol):
    """The receiver of the kubelet's reports: the API server, directly or over a stream."""

    def now(self) -> datetime:
        """Return the current date for statuses."""
        ...

    def event(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Record a Kubernetes event.

        Args:
            about: the pod; None = the node.
            kind: the type, Normal or Warning.
            reason: the reason.
            message: the message.
            field: the part of the pod that it is about, `spec.containers{web}`.
            annotations: the event's annotations.
        """
        ...

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Write the changed status of a pod."""
        ...

    def gone(self, pod: Pod) -> None:
        """Delete the object of a pod that has ended after its deletion."""
        ...

    def condition(self, condition: Condition) -> None:
        """Write a changed condition of the node."""
        ...

    def images(self, images: Sequence[Image]) -> None:
        """Write the changed list of the node's images."""
        ...


@dataclass(frozen=True)
class Dependencies:
    """The machine, the settings and the receivers of one kubelet.

    Attributes:
        config: the node's machine and settings.
        cgroups: the cgroup file system.
        runtime: the container runtime.
        reports: the receiver of events and statuses.
        timeline: the record of the kubelet's actions.
        clock: returns seconds on the node's clock.
    """

    config: NodeConfig
    cgroups: CgroupFS
    runtime: ContainerRuntime
    reports: Reports
    timeline: KubeletTimeline
    clock: Callable[[], float]
