"""What a node is to a cluster: the control plane needs a `ClusterNode`, a `KernelNode` has files and processes.

Implementations: hollow (no kernel), simulated (a kernel in this process), container (a real kernel behind a stream).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypedDict

from kitlib.api.core import Node as NodeObject
from kitlib.api.errors import KitError
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.plan import KubeletSource, NodePlan
from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Difference, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.loop.timeline import TimelineEntry

if TYPE_CHECKING:
    from kitlib.cluster.nodes.host_load import HostTime
    from kitlib.cluster.nodes.origin import Origin

Usages = dict[tuple[str, str], dict[str, tuple[float, int]]]
"""(namespace, pod) -> container -> CPUs that it gets now, and bytes of memory."""
Owners = dict[int, tuple[str, str, str]]
"""Process id -> namespace, pod, container."""


class NotOnThisNode(KitError, AttributeError):
    """A question that only a node with a kernel can answer; to Python, an attribute that does not exist."""


class Record(Protocol):
    """Writes what a user does to a node into the cluster's journal."""

    def __call__(self, action: str, **fields: object) -> None: ...


class ClusterNode(Protocol):
    """One node, as the control plane uses it.

    Attributes:
        plan: what it was made from.
        name: of the node.
    """

    plan: NodePlan
    name: str

    def register(self, now: datetime) -> NodeObject:
        """The Node object that its kubelet publishes."""
        ...

    def registered(self, api: APIServer) -> None:
        """The Node object exists now: the kubelet records the events of its start."""
        ...

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Bring the node in line with the pods that are bound to it; it takes their changes."""
        ...

    def advance(self, seconds: float) -> None:
        """Let time pass on a node that does not run by itself."""
        ...

    def close(self) -> None:
        """End the node."""
        ...


class NodeCgroupFS(Protocol):
    """A node's cgroup file system, for reading and for writing by hand."""

    version: Version

    def exists(self, path: str) -> bool: ...

    def makedirs(self, path: str) -> None: ...

    def mkdir(self, path: str) -> None: ...

    def rmdir(self, path: str) -> None: ...

    def children(self, path: str) -> list[str]: ...

    def read(self, path: str, file: str) -> str: ...

    def write(self, path: str, file: str, value: str) -> None: ...

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree: ...


class NodeProcess(Protocol):
    """A process of a node."""

    @property
    def pid(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def cgroup(self) -> str:
        """The path of its cgroup."""
        ...

    @property
    def memory(self) -> int:
        """Resident bytes."""
        ...

    @property
    def page_tables(self) -> int:
        """Bytes of page tables."""
        ...

    @property
    def oom_score_adj(self) -> int: ...

    @property
    def rate(self) -> float:
        """CPUs that it gets now."""
        ...


class KernelNode(ClusterNode, Protocol):
    """A node with a kernel: what `cluster.node(name)` answers."""

    @property
    def config(self) -> NodeConfig:
        """What its kubelet works with."""
        ...

    @property
    def cgroupfs(self) -> NodeCgroupFS:
        """Its cgroup files."""
        ...

    @property
    def origin(self) -> Origin:
        """The origin of the node's values, and the refusals of its host."""
        ...

    def desired(self) -> CgroupTree:
        """The tree that the kubelet wants, with the reason for every value."""
        ...

    def tree(self) -> CgroupTree:
        """The tree read back from the files."""
        ...

    def differences(self) -> list[Difference]:
        """Where the files show something else than the kubelet wants."""
        ...

    def read(self, path: str, file: str) -> str:
        """The content of a cgroup file."""
        ...

    def write(self, path: str, file: str, value: str) -> None:
        """Write a cgroup file by hand; it is recorded in the journal."""
        ...

    def kernel_log(self) -> list[str]:
        """What `dmesg` shows about the OOM killer."""
        ...

    def uptime(self) -> float:
        """Seconds on the node's own clock, that of its timeline."""
        ...

    def timeline(self) -> list[TimelineEntry]:
        """What the kubelet did, when and why, oldest first."""
        ...

    def cgroup_changes(self) -> list[tuple[float, str, str]]:
        """When which file of which cgroup was written; the file "" = the cgroup was made or removed."""
        ...

    def checkpoint(self) -> str:
        """The kubelet's file `cpu_manager_state`; "" without a static CPU policy."""
        ...

    def processes(self) -> Sequence[NodeProcess]:
        """What `ps` shows, oldest first."""
        ...

    def process(self, pod: str, container: str = "", namespace: str = "default") -> NodeProcess:
        """The first process of a container."""
        ...

    def owners(self) -> Owners:
        """Whose the processes are; pause containers are left out."""
        ...

    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]:
        """What /proc/PID of a container's process says: cgroup, oom_score(_adj), Cpus_allowed_list."""
        ...

    def signal(self, pod: str, container: str, signal: int = 9) -> None:
        """Send a signal to a container's process; it is recorded in the journal."""
        ...

    def restart_kubelet(self, kubelet: KubeletSource | None = None, *, delete_checkpoints: bool = False) -> None:
        """Restart the kubelet, with other settings where they are given; it is recorded in the journal."""
        ...

    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """The program of a container with standard input ends, as far as it can be told with which code."""
        ...

    def signals(self) -> dict[str, Observation]:
        """The eviction signals that the machine itself shows."""
        ...

    def usages(self) -> Usages:
        """What each container uses now."""
        ...

    def total_usage(self) -> tuple[float, int]:
        """CPUs and bytes of memory that the whole node uses."""
        ...

    def host_time(self) -> HostTime | None:
        """Return the CPU times of the processors under the node; None = a simulated node, which has no machine."""
        ...

    def usage(self, path: str) -> int:
        """Bytes of memory that a cgroup and those below it use."""
        ...


class NodeFacts(TypedDict, total=False):
    """What a node says of itself when its kubelet has started.

    Attributes:
        version: of its cgroups.
        controllers: that it has.
        lowest_score: the smallest oom_score_adj that it may set.
        kernel: its release.
        systemd: its version; "" without.
        cpus: ids of the processors that it may use.
        limits: sentences: what the host does not grant.
        seconds: on the node's own clock, now.
        began: what the kernel log's clock showed when the node's clock began.
    """

    version: Version
    controllers: list[str]
    lowest_score: int
    kernel: str
    systemd: str
    cpus: list[int]
    limits: list[str]
    seconds: float
    began: float
