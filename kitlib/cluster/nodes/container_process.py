"""A process of a node in a container, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContainerProcess:
    """A process on a real node, as /proc shows it.

    Attributes:
        pid: the process id in the node's pid namespace.
        name: the command's name.
        cgroup: the path of its cgroup.
        memory: the resident memory in bytes.
        page_tables: the size of the page tables in bytes.
        oom_score: the current OOM score, 0 to 2000.
        oom_score_adj: the current adjustment, -1000 to 1000.
        cpus: the ids of the allowed processors, as a list (`0-3`).
        namespace: the pod's namespace.
        pod: the pod's name.
        container: the container's name; "" = the pause container.
        first: whether it is the container's first process.
        rate: the CPUs that the container uses; 0 except for its first process.
        refused: the oom_score_adj that the kubelet wanted and the host rejected; None = the host accepted it.
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
