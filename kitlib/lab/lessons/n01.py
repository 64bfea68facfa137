"""Questions and exercises of notebook 01, a pod becomes cgroup files."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.conversions import milli_cpu_to_quota
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, choice, first_problem, number
from kitlib.lab.readings import pod_cgroup, quota_of

MIB = 2**20


def _requests(seen: Findings) -> dict[str, int]:
    """Return the two values of which the pod's request is the larger, in milli-CPU."""
    spec = seen.cluster.pod("pair").spec
    asked = {one.name: one.resources.requests["cpu"].milli_value() for one in [*spec.init_containers, *spec.containers]}
    both = [container.name for container in spec.containers]
    return {f"init: {container.name}": asked[container.name] for container in spec.init_containers} | {
        " + ".join(both): sum(asked[name] for name in both)
    }


QUESTIONS = [
    Question(
        "quota",
        "Which quota does the runtime write for the CPU limit of 1500m?",
        unit="µs in every 100 ms",
        why="The quota may exceed the period: it is the time on all CPUs together. Two busy threads use it up "
        "in 75 ms.",
        formula="quota = milli-CPU × period / 1000 = 1500 × 100000 µs / 1000 = 150000 µs",
        picture=show.amounts(
            "CPU time that the container may use in a period",
            lambda seen: {"quota": seen.observed},
            unit="µs",
            bounds=[("period", 100_000)],
            picked=["quota"],
        ),
    ),
    Question(
        "levels",
        "How many cgroups are on the path from the root cgroup to the container's process? Do not "
        "count the root cgroup.",
        choices=["1", "2", "3", "4"],
        answer_of=lambda path: str(path.strip("/").count("/") + 1),
        why="The path contains the cgroup of all pods, the QoS cgroup, the pod's cgroup and the container's cgroup.",
        picture=show.nested("The way to the process", lambda seen: show.levels(seen.observed)),
    ),
    Question(
        "by-hand",
        "You set the memory limit of the pod's cgroup to 800Mi. How much memory may the container use now?",
        choices=["800Mi", "400Mi", "the kernel refuses the write"],
        answer_of=lambda limits: f"{min(limits) // MIB}Mi",
        why="The kernel enforces the limits at all levels of the cgroup tree. The smallest limit applies: "
        "the container's own limit is still 400Mi.",
        picture=show.amounts(
            "Which limit applies",
            lambda seen: {"pod, written by hand": seen.observed[0], "container main": seen.observed[1]},
            unit="bytes",
            picked=["container main"],
        ),
    ),
    Question(
        "request",
        "What is the effective CPU request of the pod pair?",
        unit="milli-CPU",
        why="The effective request is the larger of two values: the largest request of an init container, "
        "and the sum of the requests of the other containers.",
        formula="max(700, 300 + 200)",
        picture=show.amounts(
            "Which request counts",
            _requests,
            unit="milli-CPU",
            picked=lambda seen: [max(rows := _requests(seen), key=rows.__getitem__)],
        ),
    ),
    Question(
        "unlimited",
        "The container main has a CPU limit of 400m, and the container helper has no limit. Which "
        "quota does the pod's cgroup get?",
        choices=["40000 µs", "none"],
        answer_of=lambda quota: "none" if quota is None else f"{quota} µs",
        why="A container without a limit may use all CPUs, so the kubelet must not limit the pod either.",
        picture=show.amounts(
            "Quota at each level",
            lambda seen: (
                {"pod pair": seen.observed}
                | {f"container {name}": quota_of(pod_cgroup(seen.cluster, "pair", name)) for name in ("main", "helper")}
            ),
            unit="µs",
            picked=["pod pair"],
        ),
    ),
    Question(
        "disk",
        "A pod writes to the disk as fast as it can. Which setting of the pod's manifest slows the writes down?",
        choices=["limits.ephemeral-storage", "limits.cpu", "none"],
        answer_of=lambda controllers: "none" if not {"io", "blkio"} & set(controllers) else "limits.ephemeral-storage",
        why="Kubernetes does not isolate disk I/O: the kubelet writes no file of the I/O controller for a pod.",
        picture=show.steps(
            "Controllers in which the kubelet and the runtime write files of a pod",
            lambda seen: {
                "": [
                    *(
                        (name, "files are written", "done")
                        for name in seen.observed
                        if name in ("cpu", "memory", "pids", "cpuset")
                    ),
                    ("io", "no file" if not {"io", "blkio"} & {*seen.observed} else "written", "never"),
                ]
            },
        ),
    ),
]


def _trio(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("trio")
    except KitError:
        return "The cluster has no pod trio yet."
    limits = {c.name: str(c.resources.limits.get("cpu", "")) for c in made.spec.containers}
    return first_problem(
        (limits.get("helper") != "100m", "The container helper needs a CPU limit of 100m."),
        (limits.get("main") != "400m", "The container main keeps its CPU limit of 400m."),
        (answer == 40000, "The container helper has a limit now, too: include it."),
        (
            answer == 50000,
            "50000 µs is the sum for main and helper. The init container may use more than both together.",
        ),
        (
            int(answer) != quota_of(pod_cgroup(cluster, "trio")),
            "The quota file of the pod's cgroup contains another number.",
        ),
    )


def _resized(answer: Any, cluster: Any) -> str:
    limit = cluster.pod("busybox").spec.containers[0].resources.limits.get("cpu")
    group = pod_cgroup(cluster, "busybox")
    restarts = sum(status.restart_count for status in cluster.pod("busybox").status.container_statuses)
    return first_problem(
        (str(limit) != "1", f"The limit of busybox is {limit}, not 1: use cluster.resize."),
        (quota_of(group) != 100000, "The quota file still has the old limit: let one second pass (cluster.advance)."),
        (int(answer) != restarts, "Count again: read status.container_statuses[0].restart_count."),
    )


EXERCISES = [
    Exercise(
        "smallest",
        "1m of a period of 100 ms is 100 µs. The table of conversions above shows the quota that the "
        "kubelet writes instead.",
        number(
            lambda: milli_cpu_to_quota(1),
            {
                100: "100 µs is 1m of the period. MilliCPUToQuota never returns less than a minimum.",
                10: "10 milli-CPU is a limit, not a quota.",
            },
            otherwise="Look at the first line of the table of conversions.",
        ),
        "answer = milli_cpu_to_quota(1)",
        "1000 µs is ten times the computed quota of 1m, because the kernel accepts no shorter quota.",
    ),
    Exercise(
        "trio",
        "Copy the cell that creates the pod pair, give the container helper cpu_limit='100m', and "
        "read quota_of(pod_cgroup(cluster, 'trio')).",
        _trio,
        """
both = [container("main", cpu="300m", cpu_limit="400m"), container("helper", cpu="100m", cpu_limit="100m")]
cluster.apply(pod("trio", init=[prepare], containers=both))
cluster.advance(3)
answer = quota_of(pod_cgroup(cluster, "trio"))
""",
        "All containers have a limit, so the pod has a limit: the larger of 700m and 400m + 100m.",
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
        "The kubelet changes CPU and memory limits in place: it only writes cgroup files.",
    ),
    Exercise(
        "parent",
        "A pod without requests and limits is BestEffort. The classes Burstable and BestEffort have a cgroup each.",
        choice(
            "/kubepods/besteffort",
            {
                "/kubepods": "Only Guaranteed pods are directly below kubepods.",
                "/kubepods/burstable": "A Burstable pod has a request or a limit.",
            },
            otherwise="The path begins with /kubepods and contains the name of the class.",
        ),
        'answer = "/kubepods/besteffort"',
    ),
]
