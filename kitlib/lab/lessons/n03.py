"""Questions and exercises of notebook 03, CPU: shares, quota, throttling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import pod_cgroup, quota_of

_LITTLE = "a few thousandths of a CPU to a few hundredths"
_EQUAL = "a quarter: everyone gets the same"


def _percent(used: Mapping[str, float]) -> dict[str, float]:
    """Return the part of each pod in percent of the CPU time that all use."""
    return {name: round(100 * cpus / (sum(used.values()) or 1)) for name, cpus in used.items()}


QUESTIONS = [
    Question(
        "abc",
        "Cgroups A and B have 1024 shares each, and cgroup C has 2048. All are always busy. What part "
        "of the CPU time does A get now?",
        unit="%",
        tolerance=0.15,
        why="The part of the CPU time that A gets is the shares of A divided by the shares of all busy "
        "cgroups. Before C starts, A gets half of the CPU time.",
        formula="1024 / (1024 + 1024 + 2048)",
        measured=True,
        picture=show.amounts(
            "Parts of the CPU while all three are busy", lambda seen: _percent(seen["of"]), unit="%", picked=["a"]
        ),
    ),
    Question(
        "alone",
        "Only cgroup A is busy; the processes of B and C sleep. What part of the CPU time does A get?",
        unit="%",
        tolerance=0.05,
        why="Shares are weights, not limits: the kernel divides CPU time only among busy cgroups.",
        measured=True,
        picture=show.amounts(
            "Parts of the CPU while only A is busy",
            lambda seen: _percent({"a": 0, "b": 0, "c": 0} | seen["of"]),
            unit="%",
            picked=["a"],
        ),
    ),
    Question(
        "besteffort",
        "How much CPU time does the BestEffort pod get while the three other pods are busy?",
        choices=["nothing at all", _LITTLE, _EQUAL],
        answer_of=lambda cpus: "nothing at all" if cpus == 0 else _LITTLE if cpus < 0.1 else _EQUAL,
        why="The BestEffort pod got {observed:.3f} CPUs. The minimum weight of cgroup v2 gives the pod "
        "more CPU time than 2 shares on cgroup v1.",
        measured=True,
        picture=show.amounts("CPU time of the four busy pods", lambda seen: seen["of"], unit="CPUs", picked=["free"]),
    ),
    Question(
        "quiet",
        "The cgroups docker, user.slice and system.slice together use 1.5 of the 48 CPUs. How many "
        "CPUs can the pods use?",
        unit="CPUs",
        tolerance=0.02,
        why="The pods can use all CPUs that the other cgroups leave idle. 91% is the minimum if all four "
        "cgroups are busy.",
        picture=show.amounts(
            "CPUs of the pods",
            lambda seen: {case: cpus["kubepods"] for case, cpus in seen["of"].items()},
            unit="CPUs",
            bounds=[("all", 48)],
            picked=["quiet daemons"],
        ),
    ),
    Question(
        "idle",
        "How much CPU does the pod with one busy thread use on a node that is otherwise idle?",
        unit="milli-CPU",
        tolerance=0.1,
        why="The thread runs for 20 ms of every 100 ms. Then the kernel stops the thread until the next period begins.",
        measured=True,
        picture=show.amounts(
            "CPU time on an idle node",
            lambda seen: {"one": seen.observed},
            unit="milli-CPU",
            bounds=[("limit", 200)],
            picked=["one"],
        ),
    ),
    Question(
        "threads",
        "The CPU limit is the same, but the program has four busy threads. Compared with one thread, "
        "how much CPU time does the program get?",
        choices=["more CPU time", "the same CPU time", "less CPU time"],
        answer_of=lambda more: (
            "the same CPU time" if abs(more) < 0.02 else f"{'more' if more > 0 else 'less'} CPU time"
        ),
        why="Four threads use up the quota of 20 ms within 5 ms and then wait for 95 ms. In total they "
        "get as much CPU time as one thread.",
        measured=True,
    ),
    Question(
        "metrics",
        "What does the metrics API, which kubectl top uses, return for a container?",
        choices=["its requests and limits", "what it uses", "what it uses, in percent of its limit"],
        answer_of=lambda one: "what it uses" if set(one["usage"]) == {"cpu", "memory"} else "its requests and limits",
        why="An article says that kubectl top shows requests and limits, but the command shows only usage.",
        picture=show.steps(
            "What metrics.k8s.io has of a container",
            lambda seen: {
                "": [
                    ("usage", ", ".join(f"{name} {value}" for name, value in seen.observed["usage"].items()), "now"),
                    *((name, "in the Pod, not in the metrics", "never") for name in ("requests", "limits")),
                ]
            },
        ),
    ),
]


def _free_wheel(answer: Any, cluster: Any) -> str:
    flags = cluster.node().config.settings
    if "free-wheel" not in {p.name for p in cluster.pods()}:
        return "The cluster has no pod free-wheel."
    return first_problem(
        (flags.cpu_cfs_quota, 'This kubelet writes quotas. Set "kubelet": ["--cpu-cfs-quota=false"] in the node.'),
        (
            not cluster.pod("free-wheel").spec.containers[0].resources.limits,
            "The pod free-wheel needs a CPU limit of 200m.",
        ),
        (
            quota_of(pod_cgroup(cluster, "free-wheel")) is not None,
            "The cgroup of the pod free-wheel still has a quota.",
        ),
        (
            float(answer) < 0.5,
            "The kernel does not stop the pod, so it exceeds its limit: advance the clock by some "
            "seconds, then measure.",
        ),
    )


def _setting(answer: Any, _: Any) -> str:
    plain = "".join(c for c in str(answer).lower() if c.isalnum())
    words = "The setting is a boolean of the kubelet; exercise 3 used it."
    return first_problem(
        ("cfsquota" not in plain and "cpumanagerpolicy" not in plain, words),
        (
            plain.endswith(("true", "quota")),
            "Which value must the setting have? By default the kubelet enforces limits.",
        ),
        ("cpumanagerpolicy" in plain and "static" not in plain, "Only the policy static gives exclusive CPUs."),
        ("cfsquota" in plain and not plain.endswith("false"), words),
    )


EXERCISES = [
    Exercise(
        "enough",
        "How many CPUs can four busy threads use, and how many CPUs does the node have?",
        number(
            2,
            {
                1: "Shares in the ratio 1 : 3 would give the pods 1 and 3 CPUs, but shares matter only "
                "if CPU is scarce.",
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
        "The shares of the cgroup burstable correspond to the requests of its pods. The cgroup of the "
        "Guaranteed pod is a sibling of burstable.",
        number(
            1,
            {
                0.22: "The kernel divides CPU time by cgroups, not by threads.",
                2: "The Burstable pod is busy, too.",
            },
            otherwise="Both cgroups below kubepods have the shares of 1 CPU. How does the kernel divide the CPUs?",
            tolerance=0.05,
        ),
        "answer = 1",
        "The eight threads share the CPU time of their cgroup. The Guaranteed pod gets the CPU that it requests.",
    ),
    Exercise(
        "no-quota",
        "Start lesson.cluster([{'name': 'node-1', 'kubelet': ['--cpu-cfs-quota=false']}]), then apply "
        "pod(..., cpu_limit='200m', busy=1).",
        _free_wheel,
        """
cluster = lesson.cluster([{"name": "node-1", "cpus": 2, "memory": "1Gi", "kubelet": ["--cpu-cfs-quota=false"]}])
cluster.apply(pod("free-wheel", cpu_limit="200m", busy=1))
cluster.advance(4)
answer = cpu_used(cluster)["free-wheel"]
""",
        "Without a quota only the shares have an effect. The shares come from the limit, which the "
        "API server copies into the request.",
    ),
    Exercise(
        "more-than-limit",
        "Exercise 3 used this setting of the kubelet.",
        _setting,
        'answer = "cpuCFSQuota: false"',
        "With cpuCFSQuota: false the kernel enforces no CPU limit. Since 1.33 containers with "
        "exclusive CPUs have no quota either.",
    ),
]
