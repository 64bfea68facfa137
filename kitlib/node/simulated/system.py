"""The processes of a simulated machine outside of its pods: process 1, a thread of the kernel, and the daemons.

With the systemd driver the machine runs systemd: every daemon is in its service's cgroup. With the cgroupfs
driver it has an init without cgroups, so that all daemons are in the root cgroup.
"""

from __future__ import annotations

from typing import NamedTuple

from kitlib.kubelet.cm.system_cgroups import KUBELET, SystemProcess
from kitlib.kubelet.config.settings import Driver
from kitlib.node.common.workload import FOREVER, Phase, Workload
from kitlib.node.simulated.kernel import Kernel


class Daemon(NamedTuple):
    """A daemon: its name, memory in bytes, and initial oom_score_adj."""

    name: str
    memory: int
    oom_score_adj: int = 0


DAEMONS = (Daemon(KUBELET, 64 * 2**20), Daemon("containerd", 48 * 2**20, -999))
"""The daemons. The kubelet sets its own score when it starts, containerd's is declared in its service."""

NOT_OF_SYSTEMD = ("cpuset", "hugetlb")
"""Hierarchies of cgroup v1 in which systemd creates no cgroups. Source: systemd cgroup-util.h, CGroupController."""


class SimulatedSystem:
    """The system processes of a simulated node. Implements `kitlib.kubelet.loop.system.System`.

    Args:
        kernel: the kernel on which the daemons run.
        driver: cgroup driver of the node: "systemd" = systemd is process 1.
    """

    def __init__(self, kernel: Kernel, driver: Driver) -> None:
        self._kernel = kernel
        self.systemd = driver == "systemd"
        self._pids = []
        for daemon in DAEMONS:
            path = f"/system.slice/{daemon.name}.service" if self.systemd else "/"
            if self.systemd and kernel.version == 1:
                new = [one for one in ("/system.slice", path) if not kernel.cgroups.exists(one)]
                kernel.cgroups.partial |= dict.fromkeys(new, NOT_OF_SYSTEMD)
            kernel.cgroups.makedirs(path)
            workload = Workload((Phase(FOREVER, memory=daemon.memory),), name=daemon.name)
            self._pids.append(kernel.spawn(workload, path, daemon.oom_score_adj))

    def processes(self) -> list[SystemProcess]:
        """Return process 1, the parent of the kernel's threads, and the daemons."""
        first = SystemProcess(1, "systemd", "/init.scope") if self.systemd else SystemProcess(1, "init", "/")
        found = [first, SystemProcess(2, "kthreadd", "/", kernel=True)]
        for pid in self._pids:
            process = self._kernel.processes.get(pid)
            if process is not None:
                found.append(SystemProcess(pid, process.name, process.cgroup, process.oom_score_adj))
        return found

    def move(self, pid: int, cgroup: str) -> None:
        """Write a process into a cgroup."""
        self._kernel.cgroups.makedirs(cgroup)
        self._kernel.cgroups.attach(cgroup, pid)

    def adjust(self, pid: int, oom_score_adj: int) -> None:
        """Write a process's oom_score_adj."""
        self._kernel.processes[pid].oom_score_adj = oom_score_adj
