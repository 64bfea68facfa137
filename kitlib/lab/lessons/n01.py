"""Questions and exercises of notebook 01, a pod becomes cgroup files."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.conversions import milli_cpu_to_quota
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number
from kitlib.lab.readings import pod_cgroup, quota_of

MIB = 2**20

QUESTIONS = [
    Question(
        "quota",
        "Which quota is written for the limit of 500m?",
        unit="µs in every 100 ms",
        why="Half a CPU is half of every period.",
        formula="quota = milli-CPU × period / 1000 = 500 × 100000 µs / 1000 = 50000 µs",
    ),
    Question(
        "levels",
        "How many cgroups lie between the root of the tree and the process (its own included)?",
        choices=["1", "2", "3", "4"],
        answer_of=lambda path: str(path.strip("/").count("/") + 1),
        why="All pods, the class, the pod, the container.",
    ),
    Question(
        "by-hand",
        "You write 800Mi into the memory limit of the pod's cgroup. How much may the container use now?",
        choices=["800Mi", "400Mi", "the kernel refuses the write"],
        answer_of=lambda limits: f"{min(limits) // MIB}Mi",
        why="Limits hold on every level, and the smallest one wins: the container's own file still says 400Mi.",
    ),
    Question(
        "request",
        "What does the pod as a whole request?",
        unit="milli-CPU",
        why="The larger of two figures: the largest init container, and the sum of all containers that run together.",
        formula="max(700, 300 + 200)",
    ),
    Question(
        "unlimited",
        "main may use 400m, helper has no limit. Which quota does the pod's cgroup get?",
        choices=["40000 µs", "none"],
        answer_of=lambda quota: "none" if quota is None else f"{quota} µs",
        why="One container without a limit may use everything, so the pod must not be limited either.",
    ),
    Question(
        "disk",
        "A pod writes to the disk as fast as it can. Which setting of its manifest slows it down?",
        choices=["limits.ephemeral-storage", "limits.cpu", "none"],
        answer_of=lambda controllers: "none" if not {"io", "blkio"} & set(controllers) else "limits.ephemeral-storage",
        why="Kubernetes has no I/O isolation: no file of the disk controller is written for a pod.",
    ),
]


def _trio(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("trio")
    except KitError:
        return "There is no pod trio on the cluster yet."
    limits = {c.name: str(c.resources.limits.get("cpu", "")) for c in made.spec.containers}
    return first_problem(
        (limits.get("helper") != "100m", "helper needs a CPU limit of 100m."),
        (limits.get("main") != "400m", "main keeps its CPU limit of 400m."),
        (answer == 40000, "helper is limited now, too: its limit counts."),
        (answer == 50000, "That is the sum of main and helper. The init container may use more than both together."),
        (int(answer) != quota_of(pod_cgroup(cluster, "trio")), "That is not what stands in the pod's file."),
    )


def _resized(answer: Any, cluster: Any) -> str:
    limit = cluster.pod("busybox").spec.containers[0].resources.limits.get("cpu")
    group = pod_cgroup(cluster, "busybox")
    restarts = sum(status.restart_count for status in cluster.pod("busybox").status.container_statuses)
    return first_problem(
        (str(limit) != "1", f"The limit of busybox is {limit}, not 1: use cluster.resize."),
        (quota_of(group) != 100000, "The file does not hold the new limit yet: let a second pass (cluster.advance)."),
        (int(answer) != restarts, "Count again: status.container_statuses[0].restart_count."),
    )


EXERCISES = [
    Exercise(
        "smallest",
        "1m of 100 ms would be 100 µs. The table of conversions above shows what is written instead.",
        number(
            lambda: milli_cpu_to_quota(1),
            {
                100: "That is 1m of the period. MilliCPUToQuota never writes less than a minimum.",
                10: "Ten is the limit.",
            },
            otherwise="Look at the first line of the table of conversions.",
        ),
        "answer = milli_cpu_to_quota(1)",
        "1000 µs is ten times what 1m asks for: the kernel accepts no shorter quota.",
    ),
    Exercise(
        "trio",
        "Copy the cell that made pair; give helper cpu_limit='100m'; then quota_of(pod_cgroup(cluster, 'trio')).",
        _trio,
        """
both = [container("main", cpu="300m", cpu_limit="400m"), container("helper", cpu="100m", cpu_limit="100m")]
cluster.apply(pod("trio", init=[prepare], containers=both))
cluster.advance(3)
answer = quota_of(pod_cgroup(cluster, "trio"))
""",
        "All containers are limited, so the pod is: by the larger of 700m and 400m + 100m.",
    ),
    Exercise(
        "resize",
        "cluster.resize('busybox', {'main': {'limits': {'cpu': '1'}}}) changes a running pod.",
        _resized,
        """
cluster.resize("busybox", {"main": {"limits": {"cpu": "1"}}})
cluster.advance(3)
answer = cluster.pod("busybox").status.container_statuses[0].restart_count
""",
        "CPU and memory can be changed in place; only files are written.",
    ),
    Exercise(
        "parent",
        "Without requests and limits the class is BestEffort. Classes below Guaranteed have a cgroup of their own.",
        choice(
            "/kubepods/besteffort",
            {
                "/kubepods": "Directly below kubepods are Guaranteed pods.",
                "/kubepods/burstable": "It requests nothing.",
            },
            otherwise="The path begins with /kubepods and names the class.",
        ),
        'answer = "/kubepods/besteffort"',
    ),
]
