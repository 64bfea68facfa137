"""The prohibition of swap on a node that declares none, so that the machine's swap does not defeat memory limits.

A kubelet in the machine's root cgroup finds no memory.swap.max there and writes none for containers. In a node's
container the file exists, and if the engine did not forbid swap, a container at its limit would be swapped instead of
killed. So memory.swap.max of kubepods is set to 0 if the node declares no swap. On cgroup v1 without memory.memsw the
kernel does not count swap: a sentence reports that.

Source: kernel cgroup-v2.rst memory.swap.max; kubelet cgroup_manager_linux.go (swap controller availability).
"""

from __future__ import annotations

from contextlib import suppress

from kitlib.node.common.errors import CgroupError
from kitlib.node.real.cgroupfs import RealCgroupFS

SWAP_MAX = "memory.swap.max"
SWAPS = "/proc/swaps"


def forbid(cgroups: RealCgroupFS, kubepods: str, declared: int, swaps: str = SWAPS) -> list[str]:
    """Forbid swap for pods if the node declares none, and return sentences about what was done or is impossible.

    Args:
        cgroups: the node's cgroups.
        kubepods: the path of the cgroup of all pods.
        declared: declared swap of the node in bytes.
        swaps: path of the file that lists the machine's swap.
    """
    if declared or not _has_swap(swaps):
        return []
    if cgroups.version == 1:
        if not cgroups.lacks("memory.memsw.limit_in_bytes"):
            return []  # the engine's limit and the kubelet's count swap
        return [
            "the machine has swap, the node declares none, and the kernel does not count it (swapaccount=0): a "
            "container at its memory limit may swap out instead of being killed"
        ]
    with suppress(CgroupError):
        if cgroups.read(kubepods, SWAP_MAX) == "0":
            return []
        cgroups.write(kubepods, SWAP_MAX, "0")
        return [
            f"the machine has swap and the node declares none: {SWAP_MAX} of {kubepods} is 0, which no kubelet writes"
        ]
    return [
        f"the machine has swap, the node declares none, and {SWAP_MAX} of {kubepods} cannot be written: a container at "
        "its memory limit may swap out instead of being killed"
    ]


def _has_swap(swaps: str) -> bool:
    try:
        with open(swaps) as file:
            return len(file.read().splitlines()) > 1  # the first line names the columns
    except OSError:
        return False
