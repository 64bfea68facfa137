"""The interfaces of nodes: the control plane uses a `ClusterNode`; a `KernelNode` has files and processes, too.

Implementations: hollow (no kernel), simulated (a kernel in this process), container (a real kernel behind a stream).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

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
"""The current CPUs and bytes of memory of each container, by (namespace, pod) and container."""
Owners = dict[int, tuple[str, str, str]]
"""The namespace, pod and container of each process, by process id."""


class NotOnThisNode(KitError, AttributeError):
    """A request that only a node with a kernel can answer; Python treats it as a missing attribute."""


class Record(Protocol):
    """A function that records a user's action on a node in the cluster's journal."""

    def __call__(self, action: str, **fields: object) -> None: ...


class ClusterNode(Protocol):
    """One node, as the control plane uses it.

    Attributes:
        plan: the node's plan.
        name: the node's name.
    """

    plan: NodePlan
    name: str

    def register(self, now: datetime) -> NodeObject:
        """Return the Node object that the kubelet publishes."""
        ...

    def registered(self, api: APIServer) -> None:
        """Record the events of the kubelet's start; called when the Node object exists."""
        ...

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Apply the changes of the pods that are bound to the node, and consume them."""
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
        """The resident memory in bytes."""
        ...

    @property
    def page_tables(self) -> int:
        """The size of the page tables in bytes."""
        ...

    @property
    def oom_score_adj(self) -> int: ...

    @property
    def rate(self) -> float:
        """The CPUs that it uses now."""
        ...


class KernelNode(ClusterNode, Protocol):
    """A node with a kernel, as `cluster.node(name)` returns it."""

    @property
    def config(self) -> NodeConfig:
        """The kubelet's configuration."""
        ...

    @property
    def cgroupfs(self) -> NodeCgroupFS:
        """The node's cgroup files."""
        ...

    @property
    def origin(self) -> Origin:
        """The origin of the node's values, and the refusals of its host."""
        ...

    def desired(self) -> CgroupTree:
        """Return the tree that the kubelet wants, with the reason for every value."""
        ...

    def tree(self) -> CgroupTree:
        """Return the tree read back from the files."""
        ...

    def differences(self) -> list[Difference]:
        """Return the differences between the files and the tree that the kubelet wants."""
        ...

    def read(self, path: str, file: str) -> str:
        """Return the content of a cgroup file."""
        ...

    def write(self, path: str, file: str, value: str) -> None:
        """Write a cgroup file by hand; it is recorded in the journal."""
        ...

    def kernel_log(self) -> list[str]:
        """Return the lines of `dmesg` about the OOM killer."""
        ...

    def uptime(self) -> float:
        """Return the seconds of the node's own clock, which its timeline uses."""
        ...

    def timeline(self) -> list[TimelineEntry]:
        """Return the kubelet's actions with times and reasons, oldest first."""
        ...

    def cgroup_changes(self) -> list[tuple[float, str, str]]:
        """Return (seconds, cgroup, file) of each write; "" as file = the cgroup was made or removed."""
        ...

    def checkpoint(self) -> str:
        """Return the kubelet's file `cpu_manager_state`; "" without a static CPU policy."""
        ...

    def processes(self) -> Sequence[NodeProcess]:
        """Return the processes as `ps` shows them, oldest first."""
        ...

    def process(self, pod: str, container: str = "", namespace: str = "default") -> NodeProcess:
        """Return the first process of a container."""
        ...

    def owners(self) -> Owners:
        """Return the owner of each process, without pause containers."""
        ...

    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]:
        """Return /proc/PID values of a container's process: cgroup, oom_score(_adj), Cpus_allowed_list."""
        ...

    def signal(self, pod: str, container: str, signal: int = 9, namespace: str = "default") -> None:
        """Send a signal to a container's process; it is recorded in the journal."""
        ...

    def restart_kubelet(self, kubelet: KubeletSource | None = None, *, delete_checkpoints: bool = False) -> None:
        """Restart the kubelet, with new settings if given; it is recorded in the journal."""
        ...

    def shutdown(self) -> None:
        """Shut the machine down, after its pods if the kubelet delays this; it is recorded in the journal."""
        ...

    def cancel_shutdown(self) -> None:
        """Cancel a shutdown before the machine is off; it is recorded in the journal."""
        ...

    def reboot(self) -> None:
        """Reboot the machine; it is recorded in the journal."""
        ...

    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """End the program of a container with standard input, with this exit code if it can be set."""
        ...

    def signals(self) -> dict[str, Observation]:
        """Return the eviction signals of the machine itself."""
        ...

    def usages(self) -> Usages:
        """Return the current usage of each container."""
        ...

    def total_usage(self) -> tuple[float, int]:
        """Return the CPUs and the bytes of memory that the whole node uses."""
        ...

    def host_time(self) -> HostTime | None:
        """Return the CPU times of the processors under the node; None = a simulated node, which has no machine."""
        ...

    def usage(self, path: str) -> int:
        """Return the bytes of memory of a cgroup and its descendants."""
        ...
