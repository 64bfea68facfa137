"""Swap: which pages of a process go there first, and what it costs a process to need them again.

The kernel takes pages that have not been used lately, so what a process goes over again and again (`hot`) is swapped
only when everything else is. A process whose hot pages are in swap waits for the disk at each of them; with a part f of
them in swap it waits for

    wait = f / READ / (f / READ + 1 / WORK)

of its time. READ and WRITE are those of a cloud's disk, WORK is how fast a process goes over its pages when all are in
memory. What several processes take from each other's share of the disk is not in this model.

Sources: mm/vmscan.c (get_scan_count, shrink_node_memcgs), mm/workingset.c, mm/memory.c (do_swap_page).
"""

from __future__ import annotations

from typing import Protocol

MI = 2**20
READ = WRITE = 100 * MI
"""Bytes a second that the disk reads from swap, and writes to it."""
WORK = 1024 * MI
"""Bytes a second that a process goes over while it does something with each of them."""


class Swapping(Protocol):
    """A process as swap sees it: bytes in memory and in swap, and what it goes over again and again."""

    @property
    def memory(self) -> int: ...

    @property
    def swapped(self) -> int: ...

    @property
    def hot(self) -> int: ...


def cold_resident(one: Swapping) -> int:
    """Bytes in memory that it does not go over: those leave first."""
    cold = max(one.memory + one.swapped - one.hot, 0)
    return min(max(cold - one.swapped, 0), one.memory)


def refaulting(one: Swapping) -> int:
    """Bytes that it goes over and that are in swap: the last to go, the first to come back."""
    cold = max(one.memory + one.swapped - one.hot, 0)
    return max(one.swapped - cold, 0)


def waiting_share(one: Swapping) -> float:
    """The share of its time that it waits for pages from swap."""
    if not one.swapped:
        return 0.0
    lacking = refaulting(one)
    if not lacking:
        return 0.0
    part = lacking / min(one.hot, one.memory + one.swapped)
    return part / READ / (part / READ + 1 / WORK)
