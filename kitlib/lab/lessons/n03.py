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
        "A and B have 1024 shares, C has 2048; all are always busy. What part of the CPU does A get now?",
        unit="%",
        tolerance=0.15,
        why="Its shares divided by those of all that want to run. B had half as long as C was not there.",
        formula="1024 / (1024 + 1024 + 2048)",
        measured=True,
    ),
    Question(
        "alone",
        "A alone is busy, B and C sleep. What part does A get?",
        unit="%",
        tolerance=0.05,
        why="Shares are weights, not limits: who sleeps takes no part in the division.",
        measured=True,
    ),
    Question(
        "besteffort",
        "What does the BestEffort pod get, while the other three are busy?",
        choices=["nothing at all", _LITTLE, _EQUAL],
        answer_of=lambda cpus: "nothing at all" if cpus == 0 else _LITTLE if cpus < 0.1 else _EQUAL,
        why="It got {observed:.3f} CPUs. The minimum of v2 (weight 1) is worth more beside the others than 2 "
        "shares of v1.",
        measured=True,
    ),
    Question(
        "quiet",
        "The three daemons are nearly idle: together they want 1.5 of the 48 CPUs. How many CPUs can the pods use?",
        unit="CPUs",
        tolerance=0.02,
        why="Everything that the others do not want. 91% is the minimum, for the case that all four are busy.",
    ),
    Question(
        "idle",
        "How much of a CPU does it use, on a node that is otherwise idle?",
        unit="milli-CPU",
        tolerance=0.1,
        why="20 ms of every 100 ms; then it is stopped until the next period begins.",
        measured=True,
    ),
    Question(
        "threads",
        "The same limit, but the program has four busy threads. Compared with one thread it gets",
        choices=["more CPU time", "the same CPU time", "less CPU time"],
        answer_of=lambda more: (
            "the same CPU time" if abs(more) < 0.02 else f"{'more' if more > 0 else 'less'} CPU time"
        ),
        why="Four threads use up the 20 ms in 5 ms and then all wait for 95: longer pauses, same sum.",
        measured=True,
    ),
    Question(
        "metrics",
        "The metrics API (kubectl top) answers for a container with",
        choices=["its requests and limits", "what it uses", "what it uses, in percent of its limit"],
        answer_of=lambda one: "what it uses" if set(one["usage"]) == {"cpu", "memory"} else "its requests and limits",
        why="An article calls it a way to see requests and limits; it shows use only.",
    ),
]


def _free_wheel(answer: Any, cluster: Any) -> str:
    flags = cluster.node().config.settings
    if "free-wheel" not in {p.name for p in cluster.pods()}:
        return "There is no pod free-wheel."
    return first_problem(
        (flags.cpu_cfs_quota, 'This kubelet writes quotas: "kubelet": ["--cpu-cfs-quota=false"] in the node.'),
        (not cluster.pod("free-wheel").spec.containers[0].resources.limits, "free-wheel needs a CPU limit of 200m."),
        (quota_of(pod_cgroup(cluster, "free-wheel")) is not None, "The pod has a quota."),
        (float(answer) < 0.5, "It is not stopped, so it uses more than its limit: let some seconds pass and measure."),
    )


def _setting(answer: Any, _: Any) -> str:
    plain = "".join(c for c in str(answer).lower() if c.isalnum())
    words = "It is a boolean of the kubelet; exercise 3 used it."
    return first_problem(
        ("cfsquota" not in plain and "cpumanagerpolicy" not in plain, words),
        (plain.endswith(("true", "quota")), "Which value? Without it limits are enforced: that is the default."),
        ("cpumanagerpolicy" in plain and "static" not in plain, "Only the policy static gives exclusive CPUs."),
        ("cfsquota" in plain and not plain.endswith("false"), words),
    )


EXERCISES = [
    Exercise(
        "enough",
        "How many CPUs do four busy threads want, and how many are there?",
        number(
            2,
            {
                1: "Shares of 1 : 3 would give 1 and 3 CPUs, but they matter only where there is too little.",
                0.1: "Requests are no limits.",
            },
            otherwise="Two threads can use two CPUs at most, and nobody takes them away.",
            tolerance=0.05,
        ),
        "answer = 2",
        "Shares matter only if there is too little: four threads, four CPUs.",
    ),
    Exercise(
        "neighbour",
        "The class burstable has the shares of its pods' requests, and stands beside the Guaranteed pod.",
        number(
            1,
            {0.22: "Threads do not count, cgroups do.", 2: "The other one is busy, too."},
            otherwise="Both cgroups below kubepods stand for 1 CPU; how is the machine divided between them?",
            tolerance=0.05,
        ),
        "answer = 1",
        "Eight threads share what their cgroup gets. The Guaranteed pod loses nothing.",
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
        "Only the shares of the limit (copied into the request) are left.",
    ),
    Exercise(
        "more-than-limit",
        "Exercise 3 used it.",
        _setting,
        'answer = "cpuCFSQuota: false"',
        "With cpuCFSQuota: false no limit of CPU is enforced. Since 1.33 the same holds for exclusive CPUs.",
    ),
]
