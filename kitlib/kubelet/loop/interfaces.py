"""What the kubelet drives, as interfaces: cgroup files, a container runtime, and a receiver of its reports.

The same kubelet runs on the simulated kernel (`kitlib.node.simulated`) and inside a node container on a real one
(`kitlib.node.real`), because it sees nothing but these.

Source: the kubelet's cm.CgroupManager, CRI RuntimeService, status.Manager and record.EventRecorder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from kitlib.api.container import LifecycleHandler
from kitlib.api.core import Container, LinuxContainerUser, Pod, PodStatus
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree, Version
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.images.container_gc import DeadContainer
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.pods.volume_files import Files
from kitlib.kubelet.prober.worker import Answer, ProbeType

MINIMUM_GRACE = 2.0
"""Seconds that a container gets at least between SIGTERM and SIGKILL. Source: minimumGracePeriodInSeconds."""


class CgroupFS(Protocol):
    """A cgroup file system; paths are those of the node (`/kubepods.slice/…`), whatever hierarchy holds them."""

    version: Version

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""
        ...

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies of cgroup v1 without such a cgroup; on v2 all stand in one, named ""."""
        ...

    def makedirs(self, path: str) -> None:
        """Make a cgroup and those above it, with all controllers; nothing where it exists."""
        ...

    def rmdir(self, path: str) -> None:
        """Remove a cgroup that has no processes and no children."""
        ...

    def children(self, path: str) -> list[str]:
        """The paths of the cgroups directly below."""
        ...

    def read(self, path: str, file: str) -> str:
        """A file's content without the last line's end."""
        ...

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file.

        Raises:
            KitError: with path, file, value and the kernel's errno, where it refuses.
        """
        ...

    def lacks(self, file: str) -> bool:
        """Whether this node has no such file in any cgroup: its controller is not there."""
        ...

    def configure(self, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Tell the other manager of the cgroup (systemd) which of its files are about to be written.

        Raises:
            KitError: where that one refuses.
        """
        ...

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """What the files say; with `like`, only its cgroups and files where they exist, and what stands beside them."""
        ...


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A container's process has ended.

    Attributes:
        id: the container's.
        at: seconds on the node's clock.
        code: 0 to 255; 137 where it was killed.
        oom: by the OOM killer.
        message: what the status shows beside it.
    """

    id: str
    at: float
    code: int
    oom: bool = False
    message: str = ""


class Usage(NamedTuple):
    """What a container uses.

    Attributes:
        cpus: now.
        memory: bytes, the working set.
        processes: how many.
        anonymous: bytes of memory without page cache.
        rootfs, logs, volumes: bytes written to its own layer, its log, and the pod's local volumes.
        inodes: files.
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
    """A container cannot be started.

    Args:
        reason: as `kubectl get pods` shows it, `CreateContainerError`.
        message: what is wrong.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class RunningHook(Protocol):
    """A lifecycle hook of a container that was begun."""

    def answer(self) -> Answer | None:
        """What it came to; None while it runs."""
        ...

    def cancel(self) -> None:
        """End it, if it runs."""
        ...


class ContainerRuntime(Protocol):
    """Starts and ends containers; it makes their cgroups with the files that it is told, and removes them.

    A container's id is `cgroup_levels.container_id(pod UID, its name)`; a pause container's name is "".

    Attributes:
        name: its own, with which the API's container IDs begin: `containerd`.
        mounts_recursively: whether it can make a volume read-only with all that is mounted in it.
    """

    name: str
    mounts_recursively: bool

    def user(self, pod: Pod, container: Container) -> LinuxContainerUser:
        """The user as which a container's first process begins."""
        ...

    def run_sandbox(self, pod: Pod, identity: str, cgroup: Cgroup, oom_score_adj: int) -> str:
        """Start a pod's pause container; the address that the pod gets, "" where it gets none."""
        ...

    def start(
        self, pod: Pod, container: Container, identity: str, cgroup: Cgroup, oom_score_adj: int, env: Mapping[str, str]
    ) -> None:
        """Start a container in its cgroup; one that has ended under the same id is started anew.

        Args:
            pod, container: which; the references in its command are replaced.
            identity: its id.
            cgroup: with the files that it gets.
            oom_score_adj: of its processes.
            env: all variables that the kubelet gives it.

        Raises:
            ContainerProblem: where it cannot be started.
        """
        ...

    def write_volume(self, pod: Pod, volume: str, files: Files) -> None:
        """Have a volume of a pod hold exactly these files; those that it held before go at the same moment."""
        ...

    def forget(self, pod: Pod) -> None:
        """A pod has gone: its volumes go too."""
        ...

    def update(self, identity: str, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Write these files of a running container's cgroup (in-place resize, CPU manager)."""
        ...

    def stop(self, identity: str, grace: float = 0.0) -> None:
        """Have a container end, within `grace` seconds, and its cgroup removed; nothing where there is none.

        It returns at once; `pid` is 0 when the container has gone. `ended` does not report it.
        """
        ...

    def exit_code(self, identity: str) -> int:
        """With which a container ended that was stopped; 137 where it is not known."""
        ...

    def ended(self) -> list[Ended]:
        """The containers that have ended by themselves since the last call, in that order."""
        ...

    def usage(self, identity: str) -> Usage:
        """What a container uses; nothing where it does not run."""
        ...

    def signals(self) -> Mapping[str, Observation]:
        """The eviction signals that the machine itself shows: memory.available, pid.available, nodefs.available, …."""
        ...

    def probe(self, identity: str, pod: Pod, container: Container, kind: ProbeType, seconds: float) -> Answer | None:
        """What a probe of a container finds that has run for so many seconds; None while it is being asked."""
        ...

    def run_hook(self, identity: str, pod: Pod, container: Container, handler: LifecycleHandler) -> RunningHook:
        """Begin the command or the HTTP request of a hook in a running container."""
        ...

    def pid(self, identity: str) -> int:
        """The container's first process; 0 where it does not run."""
        ...

    def dead(self, identity: str = "") -> Sequence[DeadContainer]:
        """The instances of a container, or of all, that have ended and are still there, oldest first."""
        ...

    def remove_dead(self, instance: str) -> None:
        """Remove such an instance."""
        ...

    def images(self) -> Sequence[Image]:
        """The images on the node; none where there are no images."""
        ...

    def pull(self, image: str) -> Image | None:
        """Bring an image to the node; None where it is none that the runtime knows of, so that nothing is to be done.

        Raises:
            ContainerProblem: there is no room for it.
        """
        ...

    def remove_image(self, image: str) -> None:
        """Remove an image."""
        ...


class Reports(Protocol):
    """Who hears what the kubelet has done: the API server, directly or over a stream."""

    def now(self) -> datetime:
        """The date that goes into statuses."""
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
        """A Kubernetes event about a pod, or (None) about the node.

        Args:
            about: whom.
            kind: Normal or Warning.
            reason, message: what has happened.
            field: the part of the pod that it is about, `spec.containers{web}`.
            annotations: of the event.
        """
        ...

    def status(self, pod: Pod, status: PodStatus) -> None:
        """A pod's status has changed."""
        ...

    def gone(self, pod: Pod) -> None:
        """A pod that was to be deleted has ended: the object may go."""
        ...

    def condition(self, condition: Condition) -> None:
        """A condition of the node has changed."""
        ...

    def images(self, images: Sequence[Image]) -> None:
        """Other images are on the node now."""
        ...
