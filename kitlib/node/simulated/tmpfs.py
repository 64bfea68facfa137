"""Files in a pod's tmpfs: memory that belongs to no process and remains after all processes have ended.

A pod has one tmpfs for each emptyDir of medium Memory, and /dev/shm. Pages are charged, as shmem, to the cgroup of the
process that wrote them. The OOM killer does not free them; only those of /dev/shm can be swapped, because the kubelet
mounts its volumes with `noswap`. When that cgroup is removed they remain with its parent; they are freed with the pod's
cgroup. A write beyond the size of a tmpfs fails with ENOSPC; through a mapping it kills the process with SIGBUS.

Source: mm/shmem.c, mm/memcontrol.c (mem_cgroup_css_offline, memcg_reparent_objcgs); Documentation/filesystems/tmpfs;
kubelet emptydir.setupTmpfs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kitlib.node.simulated.memory import PAGE, Ledger
from kitlib.node.simulated.process import Process

DEV_SHM = ""
"""Name of the tmpfs /dev/shm, which every pod has."""
SIGBUS = 7


@dataclass(eq=False)
class Files:
    """The files of one tmpfs that are charged to one cgroup."""

    charged: str
    unswappable: bool
    memory: int = 0
    cache: int = 0
    active: int = 0
    dirty: int = 0
    swapped: int = 0

    @property
    def hot(self) -> int:
        """The repeatedly accessed bytes: none of them."""
        return 0


class Tmpfs:
    """The tmpfs of all pods of a machine.

    Args:
        ledger: the ledger of charged memory.
        reclaim: function that frees a number of bytes in a cgroup, and returns the freed number.
        make_room: function that enforces all limits after a process has written.
        alive: returns whether a process runs.
        end: function that ends a process with an exit code.
    """

    def __init__(
        self,
        ledger: Ledger,
        reclaim: Callable[[str, int], int],
        make_room: Callable[[Process], None],
        alive: Callable[[Process], bool],
        end: Callable[[Process, int], None],
    ) -> None:
        self._ledger, self._reclaim, self._make_room = ledger, reclaim, make_room
        self._alive, self._end = alive, end
        self._files: dict[tuple[str, str], list[Files]] = {}

    def write(self, process: Process, name: str, size: int, limit: int | None, *, mapped: bool = False) -> None:
        """Write this many bytes of a pod's process to a tmpfs; existing content is not written again.

        Args:
            process: the process that writes.
            name: the volume's name, or DEV_SHM.
            size: bytes of all files in it.
            limit: size of the tmpfs in bytes; None = unlimited.
            mapped: whether the write goes through a mapping: beyond the limit the process dies of SIGBUS.
        """
        pod = process.cgroup.rpartition("/")[0] or "/"
        parts = self._files.setdefault((pod, name), [])
        wanted = size if limit is None else min(size, limit)
        more = wanted - sum(files.memory + files.swapped for files in parts)
        if more > 0:
            own = next((files for files in parts if files.charged == process.cgroup), None)
            if own is None:
                own = Files(process.cgroup, unswappable=name != DEV_SHM)
                parts.append(own)
            self._charge(process, own, more)
            self._ledger.note_peak(own.charged)
        if mapped and size > wanted and self._alive(process):
            self._end(process, 128 + SIGBUS)

    def _charge(self, process: Process, files: Files, more: int) -> None:
        """Charge page by page as long as the writer lives; a reached limit reclaims first, then kills."""
        while more > 0 and self._alive(process):
            room = self._ledger.room(files.charged)
            fits = more if room is None else min(more, room)
            self._ledger.hold(files, files.memory + fits, 0)
            more -= fits
            if more <= 0:
                return
            # One page more than fits, so that `exceeded` finds the cgroup that is full.
            self._ledger.hold(files, files.memory + PAGE, 0)
            full = self._ledger.exceeded(files.charged)
            if full is not None:
                self._ledger.count_reclaims(full.path, more)
                self._reclaim(full.path, more)
            self._make_room(process)
            more -= PAGE
            if not self._alive(process):  # it never got this page
                self._ledger.hold(files, max(files.memory - PAGE, 0), 0)

    def below(self, path: str) -> Iterator[Files]:
        """Yield the files that are charged to a cgroup and its descendants."""
        inside = path.rstrip("/") + "/"
        return (files for parts in self._files.values() for files in parts if f"{files.charged}/".startswith(inside))

    def size(self, path: str) -> int:
        """Return the bytes in memory of the files that are charged to a cgroup and its descendants."""
        return sum(files.memory for files in self.below(path))

    def removed(self, path: str) -> None:
        """Handle the removal of a cgroup: a container's files remain with its pod, a pod's are freed."""
        for (pod, name), parts in list(self._files.items()):
            for files in parts:
                if pod == path:
                    self._ledger.hold(files, 0, 0, 0)
                elif files.charged == path:
                    files.charged = pod
            if pod == path:
                del self._files[pod, name]
