"""Questions and exercises of notebook 03, CPU: shares, quota, throttling."""

from __future__ import annotations

from typing import Any

from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import pod_cgroup, quota_of

_LITTLE = "a few thousandths of a CPU to a few hundredths"
_EQUAL = "a quarter: everyone gets the same"

QUESTIONS = [
    Question(
        "abc",
        "Cgroups A and B have 1024 shares, C has 2048; all are always busy. What part of the CPU does A get now?",
        unit="%",
        tolerance=0.15,
        why="A gets its shares divided by the shares of all busy cgroups. Before C starts, A gets half.",
        formula="1024 / (1024 + 1024 + 2048)",
        measured=True,
    ),
    Question(
        "alone",
        "Only cgroup A is busy; B and C sleep. What part of the CPU does A get?",
        unit="%",
        tolerance=0.05,
        why="Shares are weights, not limits: the kernel divides CPU time only among busy cgroups.",
        measured=True,
    ),
    Question(
        "besteffort",
        "How much CPU does the BestEffort pod get while the other three pods are busy?",
        choices=["nothing at all", _LITTLE, _EQUAL],
        answer_of=lambda cpus: "nothing at all" if cpus == 0 else _LITTLE if cpus < 0.1 else _EQUAL,
        why="The pod got {observed:.3f} CPUs. The minimum weight of v2 gives a larger part than 2 shares on v1.",
        measured=True,
    ),
    Question(
        "quiet",
        "The three daemons are nearly idle: together they use 1.5 of the 48 CPUs. How many CPUs can the pods use?",
        unit="CPUs",
        tolerance=0.02,
        why="The pods can use all CPUs that the daemons leave idle. 91% is the minimum if all four cgroups are busy.",
    ),
    Question(
        "idle",
        "How much of a CPU does the pod use on a node that is otherwise idle?",
        unit="milli-CPU",
        tolerance=0.1,
        why="The thread runs for 20 ms of every 100 ms. Then the kernel stops it until the next period begins.",
        measured=True,
    ),
    Question(
        "threads",
        "The CPU limit is the same, but the program has four busy threads. Compared with one thread, it gets",
        choices=["more CPU time", "the same CPU time", "less CPU time"],
        answer_of=lambda more: (
            "the same CPU time" if abs(more) < 0.02 else f"{'more' if more > 0 else 'less'} CPU time"
        ),
        why="Four threads use the quota of 20 ms within 5 ms and then wait for 95 ms. The sum of CPU time is equal.",
        measured=True,
    ),
    Question(
        "metrics",
        "For a container, the metrics API (kubectl top) returns",
        choices=["its requests and limits", "what it uses", "what it uses, in percent of its limit"],
        answer_of=lambda one: "what it uses" if set(one["usage"]) == {"cpu", "memory"} else "its requests and limits",
        why="An article says that kubectl top shows requests and limits, but the command shows only usage.",
    ),
]


def _free_wheel(answer: Any, cluster: Any) -> str:
    flags = cluster.node().config.settings
    if "free-wheel" not in {p.name for p in cluster.pods()}:
        return "The cluster has no pod free-wheel."
    return first_problem(
        (flags.cpu_cfs_quota, 'This kubelet writes quotas: "kubelet": ["--cpu-cfs-quota=false"] in the node.'),
        (not cluster.pod("free-wheel").spec.containers[0].resources.limits, "free-wheel needs a CPU limit of 200m."),
        (quota_of(pod_cgroup(cluster, "free-wheel")) is not None, "The pod has a quota."),
        (
            float(answer) < 0.5,
            "The kernel does not stop it, so it exceeds its limit: advance some seconds, then measure.",
        ),
    )


def _setting(answer: Any, _: Any) -> str:
    plain = "".join(c for c in str(answer).lower() if c.isalnum())
    words = "It is a boolean of the kubelet; exercise 3 used it."
    return first_problem(
        ("cfsquota" not in plain and "cpumanagerpolicy" not in plain, words),
        (plain.endswith(("true", "quota")), "Which value? By default the kubelet enforces limits."),
        ("cpumanagerpolicy" in plain and "static" not in plain, "Only the policy static gives exclusive CPUs."),
        ("cfsquota" in plain and not plain.endswith("false"), words),
    )


EXERCISES = [
    Exercise(
        "enough",
        "How many CPUs can four busy threads use, and how many does the node have?",
        number(
            2,
            {
                1: "Shares of 1 : 3 would give 1 and 3 CPUs, but they matter only if CPU is scarce.",
                0.1: "A request is not a limit.",
            },
            otherwise="Two threads can use two CPUs at most, and no other pod needs these CPUs.",
            tolerance=0.05,
        ),
        "answer = 2",
        "Shares matter only if CPU is scarce. Here four threads have four CPUs.",
    ),
    Exercise(
        "neighbour",
        "The cgroup burstable has the shares of its pods' requests. The Guaranteed pod's cgroup is its sibling.",
        number(
            1,
            {0.22: "The kernel divides by cgroups, not by threads.", 2: "The other pod is busy, too."},
            otherwise="Both cgroups below kubepods have the shares of 1 CPU. How does the kernel divide the CPUs?",
            tolerance=0.05,
        ),
        "answer = 1",
        "The eight threads share the CPU time of their cgroup. The Guaranteed pod loses nothing.",
    ),
    Exercise(
        "no-quota",
        "lesson.cluster([{'name': 'node-1', 'kubelet': ['--cpu-cfs-quota=false']}]), then pod(..., "
        "cpu_limit='200m', busy=1).",
        _free_wheel,
        """
cluster = lesson.cluster([{"name": "node-1", "cpus": 2, "memory": "1Gi", "kubelet": ["--cpu-cfs-quota=false"]}])
cluster.apply(pod("free-wheel", cpu_limit="200m", busy=1))
cluster.advance(4)
answer = cpu_used(cluster)["free-wheel"]
""",
        "Only the shares have an effect. They come from the limit, which the API server copies into the request.",
    ),
    Exercise(
        "more-than-limit",
        "Exercise 3 used this setting.",
        _setting,
        'answer = "cpuCFSQuota: false"',
        "With cpuCFSQuota: false the kernel enforces no CPU limit. Since 1.33 this is also true for exclusive CPUs.",
    ),
]
