"""The processes of a real node outside of pods, as the kubelet manages them: those of the root cgroup, and itself.

The agent is the node's kubelet. On cgroup v2 it runs in its own leaf, because a root with enabled controllers holds no
processes; on v1 it runs in the node's root. With systemd every process is in a unit.

Source: kubelet cm.ensureSystemCgroups, isKernelPid, getContainer; /proc/PID/comm, exe, oom_score_adj.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from kitlib.kubelet.cm.system_cgroups import KUBELET, SystemProcess
from kitlib.node.common.errors import CgroupError
from kitlib.node.real.cgroupfs import LEAF, RealCgroupFS

_KILL = re.compile(
    r"oom-kill:constraint=\w+.*?(?:oom_memcg=(?P<where>[^,]+)|global_oom)"
    r",task_memcg=(?P<task>[^,]+),task=(?P<name>[^,]+),pid=(?P<pid>\d+)"
)


def system_ooms(lines: Iterable[str], kubepods: str, uids: Collection[str]) -> list[tuple[str, int]]:
    """Return the processes of this node's pods that were killed because the node as a whole ran out of memory.

    That is the case if the limit of the cgroup above `kubepods`, or the host's own memory, was reached.

    Args:
        lines: lines of the kernel's log.
        kubepods: path of the node's cgroup of pods.
        uids: UIDs of this node's pods.

    Returns:
        (name, process id) of each.
    """
    spelled = {name for uid in uids for name in (uid, uid.replace("-", "_"))}
    found = []
    for line in lines:
        hit = _KILL.search(line)
        if hit is None or not any(uid in hit["task"] for uid in spelled):
            continue
        node, inside, _ = hit["task"].partition(kubepods + "/")
        if inside and hit["where"] in (None, node or "/"):
            found.append((hit["name"], int(hit["pid"])))
    return found


class RealSystem:
    """The system processes of this process's own node. Implements `kitlib.kubelet.loop.system.System`.

    Args:
        cgroups: cgroups of the node.
        own: process id of the kubelet; None = this process.
        places: cgroups to search besides the root; () = the agent's leaf on cgroup v2.
    """

    def __init__(self, cgroups: RealCgroupFS, own: int | None = None, *, places: Iterable[str] = ()) -> None:
        self._cgroups, self._own = cgroups, os.getpid() if own is None else own
        self._places = ["/", *(places or ([LEAF] if cgroups.version == 2 else []))]

    def processes(self) -> list[SystemProcess]:
        """Return the processes of the root cgroup, and of the cgroups to which `move` has moved any."""
        found = []
        for place in self._places:
            with suppress(CgroupError):
                for pid in self._cgroups.procs(place):
                    found.append(self._process(pid, place))
        return found

    def _process(self, pid: int, place: str) -> SystemProcess:
        name = KUBELET if pid == self._own else _text(f"/proc/{pid}/comm").strip()
        score = _text(f"/proc/{pid}/oom_score_adj").strip()
        return SystemProcess(pid, name, place, int(score or 0), kernel=pid != self._own and _has_no_program(pid))

    def move(self, pid: int, cgroup: str) -> None:
        """Move a process into a cgroup of every hierarchy.

        Raises:
            CgroupError: the kernel's error.
        """
        self._cgroups.makedirs(cgroup)
        self._cgroups.attach(cgroup, pid)
        if cgroup not in self._places:
            self._places.append(cgroup)

    def adjust(self, pid: int, oom_score_adj: int) -> None:
        """Write a process's oom_score_adj.

        Raises:
            CgroupError: the kernel's error.
        """
        try:
            with open(f"/proc/{pid}/oom_score_adj", "w") as file:
                file.write(str(oom_score_adj))
        except OSError as error:
            raise CgroupError(error.errno or errno.EIO, f"/proc/{pid}", "oom_score_adj", str(oom_score_adj)) from None


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:  # the process has ended
        return ""


def _has_no_program(pid: int) -> bool:
    """Return whether /proc/PID/exe has no target, as for kernel threads. Source: isKernelPid."""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:
        return True
    except OSError:  # access denied: a process of another user
        return False
    return False
