"""What the host grants a node, and what not, in sentences: for `node.fidelity` and `kitlib doctor`.

A node of an engine without root stands in a user namespace. It may own the cgroups that were delegated to the engine's
user, with the controllers that were delegated; no process may ask to be spared by the OOM killer more than the engine's
own may, because that takes CAP_SYS_RESOURCE on the host itself.

Source: kernel fs/proc/base.c __set_oom_adj, user_namespaces(7), admin-guide/cgroup-v2.rst "Delegation"; KEP-2033.
"""

from __future__ import annotations

from kitlib.kubelet.config.machine import MachineInfo, huge_page_unit
from kitlib.node.real.cgroupfs import RealCgroupFS

AGENT_SCORE = -999
"""The agent's oom_score_adj, as the kubelet's own; where the host refuses it, the lowest that it grants."""
LOWEST = -1000
USED = {
    "cpu": "neither shares nor quotas of CPU hold",
    "cpuset": "no pod is kept to its CPUs, exclusive ones neither",
    "memory": "no limit of memory holds: a pod can take all that the host has",
    "pids": "no limit of processes holds: a pod can start as many as the host bears",
    "hugetlb": "no limit of huge pages holds",
}
"""Controllers of which the kubelet writes files -> what does not hold without."""
_SCORE = "/proc/self/oom_score_adj"
_EVERYBODY = 2**32 - 1


def lowest_score() -> int:
    """Give the agent the kubelet's score, or the next that it may have; the lowest that this node may set.

    With CAP_SYS_RESOURCE that is -1000; else nothing below what the engine gave the container, or what its own
    processes have: a session of systemd begins at 100.
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
    """Whether users of this node are others on the host: its engine runs without root, or maps users."""
    try:
        with open("/proc/self/uid_map") as file:
            return file.read().split() != ["0", "0", str(_EVERYBODY)]
    except OSError:  # a kernel without user namespaces
        return False


def limits(cgroups: RealCgroupFS, machine: MachineInfo, lowest: int) -> list[str]:
    """Sentences: what this node is refused.

    Args:
        cgroups: of the node.
        machine: as it was declared.
        lowest: the oom_score_adj that it may set.
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
