"""The processes of a real node beside its pods, as the kubelet looks after them: those in the root cgroup, and itself.

The agent is the node's kubelet. On cgroup v2 it stands in a leaf of its own, because a root that hands controllers down
holds no processes; on v1 it stands in the node's root. With systemd everybody stands in a unit of it.

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
    """The processes of this node's pods that died because the node as a whole had no memory left.

    The node's memory is the limit of the cgroup above `kubepods`: where that was reached, or the host's own memory was.

    Args:
        lines: of the kernel's log.
        kubepods: path of that cgroup.
        uids: of the pods of this node.

    Returns:
        Name and process id of each.
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
    """Implements `kitlib.kubelet.loop.system.System` on this process's own node.

    Args:
        cgroups: of the node.
        own: the kubelet's process id; None = this process.
        places: the cgroups beside the root in which it looks; () = the agent's leaf of cgroup v2.
    """

    def __init__(self, cgroups: RealCgroupFS, own: int | None = None, *, places: Iterable[str] = ()) -> None:
        self._cgroups, self._own = cgroups, os.getpid() if own is None else own
        self._places = ["/", *(places or ([LEAF] if cgroups.version == 2 else []))]

    def processes(self) -> list[SystemProcess]:
        """Those of the root cgroup, and of the cgroups to which any were moved."""
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
        """Write a process into a cgroup of every hierarchy.

        Raises:
            CgroupError: where the kernel refuses.
        """
        self._cgroups.makedirs(cgroup)
        self._cgroups.attach(cgroup, pid)
        if cgroup not in self._places:
            self._places.append(cgroup)

    def adjust(self, pid: int, oom_score_adj: int) -> None:
        """Write a process's oom_score_adj.

        Raises:
            CgroupError: where the kernel refuses.
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
    """Whether its /proc/PID/exe leads nowhere: a thread of the kernel. Source: isKernelPid."""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:
        return True
    except OSError:  # access denied: a process of another user
        return False
    return False
