"""The processes that the OOM killer ends together: those of a cgroup with memory.oom.group.

Source: mm/memcontrol.c mem_cgroup_get_oom_group.
"""

from __future__ import annotations

from kitlib.node.simulated import oom
from kitlib.node.simulated.kernel_state import KernelState
from kitlib.node.simulated.memory import upwards
from kitlib.node.simulated.process import Process


def group_of(kernel: KernelState, victim: oom.OOMCandidate, path: str) -> list[Process] | None:
    """Return the processes of the highest cgroup with memory.oom.group from the victim up to `path`, if any."""
    highest = None
    if kernel.version == 2:
        for above in upwards(victim.cgroup):
            if above == "/" or not (above == path or above.startswith(path.rstrip("/") + "/")):
                break
            if kernel.cgroups.has(above, "memory.oom.group") and kernel.cgroups.read(above, "memory.oom.group") == "1":
                highest = above
    if highest is None:
        return None
    kernel.memory.count(highest, "oom_group_kill")
    kernel.say(f"Tasks in {highest} are going to be killed due to memory.oom.group set")
    return [process for process in kernel.below(highest) if process.oom_score_adj != oom.UNKILLABLE]
