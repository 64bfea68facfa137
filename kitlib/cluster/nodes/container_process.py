"""A process of a node in a container, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContainerProcess:
    """A process on a real node, as /proc shows it.

    Attributes:
        pid: in the node's own pid namespace.
        name: its command.
        cgroup: its path.
        memory: resident bytes.
        page_tables: bytes.
        oom_score: now, 0 to 2000.
        oom_score_adj: now, -1000 to 1000.
        cpus: ids of the processors that it may use, as a list (`0-3`).
        namespace: of its pod.
        pod: its name.
        container: its name; "" = the pause container.
        first: whether it is the container's first.
        rate: CPUs that the container gets; only its first process carries it.
        refused: the oom_score_adj that the kubelet wanted and the host refused; None = it has what was wanted.
    """

    pid: int
    name: str
    cgroup: str
    memory: int
    page_tables: int
    oom_score: int
    oom_score_adj: int
    cpus: str
    namespace: str
    pod: str
    container: str
    first: bool
    rate: float = 0.0
    refused: int | None = None
