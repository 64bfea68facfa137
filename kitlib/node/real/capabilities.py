"""Sentences about what the host grants a node and what not, for `node.fidelity` and `kitlib doctor`.

A node of a rootless engine is in a user namespace. It can own the cgroups that were delegated to the engine's user,
with the delegated controllers. No process can lower its oom_score_adj below the engine's own, because that needs
CAP_SYS_RESOURCE on the host itself.

Source: kernel fs/proc/base.c __set_oom_adj, user_namespaces(7), admin-guide/cgroup-v2.rst "Delegation"; KEP-2033.
"""

from __future__ import annotations

from kitlib.kubelet.config.machine import MachineInfo, huge_page_unit
from kitlib.node.real.cgroupfs import RealCgroupFS

AGENT_SCORE = -999
"""The agent's oom_score_adj, equal to the kubelet's; if the host refuses it, the lowest that it allows."""
LOWEST = -1000
USED = {
    "cpu": "neither shares nor quotas of CPU hold",
    "cpuset": "no pod is kept to its CPUs, exclusive ones neither",
    "memory": "no limit of memory holds: a pod can take all that the host has",
    "pids": "no limit of processes holds: a pod can start as many as the host bears",
    "hugetlb": "no limit of huge pages holds",
}
"""The effect of a missing controller, by controller that the kubelet uses."""
_SCORE = "/proc/self/oom_score_adj"
_UID_MAP = "/proc/self/uid_map"
_EVERYBODY = 2**32 - 1


def lowest_score() -> int:
    """Set the agent's oom_score_adj to the kubelet's or the nearest allowed one; return the lowest of this node.

    With CAP_SYS_RESOURCE that is -1000. Without it no score below the one that the engine gave the container, or that
    its own processes have, is allowed: a session of systemd has 100.
    """
    if _set(AGENT_SCORE):
        return LOWEST
    with open(_SCORE) as file:
        refused, granted = AGENT_SCORE, int(file.read())
    if _set(0):
        return 0
    while granted - refused > 1:
        middle = (granted + refused) // 2
        if _set(middle):
            granted = middle
        else:
            refused = middle
    return granted


def _set(score: int) -> bool:
    try:
        with open(_SCORE, "w") as file:
            file.write(str(score))
    except PermissionError:
        return False
    return True


def in_user_namespace() -> bool:
    """Return whether this node's users are mapped to others of the host (rootless, userns-remap, hostUsers)."""
    try:
        with open(_UID_MAP) as file:
            return file.read().split() != ["0", "0", str(_EVERYBODY)]
    except OSError:  # a kernel without user namespaces
        return False


def limits(cgroups: RealCgroupFS, machine: MachineInfo, lowest: int) -> list[str]:
    """Return sentences about what this node is refused.

    Args:
        cgroups: cgroups of the node.
        machine: declared resources of the node.
        lowest: lowest oom_score_adj that it may set.
    """
    mapped = in_user_namespace()
    found = []
    if lowest > LOWEST:
        why = "the engine runs without root" if mapped else "no CAP_SYS_RESOURCE"
        found.append(f"oom_score_adj below {lowest} is refused here ({why})")
        found.append(
            f"a pod's process may lower its own oom_score_adj to {lowest} here, which Kubernetes refuses ({why})"
        )
    for controller, without in USED.items():
        wanted = controller != "hugetlb" or machine.huge_pages
        if wanted and controller not in cgroups.controllers:
            found.append(f"no {controller} controller here: {without}")
    sizes = [size for size in machine.huge_page_sizes if _no_pages_of(cgroups, size)]
    if sizes and "hugetlb" in cgroups.controllers:
        found.append(f"no huge pages of {', '.join(f'{size} bytes' for size in sizes)} here: their limits do not hold")
    if mapped and any(text.startswith("no ") for text in found):
        found.append(
            "more controllers come with more delegation to the engine's user "
            "(systemd: Delegate=cpu cpuset io memory pids for user@.service)"
        )
    return found


def _no_pages_of(cgroups: RealCgroupFS, size: int) -> bool:
    ending = "limit_in_bytes" if cgroups.version == 1 else "max"
    return cgroups.lacks(f"hugetlb.{huge_page_unit(size)}.{ending}")
