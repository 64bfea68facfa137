"""The owner's handle of a node that runs elsewhere, and the facts that the node reports."""

from __future__ import annotations

from typing import Protocol, TypedDict

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.node.real.link import Conversation


class NodeFacts(TypedDict, total=False):
    """The facts that a node reports when its kubelet has started.

    Attributes:
        version: the cgroup version.
        controllers: the available cgroup controllers.
        lowest_score: the lowest oom_score_adj that the node may set.
        kernel: the release of the kernel.
        systemd: the version of systemd; "" without systemd.
        cpus: the ids of the allowed processors.
        root_mapped: whether root of the node is another user on the machine (user namespace).
        limits: sentences about features that the host does not grant.
        seconds: the current time of the node's clock, in seconds.
        began: the time of the kernel log's clock when the node's clock started, in seconds.
        address, pod_cidr: the node's IP address, and the range of its pods'; "" = its pods share its network namespace.
    """

    version: Version
    controllers: list[str]
    lowest_score: int
    kernel: str
    systemd: str
    cpus: list[int]
    root_mapped: bool
    limits: list[str]
    seconds: float
    began: float
    address: str
    pod_cidr: str


class NodeHandle(Protocol):
    """The owner of the node's connection: its container, or a relay."""

    @property
    def id(self) -> str:
        """The container's id; "" if it is unknown in this process."""
        ...

    @property
    def link(self) -> Conversation:
        """The connection to the node."""
        ...

    def check(self, facts: NodeFacts) -> None:
        """Check that the node has what its container was to give it. Raises: KitError."""
        ...

    def close(self) -> None:
        """End the node."""
        ...
