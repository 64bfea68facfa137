"""Swap: the order in which a process's pages are swapped out, and the cost of reading them back.

The kernel chooses pages that were not used recently, so pages that a process accesses repeatedly (`hot`) are swapped
only after all others. A process with hot pages in swap waits for the disk at each of them; with a part f of them in
swap it waits for

    wait = f / READ / (f / READ + 1 / WORK)

of its time. READ and WRITE are those of a cloud's disk; WORK is the speed at which a process accesses its pages when
all are in memory. Processes do not compete for the disk in this model.

Sources: mm/vmscan.c (get_scan_count, shrink_node_memcgs), mm/workingset.c, mm/memory.c (do_swap_page).
"""

from __future__ import annotations

from typing import Protocol

MI = 2**20
READ = WRITE = 100 * MI
"""Speed of swapping in and out in bytes a second."""
WORK = 1024 * MI
"""Speed at which a process accesses its memory in bytes a second."""


class Holder(Protocol):
    """A holder of charged memory: a process, or files in a tmpfs.

    Attributes:
        memory: bytes without a file on a disk.
        cache: bytes of page cache.
        active: bytes of the page cache on the active list: used more than once.
        dirty: bytes of the page cache that are not yet on the disk; they are on the inactive list.
        swapped: bytes in swap.
        charged: path of the cgroup that they are charged to.
        unswappable: whether its memory cannot be swapped.
    """

    memory: int
    cache: int
    active: int
    dirty: int
    swapped: int
    charged: str
    unswappable: bool

    @property
    def hot(self) -> int:
        """The bytes that it accesses repeatedly."""
        ...


def cold_resident(holder: Holder) -> int:
    """Return the bytes in memory that are not accessed repeatedly: they are swapped out first."""
    cold = max(holder.memory + holder.swapped - holder.hot, 0)
    return min(max(cold - holder.swapped, 0), holder.memory)


def refaulting(holder: Holder) -> int:
    """Return the repeatedly accessed bytes in swap: the last to be swapped out, the first to return."""
    cold = max(holder.memory + holder.swapped - holder.hot, 0)
    return max(holder.swapped - cold, 0)


def waiting_share(holder: Holder) -> float:
    """Return the share of its time, 0 to 1, in which a process waits for pages from swap."""
    if not holder.swapped:
        return 0.0
    lacking = refaulting(holder)
    if not lacking:
        return 0.0
    part = lacking / min(holder.hot, holder.memory + holder.swapped)
    return part / READ / (part / READ + 1 / WORK)
