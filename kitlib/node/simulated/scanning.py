"""A limit that is set below the usage, and the rounds of scanning by which it frees more page cache than the excess.

A call of reclaim has up to 13 rounds, of rising priority: of each cgroup's inactive list it scans 1/4096 first, then
1/2048, and at last all. A round is over early only in a cgroup whose list has given the whole amount within this round,
and no further round begins once all rounds together have given it. A write to `memory.max` or `memory.high` asks for
the whole excess in one call, so that up to a quarter or half of the list may go beyond it; on v1 a lower limit, like
each charge of a full cgroup, asks for 32 pages a call, which is close to exact.

The list is that of Linux without MGLRU (`/sys/kernel/mm/lru_gen/enabled` 0).

Sources: mm/vmscan.c (try_to_free_mem_cgroup_pages, do_try_to_free_pages, get_scan_count, shrink_lruvec);
mm/memcontrol.c (memory_max_write, memory_high_write, mem_cgroup_resize_max).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kitlib.node.simulated.memory import PAGE, SWAP_CLUSTER_MAX, Ledger
from kitlib.node.simulated.reclaim import Reclaim

DEF_PRIORITY = 12
"""The priority of the first round, as the binary logarithm of the list's part that it leaves out."""


def scanned(wanted: int, lists: Iterable[int]) -> int:
    """Return the bytes that one call of reclaim frees of inactive lists; where these have less, the wanted bytes.

    Args:
        wanted: the wanted bytes.
        lists: bytes of the inactive list of each cgroup.
    """
    goal = max(-(-wanted // PAGE), SWAP_CLUSTER_MAX)
    most = -(-goal // SWAP_CLUSTER_MAX) * SWAP_CLUSTER_MAX
    left = [size // PAGE for size in lists]
    whole = sum(left)
    for priority in range(DEF_PRIORITY, -1, -1):
        left = [pages - min(pages >> priority, most) for pages in left]
        if whole - sum(left) >= goal:
            return max((whole - sum(left)) * PAGE, wanted)
    return wanted


def lower(
    ledger: Ledger, reclaim: Reclaim, path: str, limit: int, *, whole: bool, kill: Callable[[], bool] | None
) -> None:
    """Reclaim what a cgroup has above a limit, and kill until the usage is below it.

    Args:
        ledger: the charged memory.
        reclaim: the kernel's reclaim.
        path: path of the cgroup.
        limit: the new limit in bytes.
        whole: whether one call asks for the whole excess, as on v2.
        kill: kills a process and returns whether it could; None = memory.high, which only reclaims, or v1, which has
            refused a limit that reclaim cannot reach.
    """
    while (excess := ledger.usage(path) - limit) > 0:
        wanted = scanned(excess, reclaim.inactive(path)) if whole else excess
        if reclaim.reclaim(path, wanted) >= excess or kill is None or not kill():
            return
