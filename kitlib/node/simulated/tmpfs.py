"""Files in a pod's tmpfs (emptyDir of medium Memory): memory that no process has, and that stays when all have ended.

They are charged to the cgroup of the process that wrote them, as shmem; only swap can take them. The OOM killer frees
nothing of them. Where that cgroup is removed they stay with the one above; they go with the pod's own.

Source: mm/shmem.c, mm/memcontrol.c (mem_cgroup_css_offline, memcg_reparent_objcgs); Documentation/filesystems/tmpfs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kitlib.node.simulated.memory import Ledger
from kitlib.node.simulated.process import Process


@dataclass(eq=False)
class Files:
    """The files of one pod: bytes, and the cgroup that they are charged to."""

    charged: str
    memory: int = 0
    cache: int = 0
    swapped: int = 0

    @property
    def hot(self) -> int:
        """What is read again and again: nothing of them."""
        return 0


class Tmpfs:
    """The tmpfs of all pods of a machine.

    Args:
        ledger: what is charged.
        make_room: called with the process that wrote, until no limit is exceeded.
    """

    def __init__(self, ledger: Ledger, make_room: Callable[[Process], None]) -> None:
        self._ledger, self._make_room = ledger, make_room
        self._files: dict[str, Files] = {}

    def write(self, process: Process, size: int) -> None:
        """A process of a pod has the pod's files be so large; what is there is not written again."""
        pod = process.cgroup.rpartition("/")[0] or "/"
        files = self._files.setdefault(pod, Files(process.cgroup))
        if size > files.memory + files.swapped:
            self._ledger.hold(files, size - files.swapped, 0)
            self._make_room(process)
            full = self._ledger.exceeded(files.charged)
            if full is not None:  # what did not fit was never written
                self._ledger.hold(files, max(files.memory - full.size, 0), 0)
            self._ledger.note_peak(files.charged)

    def below(self, path: str) -> Iterator[Files]:
        """The files that are charged to a cgroup and those below."""
        inside = path.rstrip("/") + "/"
        return (one for one in self._files.values() if f"{one.charged}/".startswith(inside))

    def size(self, path: str) -> int:
        """Their bytes in memory."""
        return sum(one.memory for one in self.below(path))

    def removed(self, path: str) -> None:
        """A cgroup is removed: of a container, its files stay with the pod; of a pod, they are gone."""
        for pod, files in list(self._files.items()):
            if pod == path:
                self._ledger.hold(files, 0, 0, 0)
                del self._files[pod]
            elif files.charged == path:
                files.charged = pod
